"""The owner's links of a table that is published in chunks, in an additional column of its rows.

A published row of a chunk carries the input rows it may stand for, the true one and its block in
one additional column. Shuffling the rows therefore shuffles the links too; the last step removes
the column and writes the link file.
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

from mottle.io.link_file import BLOCKS, about_original, private_file
from mottle.release.links import Links
from mottle.schema.reading import ReadOptions
from mottle.typing import Int64Array
from mottle.utils.table_digest import Fingerprint

ROW = "row"  # column of coded rows: the number of a row in the input
LINKS = "mottle links"  # column of published rows
TYPE = pa.struct(
    [
        ("originals", pa.list_(pa.int64())),
        ("true", pa.int64()),
        ("chunk", pa.int64()),
        ("block", pa.int64()),
    ]
)
_MOST_BYTES = 60_000_000  # of blocks: readers of Parquet refuse metadata of more than 100 MB


def links_column(number: int, links: Links, rows: Int64Array) -> pa.Array:
    """Make the column of links of a chunk; ``rows`` are the input rows of its records."""
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
    """Writes the link file while the rows of a release are written in their order."""

    def __init__(
        self,
        path: Path,
        blocks: Sequence[int],
        fingerprint: Fingerprint | None = None,
        reading: ReadOptions | None = None,
    ) -> None:
        """Create the file; ``blocks`` are the numbers of blocks of all chunks."""
        path.unlink(missing_ok=True)  # left by an earlier attempt
        private_file(path)
        self.examples: list[int] = []  # the input rows of the first records
        self._before = np.concatenate([[0], np.cumsum(blocks)])
        self._written = 0
        self._packer = zlib.compressobj()
        self._packed: list[bytes] = []
        self._file = pq.ParquetWriter(path, Links.SCHEMA, compression="zstd")
        self._file.add_key_value_metadata(about_original(fingerprint, reading))

    def add(self, links: pa.ChunkedArray, examples: int) -> None:
        """Write the links of more rows; the true originals of the first ``examples`` are kept."""
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
        """Write the blocks, unless there are too many of them, and finish the file."""
        packed = b"".join([*self._packed, self._packer.flush()])
        if len(packed) * 4 // 3 <= _MOST_BYTES:
            self._file.add_key_value_metadata({BLOCKS: b64encode(packed)})
        self._file.close()
