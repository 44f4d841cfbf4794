"""Atomic writing: a set of files appears as a whole, and an interrupted run leaves the old set.

New files are written into a hidden folder beside their destination (`io/hidden_folder.py`). When
all are complete and on the disk, a *record* is written into the hidden folder; from then on the new
files count. Then the old files are moved aside into the hidden folder, the last name first, and the
new ones to their places, the last name last. If the target folder does not exist, it is made
inside the hidden folder and appears by one renaming. An error or Ctrl-C moves everything back.
After a kill, the next run that writes the same files finds the record and moves the rest. The last
name, the certificate of a release, is there only together with the files that belong to it.

The owner's files (links, internal report) lie in other folders and wait in hidden folders of their
own. Their records name the release to which they belong; they count as soon as the destination
holds that release.

What a hidden folder says is not trusted: it has to be private (`utils/private_folders.py`), and its
record may name nothing but files that the running command is about to write itself. Commands that
only read do not look at hidden folders.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from mottle.errors import StorageError
from mottle.io.hidden_folder import (
    abandoned,
    discard,
    folder_lock,
    hidden_folder,
    make_folder,
    warn_about,
)
from mottle.io.staged_files import Record, Stage, is_whole, read_record, write_atomic
from mottle.utils.paths import resolved

__all__ = [
    "OwnerFiles",
    "Staging",
    "check_writable",
    "ensure_absent",
    "owner_files",
    "publication",
    "recover",
    "settle",
    "staged",
    "translating_os_errors",
    "write_atomic",
]


@dataclass
class Staging:
    """Where the files of a set are written before they appear."""

    folder: Path
    owner: dict[Path, Path]  # where each of the owner's files is written, by its destination
    release: str = ""  # identifies the release, for the owner's files
    # Checksums that were taken while files were written, by name; others are taken at the end.
    sha256: dict[str, str] = field(default_factory=dict)


# ------------------------------------------------------------------------------------- publishing


@contextmanager
def staged(
    target: Path, names: Sequence[str], *, overwrite: bool, obsolete: Sequence[str] = ()
) -> Iterator[Path]:
    """Yield a folder to write files into; they appear in ``target`` at the end.

    On any error, and on Ctrl-C, nothing appears.

    Parameters
    ----------
    target : Path
        The folder in which the files appear; it is created if necessary.
    names : sequence of str
        The files. The last one is moved last, so its presence says that the set is complete.
    overwrite : bool
        Replace existing files, but only after all new ones are complete.
    obsolete : sequence of str
        Names that an earlier set may have had and this one does not have.

    Yields
    ------
    Path
        The folder to write into.

    Raises
    ------
    StorageError
        Files exist and may not be replaced, or cannot be written.
    """
    with publication(target, names, overwrite=overwrite, obsolete=obsolete) as staging:
        yield staging.folder


@contextmanager
def publication(
    target: Path,
    names: Sequence[str],
    *,
    overwrite: bool,
    obsolete: Sequence[str] = (),
    owner: Sequence[Path] = (),
    current: Callable[[], str] = str,
) -> Iterator[Staging]:
    """Publish a set of files together with files for the owner that lie elsewhere.

    Parameters
    ----------
    target : Path
        As for `staged`.
    names : sequence of str
        As for `staged`.
    overwrite : bool
        As for `staged`; for the owner's files as well.
    obsolete : sequence of str
        As for `staged`.
    owner : sequence of Path
        Files for the owner only. Whoever writes them sets ``release`` of what is yielded.
    current : callable
        Returns which release is in ``target``.

    Yields
    ------
    Staging
        Where to write.

    Raises
    ------
    StorageError
        As for `staged`.
    """
    with translating_os_errors(target), ExitStack() as opened:
        recover(target, [*obsolete, *names])
        others = opened.enter_context(
            owner_files(owner, overwrite=overwrite, place=str(resolved(target)), current=current)
        )
        ensure_absent(target, [*names, *obsolete], overwrite=overwrite)
        made = make_folder(target.parent)
        opened.callback(_remove_empty, made)
        whole = not _exists(target)  # then the folder appears, not single files
        stage = Stage(opened.enter_context(hidden_folder(target.parent if whole else target)))
        opened.callback(stage.finish)
        folder = stage.new / target.name if whole else stage.new
        folder.mkdir(parents=True)
        staging = Staging(folder, others.places)
        yield staging
        if sorted(os.listdir(folder)) != sorted(names):
            raise StorageError(f"Not all files for {target} were written.", "Run it again.")
        others.prepare(staging.release)
        with folder_lock(stage.anchor):
            ensure_absent(target, [*names, *obsolete], overwrite=overwrite)
            record = (
                stage.prepare([target.name], (), staging.sha256)
                if whole
                else stage.prepare(names, obsolete, staging.sha256)
            )
            stage.write(record)
            try:
                stage.forward(record)
                others.forward()
            except BaseException:
                others.back()
                stage.back(record)
                raise


def _exists(target: Path) -> bool:
    """Whether a folder is there; raises an error if something else is."""
    if os.path.lexists(target) and not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is not a folder", str(target))
    return target.is_dir()


class OwnerFiles:
    """The owner's files, in hidden folders beside their destinations."""

    def __init__(self, stages: dict[Path, Stage], place: str) -> None:
        self._stages = stages
        self._place = place
        self._records: dict[Path, Record] = {}
        self.places = {path: stage.new / path.name for path, stage in stages.items()}

    def prepare(self, release: str) -> None:
        """Declare the files complete.

        Parameters
        ----------
        release : str
            The release with which they appear.
        """
        for path, stage in self._stages.items():
            record = stage.prepare([path.name], ())
            record = replace(record, release=release, place=self._place)
            stage.write(record)
            self._records[path] = record

    def forward(self) -> None:
        """Move the files to their destinations, once the release is at its own."""
        for path, record in self._records.items():
            self._stages[path].forward(record)

    def back(self) -> None:
        """Put back the files that were there before."""
        for path, record in self._records.items():
            self._stages[path].back(record)


