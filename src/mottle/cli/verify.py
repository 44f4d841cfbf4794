"""The command ``mottle verify``: whether a release is what its certificate says."""

from __future__ import annotations

import csv
from collections.abc import Callable

import pyarrow as pa
import typer

from mottle.audit.earlier import described_by
from mottle.cli._console import Console
from mottle.cli._progress import err, steps_bar
from mottle.cli.commands import Verify
from mottle.errors import DataError, MottleError, StorageError
from mottle.io.atomic_write import staged
from mottle.io.link_file import LinkFile
from mottle.io.original import check_fingerprint
from mottle.io.read_set_release import load_any_release
from mottle.io.read_sets import read_sets
from mottle.io.signature import check_signature
from mottle.io.work_folder import temporary_run_folder, work_folder
from mottle.io.write_release import SIGNATURE, check_private_path
from mottle.itemsets.data import ItemSets
from mottle.release.data import ReleaseData
from mottle.release.per_person import original_of
from mottle.release.set_release import SetReleaseData
from mottle.utils.steps import Announced, Step
from mottle.verification.evidence import PROGRAM, program_text, write_evidence
from mottle.verification.verify_release import Wrong, check_all

# What files that are not as they should be may make the program raise
_UNREADABLE = (
    *(OSError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError),
    *(RecursionError, csv.Error),
)
BROKEN = 6  # exit code: as of 'mottle audit'


def run(command: Verify) -> None:
    """Check the files of a release, its signature and, with links, every cell."""
    folder, out = command.release, Console()
    if not folder.is_dir():
        raise StorageError(f"{folder} is not a folder of a release.", "Name the folder.")
    release = load_any_release(folder, in_memory=False)
    say = _Lines(out)
    if command.signers is not None or (folder / SIGNATURE).exists():
        say("signature", check_signature(folder, command.signers, command.signer))
    if command.export is not None:
        check_private_path(command.export / PROGRAM, folder, overwrite=command.overwrite)
    try:
        if command.original is None or command.private is None:
            check_all(folder, None, say)
            _export_program(command)
        else:
            _check_cells(command, release, say)
    except Wrong as wrong:
        out.print("Wrong", style="bold red", end=": ")
        out.print(str(wrong), highlight=False, soft_wrap=True)
        raise typer.Exit(BROKEN) from None
    except MottleError:
        raise
    except _UNREADABLE:
        raise DataError(
            f"The files of {folder} cannot be compared with the original: they are not those that"
            " a run writes.",
            "Ask for the release again.",
        ) from None
    out.print("Everything that was checked holds.")


class _Lines:
    """Prints what holds."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def __call__(self, what: str, found: object) -> None:
        self._out.print(f"{what}: {found}", markup=False, highlight=False, soft_wrap=True)


def _export_program(command: Verify) -> None:
    """Write the program alone, which then checks the files only."""
    if command.export is None:
        return
    with staged(command.export, [PROGRAM], overwrite=command.overwrite) as stage:
        (stage / PROGRAM).write_text(program_text(), encoding="utf-8")


def _check_cells(command: Verify, release: ReleaseData, say: _Lines) -> None:
    """Write the evidence, into the folder that is named or one that is removed, and check it."""
    assert command.private is not None
    links = LinkFile(command.private)
    held: list[tuple[str, object]] = []  # lines that would break the bar of a terminal
    try:
        with steps_bar("Reading the original") as on_progress:
            original = _original(command, release, links)
            steps = _Steps(on_progress, release, held.append if err.is_terminal else None, say)
            if command.export is not None:
                place, overwrite = command.export, command.overwrite
                write_evidence(release, original, links, place, overwrite=overwrite)
                check_all(command.release, place, steps)
                return
            root = work_folder(published=command.release)
            note = {"command": f"verify {command.release}", "target": f"verify {command.release}"}
            with temporary_run_folder(root, note) as folder:
                write_evidence(release, original, links, folder / "evidence")
                check_all(command.release, folder / "evidence", steps)
    finally:
        for what, found in held:
            say(what, found)


class _Steps:
    """Announces what is checked next whenever the program says what holds."""

    def __init__(
        self,
        on_progress: Callable[[Step], None],
        release: ReleaseData,
        hold: Callable[[tuple[str, object]], None] | None,
        say: _Lines,
    ) -> None:
        self._hold = hold
        self._say = say
        self._last = ""
        self._columns = len(release.columns)
        sorts = ("evidence", "files", *["column"] * self._columns)
        self._steps = Announced(on_progress, sorts)
        self._steps.begin("evidence", "Writing what is checked")

    def __call__(self, what: str, found: object) -> None:
        if self._hold is None:
            self._say(what, found)
        else:
            self._hold((what, found))
        if what == "checksums":
            self._steps.begin("files", "Reading what is checked")
        elif what != self._last:  # of a capped column two things are said
            self._columns -= 1
            if self._columns >= 0:
                self._steps.begin("column", "Checking every cell")
        self._last = what


def _original(command: Verify, release: ReleaseData, links: LinkFile) -> pa.Table | ItemSets:
    """Read the rows that the release describes."""
    assert command.original is not None
    if isinstance(release, SetReleaseData):
        sets = command.sets
        return read_sets(
            command.original,
            column=sets.column,
            record=sets.record,
            item=sets.item,
            separator=sets.item_separator,
            label=sets.label,
            encoding=command.source.encoding,
        )
    table = command.source.read(command.original, links.reading)
    history = release.certificate.history
    if history is not None and history.release > 1:
        return described_by(table, command.private)
    table, _ = original_of(table, release.certified)
    if links.fingerprint is not None:
        check_fingerprint([table], links.fingerprint)
    return table
