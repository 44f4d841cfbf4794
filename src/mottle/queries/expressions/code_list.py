"""Code lists: tables of the analyst's own that say something about the values of a column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError


@dataclass(frozen=True, eq=False)
class CodeList:
    """A table that a query joins: its key says which value of a column a row is about."""

    name: str
    table: pa.Table
    column: str  # of the release
    key: str  # of the table

    def keys(self, value_type: pa.DataType) -> list[Any]:
        """Return the keys in the type of the column, None where there is none; each only once."""
        column = self.table.column(self.key).combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        try:
            keys = pc.cast(column, value_type)
        except pa.ArrowException:
            raise UsageError(
                f"Column '{self.key}' of '{self.name}' does not hold values of type {value_type},"
                f" as column '{self.column}' of the release does.",
                "Join a column of the same type.",
            ) from None
        known = keys.drop_null()
        if len(pc.unique(known)) < len(known):
            raise UsageError(
                f"Column '{self.key}' of '{self.name}' lists a value twice.",
                "Each row of a code list has to describe another value.",
            )
        return keys.to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table."""
        return self.table.to_pylist()  # type: ignore[no-any-return]
