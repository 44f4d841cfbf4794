"""The owner's private link file: every edge of the graph, which edges are true, and the blocks.

Rows are ``published, original, true``, one per edge, a record's preimages in the order of the
graph's layers. The block of every released row lies in the file's metadata: some draws are made
once per block, and what one known link gives away then depends on the block.
"""

from __future__ import annotations

import os
import zlib
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mottle.errors import DataError, StorageError

if TYPE_CHECKING:
    from mottle.release import Links

COLUMNS = ("published", "original", "true")
_BLOCKS = b"mottle.blocks"


def write_links(links: Links, path: Path) -> None:
    """Write the link file, readable by its owner only."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    blocks = b64encode(zlib.compress(links.block_of_row.astype("<i4").tobytes()))
    schema = links.SCHEMA.with_metadata({_BLOCKS: blocks})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in links.batches():
            writer.write_batch(batch)


def read_links(path: Path) -> tuple[pa.Table, NDArray[np.int32] | None]:
    """Read a link file: its rows, and the block of every released row (None when it is not said).

    Raises `StorageError` when there is no such file and `DataError` when it is something else.
    """
    if not path.is_file():
        raise StorageError(f"There is no private link file {path}.", "Check the path.")
    try:
        table = pq.read_table(path)
        packed = (table.schema.metadata or {}).get(_BLOCKS)
        blocks = None
        if packed is not None:
            blocks = np.frombuffer(zlib.decompress(b64decode(packed, validate=True)), "<i4")
        types = pa.schema(zip(COLUMNS, (pa.int64(), pa.int64(), pa.bool_()), strict=True))
        table = table.select(COLUMNS).cast(types)
        broken = any(column.null_count for column in table.columns)
    except (pa.ArrowException, OSError, KeyError, ValueError, zlib.error):
        broken = True
    if broken:
        raise DataError(
            f"{path} is no private link file.",
            f"It has to hold the columns {', '.join(COLUMNS)}, as mottle writes them.",
        )
    return table, blocks
