"""Totals of items that a release of sets states, and how far counts of items miss the truth.

The owner asks some questions about items of the release and of the original. How far the answers
miss, compared with the standard error of the model behind them, is published as a factor for errors
of other questions. Questions depend on the sets alone (their random numbers are fixed), and so do
true counts; answers follow from the votes. The adversary of every guarantee knows all of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Codes, Domain
from mottle.graph.bit_voting import Votes
from mottle.itemsets.data import ItemSets, Sets
from mottle.itemsets.nodes import ItemNodes
from mottle.pipeline.calibration_sample import CalibrationSample
from mottle.queries.cells.from_set_columns import holding_of
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.cells.items.chances import ItemChances, Tally, far_ratio, fit_chances
from mottle.queries.cells.items.index import Items
from mottle.queries.cells.items.shares import ShareBounds
from mottle.queries.conditions import Condition
from mottle.queries.engine import Queries
from mottle.release.certificate import Certificate
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.item_totals import MOST_TOGETHER, ItemTotals, factors_of
from mottle.typing import BoolArray, Float64Array, Int64Array

_QUESTIONS = 150  # of each number of items, about items of one record and about items of several
_ROWS = 1 << 14  # records whose items are processed at once


def stated_totals(
    data: ItemSets, votes: Votes, least: int, nodes: ItemNodes | None = None
) -> ItemTotals:
    """Count the records that hold each item, and measure how far counts of items miss.

    Parameters
    ----------
    data : ItemSets
        The original sets.
    votes : Votes
        What is published for them.
    least : int
        Fewest records that a total may count.
    nodes : ItemNodes, optional
        What the sets hold instead of items: totals are then of all nodes and items.

    Returns
    -------
    ItemTotals
    """
    counts = np.bincount(data.items, minlength=data.universe)
    totals = _totals(data.names, counts, least, nodes)
    bounds = ShareBounds(int(votes.voters.min()), int(votes.voters.max()))
    if bounds.most < 2 or data.universe == 0:
        return totals
    questions = _questions(data.sets(), counts, totals)
    if not questions:
        return totals
    wanted = np.unique(np.concatenate(questions))
    misreported = float((votes.wrong / votes.voters) @ votes.multiplicity)
    flipped = misreported / max(len(data.items), 1)
    cells = _cells(data, votes, totals, counts, wanted, flipped, bounds)
    queries = Queries((data.column,), (cells,), cells.of_row[None, :], shares=bounds)
    return replace(totals, factors=_factors(queries, data, questions))


Data = TypeVar("Data", bound=ReleaseData)


def with_item_totals(release: Data, codes: Codes, least: int) -> Data:
    """Return the release of a table, columns of sets with totals of their items.

    Parameters
    ----------
    release : ReleaseData
        The release, with a certificate.
    codes : Codes
        The codes of the original.
    least : int
        Fewest records that a total may count.

    Returns
    -------
    ReleaseData
        A release of the same class.
    """
    for place, domain in enumerate(codes.domains):
        if not domain.form.has_items:
            continue
        lists = domain.items.sets.take(codes.matrix[:, place])
        data = ItemSets(domain.items.names, lists.starts, lists.items, column=domain.name)
        counts = np.bincount(data.items, minlength=data.universe)
        totals = _totals(data.names, counts, least, domain.items.nodes)
        release = _with_totals(release, domain.name, totals)
        questions = _questions(data.sets(), counts, totals)
        if questions:
            column = next(one for one in release.columns if one.name == domain.name)
            table = release.table.select([domain.name])
            queries = Queries.of(ReleaseData(table, (column,), release.certified))
            totals = replace(totals, factors=_factors(queries, data, questions))
            release = _with_totals(release, domain.name, totals)
    return release


def sampled_item_totals(
    sample: CalibrationSample,
    certificate: Certificate,
    columns: Sequence[PublishedColumn],
    domains: Sequence[Domain],
    least: int,
) -> dict[str, ItemTotals]:
    """Count the records that hold each item of columns of sets, in a table made in chunks.

    Counts are those of the whole table. How far answers miss is measured on the sample. Of a
    sample of a larger table, misses are taken to grow with the records and not with their root, as
    those of a wrong model do, so that factors err towards intervals that are too wide.

    Parameters
    ----------
    sample : CalibrationSample
        Published records and the originals behind them.
    certificate : Certificate
        Of the whole release.
    columns : sequence of PublishedColumn
        The published columns.
    domains : sequence of Domain
        Of the whole table, which know how often values occur.
    least : int
        Fewest records that a total may count.

    Returns
    -------
    dict of str to ItemTotals
        By name of a column of sets.
    """
    stated = {}
    for place, domain in enumerate(domains):
        if not domain.form.has_items:
            continue
        assert domain.counts is not None, "domains of a survey know how often values occur"
        names, sets = domain.items.names, domain.items.sets
        holders = _holders(sets, domain.counts.astype(np.float64)).astype(np.int64)
        totals = _totals(names, holders, least, domain.items.nodes)
        stated[domain.name] = totals
        behind = sets.take(sample.codes[:, place])
        data = ItemSets(names, behind.starts, behind.items, column=domain.name)
        weighted = _holders(behind, sample.weights)
        questions = _questions(behind, np.rint(weighted).astype(np.int64), totals)
        if not questions:
            continue
        shown = _counted(totals, names, np.rint(weighted).astype(np.int64))
        column = next(one for one in columns if one.name == domain.name)
        release = sample.release(certificate, [replace(column, item_totals=shown)])
        larger = certificate.rows / release.num_rows
        factors = _factors(Queries.of(release), data, questions, sample.weights, larger)
        stated[domain.name] = replace(totals, factors=factors)
    return stated


def _totals(names: pa.Array, counts: Int64Array, least: int, nodes: ItemNodes | None) -> ItemTotals:
    """The totals of items, and of all nodes of their hierarchy if there is one."""
    if nodes is None:
        return ItemTotals.of(names, counts, least)
    held = np.flatnonzero(nodes.holders)
    return ItemTotals.of(nodes.labels.take(pa.array(held)), nodes.holders[held], least)


def _counted(totals: ItemTotals, names: pa.Array, counts: Int64Array) -> ItemTotals:
    """The totals of those items that are published, with other counts."""
    places = pc.index_in(pa.array(totals.items, pa.string()), value_set=names)
    listed = places.is_valid().to_numpy(zero_copy_only=False)
    items = tuple(item for item, known in zip(totals.items, listed, strict=True) if known)
    places = places.drop_null().to_numpy()
    return replace(totals, items=items, counts=tuple(counts[places].tolist()))


def _holders(sets: Sets, weights: Float64Array) -> Float64Array:
    """[universe]: the weight of the sets that hold each item."""
    every = np.repeat(weights, sets.sizes)
    return np.bincount(sets.items, every, minlength=sets.universe).astype(np.float64)


def _with_totals(release: Data, name: str, totals: ItemTotals) -> Data:
    """The same release with other totals of a column."""
    columns = tuple(
        replace(one, item_totals=totals) if one.name == name else one for one in release.columns
    )
    fields = {one.name: one.field() for one in columns if one.name == name}
    table = release.table
    place = table.column_names.index(name)
    table = table.set_column(place, fields[name], table.column(place))
    return replace(release, stored=table, columns=columns)


def _factors(
    queries: Queries,
    data: ItemSets,
    questions: list[Int64Array],
    weights: Float64Array | None = None,
    larger: float = 1.0,
) -> tuple[tuple[float, ...], ...]:
    """How far the answers to questions miss the truth, beside their errors.

    ``weights`` are the records that each set stands for; ``larger`` is by how much the release is
    larger than the records that are asked.
    """
    wanted = np.unique(np.concatenate(questions))
    names = data.names.take(pa.array(wanted)).to_pylist()
    name_of = dict(zip(wanted.tolist(), names, strict=True))
    answers = queries.counts(
        [
            {data.column: tuple(Condition(values=(name_of[int(item)],)) for item in items)}
            for items in questions
        ]
    )
    true = _true_counts(data, questions, weights)
    unknown = answers.possible > answers.certain
    return factors_of(
        np.array([len(items) for items in questions])[unknown],
        larger * answers.expected[unknown],
        larger * np.abs(answers.expected - true)[unknown],
        larger**0.5 * answers.error[unknown],
    )


def _questions(sets: Sets, counts: Int64Array, totals: ItemTotals) -> list[Int64Array]:
    """Items that are asked for together: of one record, and of records of their own."""
    random = np.random.default_rng(0)
    asked: dict[tuple[int, ...], None] = {}
    rare = np.flatnonzero((counts < totals.least) | (totals.least == 0))
    for item in random.permutation(rare)[:_QUESTIONS]:
        asked[(int(item),)] = None
    for size in range(2, MOST_TOGETHER + 1):
        large = np.flatnonzero(sets.sizes >= size)
        for record in large[random.integers(len(large), size=_QUESTIONS)] if len(large) else ():
            held = sets.items[sets.starts[record] : sets.starts[record + 1]]
            asked[tuple(sorted(random.choice(held, size, replace=False).tolist()))] = None
        for _ in range(_QUESTIONS if len(sets.items) else 0):
            drawn = np.unique(sets.items[random.integers(len(sets.items), size=size)])
            if len(drawn) == size:
                asked[tuple(drawn.tolist())] = None
    return [np.array(items, np.int64) for items in asked]


def _true_counts(
    data: ItemSets, questions: list[Int64Array], weights: Float64Array | None = None
) -> Float64Array:
    """How many records hold all items of each question; a set stands for one, or its weight."""
    wanted = np.zeros(data.universe, np.bool_)
    wanted[np.concatenate(questions)] = True
    held = np.flatnonzero(wanted[data.items])
    records = np.searchsorted(data.starts, held, side="right") - 1
    order = np.argsort(data.items[held], kind="stable")
    starts = np.searchsorted(data.items[held][order], np.arange(data.universe + 1))
    holders = records[order]
    counted = []
    for items in questions:
        left = holders[starts[items[0]] : starts[items[0] + 1]]
        for item in items[1:]:
            left = np.intersect1d(left, holders[starts[item] : starts[item + 1]], True)
        counted.append(len(left) if weights is None else weights[left].sum())
    return np.array(counted, np.float64)


class _Entries(NamedTuple):
    """The items of some rows, whether uncertain, and whether in the base set."""

    row: Int64Array
    item: Int64Array
    doubtful: BoolArray
    based: BoolArray

    def take(self, chosen: BoolArray) -> _Entries:
        """Some of the entries."""
        return _Entries(
            self.row[chosen], self.item[chosen], self.doubtful[chosen], self.based[chosen]
        )

    @classmethod
    def together(cls, parts: Sequence[_Entries]) -> _Entries:
        """The entries of several parts."""
        return cls(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.item for part in parts]),
            np.concatenate([part.doubtful for part in parts]),
            np.concatenate([part.based for part in parts]),
        )


def _blocks(votes: Votes, universe: int) -> Iterator[_Entries]:
    """The items that rows name, some rows at a time."""
    for first in range(0, len(votes.distance), _ROWS):
        last = min(first + _ROWS, len(votes.distance))
        keys = []
        for starts, items in (
            (votes.base_starts, votes.base),
            (votes.uncertain_starts, votes.uncertain),
        ):
            rows = np.repeat(np.arange(first, last), np.diff(starts[first : last + 1]))
            keys.append(rows * universe + items[starts[first] : starts[last]])
        base, uncertain = keys
        doubtful = np.isin(base, uncertain, assume_unique=True)
        rest = np.setdiff1d(uncertain, base, assume_unique=True)
        row, item = np.divmod(np.concatenate([base, rest]), universe)
        yield _Entries(
            row,
            item,
            np.concatenate([doubtful, np.ones(len(rest), np.bool_)]),
            np.concatenate([np.ones(len(base), np.bool_), np.zeros(len(rest), np.bool_)]),
        )


def _cells(
    data: ItemSets,
    votes: Votes,
    totals: ItemTotals,
    counts: Int64Array,
    wanted: Int64Array,
    flipped: float,
    bounds: ShareBounds,
) -> ItemCells:
    """What readers make of the votes, for the wanted items only."""
    universe, weights = data.universe, votes.multiplicity.astype(np.float64)
    tally = np.zeros((3, universe))
    for part in _blocks(votes, universe):
        for place, chosen in enumerate(
            (~part.doubtful, part.doubtful & part.based, part.doubtful & ~part.based)
        ):
            tally[place] += np.bincount(part.item[chosen], weights[part.row[chosen]], universe)
    flip = _flip(Tally(*tally), flipped)
    named = pc.index_in(data.names, value_set=pa.array(totals.items, pa.string()))
    listed = named.is_valid().to_numpy(zero_copy_only=False)
    stated = np.where(listed, counts, np.nan)
    most = totals.least - 1.0 if totals.least else np.inf
    within, without = fit_chances(Tally(*tally), stated, most, flip, bounds)
    is_wanted = np.zeros(universe, np.bool_)
    is_wanted[wanted] = True
    differing, kept = np.zeros(len(weights)), []
    for part in _blocks(votes, universe):
        flips = np.where(part.based, 1 - within[part.item], without[part.item]) * part.doubtful
        differing += np.bincount(part.row, flips, len(weights))
        chosen = is_wanted[part.item]
        kept.append(part.take(chosen))
    entries = _Entries.together(kept)
    places = np.searchsorted(wanted, entries.item)
    holdings = [
        holding_of(places[chosen], entries.row[chosen], len(wanted))
        for chosen in (
            entries.based,
            entries.based & entries.doubtful,
            ~entries.based,
        )
    ]
    rows, items = len(weights), Items(data.column, data.names.take(pa.array(wanted)))
    far = far_ratio(votes.distance.astype(np.int64), differing, bounds.least)
    return ItemCells(
        name=data.column,
        atoms=items,
        slots=None,
        slot_weights=np.zeros(0),
        first=np.zeros(rows, np.int64),
        last=np.zeros(rows, np.int64),
        missing=np.zeros(rows, np.bool_),
        missing_weights=np.zeros(rows),
        of_row=votes.row_of,
        items=items,
        base=holdings[0],
        doubtful_base=holdings[1],
        doubtful_rest=holdings[2],
        uncertain=np.diff(votes.uncertain_starts),
        distance=votes.distance.astype(np.int64),
        flip=flip,
        item_chances=ItemChances(within[wanted], without[wanted], far, bounds.least),
        totals=totals,
    )


def _flip(tally: Tally, flipped: float) -> float:
    """How likely uncertain items differ from the base, as `ItemCells.calibrated` finds it."""
    doubtful = float(tally.in_base.sum() + tally.outside.sum())
    divisor = doubtful - flipped * float(tally.outside.sum() - tally.in_base.sum())
    held = float(tally.based.sum())
    return min(max(flipped * held / divisor, 1e-6), 0.5) if held > 0 and divisor > 0 else 0.5
