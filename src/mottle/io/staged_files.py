"""The files that wait in a hidden folder, and the record by which an interrupted run goes on.

A record lists the new files with their checksums and the old files that they replace. What has been
moved already is seen from what is where, so moving can be interrupted and repeated at any point. A
record that is found is believed only if a run of this user can have written it: `read_record`.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mottle.io.hidden_folder import discard, sync_folder
from mottle.utils.private_folders import is_private

_NEW, _OLD, _RECORD, _DONE = "new", "old", "record", "done"  # in a hidden folder
_MOST_BYTES = 1 << 24  # of a record
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class Record:
    """What is to be moved between a hidden folder and the folder that contains it."""

    new: dict[str, str]  # new files and their checksums, in the order in which they are moved
    old: tuple[str, ...]  # files that were there before, in the order in which they are put back
    release: str = ""  # the release with which the owner's files count
    place: str = ""  # where that release goes; empty if the new files count as they are

    def to_json(self) -> str:
        """Write the record as text."""
        return json.dumps(vars(self))

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Read a record; raises ValueError for anything that `to_json` does not write."""
        found: Any = json.loads(text)
        if not isinstance(found, dict) or set(found) != set(cls.__dataclass_fields__):
            raise ValueError("not a record")
        new, old = found["new"], found["old"]
        if not isinstance(new, dict) or not isinstance(old, list):
            raise ValueError("not a record")
        texts = (found["release"], found["place"], *new.values(), *old)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("not a record")
        return cls(**found | {"old": tuple(old)})


@dataclass
class Stage:
    """A hidden folder and the folder beside whose files it lies."""

    path: Path
    half_done: bool = False  # whether files have been moved, but not all of them

    @property
    def anchor(self) -> Path:
        """The folder in which the files appear."""
        return self.path.parent

    @property
    def new(self) -> Path:
        """Where new files wait."""
        return self.path / _NEW

    @property
    def old(self) -> Path:
        """Where old files are kept until the new ones are in their places."""
        return self.path / _OLD

    def prepare(
        self, names: Sequence[str], obsolete: Sequence[str], known: Mapping[str, str] | None = None
    ) -> Record:
        """Flush the new files to the disk and describe them.

        ``known`` has checksums, by name, that were taken while files were written.
        """
        sums = {name: _flushed(self.new / name, known or {}) for name in names}
        sync_folder(self.new)
        os.mkdir(self.old, 0o700)
        present = [name for name in (*obsolete, *names) if os.path.lexists(self.anchor / name)]
        return Record(sums, tuple(present))

    def write(self, record: Record) -> None:
        """Write the record; from here on the new files count."""
        write_atomic(self.path / _RECORD, record.to_json())
        sync_folder(self.path)

    def forward(self, record: Record) -> None:
        """Move the old files aside and the new ones to their places, as far as not yet done."""
        self.half_done = True
        for name in reversed(record.old):
            pending = name not in record.new or os.path.lexists(self.new / name)
            if pending and not os.path.lexists(self.old / name):
                with suppress(FileNotFoundError):
                    os.replace(self.anchor / name, self.old / name)
        for name in record.new:
            if os.path.lexists(self.new / name):
                os.replace(self.new / name, self.anchor / name)
        sync_folder(self.anchor)
        self.half_done = False

    def back(self, record: Record) -> None:
        """Take new files back and move the old ones to their places, as far as not yet done."""
        for name in reversed(record.new):
            replaced = name not in record.old or os.path.lexists(self.old / name)
            if replaced and not os.path.lexists(self.new / name):
                with suppress(FileNotFoundError):
                    os.replace(self.anchor / name, self.new / name)
        for name in record.old:
            if os.path.lexists(self.old / name):
                os.replace(self.old / name, self.anchor / name)
        sync_folder(self.anchor)
        self.half_done = False

    def finish(self) -> None:
        """Remove the hidden folder, unless the next run has to go on with it."""
        if self.half_done:
            return
        with suppress(OSError):  # what is left of the folder is not taken for a record
            os.replace(self.path / _RECORD, self.path / _DONE)
        discard(self.path)


