"""Options that several commands have, each declared once, in the groups that commands take."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import typer

from mottle.cli._option_groups import (
    COLUMNS,
    DATA,
    EFFORT,
    GUARANTEE,
    OUTPUT,
    SCALE,
    OptionGroup,
    as_option,
    parameter,
)
from mottle.errors import UsageError, did_you_mean
from mottle.guarantees.base import Guarantee, combined, registered
from mottle.utils.lazy import lazy_module
from mottle.utils.option_values import as_names, as_number, as_pairs, as_whole, check_key
from mottle.utils.redaction import redacted

if TYPE_CHECKING:
    import pyarrow as pa

    from mottle import report
    from mottle.cli import _sources
    from mottle.io.text import notation
    from mottle.itemsets.data import ItemSets
    from mottle.schema import model, reading
else:
    _sources = lazy_module("mottle.cli._sources")
    model = lazy_module("mottle.schema.model")
    notation = lazy_module("mottle.io.text.notation")
    reading = lazy_module("mottle.schema.reading")
    report = lazy_module("mottle.report")

_IS_URL = re.compile(r"[A-Za-z][\w+.-]+:/")

Data = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet or Arrow file; or a database: postgresql://…, or an SQLite or"
        " DuckDB file, with --table or --query."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of a text file.", show_default="detected", rich_help_panel=DATA),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        help="Seconds for improving the result.",
        show_default="until it gains little",
        rich_help_panel=EFFORT,
    ),
]
Private = Annotated[
    Path | None,
    typer.Option(help="Also write the owner's secret link file here.", rich_help_panel=OUTPUT),
]
WithExamples = Annotated[
    bool,
    typer.Option(
        "--report-examples",
        help="Show ten rows before and after in the internal report.",
        rich_help_panel=OUTPUT,
    ),
]
Work = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Where the private folder for intermediate rows is made.",
        show_default="$MOTTLE_WORK, the user's cache or the temporary folder",
        rich_help_panel=SCALE,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing files.", rich_help_panel=OUTPUT)
]
AnotherDraw = Annotated[
    bool,
    typer.Option(
        "--another-draw",
        help="With --overwrite: the earlier release was never published.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True, kw_only=True)
class SourceOptions(OptionGroup):
    """How a table is read from a file or a database."""

    panel: ClassVar[str] = DATA

    table: Annotated[
        str | None, typer.Option(help="Table of a database to read: table or schema.table.")
    ] = None
    query: Annotated[str | None, typer.Option(help="SELECT statement to read from a database.")] = (
        None
    )
    delimiter: Annotated[
        str | None, typer.Option(help="Delimiter of a CSV file.", show_default="detected")
    ] = None
    quote: Annotated[str | None, typer.Option(help="Quote character.", show_default="detected")] = (
        None
    )
    encoding: Encoding = None
    missing: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="A word for a missing value. Repeatable."),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(metavar="MARK", help="Decimal mark of a CSV file.", show_default="."),
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(metavar="MARK", help="What separates groups of three digits in a CSV file."),
    ] = None
    date_format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT",
            help="Dates of a CSV file, besides 2024-12-31: dd.mm.yyyy. Repeatable.",
        ),
    ] = None
    allow_generalized: Annotated[
        bool,
        typer.Option(
            "--allow-generalized", help="Cells such as {a|b} and 1..5 are the table's own values."
        ),
    ] = False

    @cached_property
    def options(self) -> reading.ReadOptions:
        """The options that say how cells are written, as they were typed."""
        return reading.ReadOptions(
            missing=tuple(self.missing or ()),
            delimiter=self.delimiter,
            quote=self.quote,
            encoding=self.encoding,
            decimal=self.decimal,
            thousands=self.thousands,
            date_format=tuple(self.date_format or ()),
            allow_generalized=self.allow_generalized,
        )

    def check(self) -> None:
        """Raise `UsageError` if a mark or a format is wrong."""
        if self.decimal is not None or self.thousands is not None:
            notation.check_marks(self.decimal, self.thousands)
        if self.date_format:
            notation.date_formats(self.date_format)

    def read(self, data: str, remembered: reading.ReadOptions | None = None) -> pa.Table:
        """Read a file or, with a table or a query, from a database.

        ``remembered`` are the options of a mottle.toml or a link file; typed ones replace them.
        """
        return _sources.read_source(data, self, remembered)

    def arguments(self, data: str) -> str:
        """The source as it is written on a command line, without its password."""
        return _sources.arguments_of_source(data, self.table, self.query)

    def title(self, data: str) -> str:
        """A title for what is read."""
        return _sources.title_of_source(data, self.table)


@dataclass(frozen=True, kw_only=True)
class SetColumnOptions(OptionGroup):
    """Which columns of a file hold sets; see docs/sets.md."""

    panel: ClassVar[str] = DATA

    column: Annotated[
        str | None, typer.Option(help="Column of a table that holds lists or delimited text.")
    ] = None
    record: Annotated[
        str | None, typer.Option(help="In a table with one row per item: the column of the record.")
    ] = None
    item: Annotated[
        str | None, typer.Option(help="In a table with one row per item: the column of the item.")
    ] = None
    label: Annotated[
        str | None, typer.Option("--sensitive-label", help="Column of the sensitive labels.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class SetSourceOptions(SetColumnOptions):
    """How sets are read from a file; see docs/sets.md."""

    separator: Annotated[
        str | None,
        typer.Option(help="Separator between items of a text.", show_default="blanks"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class OptionalSetOptions(SetColumnOptions):
    """How the original of a release is read that may be a release of sets."""

    item_separator: Annotated[
        str | None,
        typer.Option(
            help="Separator between items of a text, for a release of sets.", show_default="blanks"
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether any of the options is given."""
        typed = (self.column, self.record, self.item, self.label, self.item_separator)
        return any(value is not None for value in typed)


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(OptionGroup):
    """Roles and kinds of the columns: a mottle.toml, or lists of names and COLUMN=VALUE pairs."""

    panel: ClassVar[str] = COLUMNS
    required: ClassVar[bool] = True

    schema_file: Annotated[
        Path | None, typer.Option("--schema", help="mottle.toml with the columns.")
    ] = None
    qi: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Quasi-identifiers: a,b,c.")
    ] = None
    sensitive: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Sensitive columns: a,b.")
    ] = None
    id_: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="NAMES", help="Identifying columns, removed: a,b."),
    ] = None
    person: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The column that says whose row it is, removed: k counts people."
        ),
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(
            help="What is protected: row, although people may have several; or person.",
            metavar="WORD",
        ),
    ] = None
    per_person: Annotated[
        str | None,
        typer.Option(
            help="With --person: aggregate, to make one row of all rows of a person.",
            metavar="WORD",
        ),
    ] = None
    insensitive: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Insensitive columns: a,b.")
    ] = None
    rest: Annotated[
        str | None, typer.Option(metavar="ROLE", help="Role of all columns not named.")
    ] = None
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=KIND",
            help="Such as number, category or prefix: docs/guide.md. Repeatable.",
        ),
    ] = None
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=NUMBER", help="Weight of its loss. Repeatable."),
    ] = None
    order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUES", help="Its values from lowest to highest: a,b,c. Repeatable."
        ),
    ] = None
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=FILE", help="A hierarchy in ARX's layout. Repeatable."),
    ] = None
    separator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=TEXT",
            help="What separates the items of sets that are text: ';'. Repeatable.",
        ),
    ] = None
    breaks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBERS",
            help="Where bins of a sensitive number begin: 20,50. Repeatable.",
        ),
    ] = None
    bins: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=INTEGER",
            help="Number of quantile bins of a sensitive number. Repeatable.",
        ),
    ] = None

    @property
    def lists(self) -> dict[str, list[str] | None]:
        """The options that name columns, as they are typed, with their values."""
        return {
            "--qi": self.qi,
            "--sensitive": self.sensitive,
            "--id": self.id_,
            "--person": None if self.person is None else [self.person],
            "--insensitive": self.insensitive,
            "--kind": self.kind,
            "--weight": self.weight,
            "--order": self.order,
            "--hierarchy": self.hierarchy,
            "--separator": self.separator,
            "--breaks": self.breaks,
            "--bins": self.bins,
        }

    @property
    def given(self) -> bool:
        """Whether any option about columns is given."""
        lists = any(self.lists.values())
        others = (self.schema_file, self.rest, self.unit, self.per_person)
        return lists or any(value is not None for value in others)

    @cached_property
    def schema(self) -> model.Schema:
        """The schema from a file, or from lists of columns and COLUMN=VALUE options."""
        named = [option for option, values in self.lists.items() if values]
        if self.schema_file is not None:
            if named:
                raise UsageError(
                    f"{named[0]} and --schema cannot be combined.",
                    f"Put the column into {self.schema_file}.",
                )
            schema = model.Schema.read(self.schema_file)
            schema = schema if self.rest is None else schema.with_rest(self.rest)
            return schema.with_unit(self.unit, self.per_person)
        if not self.qi:
            raise UsageError(
                "No quasi-identifiers (columns that an adversary may know) are named.",
                "Name them with --qi a,b,c, or give --schema FILE"
                " ('mottle inspect DATA' writes one).",
            )
        return model.Schema.of(
            quasi_identifying=as_names(self.qi),
            sensitive=as_names(self.sensitive),
            identifying=as_names(self.id_),
            insensitive=as_names(self.insensitive),
            person=self.person,
            unit=self.unit,
            per_person=self.per_person,
            rest=self.rest,
            kinds=as_pairs("--kind", self.kind),
            weights={
                name: as_number("--weight", name, value)
                for name, value in as_pairs("--weight", self.weight).items()
            },
            orders={
                name: value.split(",") for name, value in as_pairs("--order", self.order).items()
            },
            hierarchies={**as_pairs("--hierarchy", self.hierarchy)},
            separators={
                name: "\t" if value == "\\t" else value
                for name, value in as_pairs("--separator", self.separator).items()
            },
            breaks={
                name: [as_number("--breaks", name, part) for part in value.split(",")]
                for name, value in as_pairs("--breaks", self.breaks).items()
            },
            bins={
                name: as_whole("--bins", name, value)
                for name, value in as_pairs("--bins", self.bins).items()
            },
        )

    def check(self) -> None:
        """Raise an error if the columns are wrong."""
        if self.required or self.given:
            _ = self.schema


