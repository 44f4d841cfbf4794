"""Rows travel through Spark in bundles: cells of a binary column that hold many rows each.

Spark moves, shuffles and stores bundles as they are. Rows of their own would be converted between
Java and Python in every stage, cell by cell, which took most of the time of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

ROWS, BUNDLE = "rows", "bundle"  # columns: the number of rows of a bundle, and the bundle
MOST_ROWS = 1 << 14  # of a bundle: Spark buffers a hundred before it looks at their size
_SIZE = 8  # bytes in front of a bundle that tell its size before compression
_CODEC = "lz4"


def bundle(rows: pa.Table) -> bytes:
    """Make a bundle of rows.

    Parameters
    ----------
    rows : pa.Table
        The rows.

    Returns
    -------
    bytes
        The rows in Arrow's format, compressed.

    Examples
    --------
    >>> unbundle([bundle(pa.table({"age": [20]})), bundle(pa.table({"age": [30]}))]).to_pydict()
    {'age': [20, 30]}
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    content = sink.getvalue()
    size: int = content.size
    compressed: bytes = pa.compress(content, _CODEC, asbytes=True)
    return size.to_bytes(_SIZE, "little") + compressed


def unbundle(bundles: Iterable[bytes]) -> pa.Table:
    """Return the rows of one bundle or more, one after the other."""
    tables = []
    for content in bundles:
        size = int.from_bytes(content[:_SIZE], "little")
        plain = pa.decompress(memoryview(content)[_SIZE:], size, _CODEC)
        tables.append(pa.ipc.open_stream(plain).read_all())
    return pa.concat_tables(tables)


def slices(rows: pa.Table) -> Iterator[pa.Table]:
    """Cut rows into parts that are small enough for a bundle; no rows are no part."""
    for first in range(0, rows.num_rows, MOST_ROWS):
        yield rows.slice(first, MOST_ROWS)


def rows_of(batch: pa.RecordBatch | pa.Table, column: str = BUNDLE) -> pa.Table:
    """Return the rows of all bundles in a column."""
    return unbundle(batch.column(column).to_pylist())
