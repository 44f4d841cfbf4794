"""The command ``mottle clean``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from mottle.cli._console import print_json, visible
from mottle.cli.commands import Clean
from mottle.errors import StorageError
from mottle.io.atomic_write import settle
from mottle.io.hidden_folder import hidden_folders
from mottle.io.work_folder import RunFolder, remove_run, runs_left, size_of, work_folders
from mottle.io.write_release import release_in


def run(command: Clean) -> None:
    """Show what killed runs have left and, if the user agrees, remove it."""
    folders = command.folders or []
    for folder in folders:
        if not folder.is_dir():
            raise StorageError(f"{folder} is not a folder.", "Name a folder.")
    runs = [run for root in work_folders(command.work) for run in runs_left(root)]
    hidden = [path for folder in folders for path in hidden_folders(folder)]
    ended = [run for run in runs if not run.running]
    if command.as_json:
        print_json(json.dumps([_as_dict(run) for run in runs] + [_hidden(path) for path in hidden]))
    else:
        _show(runs, hidden)
    if not ended and not hidden:
        return
    if not command.yes:
        if command.as_json or not sys.stdin.isatty():
            typer.echo("Nothing was removed: add --yes to remove it.", err=True)
            return
        if not typer.confirm("Remove it? Runs that were killed can then no longer be resumed."):
            return
    failed = [run.path for run in ended if not remove_run(run)]
    for folder in folders:
        failed += settle(folder, release_in)
    for path in failed:
        typer.echo(
            visible(f"{path} is left: it is in use, or waits for its command to run again."),
            err=True,
        )


def _show(runs: list[RunFolder], hidden: list[Path]) -> None:
    """List the folders, each with its size, age and command."""
    if not runs and not hidden:
        typer.echo("Nothing is left by killed runs.")
    for run in runs:
        age = "" if run.age is None else f", {_age(run.age)} old"
        state = " (still running: it is left alone)" if run.running else ""
        typer.echo(visible(f"{run.path}\n    {_bytes(run.size)}{age}: {run.command}{state}"))
    for path in hidden:
        typer.echo(visible(f"{path}\n    {_bytes(size_of(path))}: files of a release or a report"))


def _as_dict(run: RunFolder) -> dict[str, object]:
    return vars(run) | {"path": str(run.path)}


def _hidden(path: Path) -> dict[str, object]:
    return {"path": str(path), "size": size_of(path)}


def _bytes(size: int) -> str:
    """Write a size in a unit that suits it.

    >>> _bytes(900), _bytes(2_500_000)
    ('900 B', '2.5 MB')
    """
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"


def _age(seconds: float) -> str:
    """Write an age in a unit that suits it.

    >>> _age(90), _age(4000), _age(200000)
    ('1 min', '1 h', '2 days')
    """
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    return f"{int(seconds // 3600)} h" if seconds < 86400 else f"{int(seconds // 86400)} days"
