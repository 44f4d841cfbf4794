"""Options for the table that is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from mottle.cli._option_groups import DATA, OptionGroup
from mottle.cli.options.single import Encoding
from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    import pyarrow as pa

    from mottle.cli import _sources
    from mottle.io.text import notation
    from mottle.schema import reading
else:
    _sources = lazy_module("mottle.cli._sources")
    notation = lazy_module("mottle.io.text.notation")
    reading = lazy_module("mottle.schema.reading")


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
    sheet: Annotated[
        str | None,
        typer.Option(metavar="NAME|NUMBER", help="Sheet of a workbook: its name or its number."),
    ] = None
    header_row: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Row of a workbook with the column names.",
            show_default="the first with cells",
        ),
    ] = None
    user_missing: Annotated[
        bool,
        typer.Option(
            "--user-missing",
            help="Codes that an SPSS, Stata or SAS file declares missing are categories.",
        ),
    ] = False
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
            sheet=self.sheet,
            header_row=self.header_row,
            user_missing=self.user_missing,
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
class SetTextOptions(SetColumnOptions):
    """How sets are read from a file; see docs/sets.md."""

    separator: Annotated[
        str | None,
        typer.Option(help="Separator between items of a text.", show_default="blanks"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SetSourceOptions(SetTextOptions):
    """How sets are read from a file or a database; see docs/sets.md."""

    table: Annotated[
        str | None, typer.Option(help="Table of a database to read: table or schema.table.")
    ] = None
    query: Annotated[str | None, typer.Option(help="SELECT statement to read from a database.")] = (
        None
    )


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
