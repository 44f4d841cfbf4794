"""The items of a column of sets, and the cells that name each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError
from mottle.queries.cells.atoms import Covered, Numbers
from mottle.queries.conditions import Condition, Conditions
from mottle.typing import Float64Array, Int32Array, Int64Array

_ENTRIES = 1 << 22  # of an index that are processed at once


@dataclass(frozen=True)
class Items:
    """The items of a column, instead of atoms: a record holds any number of them."""

    name: str
    values: pa.Array  # [items], sorted by text

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
        return [item for item in wanted if str(item) not in self.place_of]

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
