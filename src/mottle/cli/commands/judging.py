"""Commands that measure a table or a release, or explain one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from mottle.cli._option_groups import DATA, EFFORT, OUTPUT
from mottle.cli._over_time_options import EarlierOptions
from mottle.cli.commands.base import (
    ADVERSARIES,
    Command,
    Fit,
    Release,
)
from mottle.cli.options.columns import ColumnOptions, OptionalColumnOptions
from mottle.cli.options.data import (
    OptionalSetOptions,
    SetSourceOptions,
    SetTextOptions,
    SourceOptions,
)
from mottle.cli.options.guarantees import (
    GuaranteeSeriesOptions,
    OptionalGuaranteeOptions,
)
from mottle.cli.options.output import (
    check_word,
)
from mottle.cli.options.single import (
    AsJson,
    Checklist,
    Data,
    Encoding,
    Overwrite,
    Seconds,
    SetData,
    WithExamples,
    checklist_names,
)
from mottle.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Audit(Command):
    """The command ``mottle audit``."""

    module: ClassVar[str] = "mottle.cli.audit"

    original: Annotated[
        str, typer.Argument(help="The table or sets the release was made from: file or database.")
    ]
    release: Annotated[
        Path, typer.Argument(help="Release folder or file, or another tool's file (--schema).")
    ]
    source: SourceOptions
    sets: OptionalSetOptions
    private: Annotated[
        Path | None,
        typer.Option(help="The owner's secret link file.", rich_help_panel=DATA),
    ] = None
    columns: OptionalColumnOptions
    guarantee: OptionalGuaranteeOptions
    adversary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Only these: {', '.join(ADVERSARIES)}. Repeatable.",
            rich_help_panel=EFFORT,
        ),
    ] = None
    sample: Annotated[
        int,
        typer.Option(
            help="Maximum number of people to examine; larger tables are sampled.",
            rich_help_panel=EFFORT,
        ),
    ] = 1_000_000
    seed: Annotated[int, typer.Option(help="For choosing the sample.", rich_help_panel=EFFORT)] = 0
    earlier: EarlierOptions
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong."""
        super().check()
        if self.sample < 1:
            raise UsageError("--sample must be at least 1.")


