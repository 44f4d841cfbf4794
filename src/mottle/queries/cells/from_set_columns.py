"""Build the cells of set columns: published possible worlds, or ordinary lists (all certain)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Form
from mottle.encoding.set_columns import LISTS
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.cells.items.index import Holding, Items
from mottle.release.cell_text import PARTS, published_type, to_texts
from mottle.typing import Int64Array


def cells_of_worlds(name: str, cells: pa.StructArray) -> ItemCells:
    """Return the distinct cells of a published column of sets."""
    if cells.type.num_fields == len(PARTS):  # a release of sets, in which none is missing
        flags = pa.array(np.zeros(len(cells), np.bool_))
        fields = list(published_type(Form.WORLDS, cells.type.field(0).type))
        cells = pa.StructArray.from_arrays([*cells.flatten(), flags], fields=fields)
    parts = [pc.fill_null(part, "") for part in to_texts(cells, Form.WORLDS)]
    # With the length of the first part, no two cells have the same text, whatever items are called.
    length = pc.cast(pc.utf8_length(parts[0]), pa.string())
    texts = pc.binary_join_element_wise(length, *parts, "|").dictionary_encode()
    of_row = texts.indices.to_numpy().astype(np.int32)
    _, first = np.unique(of_row, return_index=True)
    base, uncertain, distance, missing = cells.take(pa.array(first)).flatten()
    listed = [_listed(part) for part in (base, uncertain)]
    coded = pa.concat_arrays([part for part, _ in listed]).dictionary_encode()
    names = coded.dictionary.take(pc.sort_indices(coded.dictionary))
    numbers = np.asarray(pc.index_in(pa.concat_arrays([p for p, _ in listed]), value_set=names))
    in_base, doubtful = np.split(numbers.astype(np.int64), [len(listed[0][0])])
    width = max(len(names), 1)
    # Each item of a cell once, even in files of others.
    (cell_of_base, in_base), (cell_of_doubtful, doubtful) = (
        np.divmod(np.unique(cell_of * width + items), width)
        for (_, cell_of), items in zip(listed, (in_base, doubtful), strict=True)
    )
    known = np.isin(
        cell_of_doubtful * width + doubtful,
        cell_of_base * width + in_base,
    )
    universe, count = len(names), len(first)
    flags = pc.fill_null(missing, False).to_numpy(zero_copy_only=False)
    return ItemCells(
        name=name,
        atoms=Items(name, names),
        slots=None,
        slot_weights=np.zeros(0),
        first=np.zeros(count, np.int64),
        last=np.zeros(count, np.int64),
        missing=flags,
        missing_weights=np.zeros(count),
        of_row=of_row,
        items=Items(name, names),
        base=holding_of(in_base, cell_of_base, universe),
        doubtful_base=holding_of(doubtful[known], cell_of_doubtful[known], universe),
        doubtful_rest=holding_of(doubtful[~known], cell_of_doubtful[~known], universe),
        uncertain=np.bincount(cell_of_doubtful, minlength=count),
        distance=pc.fill_null(distance, -1).to_numpy().astype(np.int64),
    )


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
    return cells_of_worlds(name, pa.StructArray.from_arrays(parts, fields=fields))


def _listed(lists: pa.ListArray) -> tuple[pa.Array, Int64Array]:
    """All items of all lists, and the list that each belongs to."""
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    return lists.flatten(), np.repeat(np.arange(len(sizes)), sizes)


def holding_of(items: Int64Array, cells: Int64Array, universe: int) -> Holding:
    """Index the cells by item."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(items, minlength=universe))])
    return Holding(starts.astype(np.int64), cells[np.argsort(items, kind="stable")])
