"""Checksums of files: taken while a file is written, or of one that is there."""

from __future__ import annotations

import hashlib
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["HashedFile", "sha256_of"]


class HashedFile(BufferedWriter):
    """A new file that is written from its beginning to its end, and its checksum.

    Parameters
    ----------
    path : Path
        The file; one that exists is replaced.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(FileIO(path, "w"))
        self._hash = hashlib.sha256()

    def write(self, content: ReadableBuffer, /) -> int:
        """Write all of the content; returns the number of bytes."""
        self._hash.update(content)
        return super().write(content)

    def seekable(self) -> bool:
        """Return False: what was written is not written again."""
        return False

    @property
    def sha256(self) -> str:
        """The SHA-256 checksum of everything written so far, in hexadecimal."""
        return self._hash.hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 checksum of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