@dataclass(frozen=True, kw_only=True)
class Risk(Command):
    """The command ``mottle risk``."""

    module: ClassVar[str] = "mottle.cli.risk"

    data: Data
    release: Annotated[
        Path | None, typer.Argument(help="A release that was made from DATA: folder or file.")
    ] = None
    source: SourceOptions
    population: Annotated[
        Path | None,
        typer.Option(
            help="A table of the population with the same columns: k-map.", rich_help_panel=DATA
        ),
    ] = None
    population_size: Annotated[
        float | None,
        typer.Option(
            help="People of whom the rows are a random sample, if there are no weights.",
            rich_help_panel=DATA,
        ),
    ] = None
    columns: OptionalColumnOptions
    household: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Says which rows are one household's.", rich_help_panel="Columns"
        ),
    ] = None
    threshold: Annotated[
        float, typer.Option(help="Count rows with a higher risk.", rich_help_panel=EFFORT)
    ] = 0.09
    largest: Annotated[
        int,
        typer.Option(
            help="Most columns of a combination that may single a row out.", rich_help_panel=EFFORT
        ),
    ] = 3
    show_values: Annotated[
        bool,
        typer.Option(
            "--show-values",
            help="Also show the values that single rows out: they are cells of DATA.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` if nothing names the quasi-identifiers."""
        super().check()
        if self.release is None:
            _ = self.columns.schema


@dataclass(frozen=True, kw_only=True)
class Report(Command):
    """The command ``mottle report``."""

    module: ClassVar[str] = "mottle.cli.report"

    release: Annotated[Path, typer.Argument(help="Folder of a release.")]
    original: Annotated[
        str | None,
        typer.Option(
            help="The table or sets it was made from; writes an internal report.",
            rich_help_panel=DATA,
        ),
    ] = None
    private: Annotated[
        Path | None,
        typer.Option(
            help="The owner's secret link file: recognizes the original, and for"
            " --report-examples.",
            rich_help_panel=DATA,
        ),
    ] = None
    schema_file: Annotated[
        Path | None,
        typer.Option(
            "--schema", help="mottle.toml that says how the original is read.", rich_help_panel=DATA
        ),
    ] = None
    source: SourceOptions
    sets: SetTextOptions
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File of the report.",
            show_default="RELEASE/report.html",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    examples: WithExamples = False
    checklist: Checklist = None
    context_file: Annotated[
        Path | None,
        typer.Option(
            "--context",
            metavar="FILE",
            help="TOML file whose table [context] is stated anew, on report and certificate.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Overwrite = False

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong."""
        super().check()
        _ = self.checklists
        if self.context_file is not None and (self.original is not None or self.output is not None):
            raise UsageError(
                "--context states the context of the release itself, on certificate and report.",
                "Leave --original and --output out; write other reports afterwards.",
            )
        if self.original is not None and self.output is None:
            raise UsageError(
                "An internal report must be written outside the release.",
                "Name a file with -o FILE.",
            )
        if self.examples and (self.original is None or self.private is None):
            raise UsageError(
                "--report-examples needs the original and the owner's link file.",
                "Give --original, and --private with the link file.",
            )

    @property
    def checklists(self) -> tuple[str, ...]:
        """The checklists that the report prints; none: those of the certificate."""
        return checklist_names(self.checklist)


@dataclass(frozen=True, kw_only=True)
class Explain(Command):
    """The command ``mottle explain``."""

    module: ClassVar[str] = "mottle.cli.explain"

    release: Annotated[Path, typer.Argument(help="Folder of a release.")]
    row: Annotated[
        int, typer.Option(help="The row of release.csv, from 1 on.", rich_help_panel=DATA)
    ]
    original: Annotated[
        str,
        typer.Option(
            help="The table the release was made from: file or database.", rich_help_panel=DATA
        ),
    ]
    source: SourceOptions
    private: Annotated[
        Path, typer.Option(help="The owner's secret link file.", rich_help_panel=DATA)
    ]
    no_previews: Annotated[
        bool,
        typer.Option(
            "--no-previews",
            help="Do not preview what another importance or a coarser column would change.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class Compare(Command):
    """The command ``mottle compare``."""

    module: ClassVar[str] = "mottle.cli.compare"

    data: Data
    source: SourceOptions
    columns: ColumnOptions
    target: Annotated[
        str | None,
        typer.Option(
            help="Column that models predict.",
            show_default="a sensitive one",
            rich_help_panel="Columns",
        ),
    ] = None
    guarantees: GuaranteeSeriesOptions
    methods: Annotated[
        str,
        typer.Option(
            help="Methods to compare: a,b,c. See 'mottle methods'; also privbayes.",
            rich_help_panel=EFFORT,
        ),
    ] = "freeform,hilbert,mondrian"
    release_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOOL=FILE",
            help="Another tool's release of DATA beside them: arx=output.csv. Repeatable.",
            rich_help_panel=DATA,
        ),
    ] = None
    seconds: Seconds = None
    seed: Annotated[
        int,
        typer.Option(help="For the split, the queries and the runs.", rich_help_panel=EFFORT),
    ] = 0
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results.", rich_help_panel=OUTPUT)
    ]
    overwrite: Overwrite = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class CompareSets(Command):
    """The command ``mottle compare-sets``."""

    module: ClassVar[str] = "mottle.cli.compare_sets"

    data: SetData
    source: SetSourceOptions
    encoding: Encoding = None
    guarantees: GuaranteeSeriesOptions
    methods: Annotated[
        str,
        typer.Option(
            help="Methods to compare: a,b,c. See 'mottle methods --sets'; also k-m, NAME+nodes.",
            rich_help_panel=EFFORT,
        ),
    ] = "freeform,gray-ring,cahd,k-m"
    m: Annotated[
        int,
        typer.Option(
            "--m",
            min=1,
            max=3,
            help="For k-m: the most items that its adversary knows.",
            rich_help_panel=EFFORT,
        ),
    ] = 2
    item_hierarchy: Annotated[
        Path | None,
        typer.Option(
            help="For k-m and NAME+nodes: a hierarchy file whose leaves are the items.",
            show_default="items grouped by name",
            rich_help_panel=EFFORT,
        ),
    ] = None
    seconds: Seconds = None
    seed: Annotated[
        int, typer.Option(help="For the questions and the runs.", rich_help_panel=EFFORT)
    ] = 0
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results.", rich_help_panel=OUTPUT)
    ]
    overwrite: Overwrite = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class Evaluate(Command):
    """The command ``mottle evaluate``."""

    module: ClassVar[str] = "mottle.cli.evaluate"

    original: Annotated[
        str, typer.Argument(help="The table the release was made from: file or database.")
    ]
    release: Release
    source: SourceOptions
    private: Annotated[
        Path | None,
        typer.Option(
            help="The owner's secret link file: for DM, C_avg, entropy and CM.",
            rich_help_panel=DATA,
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option("--class", help="Column whose classes CM counts.", rich_help_panel="Columns"),
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(
            help="Another release of the same table, to compare with by NH10's Definition 3.",
            rich_help_panel=DATA,
        ),
    ] = None
    against_private: Annotated[
        Path | None, typer.Option(help="The link file of --against.", rich_help_panel=DATA)
    ] = None
    conditions: Annotated[
        int | None,
        typer.Option(
            help="Columns in each random count.",
            show_default="3, or all",
            rich_help_panel=EFFORT,
        ),
    ] = None
    selectivity: Annotated[
        float,
        typer.Option(
            help="Share of the domain that a random count covers.", rich_help_panel=EFFORT
        ),
    ] = 0.1
    number: Annotated[
        int, typer.Option("--queries", help="Counts that are asked.", rich_help_panel=EFFORT)
    ] = 1000
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Column of prefix counts: values up to a random one (HET Figure 10c).",
            rich_help_panel="Columns",
        ),
    ] = None
    singles: Annotated[
        str,
        typer.Option(
            help="Columns of prefix counts that have one value: a,b.", rich_help_panel="Columns"
        ),
    ] = ""
    level: Annotated[
        int | None,
        typer.Option(
            "--cube", help="Level of the cube whose divergence is measured.", rich_help_panel=EFFORT
        ),
    ] = None
    fit: Fit = "fitted"
    seed: Annotated[int, typer.Option(help="Draws the counts.", rich_help_panel=EFFORT)] = 0
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong."""
        super().check()
        if self.against is not None and (self.private is None or self.against_private is None):
            raise UsageError(
                "Definition 3 compares tuples that were generalized around the same original,"
                " which only links tell.",
                "Give --private and --against-private with the link files of both releases.",
            )
        if self.label is not None and self.private is None:
            raise UsageError("--class needs the owner's link file.", "Give --private.")
        if self.singles and self.prefix is None:
            raise UsageError("--singles belongs to --prefix.", "Name a column with --prefix.")


@dataclass(frozen=True, kw_only=True)
class DrawValues(Command):
    """The command ``mottle draw-values``."""

    module: ClassVar[str] = "mottle.cli.draw_values"

    data: Data
    source: SourceOptions
    column: Annotated[
        str,
        typer.Option(
            help="Column to draw; replaced if the table has it.", rich_help_panel="Columns"
        ),
    ]
    values: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|A,B,C",
            help="How many values there are (v1, v2, …), or their names.",
            rich_help_panel="Columns",
        ),
    ]
    distribution: Annotated[str, typer.Option(help="uniform or zipf.", rich_help_panel=EFFORT)] = (
        "uniform"
    )
    theta: Annotated[float, typer.Option(help="Skew of zipf.", rich_help_panel=EFFORT)] = 0.5
    seed: Annotated[int, typer.Option(help="Draws the values.", rich_help_panel=EFFORT)] = 0
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write: .csv or .parquet.", rich_help_panel=OUTPUT
        ),
    ]
    overwrite: Overwrite = False

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong."""
        super().check()
        check_word("distribution", self.distribution, ("uniform", "zipf"))
        if self.output.suffix not in (".csv", ".parquet"):
            raise UsageError(
                f"The format of {self.output.name} is not known.",
                "Name a file that ends in .csv or .parquet.",
            )
