"""The items of a column of sets, and the cells that name each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError
from mottle.hierarchy.tree import Hierarchy
from mottle.queries.cells.atoms import Covered, Numbers
from mottle.queries.conditions import Condition, Conditions
from mottle.typing import Float64Array, Int32Array, Int64Array

_ENTRIES = 1 << 22  # of an index that are processed at once


@dataclass(frozen=True)
class Items:
    """The items of a column, instead of atoms: a record holds any number of them."""

    name: str
    values: pa.Array  # [items], sorted by text
    hierarchy: Hierarchy | None = None  # items are its nodes, none of them below another
    of_unknown_tree: bool = False  # they are nodes of a hierarchy that the release does not carry

    missing_measure = 1.0

    @property
    def measure(self) -> Float64Array:
        """Empty: items do not exclude one another, so they have no relative weights."""
        return np.zeros(0)

    prior = measure

    def covered(self, conditions: Conditions) -> Covered:
        """Raise: a set is not covered in part."""
        raise self._refusal("cannot be added up")

    def takes_missing(self, condition: Condition) -> bool:
        """Return whether it does: only if the condition says so."""
        return condition.missing

    def numbers(self, conditions: Conditions) -> Numbers:
        """Raise: sets are not numbers."""
        raise self._refusal("cannot be added up")

    def points(self) -> pa.Array:
        """Raise: a record may hold several items, so groups by item would overlap."""
        raise self._refusal("cannot be grouped by")

    def draw(self, atoms: Int64Array, random: np.random.Generator) -> pa.Array:
        """Return items by number."""
        return self.values.take(pa.array(atoms))

    def strangers(self, wanted: list[object]) -> list[object]:
        """Return those of the wanted items that no cell names."""
        known = set() if self.hierarchy is None else set(self.hierarchy.labels)
        return [
            item for item in wanted if str(item) not in self.place_of and str(item) not in known
        ]

    def below(self, item: str) -> Int64Array:
        """Return the items that a label stands for: itself, or those below it."""
        if item in self.place_of:
            return np.array([self.place_of[item]])
        if self.of_unknown_tree:
            raise UsageError(
                f"The release does not carry the hierarchy of column '{self.name}', whose nodes its"
                " cells hold; it can only be asked about items and nodes that cells name.",
                "Ask release.parquet, which carries it.",
            )
        extent = None if self.hierarchy is None else self.hierarchy.leaf_range(item)
        if extent is None:
            return np.empty(0, np.int64)
        first, last = self._extents
        return np.flatnonzero((first >= extent[0]) & (last <= extent[1]))

    def above(self, item: str) -> int | None:
        """Return the item that is published where a label is meant that lies below it."""
        extent = None if self.hierarchy is None else self.hierarchy.leaf_range(item)
        if extent is None or item in self.place_of:
            return None
        first, last = self._extents
        found = np.flatnonzero((first <= extent[0]) & (last >= extent[1]) & (first >= 0))
        if not len(found) or len(self.below(item)):
            return None
        return int(found[0])

    def leaves(self, item: str) -> int:
        """Return how many leaves of the hierarchy are below a label."""
        extent = None if self.hierarchy is None else self.hierarchy.leaf_range(item)
        return 1 if extent is None else extent[1] - extent[0] + 1

    @cached_property
    def _extents(self) -> tuple[Int64Array, Int64Array]:
        """The first and the last leaf below every item; -1 and -2 if it is not in the hierarchy."""
        assert self.hierarchy is not None
        ranges = [self.hierarchy.leaf_range(item) for item in self.values.to_pylist()]
        pairs = np.array([(-1, -2) if one is None else one for one in ranges], np.int64)
        pairs = pairs.reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The number of each item."""
        return {item: place for place, item in enumerate(self.values.to_pylist())}

    def _refusal(self, what: str) -> UsageError:
        return UsageError(
            f"Column '{self.name}' holds sets of items, which {what}.",
            f"Count the records that hold an item: {{'{self.name}': ITEM}}.",
        )


class Holding(NamedTuple):
    """For every item the distinct cells that name it: cells[starts[item]:starts[item + 1]]."""

    starts: Int64Array
    cells: Int32Array | Int64Array

    def naming(self, item: int) -> Int64Array:
        """Return the cells that name an item."""
        return self.cells[self.starts[item] : self.starts[item + 1]].astype(np.int64)

    def of(self, items: Int64Array, count: int) -> Int64Array:
        """[cells]: how many of the given items each cell names."""
        named = [self.cells[self.starts[item] : self.starts[item + 1]] for item in items]
        return np.bincount(np.concatenate([np.empty(0, np.int64), *named]), minlength=count)

    def blocks(self) -> Iterator[tuple[Int64Array, Int32Array | Int64Array]]:
        """Go through all entries, a few at a time: their items and their cells."""
        first, items = 0, len(self.starts) - 1
        while first < items:
            last = (
                int(np.searchsorted(self.starts, self.starts[first] + _ENTRIES, side="right")) - 1
            )
            last = min(max(last, first + 1), items)
            sizes = np.diff(self.starts[first : last + 1])
            named = self.cells[self.starts[first] : self.starts[last]]
            yield np.repeat(np.arange(first, last), sizes), named
            first = last

    def by_item(self, values: Float64Array | Int64Array) -> Float64Array:
        """[items]: the sum of values, given by cell, over the cells that name each."""
        sums = np.zeros(len(self.starts) - 1)
        for items, cells in self.blocks():
            sums += np.bincount(items, values[cells], minlength=len(sums))
        return sums

    def by_cell(self, values: Float64Array | None, count: int) -> Float64Array:
        """[cells]: the sum of values, given by item, over the items each names; None: how many."""
        sums = np.zeros(count)
        for items, cells in self.blocks():
            sums += np.bincount(cells, None if values is None else values[items], minlength=count)
        return sums
