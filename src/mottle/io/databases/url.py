"""Where a database is: URLs and files, and how to speak of them without their passwords."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mottle.errors import UsageError
from mottle.utils.redaction import redacted as redacted  # part of this module's interface


class System(StrEnum):
    """The databases that mottle reads and writes."""

    POSTGRESQL = "PostgreSQL"
    SQLITE = "SQLite"
    DUCKDB = "DuckDB"


@dataclass(frozen=True)
class Address:
    """One database."""

    system: System
    place: str = field(repr=False)  # what the driver gets: a URL with its password, or a path
    shown: str  # what people get to see

    @property
    def path(self) -> Path:
        """The file of a database that is one."""
        return Path(self.place)


_SCHEMES = {
    "postgresql": System.POSTGRESQL,
    "postgres": System.POSTGRESQL,
    "sqlite": System.SQLITE,
    "duckdb": System.DUCKDB,
}
_SUFFIXES = {
    ".db": System.SQLITE,
    ".sqlite": System.SQLITE,
    ".sqlite3": System.SQLITE,
    ".duckdb": System.DUCKDB,
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_URL = re.compile(r"[^:]+://([^/?]*)(?:/([^?]*))?(?:\?(.*))?", re.DOTALL)
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PUBLIC_SETTINGS = ("host", "hostaddr", "port", "dbname", "service")
_SPECIAL = (
    "In user names and passwords write @ as %40, : as %3A, / as %2F, ? as %3F and % as %25; or"
    " leave the password out and give it in PGPASSWORD, ~/.pgpass or a service file."
)


def is_database(source: str | Path) -> bool:
    """Whether this is a URL, or the path of a database file by its name or its first bytes.

    >>> is_database("postgresql://localhost/clinic"), is_database("people.csv")
    (True, False)
    """
    return bool(_SCHEME.match(str(source))) or _system_of_file(Path(source)) is not None


def parse(source: str | Path) -> Address:
    """Take a URL or the path of a database file apart.

    ``sqlite:///people.db`` is a path from here, ``sqlite:////data/people.db`` one from the root.

    >>> parse("postgresql://ada:secret@db.example/clinic").shown
    'postgresql://db.example/clinic'
    >>> parse("duckdb:///people.duckdb").place
    'people.duckdb'
    """
    text = str(source)
    if (found := _SCHEME.match(text)) is None:
        system = _system_of_file(Path(source))
        if system is None:
            raise UsageError(
                f"{text} is not a database.",
                "Give postgresql://…, sqlite:///FILE, duckdb:///FILE, or a file ending in "
                f"{', '.join(_SUFFIXES)}.",
            )
        return Address(system, text, text)
    scheme = found.group(1).lower()
    if scheme not in _SCHEMES:
        raise UsageError(
            f"mottle does not know addresses that begin with {scheme}://.",
            "Databases are postgresql://…, sqlite:///FILE and duckdb:///FILE.",
        )
    if _SCHEMES[scheme] is System.POSTGRESQL:
        return _postgresql(text)
    return _file_url(scheme, text[found.end() :])


def _file_url(scheme: str, rest: str) -> Address:
    path = rest.removeprefix("/")
    if not rest.startswith("/") or not path:
        raise UsageError(
            f"A {scheme} address is {scheme}:/// and the path of the file.",
            f"Write {scheme}:///people.db, or {scheme}:////data/people.db for a path from the root",
        )
    return Address(_SCHEMES[scheme], path, f"{scheme}:///{path}")


def _system_of_file(path: Path) -> System | None:
    """What a file is by its first bytes, or, when it is not there, would be by its name."""
    first = b""
    with suppress(OSError):  # whoever opens it says what is wrong
        if path.is_file():
            with path.open("rb") as file:
                first = file.read(16)
    if first == b"SQLite format 3\x00":
        return System.SQLITE
    if first[8:12] == b"DUCK":
        return System.DUCKDB
    return _SUFFIXES.get(path.suffix.lower())


def _postgresql(url: str) -> Address:
    """Check a URL so closely that the driver, whose errors quote it, has nothing to object to.

    A password with an @ or / that is not written as %40 or %2F would otherwise be taken for a
    host or a database and be shown as such.
    """
    parts = _URL.fullmatch(url)
    assert parts is not None
    authority, database, query = (part or "" for part in parts.groups())
    _, _, hosts = authority.rpartition("@")
    settings = [setting.partition("=") for setting in query.split("&") if setting]
    problem = ""
    public = "&".join(f"{name}={value}" for name, _, value in settings if name in _PUBLIC_SETTINGS)
    if authority.count("@") > 1 or "@" in database or "@" in public:
        problem = "it has several @"
    elif any(_HOST.fullmatch(host) is None for host in hosts.split(",")):
        problem = "the port after the host is not a number"
    elif _BROKEN_ESCAPE.search(url):
        problem = "it has a % that is not followed by two hexadecimal digits"
    elif any(not equals or not name.isidentifier() for name, equals, _ in settings):
        problem = "what follows the ? is not of the form name=value&name=value"
    if problem:
        raise UsageError(f"The postgresql:// address cannot be read: {problem}.", _SPECIAL)
    shown = f"postgresql://{hosts}/{database}" + (f"?{public}" if public else "")
    return Address(System.POSTGRESQL, url, shown)