@dataclass(frozen=True, kw_only=True)
class OptionalColumnOptions(ColumnOptions):
    """Columns of a release that usually describes them itself."""

    required: ClassVar[bool] = False

    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="mottle.toml; needed for other tools' releases and bins."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class GuaranteeOptions(OptionGroup):
    """What the release has to guarantee: the options that the guarantees declare."""

    panel: ClassVar[str] = GUARANTEE
    required: ClassVar[bool] = True

    values: Mapping[str, Any] = field(default_factory=dict)  # by the name of the option

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield the options of all guarantees."""
        for kind in registered():
            for option in kind.options:
                flags = [option.flag, *([option.short] if option.short else [])]
                info = as_option(option.type, *flags, text=option.help, panel=cls.panel)
                info.metavar = option.metavar or info.metavar
                is_flag = option.type is bool
                typed = bool if is_flag else option.type | None
                yield parameter(option.name, typed, info, False if is_flag else None)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Keep the values of the guarantees' options."""
        names = [option.name for kind in registered() for option in kind.options]
        return cls(values={name: values[name] for name in names})

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """All requested guarantees, combined; None when there are none."""
        made = [kind.from_options(self.values) for kind in registered()]
        return combined(each for each in made if each is not None)

    @property
    def needed(self) -> Guarantee:
        """The guarantee of a command that needs one."""
        if self.guarantee is None:
            raise UsageError(
                "No guarantee is given.",
                "Write for instance --k 10, --l 3 or --beta 2; they can be combined.",
            )
        return self.guarantee

    def check(self) -> None:
        """Raise `UsageError` if the guarantee is wrong or missing."""
        _ = self.needed if self.required else self.guarantee


