"""Reads a file of another program in a process of its own, and validates what comes back."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from mottle.errors import DataError, MottleError, UsageError
from mottle.io.foreign.codebook import Codebook, codebook_of_json
from mottle.io.foreign.formats import Format, format_of
from mottle.schema.reading import ReadOptions
from mottle.utils.untrusted.arrow import checked_schema, reporting_damage
from mottle.utils.untrusted.memory import available_memory, check_fits
from mottle.utils.untrusted.text import parse_json

__all__ = ["foreign_batches", "foreign_codebook", "read_foreign"]

_logger = logging.getLogger(__name__)

_START = "from mottle.io.foreign.worker import main; main()"
_LONGEST_ANSWER = 1 << 24  # bytes of the line before the rows
_SECONDS = 30  # of computing, and more for large files
_BYTES_PER_SECOND = 100_000
_ERRORS: dict[str, type[MottleError]] = {"DataError": DataError, "UsageError": UsageError}


def read_foreign(path: Path, found: Format, options: ReadOptions) -> pa.Table:
    """Read a workbook or a file of a statistics package.

    Parameters
    ----------
    path : Path
        The file.
    found : Format
        Its format.
    options : ReadOptions
        The sheet and the row of the header, and words for missing values.

    Returns
    -------
    pyarrow.Table
        All rows.

    Raises
    ------
    DataError
        The file is damaged, is no table, or takes more memory than there is.
    UsageError
        The package that reads it is not installed, or it is not clear which sheet is meant.
    """
    return pa.Table.from_batches(list(foreign_batches(path, found, options)))


def foreign_batches(path: Path, found: Format, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Read a workbook or a file of a statistics package in batches; as `read_foreign`.

    Parameters
    ----------
    path : Path
        The file.
    found : Format
        Its format.
    options : ReadOptions
        How it is read.

    Yields
    ------
    pyarrow.RecordBatch
        The rows; at least one batch.
    """
    with _child(path, found, options) as (_, stream):
        yield from _rows(stream, path)


def foreign_codebook(path: Path, found: Format) -> Codebook:
    """Read what a file of a statistics package says about its columns; errors as `read_foreign`.

    Parameters
    ----------
    path : Path
        The file.
    found : Format
        Its format.

    Returns
    -------
    Codebook
        Labels, codes and levels of measurement by column.
    """
    with _child(path, found, ReadOptions(), codebook=True) as (answer, _):
        return codebook_of_json(answer["codebook"])


@contextmanager
def _child(
    path: Path, found: Format, options: ReadOptions, *, codebook: bool = False
) -> Iterator[tuple[Any, IO[bytes]]]:
    """Start the process that reads a file; gives its answer and the stream of rows behind it."""
    found.package.load()
    size = path.stat().st_size
    check_fits(size, str(path))
    request = {
        "path": str(path),
        "format": found.name,
        "sheet": options.sheet,
        "header_row": options.header_row,
        "missing": options.missing,
        "user_missing": options.user_missing,
        "codebook": codebook,
        "memory": available_memory(),
        "seconds": _SECONDS + size // _BYTES_PER_SECOND,
    }
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
    }
    with subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with process.stdin as stdin:
                stdin.write(json.dumps(request).encode())
            yield _answer(process.stdout, path), process.stdout
        finally:
            process.kill()


def _answer(stream: IO[bytes], path: Path) -> Any:
    """Read what the child says before the rows: warnings, or what is wrong."""
    line = stream.readline(_LONGEST_ANSWER)
    if not line.endswith(b"\n"):  # it was ended by a signal
        raise DataError(
            f"{path} is damaged, or takes more memory or time than is available.",
            "Open it in the program that wrote it and save it again, or export it as CSV.",
        )
    answer: Any = parse_json(line)
    if "error" in answer:
        raise _ERRORS[answer["error"]](answer["problem"], answer["remedy"])
    if "damaged" in answer:
        raise DataError(
            f"{path} cannot be read as {_title(path)}: it is damaged, incomplete or another"
            " type of file.",
            "Open it in the program that wrote it and save it again, or export it as CSV.",
        )
    for warning in answer["warnings"]:
        _logger.warning("%s", warning)
    return answer


def _title(path: Path) -> str:
    """What the name of a file says that it is."""
    named = format_of(path)
    assert named is not None
    return named.title


def _rows(stream: IO[bytes], path: Path) -> Iterator[pa.RecordBatch]:
    name = str(path)
    with reporting_damage(name):
        reader = pa.ipc.open_stream(stream)
        schema = checked_schema(reader.schema, name)
    count = 0
    while True:
        with reporting_damage(name):
            batch = next(reader, None)
            if batch is None:
                break
            batch.validate(full=True)
        count += 1
        yield batch
    if not count:
        yield pa.RecordBatch.from_pylist([], schema=schema)
