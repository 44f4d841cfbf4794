"""Names of tables and columns in SQL, and the names under which a release is stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mottle.errors import UsageError

_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


def quoted(name: str) -> str:
    """A name as it stands in SQL.

    >>> quoted('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as it stands in SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class TableName:
    """A table, perhaps with the schema it lies in."""

    name: str
    schema: str | None = None

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read ``table``, ``schema.table`` or, with dots in a name, ``"my.table"``.

        >>> TableName.parse('clinic."a.b"')
        TableName(name='a.b', schema='clinic')
        """
        parts: list[str] = []
        place = 0
        while (found := _PART.match(text, place)) is not None:
            in_quotes, plain = found.groups()
            parts.append(plain if in_quotes is None else in_quotes.replace('""', '"'))
            place = found.end() + 1
            if text[found.end() : place] != ".":
                break
        if place != len(text) + 1 or not 1 <= len(parts) <= 2:
            raise UsageError(
                f"'{text}' is not the name of a table.",
                "Write table or schema.table; names with dots or quotes in double quotes.",
            )
        return cls(parts[-1], parts[0] if len(parts) == 2 else None)

    def __str__(self) -> str:
        return ".".join(part for part in (self.schema, self.name) if part is not None)

    @property
    def sql(self) -> str:
        """The name as it stands in SQL."""
        return ".".join(quoted(part) for part in (self.schema, self.name) if part is not None)

    def beside(self, ending: str) -> TableName:
        """A companion in the same schema."""
        return TableName(f"{self.name}_{ending}", self.schema)


@dataclass(frozen=True)
class ReleaseNames:
    """The table of a release and what stands beside it."""

    table: TableName

    @property
    def readable(self) -> TableName:
        """The view with cells as text."""
        return self.table.beside("readable")

    @property
    def certificate(self) -> TableName:
        """The table of one row that holds the certificate."""
        return self.table.beside("certificate")

    @property
    def sensitive(self) -> TableName:
        """Sensitive values by group, when they are published apart."""
        return self.table.beside("sensitive")

    @property
    def kinds(self) -> dict[str, str]:
        """Whether each name is a table or a view; the view, which needs the table, first."""
        tables = (self.table, self.sensitive, self.certificate)
        return {self.readable.name: "view"} | {name.name: "table" for name in tables}


def refuse_collisions(names: Iterable[str], *, longest: int | None, ignoring_case: bool) -> None:
    """Raise `UsageError` when a database could not tell the stored columns or tables apart."""
    names = list(names)
    for name in names:
        if longest is not None and len(name.encode()) > longest:
            raise UsageError(
                f"The name '{name}' is longer than the {longest} bytes the database allows.",
                "Rename the column, or choose a shorter --to-table.",
            )
    counts = Counter(name.lower() if ignoring_case else name for name in names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise UsageError(
            f"Two columns of the release would both be stored as '{twice[0]}'.",
            "Ranges are stored with the endings _lo, _hi and _may_be_missing where the database"
            " has no type for them: rename the other column.",
        )
