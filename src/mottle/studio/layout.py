"""The files of a project, by their names in its folder."""

from __future__ import annotations

import re

TOML = "mottle.toml"
RELEASED = "released"  # what leaves
COPIES = "copies"  # the release as files of other programs, which may leave too
STAYS = "stays-here"  # what the owner keeps: key and links
KEY, LINKS = f"{STAYS}/owner.key", f"{STAYS}/links.parquet"
HIDDEN = ".studio"
PREVIEW = f"{HIDDEN}/preview"
VARIANT = f"{HIDDEN}/variant"
DROPPED = f"{HIDDEN}/dropped"  # tables from elsewhere, removed when the studio ends
OWN = frozenset({HIDDEN, RELEASED, COPIES, STAYS, "hierarchies"})  # folders that hold no original
_PLAIN = re.compile(r"\w[\w. -]*")  # file names that need no ./ before them
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def plain(name: str) -> str:
    """A file of the folder as it is named in a command, where a name may look like an option."""
    return name if _PLAIN.fullmatch(name) else f"./{name}"


def addressed(address: str) -> str:
    """The address of a database as it is named in a command."""
    return address if _URL.match(address) else plain(address)
