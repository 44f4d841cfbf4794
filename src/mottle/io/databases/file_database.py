"""What databases that are files have in common: their URLs, and cleaning up after a failure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mottle.errors import StorageError, UsageError
from mottle.io.databases.base import Address, Database

__all__ = ["FileDatabase", "removing_on_failure"]

_ACCOMPANYING = ("", "-journal", "-wal", "-shm", ".wal")  # endings of the file and its companions


class FileDatabase(Database):
    """A database system whose databases are files."""

    def parse(self, url: str) -> Address:
        """Read ``scheme:///relative/path`` or ``scheme:////absolute/path``.

        Parameters
        ----------
        url : str
            The URL, its scheme included.

        Returns
        -------
        Address
            The path of the file, and the URL.

        Raises
        ------
        UsageError
            There are fewer than three slashes, or no path.
        """
        scheme, _, rest = url.partition("://")
        scheme = scheme.lower()
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path:
            raise UsageError(
                f"A {scheme} address is {scheme}:/// and the path of the file.",
                f"Write {scheme}:///people.db, or {scheme}:////data/people.db for an absolute"
                " path.",
            )
        return Address(self, path, f"{scheme}:///{path}")

    def check_exists(self, address: Address) -> None:
        """Raise if there is no such file.

        Parameters
        ----------
        address : Address
            The database to read from.

        Raises
        ------
        StorageError
            The file does not exist; the message says so when a slash is missing.
        """
        if address.path.is_file():
            return
        remedy = "Check the path."
        from_root = Path("/", address.location)
        if from_root != address.path and from_root.is_file():
            remedy = f"An absolute path has four slashes: {self.schemes[0]}:///{from_root}."
        raise StorageError(f"{os.fspath(address.path)} does not exist.", remedy)


def check_no_device(path: Path) -> None:
    """Raise if a path is something else than a file: opening a pipe would wait for its writer.

    Parameters
    ----------
    path : Path
        Where a database is, or will be.

    Raises
    ------
    StorageError
        It is a folder, a pipe or a device.
    """
    if path.exists() and not path.is_file():
        raise StorageError(f"{path} is not a file.", "Name the file of a database.")


@contextmanager
def removing_on_failure(path: Path, committed: list[bool]) -> Iterator[None]:
    """Remove a database file if it did not exist before and nothing was committed.

    Parameters
    ----------
    path : Path
        The file; the journals next to it are removed with it.
    committed : list of bool
        Empty until the transaction was committed.
    """
    check_no_device(path)
    existed = path.exists() or path.is_symlink()  # a link that leads nowhere is not ours
    try:
        yield
    finally:
        if not existed and not committed:
            for ending in _ACCOMPANYING:
                Path(f"{path}{ending}").unlink(missing_ok=True)
