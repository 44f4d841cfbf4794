"""Converting values to codes: functions that several kinds of columns share."""

from __future__ import annotations

import numpy as np

from mottle.kinds._arrow import arrow, pa, pc
from mottle.typing import Float64Array, Int32Array


def is_number(data_type: pa.DataType) -> bool:
    """Return whether values are whole numbers, floats or decimals."""
    return bool(
        pa.types.is_integer(data_type)
        or pa.types.is_floating(data_type)
        or pa.types.is_decimal(data_type)
    )


def is_date(data_type: pa.DataType) -> bool:
    """Return whether values are days or points in time."""
    return bool(pa.types.is_date(data_type) or pa.types.is_timestamp(data_type))


def without_dictionary(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values themselves where they are dictionary-encoded."""
    if pa.types.is_dictionary(values.type):
        return pc.cast(values, values.type.value_type)
    return values


def plain_values(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert values so that they compare correctly: bytes and times as text, NaN as missing."""
    values = without_dictionary(values)
    if pa.types.is_binary(values.type) or pa.types.is_time(values.type):
        return arrow.as_text(values, name)
    return plain_floats(values)


def plain_floats(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return floats with NaN as missing and -0.0 as 0.0; other values as they are."""
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        return pc.add(values, pa.scalar(0.0, values.type))
    return values


def nan_notes(values: pa.ChunkedArray, name: str) -> list[str]:
    """Say for the certificate how many NaN of a column were taken for missing, if any."""
    if not pa.types.is_floating(values.type):
        return []
    nans = pc.sum(pc.is_nan(values)).as_py() or 0
    return [f"Column '{name}': {nans} NaN cells are taken for missing."] if nans else []


def codes_of_distinct(values: pa.ChunkedArray) -> tuple[Int32Array, pa.Array]:
    """Code values by rank among the distinct ones, -1 for missing; return codes and values."""
    if pa.types.is_null(values.type):
        return np.full(len(values), -1, np.int32), pa.array([], values.type)
    encoded = pc.dictionary_encode(values)
    if encoded.num_chunks == 0:
        return np.empty(0, np.int32), pa.array([], values.type)
    encoded = encoded.unify_dictionaries()
    distinct = encoded.chunk(0).dictionary
    by_value = pc.sort_indices(distinct).to_numpy(zero_copy_only=False)
    rank = np.empty(len(distinct) + 1, np.int32)
    rank[by_value] = np.arange(len(distinct), dtype=np.int32)
    rank[-1] = -1  # where fill_null points
    indices = [
        pc.fill_null(chunk.indices, len(distinct)).to_numpy(zero_copy_only=False)
        for chunk in encoded.chunks
    ]
    return rank[np.concatenate(indices)], distinct.take(pa.array(by_value))


def codes_in(values: pa.ChunkedArray, known: pa.Array) -> Int32Array:
    """Code values by position in ``known``, -1 for missing and for unknown values."""
    indices = pc.fill_null(pc.index_in(values, value_set=known), -1)
    codes: Int32Array = indices.to_numpy().astype(np.int32, copy=False)
    return codes


def only_present(indices: Int32Array, known: pa.Array) -> tuple[Int32Array, pa.Array]:
    """Drop the values that no row has."""
    present = np.unique(indices[indices >= 0])
    renumber = np.full(len(known) + 1, -1, np.int32)
    renumber[present] = np.arange(len(present), dtype=np.int32)
    return renumber[indices], known.take(pa.array(present))


def positions_by_value(present: pa.Array) -> Float64Array:
    """Return the distance of each of some ascending numbers or days from the lowest.

    The lowest is subtracted before anything is rounded, so that neighbours far from zero stay
    separate, and floats are scaled by a power of two first, so that no difference overflows.
    """
    if pa.types.is_decimal(present.type):
        values = present.to_pylist()
        return np.array([float(value - values[0]) for value in values])
    if pa.types.is_floating(present.type):
        floats = present.to_numpy(zero_copy_only=False).astype(np.float64)
        _, exponent = np.frexp(np.abs(floats).max())
        scaled = np.ldexp(floats, -exponent)
        return np.asarray(scaled - scaled[0])
    integers = pc.cast(present, pa.int32()) if pa.types.is_date(present.type) else present
    unsigned = integers.to_numpy(zero_copy_only=False).astype(np.uint64)  # modulo 2^64
    return np.asarray(unsigned - unsigned[0], np.float64)
