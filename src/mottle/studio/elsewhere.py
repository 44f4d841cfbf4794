"""Tables that are not files of the folder: those of databases, and of projects of ARX.

A table of a database is read once, into the private folder of dropped files, so that the run, its
verification and the audit see the same rows. The password is used for that alone: it is neither
kept nor shown, and taken out of every message.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from mottle.errors import DataError, MottleError, UsageError
from mottle.io.databases.file_database import FileDatabase
from mottle.io.databases.read import read_database
from mottle.io.databases.url import parse
from mottle.io.projects.arx import read_arx
from mottle.io.projects.imported import TABLE, write_project
from mottle.studio.layout import KEY, OWN
from mottle.studio.project import Project
from mottle.studio.state import Studio
from mottle.studio.wishes import OPTIONS


def open_database(studio: Studio, address: str, table: str, password: str) -> None:
    """Read a table of a database and open it.

    Parameters
    ----------
    studio : Studio
        The state.
    address : str
        A URL, or a file below the studio's folders.
    table : str
        ``table`` or ``schema.table``.
    password : str
        Empty if there is none, or if the environment or a file holds it.

    Raises
    ------
    MottleError
        The table cannot be read; the message does not hold the password.
    """
    if not address.strip() or not table.strip():
        raise UsageError("The address or the table is missing.", "Type both.")
    try:
        source, shown = source_of(studio, address.strip(), password)
        found = read_database(source, table=table)
    except MottleError as error:
        raise without_password(error, password) from None
    path = studio.dropped.write(table, found)
    studio.open(str(path.relative_to(studio.project.folder)), address=shown, table=table)


def source_of(studio: Studio, address: str, password: str) -> tuple[str, str]:
    """What the driver gets, and how the address is kept and shown."""
    if password:
        address = with_password(address, password)
    found = parse(address)
    if not isinstance(found.database, FileDatabase):
        return address, found.shown
    path = studio.places.allowed(studio.project.folder / found.path)
    if path.is_relative_to(studio.project.folder):
        return str(path), str(path.relative_to(studio.project.folder))
    return str(path), str(path)


def with_password(address: str, password: str) -> str:
    """Put a password into a URL that names a user.

    Parameters
    ----------
    address : str
        The URL.
    password : str
        The password, with any letters.

    Returns
    -------
    str
        The URL with both.

    Raises
    ------
    UsageError
        The URL names no user, or holds a password itself.

    Examples
    --------
    >>> with_password("postgresql://ada@db.example/clinic", "a/b")
    'postgresql://ada:a%2Fb@db.example/clinic'
    """
    scheme, mark, rest = address.partition("://")
    ends = [place for place in map(rest.find, "/?#") if place >= 0]
    authority = rest[: min(ends, default=len(rest))]
    user, at, host = authority.rpartition("@")
    if not mark or not at or not user or ":" in user:
        raise UsageError(
            "A password belongs to a user, whom the address does not name, or it holds one itself.",
            "Write the address as postgresql://USER@HOST/DATABASE.",
        )
    return f"{scheme}://{user}:{quote(password, safe='')}@{host}{rest[len(authority) :]}"


def without_password(error: MottleError, password: str) -> MottleError:
    """The same error with nothing of the password in its words."""
    if not password or not any(
        each in text
        for text in (error.problem, error.remedy)
        for each in (password, quote(password))
    ):
        return error
    return DataError("The database could not be read.", "Check address, user and password.")


def open_arx(studio: Studio, path: Path) -> None:
    """Make a project of a project of ARX, in a folder of its name, and open it.

    Parameters
    ----------
    studio : Studio
        The state.
    path : Path
        The .deid file.

    Raises
    ------
    MottleError
        It is damaged, holds no table, or the folder exists.
    """
    studio.check_idle()
    found = read_arx(path)
    if found.table is None:
        raise DataError("The project of ARX holds no table.", "Open the table itself.")
    name = path.name[: -len(path.suffix)]
    if name in OWN or name.startswith("."):
        raise UsageError("The project has the name of a folder of the studio.", "Rename the file.")
    folder = studio.places.allowed(studio.places.folders[0] / name)
    write_project(found, folder, path.name)
    studio.switch(folder)
    words = found.guarantee
    asked = {
        option.removeprefix("--"): value
        for option, value in zip(words[::2], words[1::2], strict=False)
        if option.removeprefix("--") in OPTIONS and OPTIONS[option[2:]].fullmatch(value)
    }
    studio.open(TABLE)
    if asked:
        studio.project.change(options={**asked, "key": KEY})


def projects_of(studio: Studio) -> list[str]:
    """The projects that can be opened: the studio's folder, as ".", and folders in it."""
    root = studio.places.folders[0]
    found = [
        path.name
        for path in sorted(root.iterdir())
        if path.is_dir()
        and not path.is_symlink()
        and not path.name.startswith(".")
        and Project(path).exists
    ]
    return [".", *found] if found else []
