"""What `buckets` decides for a table that is read region by region, in the same steps as in memory.

The top of the tree of cuts is grown over all regions, until its nodes fit into a chunk; each chunk
then goes on with its own nodes as if it were a table in memory. A node that is larger than a chunk
and is not cut is dealt to several chunks by lot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from mottle.errors import GuaranteeError
from mottle.guarantees.demand import Demand
from mottle.methods.base import BucketDecision
from mottle.methods.buckets.association import Association, PublishedTable
from mottle.methods.buckets.candidates import Histograms
from mottle.methods.buckets.cut_columns import CutColumn, codes_of
from mottle.methods.buckets.partitioned.lots import draw_counts
from mottle.methods.buckets.partitioned.shares import OrderedPartitions, RegionRows, RowShare
from mottle.methods.buckets.plan import SensitiveValues, is_group, values_of
from mottle.methods.buckets.tiers import Tier, edges_per_record
from mottle.methods.buckets.tree import (
    Candidate,
    Cut,
    Knowledge,
    Node,
    Summary,
    summary,
    wave_histogram,
)
from mottle.methods.buckets.waves import random_rank, wave_counts
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.csprng import Secret

_MORE_PARTS = 8  # tried beyond twice the fewest, when a node has to be divided


class WaveRelease(NamedTuple):
    """The first wave of a tier as released."""

    columns: tuple[CutColumn, ...]
    codes: Int32Array  # [columns, n]
    tables: list[PublishedTable]
    profiles: Float64Array  # [values, features]: where values lie


@dataclass
class CutTree:
    """Cuts by quasi-identifiers alone; leaves are numbered as they come about."""

    cuts: dict[int, tuple[Cut, int, int]] = field(default_factory=dict)
    leaves: list[int] = field(default_factory=lambda: [0])
    # By node: chance of failure per record that the cuts above have taken.
    spent: dict[int, float] = field(default_factory=lambda: {0: 0.0})

    def cut(self, node: int, made: Candidate, size: int) -> tuple[int, int]:
        """Cut a leaf with ``size`` records; return its halves."""
        first = 2 * len(self.cuts) + 1
        self.cuts[node] = (made.cut, first, first + 1)
        self.spent |= dict.fromkeys((first, first + 1), made.spent(self.spent[node], size))
        self.leaves.remove(node)
        self.leaves += [first, first + 1]
        return first, first + 1

    def leaf_of(self, codes: Int32Array) -> Int64Array:
        """The leaf of every record, given by its codes [columns, n]."""
        found = np.zeros(codes.shape[1], np.int64)
        for node, (cut, left, right) in self.cuts.items():
            inside = np.flatnonzero(found == node)
            found[inside] = np.where(cut.sides(codes[:, inside]), left, right)
        return found


@dataclass(frozen=True)
class TierDecision:
    """What is decided about the records of a tier, without its first wave."""

    buckets: int
    share: RowShare
    first_chunk: int
    end: int  # number of the last chunk, plus 1
    known: Knowledge | None  # None: the tier has no wave and is not cut
    profiles: Float64Array
    tree: CutTree
    homes: dict[int, list[tuple[int, int]]]  # by leaf: chunk and slot, of every part of it
    lots: dict[int, Int32Array]  # by leaf in several parts: [regions, values, parts]
    waves: dict[tuple[int, int], Int64Array]  # by chunk and slot: records of the wave in the node
    spent: dict[tuple[int, int], float]  # by chunk and slot: see `Node.spent`

    def place(self, region: RegionRows, tiebreak: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The chunk of every row of a region, and its slot: the node in the chunk."""
        leaf = np.zeros(len(region.sensitive_codes), np.int64)
        if self.known is not None:
            leaf = self.tree.leaf_of(codes_of(self.known.columns, region.codes.matrix))
        chunk, slot = np.empty_like(leaf), np.empty_like(leaf)
        order = np.argsort(tiebreak)
        for number, homes in self.homes.items():
            rows = np.flatnonzero(leaf == number)
            part = np.zeros(len(rows), np.int64)
            if number in self.lots:
                values = region.sensitive_codes[rows, 0]
                ends = np.cumsum(self.lots[number][region.number], axis=1)[values]
                rank = random_rank(values, np.argsort(order[rows]))
                part = (rank[:, None] >= ends).sum(axis=1)
            placed = np.array(homes, np.int64)[part]
            chunk[rows], slot[rows] = placed[:, 0], placed[:, 1]
        return chunk, slot

    def of_chunk(self, chunk: int, slots: Int64Array) -> BucketDecision:
        """What a chunk needs to know, given the slots of its rows."""
        nodes = int(slots.max(initial=0)) + 1
        nothing = np.empty(0, np.int64)
        waves = tuple(self.waves.get((chunk, node), nothing) for node in range(nodes))
        spent = tuple(self.spent.get((chunk, node), 0.0) for node in range(nodes))
        return BucketDecision(self.buckets, self.profiles, self.known, slots, waves, spent)


