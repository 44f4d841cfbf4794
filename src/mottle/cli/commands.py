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

from mottle.cli._option_groups import COLUMNS, DATA, EFFORT, OUTPUT, OptionGroup
from mottle.cli._over_time_options import EarlierOptions, OverTimeOptions
from mottle.cli.options.columns import ColumnOptions, OptionalColumnOptions
from mottle.cli.options.data import OptionalSetOptions, SetSourceOptions, SourceOptions
from mottle.cli.options.guarantees import (
    BudgetedGuaranteeOptions,
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
IMPORTED_TOOLS = ("arx", "sdcmicro", "amnesia")
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
    guarantee: BudgetedGuaranteeOptions
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
        if self.guarantee.max_loss is not None and (self.over_time.same or self.over_time.previous):
            raise UsageError(
                "--max-loss chooses k anew, and releases over time keep theirs.",
                "Choose k by 'mottle suggest' once, and give --k.",
            )
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
class Suggest(Command):
    """The command ``mottle suggest``."""

    module: ClassVar[str] = "mottle.cli.suggest"

    data: Data
    source: SourceOptions
    columns: ColumnOptions
    representation: Annotated[
        str,
        typer.Option(help="range or set, as for anonymize.", rich_help_panel="Columns"),
    ] = "range"
    max_loss: Annotated[
        float,
        typer.Option(help="The highest loss (GCP), such as 0.05.", rich_help_panel="Guarantee"),
    ]
    vary: Annotated[
        str,
        typer.Option(
            metavar="WORD",
            help="k, l or beta: the largest k or ℓ, or the smallest β.",
            rich_help_panel="Guarantee",
        ),
    ] = "k"
    method: Annotated[
        str, typer.Option(help="The method that will run.", rich_help_panel=EFFORT)
    ] = "auto"
    as_json: AsJson = False

    def check(self) -> None:
        """Raise an error if an option is wrong, before anything costly is imported."""
        super().check()
        check_method(self.method)
        check_word("parameter", self.vary, ("k", "l", "beta"))


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
class Export(Command):
    """The command ``mottle export``."""

    module: ClassVar[str] = "mottle.cli.export"

    release: Release
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File: .xlsx, .sav, .zsav or .dta.", rich_help_panel=OUTPUT
        ),
    ]
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
class Import(Command):
    """The command ``mottle import``."""

    module: ClassVar[str] = "mottle.cli.import_project"

    tool: Annotated[str, typer.Argument(help=f"{', '.join(IMPORTED_TOOLS)}.", metavar="TOOL")]
    file: Annotated[
        Path,
        typer.Argument(
            help="arx: the .deid file. sdcmicro: an R script with createSdcObj(…). amnesia: a"
            " hierarchy, a file of rules, or a folder of these."
        ),
    ]
    no_hierarchies: Annotated[
        bool,
        typer.Option(
            "--no-hierarchies",
            help="With arx: leave hierarchies out, so that values are published as sets.",
            rich_help_panel=COLUMNS,
        ),
    ] = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A new folder for mottle.toml, hierarchies, table and notes.",
            show_default="the file's name without its ending",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` if the tool is not known."""
        super().check()
        if self.tool.lower() not in IMPORTED_TOOLS:
            raise UsageError(
                f"Projects of '{self.tool}' cannot be imported.",
                did_you_mean(self.tool, IMPORTED_TOOLS),
            )
        if self.no_hierarchies and self.tool.lower() != "arx":
            raise UsageError("--no-hierarchies is for projects of ARX.", "Leave it out.")


@dataclass(frozen=True, kw_only=True)
class Methods(Command):
    """The command ``mottle methods``."""

    module: ClassVar[str] = "mottle.cli.methods"

    name: Annotated[
        str | None, typer.Argument(help="Show this method alone, with its options.")
    ] = None
    sets: Annotated[
        bool,
        typer.Option("--sets", help="List the methods for set-valued data.", rich_help_panel=DATA),
    ] = False
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` if there is no such method."""
        super().check()
        if self.name is not None:
            check_method(self.name, sets=self.sets)


HIERARCHY_ACTIONS = ("new", "show", "edit", "lint", "convert")
HIERARCHY_RULES = {  # by the name of a way to build a hierarchy: the options that it takes
    "intervals": ("--widths", "--breaks"),
    "quantiles": ("--groups",),
    "dates": ("--units",),
    "prefixes": ("--lengths",),
    "frequency": ("--least",),
    "similarity": ("--qi", "--groups"),
    "mapping": ("--to",),
    "ages": (),
    "icd": (),
    "isco": (),
    "nuts": (),
    "nace": (),
    "naics": (),
    "atc": (),
    "postcode": (),
}


@dataclass(frozen=True, kw_only=True)
class Hierarchy(Command):
    """The command ``mottle hierarchy``."""

    module: ClassVar[str] = "mottle.cli.hierarchy"

    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="new, show, edit, lint or convert.",
        ),
    ]
    file: Annotated[Path, typer.Argument(help="The hierarchy; with new, the file that is written.")]
    data: Annotated[
        str | None,
        typer.Option(help="new, lint: the table that has the values.", rich_help_panel=DATA),
    ] = None
    source: SourceOptions
    column: Annotated[
        str | None, typer.Option(help="new, lint: its column.", rich_help_panel=DATA)
    ] = None
    by: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="new: intervals, quantiles, dates, prefixes, frequency, similarity, mapping; or"
            " ages, postcode, icd, isco, nuts, nace, naics, atc.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    widths: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="intervals: 5,10,20.", rich_help_panel=COLUMNS),
    ] = None
    breaks: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="intervals: 18,30,65.", rich_help_panel=COLUMNS),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGERS",
            help="quantiles: 8, merged in pairs; similarity: groups by level, 12,4.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    units: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="dates: of month,quarter,year,decade.",
            show_default="all",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    lengths: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGERS",
            help="prefixes: characters kept by level, 3,2.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    least: Annotated[
        int | None,
        typer.Option(
            metavar="INTEGER",
            help="frequency: values that occur less often are pooled.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    qi: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="similarity: the quasi-identifiers with which values occur together.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="mapping: columns of groups, from narrow to wide.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    schema_file: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            help="mottle.toml; columns that it calls sensitive are refused.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    changes: Annotated[
        Path | None,
        typer.Option(
            "--with",
            help="edit: the edited text; without it the text is printed.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    layout: Annotated[
        str,
        typer.Option(help="new, convert: arx, amnesia or outline.", rich_help_panel=OUTPUT),
    ] = "arx"
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="convert: the file that is written.", rich_help_panel=OUTPUT
        ),
    ] = None
    most: Annotated[
        int,
        typer.Option(
            metavar="INTEGER",
            help="show: most labels below one.",
            rich_help_panel=OUTPUT,
        ),
    ] = 20
    overwrite: Overwrite = False
    as_json: AsJson = False

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong."""
        super().check()
        if self.action not in HIERARCHY_ACTIONS:
            raise UsageError(
                f"There is no 'mottle hierarchy {self.action}'.",
                did_you_mean(self.action, HIERARCHY_ACTIONS),
            )
        check_word("--layout", self.layout, HIERARCHY_LAYOUTS)
        if self.action == "convert" and self.output is None:
            raise UsageError("--output is missing.", "Name the file that is written: -o FILE.")
        if self.action == "lint" and (self.data is None) != (self.column is None):
            raise UsageError("--data and --column must be given together.")
        if self.action == "new":
            self._check_new()

    def _check_new(self) -> None:
        if self.data is None or self.column is None:
            raise UsageError(
                "--data and --column are missing.", "Name the table and its column with the values."
            )
        if self.by is None or self.by not in HIERARCHY_RULES:
            words = ", ".join(HIERARCHY_RULES)
            problem = "--by is missing." if self.by is None else f"There is no rule '{self.by}'."
            raise UsageError(problem, f"Choose one of {words}.")
        options = {
            "--widths": self.widths,
            "--breaks": self.breaks,
            "--groups": self.groups,
            "--units": self.units,
            "--lengths": self.lengths,
            "--least": self.least,
            "--qi": self.qi,
            "--to": self.to,
        }
        takes = HIERARCHY_RULES[self.by]
        for option, value in options.items():
            if value is not None and option not in takes:
                raise UsageError(f"--by {self.by} does not take {option}.", "Leave it out.")
        optional = ("--groups", "--units")
        if takes and all(options[name] is None for name in takes if name not in optional):
            needed = [name for name in takes if name not in optional]
            if needed:
                raise UsageError(f"--by {self.by} needs {' or '.join(needed)}.")


HIERARCHY_LAYOUTS = ("arx", "amnesia", "outline")


@dataclass(frozen=True, kw_only=True)
class LintHierarchy(Command):
    """The command ``mottle lint-hierarchy``, the old name of ``mottle hierarchy lint``."""

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
