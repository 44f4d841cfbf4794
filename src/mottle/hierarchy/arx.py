"""ARX's CSV layout of a hierarchy.

A file has no header, one row per leaf and one column per level: the leaf (level 0), its
generalizations from narrow to wide, and the root ``*`` in the last column of every row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from os import PathLike

from mottle.errors import DataError, UsageError
from mottle.hierarchy.formats import FORMATS, HierarchyFormat, read_text
from mottle.hierarchy.validation import ROOT

__all__ = ["ARX", "read_rows"]

_DELIMITERS = {",": "','", ";": "';'", "\t": "a tab ('\\t')", "|": "'|'"}


class ARX(HierarchyFormat):
    """ARX's CSV layout: one row per leaf, from the leaf to the root."""

    name = "arx"
    title = "ARX's CSV layout"

    def detect(self, text: str) -> bool:
        """Tell whether every line ends in the root; see `HierarchyFormat.detect`."""
        lines = [line for line in text.splitlines() if line]
        return bool(lines) and all(line.rstrip('"').endswith(ROOT) for line in lines)

    def read(self, text: str, *, name: str, delimiter: str) -> list[list[str]]:
        """Read the cells, and point out another delimiter; see `HierarchyFormat.read`."""
        rows = _cells(text, name, delimiter)
        last_cells = [row[-1] for row in rows if row]
        for other, shown in _DELIMITERS.items():
            if other != delimiter and last_cells and all(other in cell for cell in last_cells):
                raise DataError(
                    f"{name}: split at {delimiter!r}, no row ends in the root '*'.",
                    f"Give the delimiter of the file, which looks like {shown}.",
                )
        return rows

    def write(self, rows: Sequence[Sequence[str]]) -> str:
        """Write the cells with ``;`` between them; see `HierarchyFormat.write`."""
        # csv quotes neither of these by itself, and a reader drops or splits at them unquoted
        fragile = any(mark in label for row in rows for label in row for mark in "\r\ufeff")
        text = io.StringIO(newline="")
        csv.writer(
            text,
            delimiter=";",
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if fragile else csv.QUOTE_MINIMAL,
        ).writerows(rows)
        return text.getvalue()


FORMATS.add(ARX())


def read_rows(
    path: str | PathLike[str], *, delimiter: str = ";", encoding: str = "utf-8-sig"
) -> list[list[str]]:
    r"""Read the cells of a file in ARX's layout as they are, for ``lint``.

    Parameters
    ----------
    path : str or path-like
        The file.
    delimiter : str
        The character between cells.
    encoding : str
        The encoding of the file, as Python names it.

    Returns
    -------
    list of list of str
        The cells of every line; an empty line is ``[]``.

    Raises
    ------
    StorageError
        The file cannot be read.
    UsageError
        The delimiter or the encoding is not valid.
    DataError
        The file is not text in that encoding, or not valid CSV.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "sex.csv")
    ...     _ = file.write_text("Male;*\nFemale\n", encoding="utf-8")
    ...     read_rows(file)
    [['Male', '*'], ['Female']]
    """
    _check_delimiter(delimiter)
    return _cells(read_text(path, encoding=encoding), str(path), delimiter)


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise UsageError(f"The delimiter {delimiter!r} cannot separate cells.", "Try ';' or ','.")


def _cells(text: str, name: str, delimiter: str) -> list[list[str]]:
    _check_delimiter(delimiter)
    try:
        lines = io.StringIO(text, newline="")
        return list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise DataError(f"{name} is not valid CSV: {error}.", "Look for a stray quote.") from error