@dataclass(frozen=True, kw_only=True)
class OptionalGuaranteeOptions(GuaranteeOptions):
    """The guarantee to check instead of the one that the certificate states."""

    required: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class GuaranteeSeriesOptions(OptionGroup):
    """Guarantees of several strengths: a list of values for the parameter of each."""

    panel: ClassVar[str] = GUARANTEE

    values: Mapping[str, str] = field(default_factory=dict)  # by the name of the option

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield the options of the guarantees that have one parameter."""
        for kind in registered():
            if kind.symbol:
                option = kind.options[0]
                flags = [option.flag, *([option.short] if option.short else [])]
                example = "5,10,20" if option.type is int else "1,2,4"
                text = f"Values of {option.name}, each a guarantee of its own: {example}."
                info = as_option(str, *flags, text=text, panel=cls.panel)
                info.metavar = "NUMBERS"
                yield parameter(option.name, str, info, "")

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Keep the lists of values."""
        names = [kind.options[0].name for kind in registered() if kind.symbol]
        return cls(values={name: values[name] for name in names})

    @cached_property
    def guarantees(self) -> list[Guarantee]:
        """A guarantee for every value of a parameter."""
        found: list[Guarantee] = []
        for kind in registered():
            if kind.symbol:
                option = kind.options[0]
                others = {other.name: None for other in kind.options}
                for value in _numbers(option.flag, self.values[option.name], option.type):
                    made = kind.from_options({**others, option.name: value})
                    found += [] if made is None else [made]
        if not found:
            raise UsageError(
                "No guarantee is given under which methods are compared.",
                "Write for instance --k 5,10,20, or --beta 1,2,4.",
            )
        return found

    def check(self) -> None:
        """Raise `UsageError` if the guarantees are wrong or missing."""
        _ = self.guarantees