@contextmanager
def owner_files(
    paths: Sequence[Path], *, overwrite: bool, place: str, current: Callable[[], str] = str
) -> Iterator[OwnerFiles]:
    """Make hidden folders for the owner's files.

    Parameters
    ----------
    paths : sequence of Path
        The destinations.
    overwrite : bool
        Whether existing files are replaced.
    place : str
        Where the release goes to which they belong, for messages and comparison.
    current : callable
        Returns which release is there.

    Yields
    ------
    OwnerFiles
        Where to write them; they appear when ``prepare`` and ``forward`` are called.

    Raises
    ------
    StorageError
        A file exists and may not be replaced.
    """
    stages = {}
    with ExitStack() as opened:
        for path in paths:
            opened.enter_context(translating_os_errors(path))
            recover(path.parent, [path.name], place=place, current=current, only_files=True)
            ensure_absent(path.parent, [path.name], overwrite=overwrite)
            made = make_folder(path.parent)
            opened.callback(_remove_empty, made)
            stages[path] = Stage(opened.enter_context(hidden_folder(path.parent)))
            opened.callback(stages[path].finish)
            stages[path].new.mkdir(mode=0o700)
        yield OwnerFiles(stages, place)


# --------------------------------------------------------------------------------------- recovery


def recover(
    target: Path,
    names: Sequence[str],
    *,
    place: str = "",
    current: Callable[[], str] = str,
    only_files: bool = False,
) -> None:
    """Finish or undo what killed runs have begun with files that the caller is about to write.

    Parameters
    ----------
    target : Path
        The folder of the files.
    names : sequence of str
        The names of the files; a hidden folder that is about others is left alone.
    place : str
        Where the release goes to which the owner's files belong.
    current : callable
        Returns which release is there.
    only_files : bool
        Whether the folder itself is not part of what is written.

    Raises
    ------
    StorageError
        A file of the owner waits for a release that goes elsewhere.
    """
    anchors = [(target, names)]
    if not only_files:
        anchors.append((target.parent, [target.name]))
    for anchor, known in anchors:
        with translating_os_errors(target), abandoned(anchor) as stages:
            if stages:
                with folder_lock(anchor):
                    for stage in stages:
                        _finish(Stage(stage), known, place, current)