def read_record(stage: Stage) -> Record | None:
    """Read the record of a hidden folder; None if nothing is left to be moved.

    Raises ValueError if no run can have left the folder in this way.
    """
    path = stage.path / _RECORD
    if not os.path.lexists(path):
        if os.path.lexists(stage.path / _DONE) or not os.path.lexists(stage.old):
            return None
        if not is_private(stage.old) or os.listdir(stage.old):
            raise ValueError("old files without a record")
        return None
    handle = os.open(path, os.O_RDONLY | _NO_LINKS)
    with open(handle, encoding="utf-8") as file:
        if not _is_own_file(os.fstat(file.fileno())):
            raise ValueError("not a file of this user")
        record = Record.from_json(file.read(_MOST_BYTES))
    if not all(map(_is_plain, (*record.new, *record.old))):
        raise ValueError("not names of files")
    if not _is_own_folder(stage.new) or not _is_own_folder(stage.old):
        raise ValueError("not folders of this user")
    if not all(_is_own(path) for path in stage.new.iterdir()):
        raise ValueError("not files of this user")
    if not all(stat.S_ISREG(os.lstat(path).st_mode) for path in stage.old.iterdir()):
        raise ValueError("not files")  # whoever has made them
    return record


def _is_plain(name: str) -> bool:
    """Whether a name is that of a file in the folder itself."""
    return Path(name).name == name and name not in ("", "..") and "\0" not in name


def _is_own_file(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and (os.name != "posix" or found.st_uid == os.geteuid())


def _is_own_folder(path: Path) -> bool:
    found = os.lstat(path)
    return stat.S_ISDIR(found.st_mode) and (os.name != "posix" or found.st_uid == os.geteuid())


def _is_own(path: Path) -> bool:
    """Whether a path is a file of this user, or a folder of such files; no links."""
    if _is_own_file(os.lstat(path)):
        return True
    return _is_own_folder(path) and all(_is_own_file(os.lstat(each)) for each in path.iterdir())


def is_whole(stage: Stage, record: Record) -> bool:
    """Whether the new files that still wait are as they were written, and can be moved."""
    for name, checksum in record.new.items():
        waiting = stage.new / name
        if os.path.lexists(waiting):
            if waiting.is_dir() and os.path.lexists(stage.anchor / name):
                return False  # somebody has made a folder of this name meanwhile
            if _checksum(waiting) != checksum:
                return False
    return True


def _flushed(path: Path, known: Mapping[str, str]) -> str:
    """Make sure the content of a file or folder has reached the disk; return its checksum."""
    if path.is_dir():
        inside = sorted((each.name, _flushed(each, known)) for each in path.iterdir())
        sync_folder(path)
        return _of_folder(inside)
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    return known.get(path.name) or _checksum(path)


def _of_folder(inside: list[tuple[str, str]]) -> str:
    return hashlib.sha256(json.dumps(inside).encode()).hexdigest()


def _checksum(path: Path) -> str:
    """The SHA-256 checksum of a file, or of the names and checksums of the files of a folder."""
    if path.is_dir():
        return _of_folder(sorted((each.name, _checksum(each)) for each in path.iterdir()))
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomic(path: Path, text: str) -> None:
    """Write a small private file such that it either has all of its content or does not exist."""
    write_together({path: text})


def write_together(texts: Mapping[Path, str]) -> None:
    """Write small private files; where there is no room for all of them, none is replaced."""
    partials = {path: path.with_name(f"{path.name}.partial") for path in texts}
    for path, partial in partials.items():
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(texts[path])
            file.flush()
            os.fsync(file.fileno())
    for path, partial in partials.items():
        os.replace(partial, path)
