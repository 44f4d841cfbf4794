"""Runs one case of a table, has the checker look at the release, and uses it once."""

from __future__ import annotations

import shutil
from pathlib import Path

from checker import check_release
from runs import VALID, Ended, Failure, command, judged, left_over, state
from table_cases import TableCase

from mottle.methods.base import METHODS

BROKEN = 6  # exit code of a broken audit


def run_table(case: TableCase, folder: Path) -> str:
    """Return how the run ended: valid, or the name of the error. Raise for anything else."""
    arguments = case.write(folder)
    before = state(folder)
    ended = command(*arguments)
    planted = case.planted()
    result = judged(ended, planted, [BROKEN] if case.audit == "full" else [])
    if leftovers := left_over(folder):
        raise Failure(f"left after the run: {leftovers}")
    if result not in (VALID, f"exit code {BROKEN}"):
        written = state(folder)
        written.pop("key", None)
        if written != before:
            raise Failure(f"left after an error: {sorted(set(written) ^ set(before))}")
        return result
    check_release(folder / "out", folder / "links.parquet", case.original, case.asked())
    if result != VALID:
        return result if case.unsafe or decides_by_both(case.method) else _broken(ended)
    if case.keyed:
        _check_repeatable(arguments, folder)
    if "report could not be made" in " ".join(ended.output.split()):
        raise Failure("the report could not be made")
    if case.report:
        use_release(case, folder)
    return VALID


def decides_by_both(name: str) -> bool:
    """Whether a method promises nothing about whoever replays its decisions."""
    return bool(METHODS.get_named(name).mixed_decision)


def _broken(ended: Ended) -> str:
    raise Failure(f"an audit broke the guarantee\n{ended.output}")


def _check_repeatable(arguments: list[str], folder: Path) -> None:
    """With the owner's key the same command makes the same release."""
    first = (folder / "out" / "release.parquet").read_bytes()
    shutil.rmtree(folder / "out")
    (folder / "links.parquet").unlink()
    judged(command(*arguments))
    if (folder / "out" / "release.parquet").read_bytes() != first:
        raise Failure("the same command with the same key made another release")


def use_release(case: TableCase, folder: Path) -> None:
    """Every command that reads a release answers about this one, or names an error."""
    out, source, planted = folder / "out", folder / f"people.{case.file}", case.planted()
    schema = folder / "mottle.toml"
    for arguments in (
        ["query", out, "SELECT count(*) FROM release"],
        ["query", out, "SELECT count(*) FROM release", "--plain"],
        ["sample", out, "-o", folder / "samples", "-m", 1, "--seed", 1],
        ["report", out, "-o", folder / "again.html"],
        ["audit", source, out, "--private", folder / "links.parquet", "--schema", schema],
    ):
        ended = command(*arguments)
        try:
            result = judged(ended, planted, [BROKEN])
        except Failure as failure:
            raise Failure(f"mottle {arguments[0]}: {failure}") from None
        if result != VALID and arguments[0] in ("query", "report"):
            raise Failure(f"mottle {arguments[0]} refused its own release\n{ended.output}")
