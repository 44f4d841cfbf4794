"""Commands for people who work with a release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from mottle.cli._option_groups import DATA, EFFORT, OUTPUT
from mottle.cli.commands.base import (
    FORMATS,
    Command,
    Fit,
    Release,
)
from mottle.cli.options.single import (
    AsJson,
    Overwrite,
)
from mottle.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Query(Command):
    """The command ``mottle query``."""

    module: ClassVar[str] = "mottle.cli.query"

    release: Annotated[
        Path | None,
        typer.Argument(help="Release folder, or its release.parquet or release.csv."),
    ] = None
    sql: Annotated[
        str | None, typer.Argument(help='"SELECT count(*) FROM release WHERE age > 60"')
    ] = None
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME=FILE",
            help="A code list of your own to join: --with codes=codes.csv. Repeatable.",
            rich_help_panel=DATA,
        ),
    ] = None
    rules: Annotated[
        bool,
        typer.Option(
            "--rules",
            help="List association rules between the items of sets, instead of SQL.",
            rich_help_panel=EFFORT,
        ),
    ] = False
    itemsets: Annotated[
        bool,
        typer.Option(
            "--itemsets",
            help="List frequent sets of items, instead of SQL.",
            rich_help_panel=EFFORT,
        ),
    ] = False
    support: Annotated[
        float,
        typer.Option(
            help="Smallest share of the records, with --rules or --itemsets.",
            rich_help_panel=EFFORT,
        ),
    ] = 0.01
    confidence: Annotated[
        float, typer.Option(help="Smallest confidence of a rule.", rich_help_panel=EFFORT)
    ] = 0.5
    size: Annotated[
        int,
        typer.Option(help="Most items, with --rules or --itemsets.", rich_help_panel=EFFORT),
    ] = 3
    column: Annotated[
        str | None,
        typer.Option(
            help="Column of sets, with --rules or --itemsets, if there are several.",
            rich_help_panel=DATA,
        ),
    ] = None
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="Let DuckDB evaluate the SQL itself: ranges are structs, sets are lists.",
            rich_help_panel=EFFORT,
        ),
    ] = False
    fit: Fit = "fitted"
    macros: Annotated[
        bool,
        typer.Option(
            "--macros",
            help="Print DuckDB macros that read the text cells of release.csv, and nothing else.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print the answer as CSV.", rich_help_panel=OUTPUT)
    ] = False
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` unless there is something to do."""
        super().check()
        listing = self.rules or self.itemsets
        if listing and (self.sql is not None or self.plain or (self.rules and self.itemsets)):
            raise UsageError(
                "--rules and --itemsets stand for themselves, without SQL.",
                "Leave one of them out.",
            )
        if not self.macros and (self.release is None or (self.sql is None and not listing)):
            raise UsageError(
                "A release and a query are missing."
                if self.release is None
                else "The query is missing.",
                'For instance: mottle query FOLDER "SELECT count(*) FROM release"',
            )
        for given in self.with_ or ():
            name, separator, file = given.partition("=")
            if not (name and separator and file):
                raise UsageError(
                    "--with needs a name and a file.", "For instance: --with codes=codes.csv"
                )


@dataclass(frozen=True, kw_only=True)
class Sample(Command):
    """The command ``mottle sample``."""

    module: ClassVar[str] = "mottle.cli.sample"

    release: Release
    tables: Annotated[
        int,
        typer.Option("--tables", "-m", help="Number of tables to draw.", rich_help_panel=EFFORT),
    ] = 5
    seed: Annotated[
        int | None,
        typer.Option(
            help="Makes the draw repeatable.", show_default="random", rich_help_panel=EFFORT
        ),
    ] = None
    fit: Fit = "fitted"
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the tables.", rich_help_panel=OUTPUT)
    ]
    format_: Annotated[
        str, typer.Option("--format", help=f"{' or '.join(FORMATS)}.", rich_help_panel=OUTPUT)
    ] = FORMATS[0]
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Export(Command):
    """The command ``mottle export``."""

    module: ClassVar[str] = "mottle.cli.export"

    release: Release
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File: .xlsx, .sav, .zsav or .dta.", rich_help_panel=OUTPUT
        ),
    ] = None
    to: Annotated[
        str | None,
        typer.Option(help="Database for the release, instead of a file.", rich_help_panel=OUTPUT),
    ] = None
    to_table: Annotated[
        str | None, typer.Option(help="Table for the release, with --to.", rich_help_panel=OUTPUT)
    ] = None
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="SPSS, Stata or SAS file of the original: its codes, missing codes and labels.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Overwrite = False

    def check(self) -> None:
        """Raise `UsageError` unless exactly one destination is named."""
        super().check()
        if (self.output is None) == (self.to is None) or (self.to is None) != (
            self.to_table is None
        ):
            raise UsageError(
                "The release must be written to exactly one destination.",
                "Give either a file, with --output, or a database, with --to and --to-table.",
            )
        if self.to is not None and self.like is not None:
            raise UsageError("--like is for SPSS and Stata files.", "Leave it out with --to.")
