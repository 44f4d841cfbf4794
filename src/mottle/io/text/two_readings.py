"""Columns whose numbers a notation reads in another way than they may be meant.

Decimal mark and thousands separator hold for a whole table. Where one column has decimal commas and
thousands points, ``8.258`` in another one may be a number with three decimals. Such columns are
named; nothing is decided about them here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from mottle.io.text.notation import plain_numbers
from mottle.io.text.type_inference import Attempt, number_types, possible_types
from mottle.schema.reading import ReadOptions

__all__ = ["TwoReadings"]


class TwoReadings:
    """Compares a notation with the other one that a column may have; looks at parts of columns.

    Parameters
    ----------
    options : ReadOptions
        How numbers are written.

    Examples
    --------
    >>> found = TwoReadings(ReadOptions(decimal=",", thousands="."))
    >>> found.look_at("dose", pa.chunked_array([["8.258", "1.5"]]))
    >>> [warning[:52] for warning in found.warnings()]
    ["Column 'dose' has numbers with '.', which is not the"]
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        decimal, thousands = options.decimal or ".", options.thousands
        self._other: str | None = None  # what may be the decimal mark instead
        if decimal != ".":
            self._other = "."
        elif thousands == ",":
            self._other = ","
        self._marked: set[str] = set()
        self._as_given: dict[str, list[Attempt]] = {}  # types of numbers that are still possible
        self._otherwise: dict[str, list[Attempt]] = {}

    def look_at(self, name: str, column: pa.ChunkedArray) -> None:
        """Look at a part of a column.

        Parameters
        ----------
        name : str
            The column.
        column : pyarrow.ChunkedArray
            Its cells, as text.
        """
        if self._other is None or column.null_count == len(column):
            return
        other = ReadOptions(decimal=self._other)
        otherwise = self._otherwise.setdefault(name, number_types(other))
        if not otherwise:
            return
        cells = pc.ascii_trim_whitespace(column)
        if plain_numbers(cells, self._other, None) is None:
            self._otherwise[name] = []
            return
        self._otherwise[name] = possible_types(cells, otherwise)
        as_given = self._as_given.setdefault(name, number_types(self._options))
        self._as_given[name] = possible_types(cells, as_given)
        if pc.any(pc.match_substring(cells, self._other)).as_py():
            self._marked.add(name)

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for every column that may be meant in another way; no values.

        Yields
        ------
        str
            The column, what is made of it, and the way out.
        """
        decimal, other = self._options.decimal or ".", self._other
        for name in self._otherwise:
            if name not in self._marked or not self._otherwise[name]:
                continue
            if self._as_given[name]:
                yield (
                    f"Column '{name}' can be read in two ways: with --thousands '{other}' its"
                    f" numbers are whole, a thousand times those with '{other}' as the decimal"
                    f" mark. If they are meant so, write them with '{decimal}' in the file."
                )
            else:
                yield (
                    f"Column '{name}' has numbers with '{other}', which is not the decimal mark of"
                    f" --decimal '{decimal}'; so it is text. If '{other}' separates thousands in"
                    f" this table, add --thousands '{other}'; if it is a decimal mark, write these"
                    f" numbers with '{decimal}'."
                )
