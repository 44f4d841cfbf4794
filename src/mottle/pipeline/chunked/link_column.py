"""The owner's links of a table that is published in chunks: they travel beside the rows.

A published row of a chunk carries the input rows it may stand for, the true one and its block in
one more column. So whatever shuffles the rows shuffles the links, and the last step takes the
column off and writes the link file.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mottle.io.link_file import BLOCKS, private_file
from mottle.release.links import Links
from mottle.typing import Int64Array

ROW = "row"  # the number of a row in the input, beside its codes
LINKS = "mottle links"  # beside the published columns
TYPE = pa.struct(
    [
        ("originals", pa.list_(pa.int64())),
        ("true", pa.int64()),
        ("chunk", pa.int64()),
        ("block", pa.int64()),
    ]
)
_MOST_BYTES = 60_000_000  # of blocks: Parquet's readers take no metadata of more than 100 MB


def links_column(number: int, links: Links, rows: Int64Array) -> pa.Array:
    """The links of every row of chunk ``number``; ``rows`` are the input rows of its records."""
    blocks = links.block_of_row
    degrees = links.graph.degrees[blocks].astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    originals = np.concatenate([batch.column("original").to_numpy() for batch in links.batches()])
    return pa.StructArray.from_arrays(
        [
            pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows[originals])),
            pa.array(rows[links.original_of_row]),
            pa.array(np.full(len(blocks), number, np.int64)),
            pa.array(blocks.astype(np.int64)),
        ],
        fields=list(TYPE),
    )


class LinkWriter:
    """Writes the link file while the rows of a release pass in their order."""

    def __init__(self, path: Path, blocks: Sequence[int]) -> None:
        """``blocks``: how many every chunk has."""
        path.unlink(missing_ok=True)  # of an earlier attempt
        private_file(path)
        self.examples: list[int] = []  # the input rows of the first records
        self._before = np.concatenate([[0], np.cumsum(blocks)])
        self._written = 0
        self._packer = zlib.compressobj()
        self._packed: list[bytes] = []
        self._file = pq.ParquetWriter(path, Links.SCHEMA, compression="zstd")

    def add(self, links: pa.ChunkedArray, examples: int) -> None:
        """The links of some more rows; the first so many of all are kept to be shown."""
        for part in links.chunks:
            originals, true, chunk, block = part.flatten()
            self.examples += true.slice(0, max(examples - len(self.examples), 0)).to_pylist()
            degrees = pc.list_value_length(originals).to_numpy()
            published = self._written + np.repeat(np.arange(len(part)), degrees)
            listed = originals.flatten().to_numpy()
            is_true = listed == np.repeat(true.to_numpy(), degrees)
            batch = pa.RecordBatch.from_arrays([published, listed, is_true], schema=Links.SCHEMA)
            self._file.write_batch(batch)
            numbers = self._before[chunk.to_numpy()] + block.to_numpy()
            self._packed.append(self._packer.compress(numbers.astype("<i4").tobytes()))
            self._written += len(part)

    def close(self) -> None:
        """Say the blocks, unless they are too many, and finish the file."""
        packed = b"".join([*self._packed, self._packer.flush()])
        if len(packed) * 4 // 3 <= _MOST_BYTES:
            self._file.add_key_value_metadata({BLOCKS: b64encode(packed)})
        self._file.close()