@dataclass(frozen=True)
class Decision:
    """Everything about tiers and blocks that is decided for the whole table."""

    tiers: tuple[TierDecision, ...]
    first_chunk: int  # number of the first chunk after the first waves

    @property
    def chunks(self) -> int:
        """Number of chunks, including those of the first waves."""
        return self.tiers[-1].end

    @property
    def wave(self) -> int:
        """Number of records in the first waves."""
        return sum(int(tier.known.seen.sum()) for tier in self.tiers if tier.known is not None)

    def tier_of(self, chunk: int) -> TierDecision:
        """The tier that the records of a chunk belong to."""
        return next(tier for tier in self.tiers if chunk < tier.end)


def decide(
    demand: Demand,
    tiers: Sequence[Tier],
    secret: Secret,
    largest: int,
    line_of: Callable[[RowShare | None], OrderedPartitions],
    publish_wave: Callable[[RowShare, int, int], WaveRelease],
) -> Decision:
    """Separate tiers, publish their first waves, cut what is left, and assign it to chunks.

    Parameters
    ----------
    demand : Demand
        The demand of the whole table; its sensitive codes are those of all combinations of values.
    tiers : sequence of Tier
        The tiers of the whole table.
    secret : Secret
        The secret of the run.
    largest : int
        Most rows of a chunk, if all tiers had the average number of buckets.
    line_of : callable
        Returns the rows of a share, or all rows for None, along the order.
    publish_wave : callable
        Called with the share of a first wave, the number of buckets and the number of its chunk;
        publishes it and returns it as released.

    Returns
    -------
    Decision
        What the chunks need to know.

    Raises
    ------
    CutError
        A cut breaks a cap.
    """
    edges = largest * edges_per_record(tiers)
    rows = [max(int(edges / tier.buckets), 2 * tier.buckets) for tier in tiers]
    taken = [
        wave_counts(demand, tier.counts, tier.buckets, most)
        for tier, most in zip(tiers, rows, strict=True)
    ]
    counts = _counts_by_part(demand, tiers, taken, secret, line_of(None))
    regions = len(counts)
    waves: list[WaveRelease | None] = []
    chunk = 0
    for number, (tier, first) in enumerate(zip(tiers, taken, strict=True)):
        waves.append(None)
        if first.any():
            share = RowShare(counts, 2 * number, regions)
            waves[-1] = publish_wave(share, tier.buckets, chunk)
            chunk += 1
    first_chunk = chunk
    decided: list[TierDecision] = []
    for number, (tier, wave, most) in enumerate(zip(tiers, waves, rows, strict=True)):
        share = RowShare(counts, 2 * number + 1)
        mine = secret.part("seats of tier", share.part)
        if share.cuts[-1] == 0:
            continue
        decided.append(
            _decide_tier(
                demand, tier, wave, taken[number], line_of(share), share, mine, most, chunk
            )
        )
        chunk = decided[-1].end
    return Decision(tuple(decided), first_chunk)


