r"""Published sets as typed Arrow cells and as text.

In Parquet and Arrow a cell is struct<base: list, uncertain: list, distance: int>. In CSV it is
three cells, named after the column with ``.base``, ``.uncertain`` and ``.distance``: sets as
``{milk|tea}``, the empty one as ``{}``, with the escapes of `mottle.release.cell_text`.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.release.cell_text import PARTS as PARTS
from mottle.release.cell_text import parse_cell, value_text

TYPE = pa.struct(
    [
        ("base", pa.list_(pa.string())),
        ("uncertain", pa.list_(pa.string())),
        ("distance", pa.int32()),
    ]
)


def to_text(cells: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Convert typed cells to their three parts, sets as text.

    >>> cell = {"base": ["a", "b|c"], "uncertain": [], "distance": 0}
    >>> [part.to_pylist() for part in to_text(pa.array([cell], TYPE))]
    [['{a|b\\\\|c}'], ['{}'], [0]]
    """
    base, uncertain, distance = cells.flatten()
    return _set_text(base), _set_text(uncertain), distance


def from_text(base: pa.Array, uncertain: pa.Array, distance: pa.Array) -> pa.Array:
    """Read typed cells from their parts; the inverse of `to_text`. Raises `DataError` otherwise.

    >>> from_text(pa.array(["{}"]), pa.array(["{x}"]), pa.array([1])).to_pylist()
    [{'base': [], 'uncertain': ['x'], 'distance': 1}]
    """
    try:
        parts = [_sets(base), _sets(uncertain), pc.cast(distance, pa.int32())]
    except (pa.ArrowException, ValueError):
        raise DataError("A cell is not a set of items.") from None
    return pa.StructArray.from_arrays(parts, fields=list(TYPE))


def _set_text(lists: pa.Array) -> pa.Array:
    offsets = pc.subtract(lists.offsets, lists.offsets[0])  # of a slice, moved to begin at 0
    members = pa.ListArray.from_arrays(offsets, value_text(lists.flatten()))
    return pc.binary_join_element_wise("{", pc.binary_join(members, "|"), "}", "")


def _sets(texts: pa.Array) -> pa.Array:
    return pa.array([_items(text) for text in texts.to_pylist()], pa.list_(pa.string()))


def _items(text: str | None) -> list[str]:
    if text is None or not (text.startswith("{") and text.endswith("}")):
        raise ValueError("not a set")
    if text == "{}":
        return []
    items: list[str] = []
    for lowest, highest in parse_cell(text):
        if lowest is None or lowest != highest:
            raise ValueError("not an item")
        items.append(lowest)
    return items
