"""Recognizes a release where an original is expected: generalized cells are not values of people.

A range or a set that is taken for a value becomes a category of its own; a release made from it
promises nothing about anybody. A release is recognized by its folder, by the certificate next to
it, by the metadata of its Parquet file, and, where none of them is left, by the cells.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, StorageError
from mottle.release.column import METADATA_KEY
from mottle.utils.untrusted.text import parse_json, read_text

__all__ = ["refuse_generalized_cells", "refuse_release_file", "refuse_release_metadata"]

_CERTIFICATE = "certificate.json"
_ORIGINAL = "Name the table that the release was made from."
_SET = r"^\{.*\|.*\}$"  # {a|b}
_NUMBER, _DAY = r"-?\d+(\.\d+)?(e[+-]?\d+)?", r"\d{4}-\d\d-\d\d"
_RANGE = rf"^({_NUMBER}\.\.{_NUMBER}|{_DAY}\.\.{_DAY})$"  # 20..29
_FEWEST = 2  # cells of a column that have to look generalized
_SHARE = 0.001
_LOOKED_AT = 1 << 12  # values that show whether a column repeats its own


def refuse_release_file(path: Path) -> None:
    """Refuse the folder of a release and the files that its certificate lists.

    Parameters
    ----------
    path : Path
        The input.

    Raises
    ------
    DataError
        It is a release.
    """
    if os.path.isdir(path):
        if os.path.isfile(path / _CERTIFICATE):
            raise DataError(f"{path} is a release, not an original table.", _ORIGINAL)
        return
    if path.name in _certified(path.parent / _CERTIFICATE):
        raise DataError(
            f"{path} is a file of the release whose certificate lies next to it, not an original"
            " table.",
            _ORIGINAL,
        )


def refuse_release_metadata(schema: pa.Schema, source: str) -> None:
    """Refuse a table whose columns say in their metadata that they are published.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns as they were read.
    source : str
        What was read, for the message.

    Raises
    ------
    DataError
        It is a release.
    """
    for column in schema:
        if METADATA_KEY in (column.metadata or {}):
            raise DataError(
                f"{source} is a release: the metadata of column '{column.name}' say so.", _ORIGINAL
            )


def refuse_generalized_cells(table: pa.Table, source: str) -> None:
    """Refuse a table with cells such as ``{a|b}`` and ``1..5``.

    Parameters
    ----------
    table : pyarrow.Table
        What was read.
    source : str
        Its name, for the message.

    Raises
    ------
    DataError
        A text column has such cells.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        cells = _generalized(column)
        if cells >= _FEWEST and cells >= _SHARE * len(column):
            raise DataError(
                f"Column '{name}' of {source} has {cells:,} cells like {{a|b}} or 1..5, as releases"
                " have: this seems to be a release, not an original table.",
                f"{_ORIGINAL} If these are values of the original, add --allow-generalized"
                " (allow_generalized = true in the table [read] of mottle.toml).",
            )


def _generalized(column: pa.ChunkedArray) -> int:
    """Count cells in the notation of releases; the patterns are tried only where they may match."""
    counts = None
    first = column.slice(0, _LOOKED_AT)
    if 2 * len(pc.unique(first)) <= len(first) < len(column):  # values most probably repeat
        counted = pc.value_counts(column)
        column, counts = counted.field("values"), counted.field("counts")
    suspects = pc.or_(pc.starts_with(column, "{"), pc.match_substring(column, ".."))
    if not pc.any(suspects).as_py():
        return 0
    cells = column.filter(suspects)
    matches = [pc.match_substring_regex(cells, one) for one in (_SET, _RANGE)]
    if counts is not None:
        of_cell = counts.filter(suspects)
        return sum(pc.sum(of_cell.filter(one)).as_py() or 0 for one in matches)
    return sum(pc.sum(one).as_py() or 0 for one in matches)


def _certified(certificate: Path) -> list[str]:
    """The files that a certificate lists; none if there is no certificate of mottle."""
    try:
        content = parse_json(read_text(certificate))
        return list(content["sha256"]) if "mottle" in content else []
    except (StorageError, ValueError, TypeError, KeyError):
        return []
