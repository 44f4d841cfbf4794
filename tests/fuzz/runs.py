"""Runs mottle's command line in this process, and says how a run ended."""

from __future__ import annotations

import os
import re
import signal
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from mottle.cli.app import app

NAMED = {
    2: "UsageError or SchemaError",
    3: "GuaranteeError",
    4: "DataError",
    5: "StorageError",
}
VALID = "valid"
SOURCES = Path(__file__).parents[2] / "src"
LONGEST = 400  # seconds; kernels are compiled in some runs


class Failure(AssertionError):  # noqa: N818 - of a run, not of this program
    """A run that ended otherwise than with a valid result or a named error."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    output: str  # everything printed
    traceback: str = ""

    @property
    def named(self) -> str | None:
        """The class of the error with which the command ended on purpose."""
        return NAMED.get(self.code)


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in this thread when the time is over."""

    def expire(*_: object) -> None:
        raise TimeoutError(f"not finished after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def command(*arguments: object) -> Ended:
    """Run ``mottle`` with these arguments."""
    with time_limit(LONGEST):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    caught = result.exception
    shown = ""
    if caught is not None and not isinstance(caught, SystemExit):
        shown = "".join(traceback.format_exception(caught))
    return Ended(result.exit_code, result.output, shown)


def judged(ended: Ended, planted: Iterable[str] = (), allowed: Iterable[int] = ()) -> str:
    """Return `VALID` or the name of the error; raise `Failure` for any other end."""
    if ended.traceback:
        raise Failure(f"traceback: {ended.traceback.strip().splitlines()[-1]}\n{ended.traceback}")
    if "Traceback (most recent" in ended.output:
        raise Failure(f"traceback in the output:\n{ended.output}")
    for text in planted:
        if text in ended.output:
            raise Failure(f"a message quotes a cell: {text!r}\n{ended.output}")
    if ended.code == 0:
        return VALID
    if ended.code in allowed:
        return f"exit code {ended.code}"
    if ended.named is None:
        raise Failure(f"exit code {ended.code}\n{ended.output}")
    said = re.sub(r"\s+", " ", ended.output)
    if "Error:" not in said and "Usage:" not in said:
        raise Failure(f"exit code {ended.code} without an error message\n{ended.output}")
    return ended.named


def environment(work: Path) -> dict[str, str]:
    """The environment of a process that runs the same mottle, with a work folder of its own."""
    return {**os.environ, "PYTHONPATH": str(SOURCES), "MOTTLE_WORK": str(work)}


def state(folder: Path) -> dict[str, bytes]:
    """All files below a folder by their path, those of hidden folders as well."""
    found = {}
    for place, _, files in os.walk(folder):
        for name in files:
            path = Path(place, name)
            key = str(path.relative_to(folder))
            found[key] = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
    return found


def left_over(folder: Path) -> list[str]:
    """What a run that ended must not leave: hidden folders, and rows in the work folder."""
    hidden = [str(path) for path in folder.rglob(".mottle-*")]
    return hidden + [str(path) for path in (folder / "work").rglob("*") if path.is_file()]
