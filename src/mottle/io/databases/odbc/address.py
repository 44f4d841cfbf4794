"""Addresses of servers that are reached through ODBC, and how they are shown without passwords."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from mottle.errors import UsageError
from mottle.io.databases.base import Address, Database

__all__ = ["Settings", "parse_server_url"]

_URL = re.compile(r"([^:]+)://([^/?]*)(?:/([^?]*))?(?:\?(.*))?", re.DOTALL)
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]*\]|[\w.-]*)(?::(\d+))?")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SECRET = re.compile(r"pwd|pass|uid|user|secret|token", re.IGNORECASE)
_SPECIAL = frozenset(";{}[]=\0\r\n")  # in connection strings


@dataclass(frozen=True)
class Settings:
    """The parts of an address."""

    host: str
    port: str  # empty: the usual one
    database: str
    options: tuple[tuple[str, str], ...]  # what follows the ?
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, location: str, password_variable: str) -> Settings:
        """Read an address that `parse_server_url` has checked.

        Parameters
        ----------
        location : str
            The URL.
        password_variable : str
            The variable of the environment that holds the password if the URL does not.

        Returns
        -------
        Settings
            Its parts, with escapes resolved.
        """
        _, authority, database, query = _parts(location)
        account, _, host = authority.rpartition("@")
        user, colon, password = account.partition(":")
        name, port = _HOST.fullmatch(host).groups()  # type: ignore[union-attr]
        return cls(
            name.strip("[]"),
            port or "",
            unquote(database),
            tuple((key, unquote(value)) for key, _, value in _options(query)),
            unquote(user) or None,
            unquote(password) if colon else os.environ.get(password_variable),
        )

    def option(self, name: str) -> str | None:
        """Return the value of an option, whatever the case of its name.

        Parameters
        ----------
        name : str
            The option.

        Returns
        -------
        str or None
            Its value.
        """
        found = (value for key, value in self.options if key.lower() == name)
        return next(found, None)


def parse_server_url(database: Database, url: str, password_variable: str) -> Address:
    """Read a URL and check that no part of it can be a password in the wrong place.

    Parameters
    ----------
    database : Database
        The database system.
    url : str
        The URL, its scheme included.
    password_variable : str
        Where the password can be given instead, for the message.

    Returns
    -------
    Address
        The URL, and how it is shown: host, port and database only.

    Raises
    ------
    UsageError
        The URL is not valid. No part of it that may be a password is repeated.
    """
    scheme, authority, name, query = _parts(url)
    account, _, host = authority.rpartition("@")
    problem = ""
    if "@" in account or "@" in name or "@" in query:
        problem = "it has several @"
    elif _HOST.fullmatch(host) is None:
        problem = "host and port are not of the form HOST:PORT"
    elif _BROKEN_ESCAPE.search(url):
        problem = "it has a % that is not followed by two hexadecimal digits"
    elif any(not equals or not key.isidentifier() for key, equals, _ in _options(query)):
        problem = "what follows the ? is not of the form name=value&name=value"
    elif any(_SECRET.search(key) for key, _, _ in _options(query)):
        problem = "user and password belong in front of the host: USER:PASSWORD@HOST"
    elif any(_SPECIAL & set(unquote(text)) for text in (name, query.replace("=", ""))):
        problem = "names and options cannot hold ; = or braces"
    if problem:
        raise UsageError(
            f"The {database.schemes[0]}:// address cannot be read: {problem}.",
            "In user names and passwords write @ as %40, : as %3A, / as %2F, ? as %3F and % as"
            f" %25; or leave the password out and give it in {password_variable}.",
        )
    return Address(database, url, f"{scheme.lower()}://{host}/{name}")


def _parts(url: str) -> tuple[str, str, str, str]:
    found = _URL.fullmatch(url)
    assert found is not None
    scheme, authority, name, query = (part or "" for part in found.groups())
    return scheme, authority, name, query


def _options(query: str) -> list[tuple[str, str, str]]:
    return [option.partition("=") for option in query.split("&") if option]
