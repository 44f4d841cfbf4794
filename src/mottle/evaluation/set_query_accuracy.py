"""The accuracy of queries on a release of sets: records that hold some items, or none of them.

These are SET12's two types of queries (§5.2), on items that occur: those of type I take the items
of one record, those of type II draw items by their frequency in the release. The first are answered
as an analyst's questions are (docs/queries.md), the second by counts in base sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.evaluation.query_accuracy import QueryAccuracy, summarize_answers
from mottle.itemsets.data import ItemSets
from mottle.queries import Estimates
from mottle.queries.conditions import Condition
from mottle.queries.engine import Queries
from mottle.release.set_release import SetReleaseData
from mottle.typing import Int64Array

QUERIES = 200  # random queries of each kind
PRESENT, ABSENT = (1, 2, 3), (2, 4)  # numbers of items in a query of type I and of type II


@dataclass(frozen=True, eq=False)
class ItemIndex:
    """For each item: the records that hold it, ascending."""

    starts: Int64Array  # [items + 1]
    records: Int64Array

    @classmethod
    def of(cls, items: Int64Array, record_of: Int64Array, universe: int) -> ItemIndex:
        """Build the index from distinct pairs of an item and a record."""
        order = np.lexsort((record_of, items))
        counts = np.bincount(items, minlength=universe)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(starts, record_of[order])

    @property
    def counts(self) -> Int64Array:
        """The number of records that hold each item."""
        return np.diff(self.starts)

    def of_item(self, item: int) -> Int64Array:
        """The records that hold an item."""
        return self.records[self.starts[item] : self.starts[item + 1]]

    def holding(self, items: Int64Array) -> int:
        """The number of records that hold all of the items."""
        found = self.of_item(int(items[0]))
        for item in items[1:].tolist():
            found = np.intersect1d(found, self.of_item(item), assume_unique=True)
        return len(found)

    def without(self, items: Int64Array, records: int) -> int:
        """The number of records, of ``records``, that hold none of the items."""
        return records - len(np.unique(np.concatenate([self.of_item(i) for i in items.tolist()])))


@dataclass(frozen=True, eq=False)
class ItemHolders:
    """The records that hold each item: in base sets, for certain, and possibly."""

    names: pa.Array  # the items
    records: int  # number of records
    base: ItemIndex
    certain: ItemIndex
    possible: ItemIndex

    @classmethod
    def of(cls, release: SetReleaseData) -> ItemHolders:
        """Index the items of a release."""
        cells = release.table.column(release.column)
        base, uncertain = (pc.struct_field(cells, part) for part in ("base", "uncertain"))
        named = pa.chunked_array(
            [*pc.list_flatten(base).chunks, *pc.list_flatten(uncertain).chunks], pa.string()
        )
        names = named.unique()
        names = names.take(pc.sort_indices(names))
        in_base, in_doubt = (_pairs(lists, names) for lists in (base, uncertain))
        universe = len(names)
        base_keys, doubt_keys = (items + universe * rows for items, rows in (in_base, in_doubt))
        certain = _split(np.setdiff1d(base_keys, doubt_keys), universe)
        possible = _split(np.union1d(base_keys, doubt_keys), universe)
        return cls(
            names,
            release.table.num_rows,
            ItemIndex.of(*in_base, universe),
            ItemIndex.of(*certain, universe),
            ItemIndex.of(*possible, universe),
        )

    @classmethod
    def of_originals(cls, data: ItemSets, names: pa.Array) -> ItemHolders:
        """Index the originals by the release's items; items that it does not name are dropped."""
        place = pc.fill_null(pc.index_in(data.names, value_set=names), -1).to_numpy()
        items = place[data.items].astype(np.int64)
        rows = np.repeat(np.arange(data.records), data.sizes)
        exact = ItemIndex.of(items[items >= 0], rows[items >= 0], len(names))
        return cls(names, data.records, exact, exact, exact)


def measure_set_accuracy(
    data: SetReleaseData, release: ItemHolders, original: ItemHolders | None
) -> list[QueryAccuracy]:
    """Answer fixed random queries, the same for everybody who has the release."""
    if len(release.base.records) == 0:
        return []
    asked = Queries.of(data)
    random = np.random.default_rng(0)
    sets = _by_record(release.base, release.records)
    found = []
    for size in PRESENT:
        large_enough = np.flatnonzero(sets.counts >= size)
        if len(large_enough):
            queries = [
                random.choice(sets.of_item(int(record)), size, replace=False)
                for record in random.choice(large_enough, QUERIES)
            ]
            kind = f"all of {_items(size)}" if size > 1 else _items(size)
            answers = _held(asked, data.column, release.names, queries)
            true = None
            if original is not None:
                true = np.array([original.base.holding(items) for items in queries], float)
            found.append(summarize_answers(kind, answers, true))
    for size in ABSENT:
        if np.count_nonzero(release.base.counts) >= size:
            shares = release.base.counts / release.base.counts.sum()
            queries = [
                random.choice(len(shares), size, replace=False, p=shares) for _ in range(QUERIES)
            ]
            kind = f"none of {_items(size)}"
            found.append(_absent(kind, queries, release, original))
    return found


def _by_record(index: ItemIndex, records: int) -> ItemIndex:
    """The inverse index: for each record, its items."""
    items = np.repeat(np.arange(len(index.counts)), index.counts)
    return ItemIndex.of(index.records, items, records)


def _items(number: int) -> str:
    return "1 item" if number == 1 else f"{number} items"


def _held(asked: Queries, column: str, names: pa.Array, queries: list[Int64Array]) -> Estimates:
    """Answer how many records hold all items of each query, as for analysts."""
    return asked.counts(
        [
            {
                column: tuple(
                    Condition(values=(name,)) for name in names.take(pa.array(items)).to_pylist()
                )
            }
            for items in queries
        ]
    )


def _absent(
    kind: str, queries: list[Int64Array], release: ItemHolders, original: ItemHolders | None
) -> QueryAccuracy:
    """Answer queries about absent items; items that may be held give the lower bound."""

    def count(index: ItemIndex) -> NDArray[np.float64]:
        return np.array([index.without(items, release.records) for items in queries], float)

    base, certain, possible = map(count, (release.base, release.certain, release.possible))
    answers = Estimates(base, possible, certain, np.zeros(len(base)))
    return summarize_answers(kind, answers, None if original is None else count(original.base))


def _pairs(lists: pa.ChunkedArray, names: pa.Array) -> tuple[Int64Array, Int64Array]:
    """All items of all lists by number, and the record of each."""
    items = pc.index_in(pc.list_flatten(lists), value_set=names).to_numpy().astype(np.int64)
    sizes = pc.list_value_length(lists).to_numpy().astype(np.int64)
    return items, np.repeat(np.arange(len(sizes)), sizes)


def _split(keys: Int64Array, universe: int) -> tuple[Int64Array, Int64Array]:
    """Items and records from keys of a pair."""
    rows, items = np.divmod(keys, max(universe, 1))
    return items, rows
