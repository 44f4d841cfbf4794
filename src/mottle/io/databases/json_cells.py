"""Sets as JSON arrays, for databases that have no arrays."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["EXACT_DIGITS", "json_arrays"]

EXACT_DIGITS = 15  # decimal digits that a floating-point number keeps


def json_arrays(cells: pa.Array) -> pa.Array:
    """Return list cells as JSON arrays.

    Parameters
    ----------
    cells : pyarrow.Array
        Lists of values.

    Returns
    -------
    pyarrow.Array
        Texts; missing where the list is.

    Examples
    --------
    >>> json_arrays(pa.array([["a", None], None])).to_pylist()
    ['["a",null]', None]
    """
    offsets = pc.subtract(cells.offsets, cells.offsets[0])  # of a slice, moved to begin at 0
    members = pa.ListArray.from_arrays(offsets, _json_values(cells.flatten()))
    texts = pc.binary_join_element_wise("[", pc.binary_join(members, ","), "]", "")
    return pc.if_else(cells.is_valid(), texts, pa.scalar(None, pa.string()))


def _json_values(values: pa.Array) -> pa.Array:
    texts = pc.cast(values, pa.string())
    is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    exact = pa.types.is_decimal(values.type) and values.type.precision <= EXACT_DIGITS
    if not (is_number or exact or pa.types.is_boolean(values.type)):
        texts = pc.binary_join_element_wise('"', _json_escaped(texts), '"', "")
    return pc.fill_null(texts, "null")


def _json_escaped(texts: pa.Array) -> pa.Array:
    texts = pc.replace_substring(texts, "\\", "\\\\")
    texts = pc.replace_substring(texts, '"', '\\"')
    if pc.any(pc.match_substring_regex(texts, r"[\x00-\x1f]")).as_py():
        for code in range(0x20):
            texts = pc.replace_substring(texts, chr(code), f"\\u{code:04x}")
    return texts
