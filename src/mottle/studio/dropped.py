"""The private folder of tables that come from elsewhere: dropped files and tables of databases.

Nobody but the owner may read the folder, and it is removed when the studio ends. It is locked while
a studio uses it, so that what a killed studio has left is removed by the next one, and what another
studio in the same folder uses is not.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import unicodedata
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa
import pyarrow.parquet as pq

from mottle.errors import UsageError
from mottle.studio.layout import DROPPED

LARGEST = 2 << 30  # bytes of a dropped file
TABLES = (
    *(".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq", ".arrow", ".feather", ".ipc"),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".sav", ".zsav", ".por", ".dta", ".sas7bdat"),
    *(".xpt", ".gz"),
)
ARX = ".deid"  # projects of ARX
_LONGEST_NAME = 200  # bytes


class TooLargeError(UsageError):
    """A dropped file is larger than the studio takes."""


class Dropped:
    """The folder of one project; it is made when the first file comes.

    Parameters
    ----------
    project : Path
        The project's folder.
    """

    def __init__(self, project: Path) -> None:
        self.folder = project / DROPPED
        self._lock: int | None = None
        self._remove_if_unused()

    async def receive(
        self, name: str, parts: AsyncIterator[bytes], modified: float | None = None
    ) -> Path:
        """Write a file as it arrives: whole, or not at all.

        Parameters
        ----------
        name : str
            The file's name, as the browser says it.
        parts : async iterator of bytes
            Its content.
        modified : float, optional
            When it was changed, in seconds since 1970: the same file is recognized by it.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        UsageError
            The name is not one of a table, or the file is too large.
        """
        place = self._use() / checked_name(name)
        size = 0
        with NamedTemporaryFile(dir=self.folder, prefix=".", delete=False) as file:
            try:
                async for part in parts:
                    size += len(part)
                    if size > LARGEST:
                        raise TooLargeError(
                            f"The file is larger than {LARGEST >> 30} GiB.",
                            "Put it into the studio's folder, and load the page again.",
                        )
                    file.write(part)
                file.flush()
                if modified is not None:
                    os.utime(file.name, (modified, modified))
                os.replace(file.name, place)
            except BaseException:
                with suppress(OSError):
                    os.unlink(file.name)
                raise
        return place

    def write(self, name: str, table: pa.Table) -> Path:
        """Write a table as Parquet; ``name`` is that of the table, which may be anything."""
        letters = "".join(each if each.isalnum() else "-" for each in name)
        place = self._use() / checked_name(f"table-{letters[:40]}.parquet")
        with NamedTemporaryFile(dir=self.folder, prefix=".", delete=False) as file:
            try:
                pq.write_table(table, file)
                file.flush()
                os.replace(file.name, place)
            except BaseException:
                with suppress(OSError):
                    os.unlink(file.name)
                raise
        return place

    def close(self) -> None:
        """Remove the folder, unless another studio uses it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        self._remove_if_unused()

    def _use(self) -> Path:
        """The folder, made and locked."""
        self.folder.parent.mkdir(mode=0o700, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if self._lock is None:
            self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            fcntl.flock(self._lock, fcntl.LOCK_SH)
        return self.folder

    def _remove_if_unused(self) -> None:
        try:
            found = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # there is none, or it is a link that somebody has put there
            return
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(self.folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(found)


def checked_name(name: str) -> str:
    """Return the name of a file that can be opened.

    Parameters
    ----------
    name : str
        What a page says.

    Returns
    -------
    str
        The same.

    Raises
    ------
    UsageError
        It is a path, hidden, too long, or not the name of a table or of a project.

    Examples
    --------
    >>> checked_name("people.csv")
    'people.csv'
    """
    remedy = "Give the file another name."
    if not name or name.startswith(".") or any(each in name for each in "/\\"):
        raise UsageError("A dropped file has no plain name.", remedy)
    if any(unicodedata.category(each)[0] == "C" for each in name):
        raise UsageError("The name of a dropped file has letters that cannot be shown.", remedy)
    if len(name.encode()) > _LONGEST_NAME:
        raise UsageError("The name of a dropped file is too long.", remedy)
    if not name.lower().endswith((*TABLES, ARX)):
        known = "CSV, Parquet, Arrow, Excel, OpenDocument, SPSS, Stata, SAS and ARX (.deid)"
        raise UsageError("The studio does not know this kind of file.", f"It opens {known}.")
    return name
