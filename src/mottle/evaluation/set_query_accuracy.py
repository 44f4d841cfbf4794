"""How well questions about sets are answered: records that hold some items, or none of them.

SET12's two types of queries (§5.2), on items that occur: those of type I take the items of one
record, those of type II items as frequent as they are in the release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.evaluation.query_accuracy import QueryAccuracy, measured
from mottle.itemsets.data import ItemSets
from mottle.queries import Estimates
from mottle.release.set_release import SetReleaseData
from mottle.typing import Int64Array

QUESTIONS = 200
PRESENT, ABSENT = (1, 2, 3), (2, 4)  # items in a question of type I and of type II


@dataclass(frozen=True, eq=False)
class ItemIndex:
    """By item: the records that hold it, ascending."""

    starts: Int64Array  # [items + 1]
    records: Int64Array

    @classmethod
    def of(cls, items: Int64Array, record_of: Int64Array, universe: int) -> ItemIndex:
        """From pairs of an item and a record, each pair once."""
        order = np.lexsort((record_of, items))
        counts = np.bincount(items, minlength=universe)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(starts, record_of[order])

    @property
    def counts(self) -> Int64Array:
        """How many records hold each item."""
        return np.diff(self.starts)

    def of_item(self, item: int) -> Int64Array:
        """The records that hold an item."""
        return self.records[self.starts[item] : self.starts[item + 1]]

    def holding(self, items: Int64Array) -> int:
        """How many records hold all of the items."""
        found = self.of_item(int(items[0]))
        for item in items[1:].tolist():
            found = np.intersect1d(found, self.of_item(item), assume_unique=True)
        return len(found)

    def without(self, items: Int64Array, records: int) -> int:
        """How many of the records hold none of the items."""
        return records - len(np.unique(np.concatenate([self.of_item(i) for i in items.tolist()])))


@dataclass(frozen=True, eq=False)
class Holders:
    """Who holds what: in base sets, for certain, and possibly."""

    names: pa.Array
    records: int
    base: ItemIndex
    certain: ItemIndex
    possible: ItemIndex

    @classmethod
    def of(cls, release: SetReleaseData) -> Holders:
        """The items and records of a release."""
        cells = release.table.column(release.column)
        base, uncertain = (pc.struct_field(cells, part) for part in ("base", "uncertain"))
        named = pa.chunked_array(
            [*pc.list_flatten(base).chunks, *pc.list_flatten(uncertain).chunks], pa.string()
        )
        names = named.unique()
        names = names.take(pc.sort_indices(names))
        held, doubted = (_pairs(lists, names) for lists in (base, uncertain))
        universe = len(names)
        keys_held, keys_doubted = (items + universe * rows for items, rows in (held, doubted))
        certain = _split(np.setdiff1d(keys_held, keys_doubted), universe)
        possible = _split(np.union1d(keys_held, keys_doubted), universe)
        return cls(
            names,
            release.table.num_rows,
            ItemIndex.of(*held, universe),
            ItemIndex.of(*certain, universe),
            ItemIndex.of(*possible, universe),
        )

    @classmethod
    def of_originals(cls, data: ItemSets, names: pa.Array) -> Holders:
        """The original, in the item numbers of the release; items that it does not name go."""
        place = pc.fill_null(pc.index_in(data.names, value_set=names), -1).to_numpy()
        items = place[data.items].astype(np.int64)
        rows = np.repeat(np.arange(data.records), data.sizes)
        exact = ItemIndex.of(items[items >= 0], rows[items >= 0], len(names))
        return cls(names, data.records, exact, exact, exact)


def measure_questions(release: Holders, original: Holders | None) -> list[QueryAccuracy]:
    """Ask fixed random questions, the same for everybody who has the release."""
    if len(release.base.records) == 0:
        return []
    random = np.random.default_rng(0)
    sets = _by_record(release.base, release.records)
    found = []
    for size in PRESENT:
        able = np.flatnonzero(sets.counts >= size)
        if len(able):
            asked = [
                random.choice(sets.of_item(int(record)), size, replace=False)
                for record in random.choice(able, QUESTIONS)
            ]
            words = "all of" if size > 1 else ""
            found.append(
                _answered(f"{words} {_items(size)}".strip(), asked, release, original, absent=False)
            )
    for size in ABSENT:
        if np.count_nonzero(release.base.counts) >= size:
            shares = release.base.counts / release.base.counts.sum()
            asked = [
                random.choice(len(shares), size, replace=False, p=shares) for _ in range(QUESTIONS)
            ]
            found.append(
                _answered(f"none of {_items(size)}", asked, release, original, absent=True)
            )
    return found


def _by_record(index: ItemIndex, records: int) -> ItemIndex:
    """The same the other way round: by record, its items."""
    items = np.repeat(np.arange(len(index.counts)), index.counts)
    return ItemIndex.of(index.records, items, records)


def _items(number: int) -> str:
    return "1 item" if number == 1 else f"{number} items"


def _answered(
    words: str, asked: list[Int64Array], release: Holders, original: Holders | None, *, absent: bool
) -> QueryAccuracy:
    def counted(index: ItemIndex) -> NDArray[np.float64]:
        if absent:
            return np.array([index.without(items, release.records) for items in asked], float)
        return np.array([index.holding(items) for items in asked], float)

    base, certain, possible = map(counted, (release.base, release.certain, release.possible))
    lowest, highest = (possible, certain) if absent else (certain, possible)
    answers = Estimates(base, lowest, highest, np.zeros(len(base)))
    true = None if original is None else counted(original.base)
    return measured(words, answers, true)


def _pairs(lists: pa.ChunkedArray, names: pa.Array) -> tuple[Int64Array, Int64Array]:
    """Items by number, and the record of each."""
    items = pc.index_in(pc.list_flatten(lists), value_set=names).to_numpy().astype(np.int64)
    sizes = pc.list_value_length(lists).to_numpy().astype(np.int64)
    return items, np.repeat(np.arange(len(sizes)), sizes)


def _split(keys: Int64Array, universe: int) -> tuple[Int64Array, Int64Array]:
    rows, items = np.divmod(keys, max(universe, 1))
    return items, rows
