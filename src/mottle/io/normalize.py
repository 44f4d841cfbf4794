"""Tables in uniform types: what every reader does with a table before it is returned."""

from __future__ import annotations

import binascii
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.text.type_inference import blank_out
from mottle.utils.arrow import as_days, dictionary_order, is_plain

__all__ = ["mask_missing_markers", "normalize", "validate_table"]

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_HYPHENS = (8, 12, 16, 20)  # digits of a UUID before each of its hyphens


def normalize(table: pa.Table) -> pa.Table:
    """Give columns uniform types, independent of the tool that wrote them.

    Text and UUIDs become ``string``, bytes ``binary``, half floats ``float32``, decimals of up to
    38 digits ``decimal128`` without a negative scale, and ``date64`` days; seconds become
    milliseconds, which Parquet has; dictionaries are decoded unless they are ordered; the unnamed
    index of pandas and all metadata are dropped.

    Parameters
    ----------
    table : pyarrow.Table
        Any table.

    Returns
    -------
    pyarrow.Table
        The same cells in uniform types.

    Raises
    ------
    DataError
        A column holds values that its uniform type cannot hold.

    Examples
    --------
    >>> column = pa.array(["a", "b"], pa.large_string()).dictionary_encode()
    >>> normalize(pa.table({"letter": column, "__index_level_0__": [7, 8]})).schema
    letter: string
    """
    # Arrow makes the list of all names anew whenever it is asked for it.
    kept = {
        position: name
        for position, name in enumerate(table.column_names)
        if _PANDAS_INDEX.fullmatch(name) is None
    }
    columns = [_uniform(table.column(position), name) for position, name in kept.items()]
    return pa.Table.from_arrays(columns, names=list(kept.values()))


def validate_table(table: pa.Table, source: str) -> pa.Table:
    """Check that a table has rows, and columns with distinct names.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    source : str
        What it was read from, for the message.

    Returns
    -------
    pyarrow.Table
        The same table.

    Raises
    ------
    DataError
        A column has no name or the name of another one, or there are no rows or columns.
    """
    names = table.column_names
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"{source}: column {position} of {len(names)} has an empty name.",
                "Name every column in the header.",
            )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(
            f"{source}: duplicate column names: {', '.join(repeated)}.", "Rename or drop them."
        )
    if table.num_rows == 0 or not names:
        raise DataError(f"{source} has no rows.", "Give a table with at least one row.")
    return table


def mask_missing_markers(table: pa.Table, words: Sequence[str]) -> pa.Table:
    """Make text cells missing that hold one of the words.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    words : sequence of str
        Words that stand for a missing value.

    Returns
    -------
    pyarrow.Table
        The table with these cells missing.
    """
    columns = [
        blank_out(column, words) if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _uniform(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if isinstance(column.type, pa.BaseExtensionType):
        if column.type.extension_name == "arrow.uuid":
            return pa.chunked_array([_uuid_texts(chunk) for chunk in column.chunks], pa.string())
        storage = [chunk.storage for chunk in column.chunks]
        column = pa.chunked_array(storage, column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        return _uniform_dictionary(column, name)
    if pa.types.is_date64(column.type):
        return as_days(column, name)
    target = _uniform_type(column.type)
    if column.type == target:
        return column
    try:
        return pc.cast(column, target)
    except pa.ArrowInvalid:
        raise DataError(
            f"Column '{name}' holds {column.type} values that {target} cannot hold.",
            "Replace the extreme values by missing values or by a bound.",
        ) from None


def _uuid_texts(chunk: pa.ExtensionArray) -> pa.StringArray:
    """Write UUIDs as databases do: 32 digits in five groups."""
    stored = pc.fill_null(chunk.storage, bytes(16))
    first = 16 * stored.offset
    octets = memoryview(stored.buffers()[1])[first : first + 16 * len(stored)]
    digits = np.frombuffer(binascii.hexlify(octets), np.uint8).reshape(-1, 32)
    letters = np.insert(digits, _HYPHENS, ord("-"), axis=1)
    texts = pa.Array.from_buffers(
        pa.binary(36), len(stored), [None, pa.py_buffer(letters.tobytes())]
    )
    return pc.if_else(chunk.is_valid(), pc.cast(pc.cast(texts, pa.binary()), pa.string()), None)


def _uniform_dictionary(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Decode categories; where they are ordered, give all chunks one dictionary instead."""
    values = _uniform_type(column.type.value_type)
    if not is_plain(values):
        return column
    decoded = pa.chunked_array(
        [pc.cast(chunk.dictionary, values).take(chunk.indices) for chunk in column.chunks],
        values,
    )
    if not column.type.ordered:
        return decoded
    known = pc.cast(dictionary_order(column, name), values)
    kind = pa.dictionary(pa.int32(), values, ordered=True)
    chunks = [
        pa.DictionaryArray.from_arrays(pc.index_in(chunk, value_set=known), known, ordered=True)
        for chunk in decoded.chunks
    ]
    return pa.chunked_array(chunks, kind)


def _uniform_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if any(is_bytes(kind) for is_bytes in _BYTES):
        return pa.binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind):
        digits = kind.precision - min(kind.scale, 0)  # hundreds have two digits more than counted
        make = pa.decimal128 if digits <= 38 else pa.decimal256
        return make(min(digits, 76), max(kind.scale, 0))
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    if pa.types.is_time32(kind):
        return pa.time32("ms")
    return kind


_BYTES = (pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
