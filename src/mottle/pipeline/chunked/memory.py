"""The number of rows of a chunk with which a run stays within a given memory."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mottle import methods
from mottle.errors import UsageError

_GIGABYTE = 10**9
DEFAULT_MEMORY = "4GB"
BASE_BYTES = 700 * 10**6  # the program itself: libraries, compiled kernels, domains, buffers
SMALLEST_MEMORY = 1 * _GIGABYTE
# Most rows of a chunk: larger chunks do not reduce the loss, and an interruption would discard
# more work.
MOST_ROWS = 1_000_000
_BYTES_OF_SETS = 5  # for each byte of their text
FEWEST_ROWS = 20_000  # fewest rows of a chunk, if memory allows them


def memory_bytes(memory: str | int) -> int:
    """Read a memory size as people write it.

    Parameters
    ----------
    memory : str or int
        For instance ``"4GB"``, or a number of bytes.

    Returns
    -------
    int
        The number of bytes.

    Raises
    ------
    UsageError
        The text is not a memory size, or the size is too small.

    Examples
    --------
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
            f"{memory} of memory is too little: the program itself needs"
            f" {BASE_BYTES / _GIGABYTE:g} GB.",
            f"Give at least {SMALLEST_MEMORY // _GIGABYTE}GB.",
        )
    return amount


def domain_bytes(set_bytes: Mapping[str, int]) -> int:
    """Return the bytes that the different sets of columns need, given those of their text.

    They are kept as lists of item numbers, as lists of text and as one text each.
    """
    return _BYTES_OF_SETS * sum(set_bytes.values())


def check_sets_fit(set_bytes: Mapping[str, int], memory: int) -> None:
    """Refuse columns whose different sets leave less than half of the memory for rows.

    Parameters
    ----------
    set_bytes : mapping of str to int
        By column of sets: the bytes of the text of its different sets.
    memory : int
        Bytes that the process may use.

    Raises
    ------
    UsageError
        The sets need more memory.
    """
    needed = domain_bytes(set_bytes)
    if needed > (memory - BASE_BYTES) // 2:
        largest = max(set_bytes, key=lambda name: set_bytes[name])
        enough = -(-(BASE_BYTES + 2 * needed) // _GIGABYTE)
        raise UsageError(
            f"Column '{largest}' holds so many different sets of items that they need"
            f" {needed / _GIGABYTE:.1f} GB of memory.",
            f"Give --memory {enough}GB, or leave out items that few records hold.",
        )


def rows_per_chunk(memory: int, method: str, degree: int, columns: int, row_bytes: float) -> int:
    """Return how many rows fit into memory while a chunk is worked on (docs/scale.md).

    Parameters
    ----------
    memory : int
        Bytes that the process may use.
    method : str
        The name of a method that works in chunks.
    degree : int
        The number of edges per record.
    columns : int
        The number of quasi-identifiers.
    row_bytes : float
        Bytes per row of the columns that are published unchanged.

    Returns
    -------
    int
        The most rows of a chunk.
    """
    chunking = methods.get(method).chunking
    assert chunking is not None, "the driver picks methods that work in chunks"
    edges = chunking.bytes_per_edge * degree
    per_row = 250 + 130 * columns + edges + 6 * row_bytes
    rows = int((memory - BASE_BYTES) * 0.8 / per_row)
    return max(min(rows, MOST_ROWS), min(FEWEST_ROWS, rows), 4 * degree)