def words_of(text: str) -> list[str]:
    """Split a comma-separated list into its words, each once."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _numbers(option: str, text: str, kind: type[int] | type[float]) -> Iterator[float]:
    for word in words_of(text):
        try:
            yield kind(word)
        except ValueError:
            numbers = "whole numbers" if kind is int else "numbers"
            raise UsageError(
                f"The value '{text}' of {option} is not valid.",
                f"Write {numbers} separated by commas.",
            ) from None


@dataclass(frozen=True, kw_only=True)
class EffortOptions(OptionGroup):
    """How a release is made, and how long it is improved."""

    panel: ClassVar[str] = EFFORT

    seconds: Seconds = None
    walk: Annotated[
        str, typer.Option(help="How the true assignment is drawn: closed, backtracking.")
    ] = "closed"
    seed: Annotated[
        int | None, typer.Option(help="Repeatable randomness, for experiments only.")
    ] = None
    key: Annotated[
        Path | None,
        typer.Option(
            help="The owner's secret key file, made at first use: the same command then gives the"
            " same release."
        ),
    ] = None
    unsafe_paper_randomization: Annotated[
        bool,
        typer.Option(
            "--unsafe-paper-randomization",
            help="Draw by the papers' walk, which leaks sensitive values; for experiments only.",
        ),
    ] = False

    def check(self) -> None:
        """Raise `UsageError` if there is no such walk, or if a key does not fit other options."""
        check_word("walk", self.walk, ("closed", "backtracking"))
        check_key(self.key, self.seed, self.seconds)


def check_word(option: str, word: str, known: Sequence[str]) -> None:
    """Raise `UsageError` if an option has a value that does not exist."""
    if word not in known:
        raise UsageError(f"There is no {option} '{word}'.", did_you_mean(word, known))


@dataclass(frozen=True, kw_only=True)
class DestinationOptions(OptionGroup):
    """Where a release is written: a folder or a database."""

    panel: ClassVar[str] = OUTPUT

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the release.")
    ] = None
    to: Annotated[
        str | None, typer.Option(help="Database for the release, instead of a folder.")
    ] = None
    to_table: Annotated[str | None, typer.Option(help="Table for the release, with --to.")] = None

    def check(self) -> None:
        """Raise `UsageError` unless exactly one destination is named."""
        if (self.output is None) == (self.to is None):
            raise UsageError(
                "The release must be written to exactly one destination.",
                "Give either a folder, with --output, or a database, with --to and --to-table.",
            )
        if self.output is not None and _IS_URL.match(str(self.output)):
            raise UsageError(
                "--output is a folder, not a URL.", "Name a database with --to and --to-table."
            )
        if (self.to is None) != (self.to_table is None):
            raise UsageError("--to and --to-table must be given together.", "Give both.")

    @property
    def target(self) -> _sources.Target:
        """The destination that is named."""
        return _sources.Target(self.output, self.to or "", self.to_table or "")


@dataclass(frozen=True, kw_only=True)
class ReportOptions(OptionGroup):
    """Which reports a run writes."""

    panel: ClassVar[str] = OUTPUT

    no_report: Annotated[bool, typer.Option("--no-report", help="Leave report.html out.")] = False
    internal_report: Annotated[
        Path | None,
        typer.Option(
            help="Also write a report for the owner only, which compares with the original.",
        ),
    ] = None
    report_examples: WithExamples = False

    def check(self) -> None:
        """Refuse examples without an internal report, which only the owner sees."""
        if self.report_examples and self.internal_report is None:
            raise UsageError(
                "--report-examples shows rows of the original, which report.html must not.",
                "Name a file for the internal report with --internal-report.",
            )

    def internal(
        self, original: pa.Table | ItemSets | None, source: str, typed: Sequence[str]
    ) -> report.InternalReport | None:
        """Return the internal report to write, if one was requested.

        ``original`` is None if the run itself reads it; ``typed`` are the words of the command.
        """
        if self.internal_report is None:
            return None
        command = redacted(shlex.join(["mottle", *typed]))
        owner = report.Owner(original, command, source)
        return report.InternalReport(self.internal_report, owner, self.report_examples)

    def announcement(self) -> str:
        """Say where the internal report is; empty when there is none."""
        if self.internal_report is None:
            return ""
        return f"Internal report: {self.internal_report} (keep it secret)"


@dataclass(frozen=True, kw_only=True)
class ScaleOptions(OptionGroup):
    """Options for tables that do not fit into memory: the engine and its limits."""

    panel: ClassVar[str] = SCALE

    engine: Annotated[
        str | None,
        typer.Option(
            help="memory; streaming: tables larger than memory; spark: on a cluster.",
            show_default="memory, or streaming with --memory",
        ),
    ] = None
    memory: Annotated[str | None, typer.Option(help="Work in chunks within this memory: 4GB.")] = (
        None
    )
    master: Annotated[
        str | None,
        typer.Option(help="With --engine spark: spark://…, yarn, k8s://…", show_default="local[*]"),
    ] = None
    work: Work = None
