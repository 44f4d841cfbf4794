"""URLs of PostgreSQL, as libpq understands them, and how they are shown without passwords."""

from __future__ import annotations

import re

from mottle.errors import UsageError
from mottle.io.databases.base import Address, Database

__all__ = ["parse_url"]

_URL = re.compile(r"[^:]+://([^/?]*)(?:/([^?]*))?(?:\?(.*))?", re.DOTALL)
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PUBLIC_SETTINGS = ("host", "hostaddr", "port", "dbname", "service")
_ESCAPES = (
    "In user names and passwords write @ as %40, : as %3A, / as %2F, ? as %3F and % as %25; or"
    " leave the password out and give it in PGPASSWORD, ~/.pgpass or a service file."
)


def parse_url(database: Database, url: str) -> Address:
    """Read a URL and check it so closely that the driver accepts it.

    The driver's own errors quote the URL. And a password with an @ or / that is not written as %40
    or %2F would otherwise be taken for a host or a database and be shown as such.

    Parameters
    ----------
    database : Database
        PostgreSQL.
    url : str
        The URL, its scheme included.

    Returns
    -------
    Address
        The URL, and how it is shown: hosts, database and public settings only.

    Raises
    ------
    UsageError
        The URL is not valid, or a part of it may be a password in the wrong place.
    """
    parts = _URL.fullmatch(url)
    assert parts is not None
    authority, name, query = (part or "" for part in parts.groups())
    _, _, hosts = authority.rpartition("@")
    settings = [setting.partition("=") for setting in query.split("&") if setting]
    problem = ""
    public = "&".join(f"{key}={value}" for key, _, value in settings if key in _PUBLIC_SETTINGS)
    if authority.count("@") > 1 or "@" in name or "@" in public:
        problem = "it has several @"
    elif any(_HOST.fullmatch(host) is None for host in hosts.split(",")):
        problem = "the port after the host is not a number"
    elif _BROKEN_ESCAPE.search(url):
        problem = "it has a % that is not followed by two hexadecimal digits"
    elif any(not equals or not key.isidentifier() for key, equals, _ in settings):
        problem = "what follows the ? is not of the form name=value&name=value"
    if problem:
        raise UsageError(f"The postgresql:// address cannot be read: {problem}.", _ESCAPES)
    shown = f"postgresql://{hosts}/{name}" + (f"?{public}" if public else "")
    return Address(database, url, shown)
