"""The command line: all commands, each from the file that reads its options and runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from mottle._version import __version__
from mottle.cli._sources import DiscreetGroup
from mottle.cli._terminal import reporting_errors
from mottle.cli.anonymize import anonymize_command
from mottle.cli.anonymize_sets import anonymize_sets_command
from mottle.cli.audit import audit_command
from mottle.cli.compare import compare_command
from mottle.cli.demo import demo_command
from mottle.cli.inspect import inspect_command, lint_hierarchy_command, methods_command
from mottle.cli.query import query_command, sample_command
from mottle.cli.report import report_command

app = typer.Typer(
    cls=DiscreetGroup,
    pretty_exceptions_show_locals=False,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Anonymize tables: provable k-anonymity, far less information lost.",
)


def main() -> None:
    """Entry point of the ``mottle`` command."""
    app(prog_name="mottle")


def _version(asked: bool) -> None:
    if asked:
        print(f"mottle {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options before the command."""


_COMMANDS: dict[str, Callable[..., None]] = {
    "anonymize": anonymize_command,
    "audit": audit_command,
    "query": query_command,
    "sample": sample_command,
    "report": report_command,
    "compare": compare_command,
    "inspect": inspect_command,
    "methods": methods_command,
    "lint-hierarchy": lint_hierarchy_command,
    "demo": demo_command,
    "anonymize-sets": anonymize_sets_command,
}
for name, command in _COMMANDS.items():
    app.command(name)(reporting_errors(command))


if __name__ == "__main__":
    main()
