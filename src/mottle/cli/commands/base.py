"""What all commands share: how one is run, the names it checks, common arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from mottle.cli._option_groups import EFFORT, OUTPUT, OptionGroup
from mottle.errors import UsageError, did_you_mean
from mottle.utils.lazy import lazy_module
from mottle.utils.lean_process import keep_imported, keep_memory

FORMATS = ("csv", "parquet")  # of sampled tables
IMPORTED_TOOLS = ("arx", "sdcmicro", "amnesia")
_PACKAGE = Path(__file__).parent.parent.parent


def names_registered_in(folder: Path, leaving_out: str = "") -> tuple[list[str], list[str]]:
    """Find the names that the modules below a folder register, without importing them.

    Returns the names, and the beginnings of names that modules put together (``f"het-{rule}"``).
    Packages named ``leaving_out`` are passed over.
    """
    paths = [path for path in folder.rglob("[a-z]*.py") if path.parent.name != leaving_out]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    names = re.findall(r'register\(\s*"([^"]+)"', text)
    return sorted(names), re.findall(r'register\(\s*f"([^"{]+)\{', text)


def check_method(name: str, *, sets: bool = False) -> None:
    """Raise `UsageError` if neither mottle nor another distribution has a method; imports none."""
    folder = _PACKAGE / "methods" / "sets" if sets else _PACKAGE / "methods"
    names, beginnings = names_registered_in(folder, "" if sets else "sets")
    if name not in names and not name.startswith(tuple(beginnings)):
        from importlib.metadata import entry_points  # slow, and only needed for a name not ours

        others = entry_points(group="mottle.methods.sets" if sets else "mottle.methods").names
        if name in others:
            return
        names = sorted({*names, *others})
        noun = "method for sets" if sets else "method"
        raise UsageError(f"There is no {noun} '{name}'.", did_you_mean(name, names))


ADVERSARIES, _ = names_registered_in(_PACKAGE / "audit" / "adversaries")

Release = Annotated[
    Path, typer.Argument(help="Release folder, or its release.parquet or release.csv.")
]
ReleaseFolder = Annotated[
    Path, typer.Option("--output", "-o", help="Folder for the release.", rich_help_panel=OUTPUT)
]
Fit = Annotated[
    str,
    typer.Option(help="Values of a cell: fitted or uniform.", rich_help_panel=EFFORT),
]


@dataclass(frozen=True, kw_only=True)
class Command(OptionGroup):
    """A command with its options, as it was typed."""

    module: ClassVar[str] = ""

    typed: tuple[str, ...] = ()  # the words after "mottle"

    def run(self) -> Any:
        """Check the options, then import what the command needs, and run it."""
        keep_memory()
        self.check()
        run = lazy_module(self.module).run
        keep_imported()
        return run(self)
