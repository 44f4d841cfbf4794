"""The process that reads a file of another program: its limits, and what it hands back.

It gets one request on its standard input and writes one line of JSON and then, unless something is
wrong, the rows as an Arrow stream to its standard output.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from mottle.errors import DataError, UsageError
from mottle.io.foreign.statistics import read_codebook, read_statistics
from mottle.io.foreign.workbook import read_workbook

__all__ = ["main"]

_ROWS_PER_BATCH = 1 << 16


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    out = _own_output()
    _limit(request["memory"], request["seconds"])
    warnings: list[str] = []
    codebook, table = None, None
    try:
        if request["codebook"]:
            found = read_codebook(Path(request["path"]))
            codebook = {name: variable.to_json() for name, variable in found.items()}
        else:
            table = _read(request, warnings.append)
    except (UsageError, DataError) as error:
        _say(out, error=type(error).__name__, problem=error.problem, remedy=error.remedy)
        return
    except MemoryError:
        _say(
            out,
            error="DataError",
            problem=f"{request['path']} takes more memory than is available.",
            remedy="Export it as CSV, and read that in parts: --memory 4GB.",
        )
        return
    except BaseException:  # compiled code also raises what is no Exception
        _say(out, damaged=True)
        return
    _say(out, warnings=warnings, codebook=codebook)
    if table is None:
        return
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table, max_chunksize=_ROWS_PER_BATCH)
    out.flush()


def _read(request: dict[str, Any], warn: Callable[[str], None]) -> pa.Table:
    path = Path(request["path"])
    if request["format"] == "excel":
        return read_workbook(
            path, request["sheet"], request["header_row"], request["missing"], warn
        )
    return read_statistics(path, warn, user_missing=request["user_missing"])


def _own_output() -> BinaryIO:
    """The standard output for this module alone: what parsers print goes nowhere."""
    out = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return out


def _say(out: BinaryIO, **content: object) -> None:
    out.write(json.dumps(content).encode() + b"\n")
    out.flush()


def _limit(memory: int, seconds: int) -> None:
    """Limit what this process may use; where the system has no such limits, without them."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows has none
        return
    limits = {"RLIMIT_DATA": memory, "RLIMIT_CPU": seconds, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0}
    for name, value in limits.items():
        with suppress(AttributeError, OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (value, value))
