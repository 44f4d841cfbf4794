"""The owner's private link file: every edge of the graph, which edges are true, and the blocks.

Rows are ``published, original, true``, one per edge, a record's preimages in the order of the
graph's layers. The file's metadata hold two numbers for every released row. Its *block*: some draws
are made once per block, and what one known link reveals then depends on the block. Its *centre*,
the input row around which it was generalized: it tells whether anything was permuted at all.
The metadata also say how the original was read, and have a keyed fingerprint of it, so that other
commands read it in the same way and refuse another table. Releases over time add what the next one
needs (`mottle.io.link_history`).
"""

from __future__ import annotations

import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mottle.errors import DataError, StorageError
from mottle.schema.reading import ReadOptions
from mottle.utils.table_digest import Fingerprint
from mottle.utils.untrusted.arrow import LONGEST_TEXT, checked_schema, parquet_batches

if TYPE_CHECKING:
    from mottle.release.links import Links

COLUMNS = ("published", "original", "true")
_TYPES = pa.schema(zip(COLUMNS, (pa.int64(), pa.int64(), pa.bool_()), strict=True))
BLOCKS, CENTRES = b"mottle.blocks", b"mottle.centres"
FINGERPRINT, READING = b"mottle.fingerprint", b"mottle.reading"
HISTORY = b"mottle.history"
_ROWS_PER_BATCH = 1 << 20
_LARGEST = 1 << 33  # bytes of the numbers in the metadata: two billion rows


def private_file(path: Path) -> None:
    """Create an empty file that only its owner can read."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def about_original(
    fingerprint: Fingerprint | None, reading: ReadOptions | None
) -> dict[bytes, bytes]:
    """Return the metadata by which the original is read and recognized later."""
    recognized = {} if fingerprint is None else {FINGERPRINT: fingerprint.to_json().encode()}
    return recognized | ({} if reading is None else {READING: reading.to_json().encode()})


def write_links(
    links: Links,
    path: Path,
    reading: ReadOptions | None = None,
    further: Mapping[bytes, bytes] | None = None,
) -> None:
    """Write the link file, readable by its owner only.

    ``reading`` says how the table was read; ``further`` are more entries of the file's metadata.
    """
    private_file(path)
    numbers = {BLOCKS: pack(links.block_of_row), CENTRES: pack(links.centre_of_row)}
    original = about_original(links.fingerprint, reading)
    schema = links.SCHEMA.with_metadata({**numbers, **original, **(further or {})})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in links.batches():
            writer.write_batch(batch)


def pack(numbers: NDArray[np.integer]) -> bytes:
    """Numbers as text for the metadata."""
    return b64encode(zlib.compress(numbers.astype("<i4").tobytes()))


def unpack(packed: bytes | None) -> NDArray[np.int32] | None:
    """The numbers of `pack`; None where the file does not hold them."""
    if packed is None:
        return None
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(b64decode(packed, validate=True), _LARGEST)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError("too many numbers, or cut off")
    return np.frombuffer(content, "<i4")


class LinkFile:
    """A link file: its rows in batches, and the block and centre of every released row.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    StorageError
        There is no such file.
    DataError
        The file is not a link file.
    """

    SCHEMA = _TYPES  # of the batches
    metadata: dict[bytes, bytes]
    blocks: NDArray[np.int32] | None  # None when the file does not hold them
    centres: NDArray[np.int32] | None
    fingerprint: Fingerprint | None = None  # of the table; None if an old version wrote the file
    reading: ReadOptions | None = None  # how the table was read; None if that is not known

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise StorageError(f"There is no private link file {path}.", "Check the path.")
        self._path = path
        try:
            with pq.ParquetFile(path, thrift_string_size_limit=LONGEST_TEXT) as file:
                schema = checked_schema(file.schema_arrow, str(path))
                self.metadata = dict(file.metadata.metadata or {})
            self.blocks = unpack(self.metadata.get(BLOCKS))
            self.centres = unpack(self.metadata.get(CENTRES))
            recognized = self.metadata.get(FINGERPRINT)
            if recognized is not None:
                self.fingerprint = Fingerprint.from_json(recognized)
            if (read := self.metadata.get(READING)) is not None:
                self.reading = ReadOptions.from_json(read)
            rows = [len(numbers) for numbers in (self.blocks, self.centres) if numbers is not None]
            is_link_file = all(schema.names.count(name) == 1 for name in COLUMNS)
            is_link_file &= len(set(rows)) <= 1
        except (DataError, pa.ArrowException, OSError, ValueError, zlib.error):
            is_link_file = False
        if not is_link_file:
            raise self.not_a_link_file()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows with the columns published, original and true."""
        batches = parquet_batches(self._path, size=_ROWS_PER_BATCH, columns=COLUMNS)
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                typed = pa.Table.from_batches([batch]).select(COLUMNS).cast(_TYPES)
            except (DataError, pa.ArrowException):
                raise self.not_a_link_file() from None
            if any(column.null_count for column in typed.columns):
                raise self.not_a_link_file()
            yield from typed.to_batches()

    def true_originals(self, first: int, rows: int) -> list[int]:
        """Return the true originals of the first released rows.

        Parameters
        ----------
        first : int
            The number of rows in question.
        rows : int
            The number of rows of the release.

        Returns
        -------
        list of int
            Row numbers of the original, in the order of the release.

        Raises
        ------
        DataError
            The file is not a link file, or not that of a release with as many rows.
        """
        found: dict[int, int] = {}
        for batch in self.batches():
            published, original, true = (
                batch.column(name).to_numpy(zero_copy_only=False) for name in COLUMNS
            )
            for numbers in (published, original):
                if numbers.min(initial=0) < 0 or numbers.max(initial=0) >= rows:
                    raise other_release()
            wanted = true & (published < first)
            found |= zip(published[wanted].tolist(), original[wanted].tolist(), strict=True)
        return [found[row] for row in sorted(found)]

    def not_a_link_file(self) -> DataError:
        """Return the error for a file that is something else, or damaged."""
        return DataError(
            f"{self._path} is not a private link file.",
            f"It has to hold the columns {', '.join(COLUMNS)}, as mottle writes them.",
        )


def other_release() -> DataError:
    """Return the error for links that lead outside the release."""
    return DataError(
        "The private link file refers to rows that the release does not have.",
        "Give the file that was written together with the release.",
    )
