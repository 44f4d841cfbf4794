"""Database files: a file that a failed run has made is removed again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BESIDE = ("", "-journal", "-wal", "-shm", ".wal")


@contextmanager
def removing_on_failure(path: Path, committed: list[bool]) -> Iterator[None]:
    """Remove the file, and those beside it, if it was not there and nothing was committed."""
    existed = path.exists()
    try:
        yield
    finally:
        if not existed and not committed:
            for ending in _BESIDE:
                Path(f"{path}{ending}").unlink(missing_ok=True)
