"""Which files the studio may touch: those below the folders that were named when it started."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mottle.errors import UsageError


class Places:
    """Folders below which files may be read and written.

    Parameters
    ----------
    folders : iterable of Path
        The folders; they exist.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = tuple(dict.fromkeys(folder.resolve(strict=True) for folder in folders))

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders, resolved."""
        return self._folders

    def allowed(self, path: str | Path) -> Path:
        """Return a path that may be touched, resolved.

        Parameters
        ----------
        path : str or Path
            What a page names; relative paths begin at the first folder.

        Returns
        -------
        Path
            The file or folder that is meant, without symbolic links in its way.

        Raises
        ------
        UsageError
            It lies elsewhere, or a symbolic link leads there.
        """
        text = str(path)
        if "\0" in text or not text.strip():
            raise UsageError("This is no path.", "Name a file below the studio's folder.")
        meant = (self._folders[0] / text).resolve()
        if not any(meant == folder or folder in meant.parents for folder in self._folders):
            raise UsageError(
                "The path is outside the folders that the studio was started with.",
                "Start it with that folder: mottle studio FOLDER.",
            )
        return meant
