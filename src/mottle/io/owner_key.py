"""The owner's key file: 32 random bytes from which the random numbers of runs are derived."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from mottle.errors import DataError, StorageError, UsageError
from mottle.utils.paths import resolved

__all__ = ["check_key_path", "owner_key"]

HEADER = "mottle key 1 (secret: with it and the table, releases made with it can be undone)"
_BYTES = 32
_CERTIFICATE = "certificate.json"


def owner_key(key: object) -> bytes:
    """Return the owner's key; a file that does not exist is created.

    Parameters
    ----------
    key : str, Path or bytes
        The key file, or the key itself.

    Returns
    -------
    bytes
        32 bytes.

    Raises
    ------
    UsageError
        The key has another length, or is of another type.
    StorageError
        The file lies with a release, can be read by others, or cannot be read or created.
    DataError
        The file is not a key file.
    """
    if isinstance(key, bytes):
        if len(key) != _BYTES:
            raise UsageError(
                f"The key has {len(key)} bytes instead of {_BYTES}.",
                "Use secrets.token_bytes(32), or name a file.",
            )
        return key
    if not isinstance(key, str | os.PathLike):
        raise UsageError(f"A {type(key).__name__} is not a key.", "Name a file, or give 32 bytes.")
    path = Path(key)
    if (path.parent / _CERTIFICATE).exists():
        raise UsageError(
            f"The key {path} (--key) would be in the folder of a release.",
            "It would be published with the release: keep it elsewhere.",
        )
    try:
        with suppress(FileExistsError):
            _create(path)
        return _read(path)
    except OSError as error:
        raise StorageError(
            f"Cannot use the key {path} (--key): {error.strerror or error}.",
            "Check the path and its permissions.",
        ) from None


def check_key_path(key: object, folder: Path) -> None:
    """Raise `UsageError` if the key file would be inside a folder that is published.

    Parameters
    ----------
    key : object
        The key file; anything that is not a path is accepted.
    folder : Path
        The folder of the release.

    Raises
    ------
    UsageError
        The file would be inside the folder.
    """
    if not isinstance(key, str | os.PathLike):
        return
    path = resolved(key)
    if resolved(folder) in (path, *path.parents):
        raise UsageError(
            f"The key {key} (--key) would be in the release folder {folder}.",
            "It would be published with the release: keep it elsewhere.",
        )


def _create(path: Path) -> None:
    """Create the file with a new key, complete or not at all; it never replaces a file."""
    if path.exists():
        raise FileExistsError
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with open(handle, "w", encoding="ascii") as file:
            file.write(f"{HEADER}\n{secrets.token_hex(_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(partial, path)
    finally:
        partial.unlink()


def _read(path: Path) -> bytes:
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for its writer
        raise StorageError(f"The key {path} (--key) is not a file.", "Name a file.")
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        content = file.read(1000)
    if os.name == "posix" and mode & 0o077:
        raise StorageError(
            f"The key {path} (--key) can be used by others than its owner.",
            f"If nobody has read it: chmod 600 {path}. Otherwise make a new key.",
        )
    header, _, rest = content.partition(b"\n")
    with suppress(ValueError):
        key = bytes.fromhex(rest.decode("ascii").strip())
        if header.decode("ascii") == HEADER and len(key) == _BYTES:
            return key
    raise DataError(
        f"{path} (--key) is not a key that mottle wrote, or not all of it.",
        "Name the right file, or one that does not exist for a new key.",
    )