def settle(folder: Path, current: Callable[[Path], str]) -> list[Path]:
    """Finish or undo everything that killed runs have begun in a folder.

    Parameters
    ----------
    folder : Path
        The folder.
    current : callable
        Returns which release is in a folder.

    Returns
    -------
    list of Path
        The hidden folders that are left: a file in them belongs to a release in a database.
    """
    left = []
    for anchor in (folder, folder.parent):
        with translating_os_errors(folder), abandoned(anchor) as stages, folder_lock(anchor):
            for stage in map(Stage, stages):
                names, place = [folder.name], ""
                with suppress(OSError, ValueError, RecursionError):
                    record = read_record(stage)
                    if record is not None and anchor == folder:
                        names, place = [*record.new, *record.old], record.place
                if place and not os.path.isabs(place):
                    left.append(stage.path)
                else:
                    _finish(stage, names, place, partial(current, Path(place)))
    return left


def _finish(stage: Stage, names: Sequence[str], place: str, current: Callable[[], str]) -> None:
    """Move what a killed run has not moved, or move it back; then remove its hidden folder."""
    try:
        record = read_record(stage)
    except (OSError, ValueError, RecursionError):
        warn_about(stage.path, "was not left by mottle as it is")
        return
    if record is not None:
        if not {*record.new, *record.old} <= set(names):
            return  # a run that writes other files was interrupted
        counts = True
        if record.place:
            if record.place != place:
                raise StorageError(
                    f"{stage.path} holds a file for the owner of a release in {record.place},"
                    " whose run was interrupted.",
                    "Run that command again, or remove the folder if the file is not needed.",
                )
            counts = record.release == current()
        if counts and is_whole(stage, record):
            stage.forward(record)
        else:
            stage.back(record)
    stage.finish()


# ------------------------------------------------------------------------------------ small pieces


@contextmanager
def translating_os_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into a `StorageError` that names ``path``.

    Parameters
    ----------
    path : Path
        What is being written.

    Raises
    ------
    StorageError
        In place of any ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"Cannot write to {path}: {error.strerror or error}.",
            "Nothing was published. Check space and permissions, or choose another path.",
        ) from error


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def ensure_absent(target: Path, names: Sequence[str], *, overwrite: bool) -> None:
    """Check that files may be written.

    Parameters
    ----------
    target : Path
        The folder.
    names : sequence of str
        The files.
    overwrite : bool
        Whether existing files may be replaced.

    Raises
    ------
    StorageError
        A file exists and may not be replaced, or there is a folder or a link of its name.
    """
    for name in names:
        if (target / name).is_symlink():
            raise StorageError(f"{target / name} is a symbolic link.", "Name the file itself.")
        if (target / name).is_dir():
            raise StorageError(f"{target / name} is a folder.", "Choose another path.")
    existing = [name for name in names if (target / name).exists()]
    if existing and not overwrite:
        place = "This folder" if target == Path() else target
        raise StorageError(
            f"{place} already holds {', '.join(existing)}.",
            "Choose another place with -o, or replace what is there with --overwrite.",
        )


def check_writable(folder: Path) -> None:
    """Raise before a long run if nothing could be written to a folder after it.

    Parameters
    ----------
    folder : Path
        The folder; if it does not exist, the one in which it would be made is tried.

    Raises
    ------
    StorageError
        Files cannot be made there.
    """
    for nearest in (folder, *folder.absolute().parents):
        if nearest.is_dir():
            with translating_os_errors(folder), hidden_folder(nearest) as stage:
                discard(stage)
            return
        if os.path.lexists(nearest):
            raise StorageError(f"{nearest} is not a folder.", "Choose another path.")
