"""The command ``mottle lint-hierarchy``, the old name of ``mottle hierarchy lint``."""

from __future__ import annotations

from mottle.cli._progress import err
from mottle.cli.commands import LintHierarchy
from mottle.cli.hierarchy import lint


def run(command: LintHierarchy) -> None:
    """List everything that is wrong with a hierarchy file; exit code 4 if it cannot be used."""
    err.print("'mottle lint-hierarchy' is now 'mottle hierarchy lint'.", highlight=False)
    lint(command.file, command.data, command.column, command.source, as_json=command.as_json)