def _decide_tier(
    demand: Demand,
    tier: Tier,
    wave: WaveRelease | None,
    seen: Int64Array,
    line: OrderedPartitions,
    share: RowShare,
    secret: Secret,
    largest: int,
    chunk: int,
) -> TierDecision:
    """Grow the top of the tree, divide nodes that are too large, and pack them into chunks."""
    known, tree = None, CutTree()
    profiles = np.empty((len(tier.counts), 0))
    if wave is not None:
        unknown = Association.unknown(wave.columns, wave.codes, tier.counts)
        association, evidence = unknown.fitted_to_wave(wave.codes, wave.tables)
        known = Knowledge(
            wave.columns,
            values_of(demand),
            tier.buckets,
            int(tier.counts.sum()),
            association,
            evidence,
            seen,
            demand.known_records,
        )
        profiles = wave.profiles
        _grow_top(known, tree, line, largest)
    counted = _counted(known, tree, line, len(tier.counts))  # [regions, leaves, values]
    if known is not None:
        for counts in counted.sum(axis=0):
            known.check(Summary(int(counts.sum()), counts, np.zeros(0), np.zeros(0), ()))
    packer = _Packer(chunk, largest)
    homes: dict[int, list[tuple[int, int]]] = {}
    lots: dict[int, Int32Array] = {}
    waves: dict[tuple[int, int], Int64Array] = {}
    spent: dict[tuple[int, int], float] = {}
    in_wave = None if known is None else tree.leaf_of(known.wave.codes)
    for place, leaf in enumerate(tree.leaves):
        here = counted[:, place]
        size = int(here.sum())
        if size == 0:
            continue
        quotas = _even(here.sum(axis=0), values_of(demand), largest)
        homes[leaf] = [packer.place(int(part.sum())) for part in quotas.T]
        spent |= dict.fromkeys(homes[leaf], tree.spent[leaf])
        if len(quotas.T) > 1:
            lots[leaf] = draw_counts(secret.part("lots of node", leaf), quotas, here)
        if in_wave is not None:
            inside = np.flatnonzero(in_wave == leaf)
            waves |= dict.fromkeys(homes[leaf], inside)
    return TierDecision(
        tier.buckets, share, chunk, packer.count, known, profiles, tree, homes, lots, waves, spent
    )


def _grow_top(known: Knowledge, tree: CutTree, line: OrderedPartitions, largest: int) -> None:
    """Cut nodes that do not fit into a chunk, level by level; every level reads all regions."""
    nodes = {0: int(line.cuts[-1])}
    made: dict[int, tuple[Summary, Candidate]] = {}  # by left half: the cut that made it
    while True:
        opened = [node for node, size in nodes.items() if size > largest]
        wanted = [*opened, *[left for left in made if left not in opened]]
        if not wanted:
            return
        found = line.over(partial(_summaries, known, tree, wanted))
        in_wave = tree.leaf_of(known.wave.codes)
        total = {
            node: _with_wave(known, _added([region[place] for region in found]), in_wave == node)
            for place, node in enumerate(wanted)
        }
        known.learn([(node, cut, total[left]) for left, (node, cut) in made.items()])
        made, nodes = {}, {}
        for node in opened:
            known.check(total[node])
            best = known.best_cut(total[node], tree.spent[node])
            if best is None:
                continue
            left, right = tree.cut(node, best, total[node].size)
            nodes |= {left: best.size, right: total[node].size - best.size}
            made[left] = (total[node], best)


def _summaries(
    known: Knowledge, tree: CutTree, wanted: list[int], region: RegionRows
) -> list[Summary]:
    """What a region says about some nodes."""
    codes = codes_of(known.columns, region.codes.matrix)
    shares = known.association.predicted(known.association.indices(codes))
    leaf = tree.leaf_of(codes)
    nothing = np.empty(0, np.int64)
    return [
        summary(
            known,
            codes,
            region.sensitive_codes[:, 0],
            shares,
            Node(np.flatnonzero(leaf == node), nothing),
        )
        for node in wanted
    ]


