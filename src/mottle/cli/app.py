"""The command ``mottle``; see `mottle.cli.commands` for its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from mottle._version import __version__
from mottle.cli._command_group import CommandGroup

app = typer.Typer(
    cls=CommandGroup,
    pretty_exceptions_show_locals=False,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Anonymize tables: provable k-anonymity, far less information lost.",
)


def main() -> None:
    """Run the ``mottle`` command."""
    app(prog_name="mottle")


def _version(requested: bool) -> None:
    if requested:
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


if __name__ == "__main__":
    main()
