"""All commands: the arguments and options of each, and the module that runs it.

This module imports nothing costly. A command's ``module`` has a function ``run`` that takes the
command's instance; it is imported after the options were read and checked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from mottle.cli._option_groups import DATA, EFFORT, OUTPUT, OptionGroup
from mottle.cli._over_time_options import EarlierOptions, OverTimeOptions
from mottle.cli.options.columns import ColumnOptions, OptionalColumnOptions
from mottle.cli.options.data import OptionalSetOptions, SetSourceOptions, SourceOptions
from mottle.cli.options.guarantees import (
    GuaranteeOptions,
    GuaranteeSeriesOptions,
    OptionalGuaranteeOptions,
)
from mottle.cli.options.output import (
    DestinationOptions,
    EffortOptions,
    ReportOptions,
    ScaleOptions,
    check_word,
)
from mottle.cli.options.single import (
    AnotherDraw,
    AsJson,
    Data,
    Encoding,
    Overwrite,
    Private,
    Seconds,
    WithExamples,
    Work,
)
from mottle.errors import UsageError, did_you_mean
from mottle.utils.lazy import lazy_module

FORMATS = ("csv", "parquet")  # of sampled tables
_PACKAGE = Path(__file__).parent.parent


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
    """Raise `UsageError` if a method does not exist, without importing any."""
    folder = _PACKAGE / "methods" / "sets" if sets else _PACKAGE / "methods"
    names, beginnings = names_registered_in(folder, "" if sets else "sets")
    if name not in names and not name.startswith(tuple(beginnings)):
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
    typer.Option(
        help="How likely the values of a cell are: fitted or uniform.", rich_help_panel=EFFORT
    ),
]


@dataclass(frozen=True, kw_only=True)
class Command(OptionGroup):
    """A command with its options, as it was typed."""

    module: ClassVar[str] = ""

    typed: tuple[str, ...] = ()  # the words after "mottle"

    def run(self) -> Any:
        """Check the options, then import what the command needs, and run it."""
        self.check()
        return lazy_module(self.module).run(self)


@dataclass(frozen=True, kw_only=True)
class Anonymize(Command):
    """The command ``mottle anonymize``."""

    module: ClassVar[str] = "mottle.cli.anonymize"

    data: Data
    source: SourceOptions
    columns: ColumnOptions
    representation: Annotated[
        str,
        typer.Option(
            help="range, or set: every column as a set of values.", rich_help_panel="Columns"
        ),
    ] = "range"
    guarantee: GuaranteeOptions
    method: Annotated[str, typer.Option(help="See 'mottle methods'.", rich_help_panel=EFFORT)] = (
        "auto"
    )
    effort: EffortOptions
    audit: Annotated[
        str,
        typer.Option(
            help="basic, or full: run all adversaries against the release.",
            rich_help_panel=EFFORT,
        ),
    ] = "basic"
    destination: DestinationOptions
    private: Private = None
    no_totals: Annotated[
        bool,
        typer.Option(
            "--no-totals",
            help="Do not publish how often values occur (docs/queries.md).",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    reports: ReportOptions
    overwrite: Overwrite = False
    another_draw: AnotherDraw = False
    as_json: AsJson = False
    over_time: OverTimeOptions
    scale: ScaleOptions

    def check(self) -> None:
        """Raise an error if an option is wrong, before anything costly is imported."""
        super().check()
        self.over_time.check_private(self.private)
        check_method(self.method)
        check_word("audit", self.audit, ("basic", "full"))


@dataclass(frozen=True, kw_only=True)
class AnonymizeSets(Command):
    """The command ``mottle anonymize-sets``."""

    module: ClassVar[str] = "mottle.cli.anonymize_sets"

    data: Annotated[
        Path,
        typer.Argument(
            help="Transaction file, one set per line, or a table with --column or --record."
        ),
    ]
    source: SetSourceOptions
    encoding: Encoding = None
    guarantee: GuaranteeOptions
    method: Annotated[
        str, typer.Option(help="See 'mottle methods --sets'.", rich_help_panel=EFFORT)
    ] = "auto"
    effort: EffortOptions
    output: ReleaseFolder
    private: Private = None
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Compare counts with those in the original.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    reports: ReportOptions
    overwrite: Overwrite = False
    another_draw: AnotherDraw = False
    as_json: AsJson = False

    def check(self) -> None:
        """Raise an error if an option is wrong, before anything costly is imported."""
        super().check()
        check_method(self.method, sets=True)


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
    macros: Annotated[
        bool,
        typer.Option(
            "--macros",
            help="Print DuckDB macros that read the text cells of release.csv, and nothing else.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="Let DuckDB evaluate the SQL itself: ranges are structs, sets are lists.",
            rich_help_panel=EFFORT,
        ),
    ] = False
    fit: Fit = "fitted"
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print the answer as CSV.", rich_help_panel=OUTPUT)
    ] = False
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` unless there is something to do."""
        super().check()
        if not self.macros and (self.release is None or self.sql is None):
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
    sets: SetSourceOptions
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
    overwrite: Overwrite = False

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong."""
        super().check()
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
class Inspect(Command):
    """The command ``mottle inspect``."""

    module: ClassVar[str] = "mottle.cli.inspect"

    data: Data
    source: SourceOptions
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Where to write the proposed schema.", rich_help_panel=OUTPUT
        ),
    ] = Path("mottle.toml")
    overwrite: Overwrite = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class Methods(Command):
    """The command ``mottle methods``."""

    module: ClassVar[str] = "mottle.cli.methods"

    sets: Annotated[
        bool,
        typer.Option("--sets", help="List the methods for set-valued data.", rich_help_panel=DATA),
    ] = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class LintHierarchy(Command):
    """The command ``mottle lint-hierarchy``."""

    module: ClassVar[str] = "mottle.cli.lint_hierarchy"

    file: Annotated[Path, typer.Argument(help="Hierarchy in ARX's CSV layout.")]
    data: Annotated[
        str | None,
        typer.Option(help="Table whose values must be leaves.", rich_help_panel=DATA),
    ] = None
    source: SourceOptions
    column: Annotated[
        str | None, typer.Option(help="Column of the table.", rich_help_panel="Columns")
    ] = None
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong."""
        super().check()
        if (self.data is None) != (self.column is None):
            raise UsageError("--data and --column must be given together.")


@dataclass(frozen=True, kw_only=True)
class Clean(Command):
    """The command ``mottle clean``."""

    module: ClassVar[str] = "mottle.cli.clean"

    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER",
            help="Folders in which runs were killed while they wrote a release.",
            show_default=False,
        ),
    ] = None
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask.", rich_help_panel=OUTPUT)
    ] = False
    as_json: AsJson = False
    work: Work = None


@dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """The command ``mottle demo``."""

    module: ClassVar[str] = "mottle.cli.demo"

    rows: Annotated[int, typer.Option(help="People to generate.", rich_help_panel=DATA)] = 20_000
    k: Annotated[
        int,
        typer.Option(
            "--k",
            "-k",
            help="Every person matches at least k records.",
            rich_help_panel="Guarantee",
        ),
    ] = 10
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the demo.", rich_help_panel=OUTPUT)
    ] = Path("mottle-demo")
    as_json: AsJson = False
