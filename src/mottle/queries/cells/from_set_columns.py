"""Build the cells of set columns: published possible worlds, or ordinary lists (all certain)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.encoding.domain import Form
from mottle.encoding.set_columns import LISTS
from mottle.hierarchy.tree import Hierarchy
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.cells.items.index import Holding, Items
from mottle.release.cell_text import published_type
from mottle.typing import BoolArray, Int32Array, Int64Array

_ROWS = 1 << 14  # cells that are coded at once


def cells_of_worlds(
    name: str, cells: pa.Array | pa.ChunkedArray, hierarchy: Hierarchy | None = None
) -> ItemCells:
    """Return the distinct cells of a published column of sets, of nodes of a hierarchy or not.

    A million cells name a hundred million items: they are coded some rows at a time.
    """
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    pieces = [
        chunk.slice(first, _ROWS) for chunk in chunks for first in range(0, len(chunk), _ROWS)
    ]
    names = _item_names(pieces)
    marks = np.random.default_rng().integers(2**64, size=(len(names) + 2, 4), dtype=np.uint64)
    parts = [_Coded.of(piece, names) for piece in pieces]
    of_row, first = _distinct(parts, marks)
    count, universe = len(first), len(names)
    items = Items(name, names, hierarchy)
    holdings: list[list[tuple[Int32Array, Int32Array]]] = [[], [], []]
    distances, flags, uncertain = [], [], []
    row = 0
    for part in parts:
        rows = np.arange(row, row + part.rows)
        chosen = first[np.searchsorted(first, row) : np.searchsorted(first, row + part.rows)] - row
        numbers = np.full(part.rows, -1, np.int32)
        numbers[chosen] = of_row[rows[chosen]]
        distances.append(part.distance[chosen])
        flags.append(part.missing[chosen])
        uncertain.append(np.bincount(part.doubtful_row, minlength=part.rows)[chosen])
        in_base = numbers[part.base_row]
        doubted = numbers[part.doubtful_row]
        for holding, cell, item, wanted in (
            (holdings[0], in_base, part.base, in_base >= 0),
            (holdings[1], doubted, part.doubtful, (doubted >= 0) & part.based),
            (holdings[2], doubted, part.doubtful, (doubted >= 0) & ~part.based),
        ):
            holding.append((item[wanted], cell[wanted]))
        row += part.rows
    del parts
    return ItemCells(
        name=name,
        atoms=items,
        slots=None,
        slot_weights=np.zeros(0),
        first=np.zeros(count, np.int64),
        last=np.zeros(count, np.int64),
        missing=np.concatenate([np.zeros(0, np.bool_), *flags]),
        missing_weights=np.zeros(count),
        of_row=of_row,
        items=items,
        base=_joined(holdings[0], universe),
        doubtful_base=_joined(holdings[1], universe),
        doubtful_rest=_joined(holdings[2], universe),
        uncertain=np.concatenate([np.zeros(0, np.int64), *uncertain]),
        distance=np.concatenate([np.zeros(0, np.int64), *distances]),
    )


class _Coded(NamedTuple):
    """The cells of some rows as numbers; each item of a cell once, even in files of others."""

    rows: int
    base_row: Int32Array
    base: Int32Array
    doubtful_row: Int32Array
    doubtful: Int32Array
    based: BoolArray  # by uncertain item: whether it is in the base too
    distance: Int64Array  # [rows]; -1 for none
    missing: BoolArray  # [rows]

    @classmethod
    def of(cls, cells: pa.StructArray, names: pa.Array) -> _Coded:
        """Code some cells."""
        base, uncertain, distance, *flags = cells.flatten()
        missing = np.zeros(len(cells), np.bool_)  # a release of sets, in which none is missing
        if flags:
            missing = pc.fill_null(flags[0], False).to_numpy(zero_copy_only=False)
        width = max(len(names), 1)
        keys = []
        for lists in (base, uncertain):
            listed, row_of = _listed(lists)
            items = np.asarray(pc.index_in(listed, value_set=names)).astype(np.int64)
            keys.append(np.unique(row_of * width + items))
        (base_row, in_base), (doubtful_row, doubtful) = (np.divmod(key, width) for key in keys)
        return cls(
            len(cells),
            base_row.astype(np.int32),
            in_base.astype(np.int32),
            doubtful_row.astype(np.int32),
            doubtful.astype(np.int32),
            np.isin(keys[1], keys[0], assume_unique=True),
            pc.fill_null(distance, -1).to_numpy().astype(np.int64),
            missing,
        )

    def digests(self, marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """[rows, 2]: 128 bits for every cell, equal for equal cells.

        Sums of the random ``marks`` of items; whoever wrote the file does not know them, so that
        different cells have different digests.
        """
        found = marks[-1, :2] * self.distance.astype(np.uint64)[:, None]
        found += marks[-2, :2] * self.missing.astype(np.uint64)[:, None]
        for rows, items, of_item in (
            (self.base_row, self.base, marks[:, :2]),
            (self.doubtful_row, self.doubtful, marks[:, 2:]),
        ):
            ends = np.searchsorted(rows, np.arange(self.rows + 1))
            sums = np.zeros((len(items) + 1, 2), np.uint64)
            np.cumsum(of_item[items], axis=0, out=sums[1:])
            found += sums[ends[1:]] - sums[ends[:-1]]
        return found


def _distinct(parts: Sequence[_Coded], marks: NDArray[np.uint64]) -> tuple[Int32Array, Int64Array]:
    """The number of every row's cell, in the order of first occurrence, and its first row."""
    digests = [np.zeros((0, 2), np.uint64), *(part.digests(marks) for part in parts)]
    keys = np.ascontiguousarray(np.concatenate(digests)).view("V16").ravel()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place[number], first[order]


