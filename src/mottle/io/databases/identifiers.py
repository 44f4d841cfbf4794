"""Names of tables and columns in SQL, and the names under which a release is stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mottle.errors import UsageError

__all__ = ["ReleaseNames", "TableName", "check_distinct", "literal", "quoted"]

_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


def quoted(name: str) -> str:
    """Quote a name for SQL.

    Parameters
    ----------
    name : str
        Of a table, a schema or a column.

    Returns
    -------
    str
        The name in double quotes.

    Examples
    --------
    >>> quoted('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text for SQL.

    Parameters
    ----------
    text : str
        The value.

    Returns
    -------
    str
        The text in single quotes.

    Examples
    --------
    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class TableName:
    """The name of a table."""

    name: str
    schema: str | None = None  # None when it was not given, or the database has no schemas

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read ``table``, ``schema.table`` or, with dots in a name, ``"my.table"``.

        Parameters
        ----------
        text : str
            The name as the user wrote it.

        Returns
        -------
        TableName
            Its parts.

        Raises
        ------
        UsageError
            The text is not the name of a table.

        Examples
        --------
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
        """The name, quoted for SQL."""
        return ".".join(quoted(part) for part in (self.schema, self.name) if part is not None)

    def with_ending(self, ending: str) -> TableName:
        """Return the name of an accompanying table in the same schema.

        Parameters
        ----------
        ending : str
            What is appended after an underscore.

        Returns
        -------
        TableName
            The name with the ending.
        """
        return TableName(f"{self.name}_{ending}", self.schema)


@dataclass(frozen=True)
class ReleaseNames:
    """The names under which a release is stored."""

    table: TableName  # with the typed cells; the others are derived from it

    @property
    def readable(self) -> TableName:
        """The view with cells as text."""
        return self.table.with_ending("readable")

    @property
    def certificate(self) -> TableName:
        """The table of one row that holds the certificate."""
        return self.table.with_ending("certificate")

    @property
    def sensitive(self) -> TableName:
        """The table of sensitive values by group, when they are published separately."""
        return self.table.with_ending("sensitive")

    @property
    def kinds(self) -> dict[str, str]:
        """Whether each name is a table or a view; the view, which needs the table, first."""
        tables = (self.table, self.sensitive, self.certificate)
        return {self.readable.name: "view"} | {name.name: "table" for name in tables}


def check_distinct(names: Iterable[str], *, longest: int | None, ignores_case: bool) -> None:
    """Check that a database accepts the names and can tell them apart.

    Parameters
    ----------
    names : iterable of str
        The names of stored columns, or of tables.
    longest : int or None
        The limit of a name, in bytes.
    ignores_case : bool
        Whether Age and age are the same name.

    Raises
    ------
    UsageError
        A name is too long, or two names are the same.
    """
    names = list(names)
    for name in names:
        if longest is not None and len(name.encode()) > longest:
            raise UsageError(
                f"The name '{name}' is longer than the {longest} bytes the database allows.",
                "Rename the column, or choose a shorter --to-table.",
            )
    counts = Counter(name.lower() if ignores_case else name for name in names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise UsageError(
            f"Two columns of the release would both be stored as '{twice[0]}'.",
            "Ranges are stored with the endings _lo, _hi and _may_be_missing where the database"
            " has no type for them: rename the other column.",
        )
