"""Zip archives of others: single files are read by name, within limits; nothing is unpacked."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from mottle.errors import DataError
from mottle.utils.untrusted.memory import check_fits
from mottle.utils.untrusted.text import LARGEST_FILE, open_regular

__all__ = ["Archive", "open_archive"]

MOST_FILES = 100_000
_BLOCK = 1 << 20
# What grows more than this, and beyond a small file, is no table but made to exhaust memory.
_MOST_GROWTH = 100
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


class Archive:
    """An open archive; see `open_archive`."""

    def __init__(self, path: str, files: zipfile.ZipFile) -> None:
        self._path, self._files = path, files
        listed = files.infolist()
        if len(listed) > MOST_FILES:
            raise _unusable(path, f"it lists more than {MOST_FILES:,} files")
        twice = [name for name, times in Counter(i.filename for i in listed).items() if times > 1]
        if twice:
            raise _unusable(path, "it has two files of one name")
        self._by_name = {each.filename: each for each in listed}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def read(self, name: str, limit: int = LARGEST_FILE) -> bytes:
        """Read a file of the archive.

        Parameters
        ----------
        name : str
            Its name in the archive.
        limit : int, optional
            The most bytes that are read.

        Returns
        -------
        bytes
            The content.

        Raises
        ------
        DataError
            There is no such file, or it is encrypted, damaged, a link or too large.
        """
        info = self._by_name.get(name)
        if info is None:
            raise _unusable(self._path, f"it has no {name}")
        self._check(info, limit)
        content, size = [], 0
        try:
            with self._files.open(info) as file:
                while block := file.read(_BLOCK):
                    size += len(block)
                    if size > limit:
                        raise _unusable(self._path, f"{name} is larger than {limit >> 20} MB")
                    content.append(block)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError):
            raise _unusable(self._path, f"{name} in it is damaged") from None
        return b"".join(content)

    def read_table(self, name: str) -> bytes:
        """Read a file that may take as much memory as there is; see `read`.

        Parameters
        ----------
        name : str
            Its name in the archive.

        Returns
        -------
        bytes
            The content.

        Raises
        ------
        DataError
            As for `read`.
        """
        size = self._by_name[name].file_size if name in self else 0
        check_fits(2 * size, f"{name} in {self._path}")
        return self.read(name, limit=max(size, 1))

    def _check(self, info: zipfile.ZipInfo, limit: int) -> None:
        """Refuse what cannot be an ordinary file of a few times its compressed size."""
        name = info.filename
        mode = info.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise _unusable(self._path, f"{name} in it is a link or a folder")
        if info.flag_bits & _ENCRYPTED:
            raise _unusable(self._path, f"{name} in it is encrypted")
        if info.compress_type not in _KNOWN:
            raise _unusable(self._path, f"{name} in it is compressed in an unusual way")
        grown = info.file_size > _MOST_GROWTH * max(info.compress_size, 1)
        if info.file_size > limit or (grown and info.file_size > LARGEST_FILE):
            raise _unusable(
                self._path,
                f"{name} would take {info.file_size / 2**20:,.0f} MB once it is unpacked",
            )


@contextmanager
def open_archive(path: str | PathLike[str]) -> Iterator[Archive]:
    """Open a zip archive of others.

    Parameters
    ----------
    path : str or path-like
        The file.

    Yields
    ------
    Archive
        For reading.

    Raises
    ------
    StorageError
        The file cannot be opened.
    DataError
        It is not a zip archive, or lists a name twice.
    """
    with open_regular(path) as file:
        try:
            files = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError):
            raise _unusable(str(path), "it is not a zip archive") from None
        with files:
            yield Archive(str(path), files)


def _unusable(path: str, why: str) -> DataError:
    return DataError(f"{path} cannot be used: {why}.", "Save the project again, and give that.")