def _added(parts: Sequence[Summary]) -> Summary:
    """The summary of a node from those of its parts."""
    scopes = []
    for of_scope in zip(*[part.scopes for part in parts], strict=True):
        records = np.sum([each.records for each in of_scope], axis=0)
        predicted = np.sum([each.predicted for each in of_scope], axis=0)
        scopes.append(Histograms(records, predicted, of_scope[0].in_wave))
    return Summary(
        sum(part.size for part in parts),
        np.sum([part.counts for part in parts], axis=0),
        np.sum([part.expected for part in parts], axis=0),
        parts[0].seen,
        tuple(scopes),
    )


def _with_wave(known: Knowledge, node: Summary, inside: BoolArray) -> Summary:
    """Add the records of the first wave that lie in the node."""
    scopes = tuple(
        found._replace(
            in_wave=wave_histogram(known, np.flatnonzero(inside & scope.holds(known.wave.codes)))
        )
        for scope, found in zip(known.scopes, node.scopes, strict=True)
    )
    first = slice(0, known.places.starts[1])
    return node._replace(seen=scopes[0].in_wave[first].sum(axis=0), scopes=scopes)


def _counted(
    known: Knowledge | None, tree: CutTree, line: OrderedPartitions, values: int
) -> Int64Array:
    """[regions, leaves, values]: how often values occur in the leaves."""
    columns = () if known is None else tuple(known.columns)
    return np.stack(line.over(partial(_count_leaves, columns, tree, values)))


def _count_leaves(
    columns: tuple[CutColumn, ...], tree: CutTree, values: int, region: RegionRows
) -> Int64Array:
    leaf = np.zeros(len(region.sensitive_codes), np.int64)
    if columns:
        leaf = tree.leaf_of(codes_of(columns, region.codes.matrix))
    mine = region.sensitive_codes[:, 0]
    return np.stack([np.bincount(mine[leaf == node], minlength=values) for node in tree.leaves])


def _even(counts: Int64Array, values: SensitiveValues, largest: int) -> Int64Array:
    """[values, parts]: a node in parts of nearly the same size, all within the caps.

    There are as few parts as their largest size allows, or a few more.
    """
    fewest = -(-int(counts.sum()) // largest)
    running = np.cumsum(counts)
    for parts in range(fewest, 2 * fewest + _MORE_PARTS):
        ends = [np.diff((running - part + parts - 1) // parts, prepend=0) for part in range(parts)]
        if all(is_group(part, values) for part in ends):
            return np.stack(ends, axis=1)
    raise GuaranteeError(
        "A block that does not fit into memory cannot be divided within the caps.",
        "Give more --memory.",
    )


class _Packer:
    """Puts nodes into chunks, one after another."""

    def __init__(self, first: int, largest: int) -> None:
        self.count = first
        self._largest = largest
        self._room = 0
        self._slot = 0

    def place(self, rows: int) -> tuple[int, int]:
        """The chunk and slot of a node."""
        if rows > self._room:
            self.count, self._room, self._slot = self.count + 1, self._largest, 0
        self._room -= rows
        self._slot += 1
        return self.count - 1, self._slot - 1


def _counts_by_part(
    demand: Demand,
    tiers: Sequence[Tier],
    taken: Sequence[Int64Array],
    secret: Secret,
    everything: OrderedPartitions,
) -> Int64Array:
    """[regions, values, parts]: part 2t is the first wave of tier t, part 2t + 1 its other records.

    How many of a region's records with a value go where is drawn by lot.
    """
    quotas = np.stack(
        [
            each
            for tier, first in zip(tiers, taken, strict=True)
            for each in (first, tier.counts - first)
        ],
        axis=1,
    )
    by_region = np.stack(everything.over(partial(_count_values, len(quotas))))
    return draw_counts(secret.part("tiers"), quotas, by_region).astype(np.int64)


def _count_values(values: int, region: RegionRows) -> Int64Array:
    return np.bincount(region.sensitive_codes[:, 0], minlength=values)