def _item_names(pieces: Sequence[pa.StructArray]) -> pa.Array:
    """All items that cells name, sorted by text."""
    found = [pc.unique(part.flatten()) for piece in pieces for part in piece.flatten()[:2]]
    names = pa.chunked_array(found, found[0].type if found else pa.string()).unique()
    return names.take(pc.sort_indices(names))


def _joined(entries: list[tuple[Int32Array, Int32Array]], universe: int) -> Holding:
    """Index the cells by item, from items and cells of consecutive rows; empties ``entries``."""
    sizes = np.zeros(universe, np.int64)
    for items, _ in entries:
        sizes += np.bincount(items, minlength=universe)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cells = np.empty(starts[-1], np.int32)
    filled = starts[:-1].copy()
    entries.reverse()
    while entries:
        items, numbers = entries.pop()
        order = np.argsort(items, kind="stable")
        ranked = items[order]
        within = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
        cells[filled[ranked] + within] = numbers[order]
        filled += np.bincount(items, minlength=universe)
    return Holding(starts, cells)


def cells_of_exact_sets(name: str, lists: pa.Array) -> ItemCells:
    """Return the distinct sets of an ordinary column of lists, each of them certain."""
    known = lists.is_valid()
    nothing = pc.if_else(known, pa.scalar([], LISTS), pa.scalar(None, LISTS))
    parts = [
        lists,
        nothing,
        pc.if_else(known, pa.scalar(0, pa.int32()), pa.scalar(None, pa.int32())),
        pc.invert(known),
    ]
    fields = list(published_type(Form.WORLDS, LISTS))
    worlds = pa.StructArray.from_arrays(parts, fields=fields)
    return cells_of_worlds(name, pa.chunked_array([worlds]))


def _listed(lists: pa.ListArray) -> tuple[pa.Array, Int64Array]:
    """All items of all lists, and the list that each belongs to."""
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    return lists.flatten(), np.repeat(np.arange(len(sizes)), sizes)


def holding_of(items: Int64Array, cells: Int64Array, universe: int) -> Holding:
    """Index the cells by item."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(items, minlength=universe))])
    return Holding(starts.astype(np.int64), cells[np.argsort(items, kind="stable")])
