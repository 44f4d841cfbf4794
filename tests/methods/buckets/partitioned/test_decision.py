"""A table that comes in regions: its chunks are parts of it, cut and dealt by public things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

import mottle
from mottle import GuaranteeError, Schema
from mottle.assignment import assign
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.methods import MethodContext
from mottle.methods.base import BucketDecision
from mottle.methods.buckets.association import Association
from mottle.methods.buckets.buckets import buckets, tiers_for
from mottle.methods.buckets.cut_columns import codes_of, cut_columns
from mottle.methods.buckets.partitioned.decision import (
    CutTree,
    Decision,
    RegionRows,
    WaveRelease,
    _even,
    _grow_top,
    decide,
)
from mottle.methods.buckets.partitioned.shares import RowShare
from mottle.methods.buckets.plan import SensitiveValues, values_of
from mottle.methods.buckets.records import TableRecords
from mottle.methods.buckets.tiers import Tier
from mottle.methods.buckets.tree import Candidate, Cut, CutError, Knowledge, Scope
from mottle.methods.buckets.waves import published_tables, random_rank
from mottle.schema.model import Representation
from mottle.utils.csprng import Secret

ROWS = 9000
QI = ["age", "sex", "education", "workclass"]
SECRET = Secret.draw(seed=8)


@dataclass(frozen=True)
class Line:
    """Ordered partitions that are held in memory."""

    codes: Codes
    sensitive_codes: np.ndarray
    cuts: np.ndarray

    def over(self, work: Callable[[RegionRows], object]) -> list:
        return [
            work(
                RegionRows(
                    number,
                    Codes(self.codes.domains, self.codes.matrix[first:last]),
                    np.ascontiguousarray(self.sensitive_codes[first:last]),
                )
            )
            for number, (first, last) in enumerate(pairwise(self.cuts))
        ]


@dataclass
class Table:
    """A generated table in order, and what engines do with it."""

    codes: Codes
    demand: Demand
    cuts: np.ndarray  # of regions

    def __post_init__(self) -> None:
        self.parts: dict[int, np.ndarray] = {}  # by part of a share: the rows
        self.waves: list[np.ndarray] = []
        self.released: list[WaveRelease] = []

    def rows_of(self, share: RowShare | None) -> np.ndarray:
        """The rows of a share, drawn by lot in every region."""
        if share is None:
            return np.arange(ROWS)
        found = []
        for number, (first, last) in enumerate(pairwise(self.cuts)):
            values = self.demand.values[first:last]
            order = np.random.default_rng(number).permutation(last - first)
            ends = np.cumsum(share.counts[number], axis=1)[values]
            part = (random_rank(values, order)[:, None] >= ends).sum(axis=1)
            found.append(first + np.flatnonzero(part == share.part))
        self.parts[share.part] = np.concatenate(found)
        return self.parts[share.part]

    def line_of(self, share: RowShare | None) -> Line:
        rows = self.rows_of(share)
        codes = Codes(self.codes.domains, self.codes.matrix[rows])
        cuts = self.cuts if share is None else share.cuts
        return Line(codes, self.demand.sensitive_codes[rows], cuts)

    def publish_wave(self, share: RowShare, count: int, chunk: int) -> WaveRelease:
        assert chunk == len(self.waves)
        rows = self.rows_of(share)
        self.waves.append(rows)
        codes = Codes(self.codes.domains, self.codes.matrix[rows])
        demand = replace(self.demand, sensitive_codes=self.demand.sensitive_codes[rows])
        uncut = BucketDecision(
            count,
            np.empty((9, 0)),
            None,
            np.zeros(len(rows), np.int64),
            (np.empty(0, np.int64),),
            (0.0,),
        )
        graph = buckets(codes, demand, MethodContext(0, bucket_decision=uncut)).graph
        truth = assign(graph, SECRET, "buckets")
        wave = TableRecords(codes)
        columns = cut_columns(codes.matrix, wave.metric(count))
        released = WaveRelease(
            columns,
            codes_of(columns, codes.matrix),
            list(published_tables(graph, truth, demand.values)),
            wave.profiles_by_release(demand, graph, truth),
        )
        self.released.append(released)
        return released

    def decide(self, largest: int, tiers: list[Tier] | None = None) -> Decision:
        found = tiers_for(self.demand) if tiers is None else tiers
        return decide(self.demand, found, SECRET, largest, self.line_of, self.publish_wave)

    def chunks(self, decision: Decision) -> dict[int, list[tuple[int, int]]]:
        """By chunk: the row and the slot of everybody in it."""
        found: dict[int, list[tuple[int, int]]] = {}
        for tier in decision.tiers:
            rows = self.parts[tier.share.part]
            start = 0
            for region in self.line_of(tier.share).over(lambda region: region):
                mine = rows[start : start + len(region.sensitive_codes)]
                start += len(mine)
                order = np.random.default_rng(99).permutation(len(mine))
                for row, chunk, slot in zip(mine, *tier.place(region, order), strict=True):
                    found.setdefault(int(chunk), []).append((int(row), int(slot)))
        return found


def table_of(regions: int = 4, caps: float = 1 / 3, seed: int = 1) -> Table:
    people = mottle.datasets.population(ROWS, seed=seed)
    schema = Schema.of(quasi_identifying=QI, rest="insensitive").covering(people.column_names)
    codes = encode(people, schema, Representation.RANGE)
    order = TableRecords(codes).order(np.random.default_rng(seed).permutation(ROWS))
    codes = Codes(codes.domains, codes.matrix[order])
    values = np.random.default_rng(seed).integers(0, 9, ROWS).astype(np.int32)
    demand = Demand(3, values[:, None], np.full(9, caps), np.bincount(values))
    cuts = np.linspace(0, ROWS, regions + 1).astype(np.int64) + 7
    cuts[[0, -1]] = 0, ROWS
    return Table(codes, demand, cuts)


@pytest.mark.parametrize("largest", [1500, 4000, ROWS])
def test_chunks_are_a_partition_within_the_caps(largest):
    table = table_of()
    decision = table.decide(largest)
    chunks = table.chunks(decision)
    rows = [row for inside in chunks.values() for row, _ in inside]
    assert sorted([*rows, *table.waves[0].tolist()]) == list(range(ROWS))
    assert sorted(chunks) == list(range(decision.first_chunk, decision.chunks))
    assert decision.wave == len(table.waves[0]) > 0
    for number, inside in chunks.items():
        assert decision.tier_of(number).first_chunk <= number
        slots = np.array([slot for _, slot in inside])
        values = table.demand.values[[row for row, _ in inside]]
        assert len(inside) <= largest
        assert np.array_equal(np.unique(slots), np.arange(slots.max() + 1))
        for slot in range(slots.max() + 1):
            counts = np.bincount(values[slots == slot], minlength=9)
            assert np.all(counts <= table.demand.allowed(int(counts.sum())))


def test_every_record_of_the_wave_lies_in_the_slots_of_its_leaf():
    table = table_of()
    decision = table.decide(1500)
    (tier,) = decision.tiers
    chunks = table.chunks(decision)
    # By chunk and slot.
    leaves = {place: leaf for leaf, homes in tier.homes.items() for place in homes}
    in_wave = tier.tree.leaf_of(tier.known.wave.codes)
    for chunk, inside in chunks.items():
        slots = np.array([slot for _, slot in inside])
        passed_on = tier.of_chunk(chunk, slots)
        assert passed_on.buckets == 3
        for slot, wave in enumerate(passed_on.waves):
            assert np.array_equal(wave, np.flatnonzero(in_wave == leaves[chunk, slot]))


def test_a_large_node_is_cut_and_only_what_cannot_be_cut_is_dealt_by_lot():
    decision = table_of().decide(1500)
    (tier,) = decision.tiers
    assert len(tier.tree.cuts) > 2
    assert not tier.lots
    # Where values may not differ from those of the table, no cut is safe.
    table = table_of(caps=0.119)
    decision = table.decide(1500)
    (tier,) = decision.tiers
    assert not tier.tree.cuts
    assert list(tier.homes) == list(tier.lots) == [0]
    sizes = [len(inside) for inside in table.chunks(decision).values()]
    assert len(sizes) >= 6
    assert max(sizes) - min(sizes) <= 9  # one of each value


def test_whether_records_of_a_node_meet_is_decided_by_lot():
    """Of two parts, each gets half of the records of every region, on average."""
    table = table_of(caps=0.119)
    decision = table.decide(4600)
    (tier,) = decision.tiers
    (lots,) = tier.lots.values()  # [regions, values, parts]
    given = lots.sum(axis=(1, 2))
    assert lots.shape[2] == 2
    assert np.array_equal(given, np.diff(tier.share.cuts))
    expected = given / 2
    assert np.all(np.abs(lots[:, :, 0].sum(axis=1) - expected) < 5 * np.sqrt(given) / 2)
    assert np.std(lots[:, 0, 0] - lots[:, 0].sum(axis=1) / 2) > 0  # by lot, not in equal shares


def test_tiers_have_waves_and_chunks_of_their_own():
    table = table_of()
    half = table.demand.counts // 2
    tiers = [Tier(4, half), Tier(3, table.demand.counts - half)]
    decision = table.decide(2500, tiers)
    assert decision.first_chunk == len(table.waves) == 2
    assert [tier.buckets for tier in decision.tiers] == [4, 3]
    assert decision.tiers[0].first_chunk == 2
    assert decision.tiers[1].first_chunk == decision.tiers[0].end
    assert decision.chunks == decision.tiers[1].end
    chunks = table.chunks(decision)
    rows = [row for inside in chunks.values() for row, _ in inside]
    assert sorted([*rows, *np.concatenate(table.waves).tolist()]) == list(range(ROWS))
    for number, tier in enumerate(decision.tiers):
        inside = [row for chunk in range(tier.first_chunk, tier.end) for row, _ in chunks[chunk]]
        everybody = np.concatenate([inside, table.waves[number]]).astype(int)
        counts = np.bincount(table.demand.values[everybody], minlength=9)
        assert counts.tolist() == tiers[number].counts.tolist()


def test_regions_do_not_matter_for_the_decision():
    """The same table in one region or in five is cut by the same columns at first."""
    one, five = (table_of(regions).decide(1500).tiers[0] for regions in (1, 5))
    first, other = one.tree.cuts[0][0], five.tree.cuts[0][0]
    assert one.share.values.tolist() == five.share.values.tolist()
    assert (first.column, first.scope) == (other.column, other.scope)


def test_the_top_of_the_tree_is_the_same_when_values_change_places_inside_leaves():
    """The invariance that the proof rests on, as for a table in memory."""
    table = table_of()
    (tier,) = table.decide(1500).tiers
    assert len(tier.tree.cuts) > 2
    rest = table.parts[tier.share.part]
    leaf = tier.tree.leaf_of(codes_of(tier.known.columns, table.codes.matrix[rest]))
    random = np.random.default_rng(0)
    values = table.demand.values.copy()
    for number in np.unique(leaf):
        inside = rest[leaf == number]
        values[inside] = table.demand.values[random.permutation(inside)]
    assert np.mean(values != table.demand.values) > 0.5
    (wave,) = table.released
    unknown = Association.unknown(wave.columns, wave.codes, table.demand.counts)
    association, evidence = unknown.fitted_to_wave(wave.codes, wave.tables)
    known = Knowledge(
        wave.columns,
        values_of(table.demand),
        3,
        ROWS,
        association,
        evidence,
        tier.known.seen,
        table.demand.known_records,
    )
    codes = Codes(table.codes.domains, table.codes.matrix[rest])
    tree = CutTree()
    _grow_top(known, tree, Line(codes, values[rest, None], tier.share.cuts), 1500)
    assert tree.leaves == tier.tree.leaves
    for node, (cut, left, right) in tier.tree.cuts.items():
        other = tree.cuts[node]
        assert other[1:] == (left, right)
        assert (other[0].column, other[0].scope) == (cut.column, cut.scope)
        assert other[0].left.tolist() == cut.left.tolist()


def test_a_node_that_breaks_a_cap_ends_the_decision(monkeypatch):
    honest = Knowledge.check

    def broken(known, node):
        honest(known, node)
        if node.size < 5000:
            raise CutError

    monkeypatch.setattr(Knowledge, "check", broken)
    with pytest.raises(CutError):
        table_of().decide(1500)


def made(cut: Cut) -> Candidate:
    """A cut with a chance of failure of 1 %."""
    return Candidate(cut, 1, np.empty(0), 0.01)


def test_leaves_are_found_by_the_cuts_that_lead_to_them():
    codes = np.array([[0, 1, 2, 2, 0, 1], [0, 0, 0, 1, 1, 1]], np.int32)
    tree = CutTree()
    assert tree.leaf_of(codes).tolist() == [0] * 6
    left, right = tree.cut(0, made(Cut(0, np.array([True, False, False]))), 6)
    assert tree.leaf_of(codes).tolist() == [left, right, right, right, left, right]
    near, far = tree.cut(right, made(Cut(1, np.array([True, False]))), 4)
    assert tree.leaf_of(codes).tolist() == [left, near, near, far, left, far]
    scope = Scope(1, 1)
    scoped, others = tree.cut(left, made(Cut(0, np.array([True, True, True]), scope=scope)), 2)
    assert tree.leaf_of(codes).tolist() == [others, near, near, far, scoped, far]
    assert sorted(tree.leaves) == sorted([near, far, scoped, others])
    assert tree.spent[right] == tree.spent[left] == pytest.approx(0.01 / 6)
    assert tree.spent[near] == pytest.approx(0.01 / 6 + 0.01 / 4)


def test_parts_of_a_node_are_even_and_within_the_caps():
    values = SensitiveValues(
        np.arange(4, dtype=np.int32)[:, None], np.full(4, 0.4), np.empty((4, 0))
    )
    counts = np.array([383, 300, 250, 60])
    parts = _even(counts, values, 130)
    assert parts.sum(axis=1).tolist() == counts.tolist()
    sizes = parts.sum(axis=0)
    assert sizes.max() <= 130
    assert sizes.max() - sizes.min() <= 1
    assert np.all(parts <= np.floor(0.4 * sizes + 1e-9))
    with pytest.raises(GuaranteeError, match="Give more --memory"):
        _even(np.array([10, 10, 10, 10]), values._replace(caps=np.full(4, 0.25)), 3)
