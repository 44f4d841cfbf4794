"""Addresses of databases: URLs and file paths, and how to show them without their passwords."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from mottle.errors import UsageError
from mottle.io.databases.base import DATABASES, Address, Database
from mottle.utils.redaction import redacted

__all__ = ["is_database", "parse", "redacted"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HEAD_BYTES = 16  # of a file, by which databases recognize their files


def is_database(source: str | Path) -> bool:
    """Tell whether a source is a URL, or a database file by its name or its first bytes.

    Parameters
    ----------
    source : str or Path
        What the user named as input or output.

    Returns
    -------
    bool
        True also for URLs of an unknown scheme, which `parse` refuses.

    Examples
    --------
    >>> is_database("postgresql://localhost/clinic"), is_database("people.csv")
    (True, False)
    """
    return bool(_SCHEME.match(str(source))) or _database_of_file(Path(source)) is not None


def parse(source: str | Path) -> Address:
    """Read a URL or the path of a database file.

    ``sqlite:///people.db`` is a relative path, ``sqlite:////data/people.db`` an absolute one.

    Parameters
    ----------
    source : str or Path
        The URL or path.

    Returns
    -------
    Address
        The database system, what its driver gets, and how the address is shown.

    Raises
    ------
    UsageError
        The address is not of a known database or is not valid.

    Examples
    --------
    >>> parse("postgresql://ada:secret@db.example/clinic").shown
    'postgresql://db.example/clinic'
    >>> parse("duckdb:///people.duckdb").location
    'people.duckdb'
    """
    text = str(source)
    if (found := _SCHEME.match(text)) is None:
        database = _database_of_file(Path(source))
        if database is None:
            suffixes = [suffix for known in DATABASES.values() for suffix in known.suffixes]
            raise UsageError(
                f"{text} is not a database.",
                f"Give {_examples(', ')}, or a file ending in {', '.join(suffixes)}.",
            )
        return Address(database, text, text)
    scheme = found.group(1).lower()
    for database in DATABASES.values():
        if scheme in database.schemes:
            return database.parse(text)
    raise UsageError(
        f"mottle does not know addresses that begin with {scheme}://.",
        f"Databases are {_examples(' and ')}.",
    )


def _examples(last: str) -> str:
    """The addresses of all databases, the last one joined by ``last``."""
    *others, final = (database.example for database in DATABASES.values())
    return ", ".join(others) + last + final


def _database_of_file(path: Path) -> Database | None:
    """The database system of a file by its first bytes or, if these do not tell, by its name."""
    head = b""
    with suppress(OSError):  # opening it later reports what is wrong
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(_HEAD_BYTES)
    for database in DATABASES.values():
        if database.is_file_of(head):
            return database
    suffix = path.suffix.lower()
    return next((known for known in DATABASES.values() if suffix in known.suffixes), None)
