"""How many rows a chunk may have so that a run stays within the memory it was given."""

from __future__ import annotations

import re

from mottle import methods
from mottle.errors import UsageError

_GIGABYTE = 10**9
BASE_BYTES = 700 * 10**6  # the program itself: libraries, compiled kernels, domains, buffers
SMALLEST_MEMORY = 1 * _GIGABYTE
MOST_ROWS = 1_000_000  # of a chunk: more gain nothing, fewer are lost with an interruption
FEWEST_ROWS = 20_000


def memory_bytes(memory: str | int) -> int:
    """How much memory a run may take, as people write it.

    >>> memory_bytes("4GB"), memory_bytes("1.5 GiB"), memory_bytes(2_000_000_000)
    (4000000000, 1610612736, 2000000000)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?", str(memory).strip().lower())
    if match is None:
        raise UsageError(
            f"'{memory}' is not a valid memory size.", "Write for instance --memory 4GB."
        )
    number, prefix, binary = match.groups()
    step = 1024 if binary else 1000
    amount = int(float(number) * step ** " kmgt".index(prefix or " "))
    if amount < SMALLEST_MEMORY:
        raise UsageError(
            f"{memory} of memory is too little: the program itself takes"
            f" {BASE_BYTES / _GIGABYTE:g} GB.",
            f"Give at least {SMALLEST_MEMORY // _GIGABYTE}GB.",
        )
    return amount


def rows_per_chunk(memory: int, method: str, degree: int, columns: int, row_bytes: float) -> int:
    """How many rows fit into memory at once while a chunk is worked on (docs/scale.md).

    ``columns``: quasi-identifiers; ``row_bytes``: of the columns that are published as they are.
    """
    chunking = methods.get(method).chunking
    assert chunking is not None, "the driver picks methods that work in chunks"
    edges = chunking.bytes_per_edge * degree
    per_row = 250 + 130 * columns + edges + 6 * row_bytes
    rows = int((memory - BASE_BYTES) * 0.8 / per_row)
    return max(min(rows, MOST_ROWS), min(FEWEST_ROWS, rows), 4 * degree)
