"""Options that say what the columns of a table are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from mottle.cli._option_groups import COLUMNS, OptionGroup
from mottle.errors import UsageError
from mottle.utils.lazy import lazy_module
from mottle.utils.option_values import as_names, as_number, as_pairs, as_whole

if TYPE_CHECKING:
    from mottle.schema import model
else:
    model = lazy_module("mottle.schema.model")


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
    pseudonym: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The same, one row each, published as a pseudonym made with --key.",
        ),
    ] = None
    shift_dates: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=DAYS",
            help="Move a person's dates by up to so many days, with --key. Repeatable.",
        ),
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(
            help="What is protected: row, although people may have several; person; household.",
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
    survey_weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Sampling weights; published as they are unless the column has another role.",
        ),
    ] = None
    importance: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=NUMBER", help="How much its loss counts. Repeatable."),
    ] = None
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=NUMBER", help="The old name of --importance.", hidden=True),
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
    node_holders: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=INTEGER",
            help="Items of sets as the lowest nodes that so many records hold. Repeatable.",
        ),
    ] = None
    breaks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBERS",
            help="Where bins of a number begin: 20,50. Repeatable.",
        ),
    ] = None
    snap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="Quasi-identifier in steps: 5 publishes 20..29. Repeatable.",
        ),
    ] = None
    top: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Quasi-identifier with an open end: 90 publishes 90+. Repeatable.",
        ),
    ] = None
    bottom: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Quasi-identifier with an open end: 10 publishes ..10. Repeatable.",
        ),
    ] = None
    granularity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=UNIT",
            help="Dates by day, week, month, quarter, year or decade; times and durations by"
            " second, minute or hour. Repeatable.",
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
            "--pseudonym": None if self.pseudonym is None else [self.pseudonym],
            "--shift-dates": self.shift_dates,
            "--insensitive": self.insensitive,
            "--kind": self.kind,
            "--importance": self.importance,
            "--weight": self.weight,
            "--order": self.order,
            "--hierarchy": self.hierarchy,
            "--separator": self.separator,
            "--node-holders": self.node_holders,
            "--breaks": self.breaks,
            "--snap": self.snap,
            "--top": self.top,
            "--bottom": self.bottom,
            "--granularity": self.granularity,
            "--bins": self.bins,
        }

    @property
    def given(self) -> bool:
        """Whether any option about columns is given."""
        lists = any(self.lists.values())
        others = (
            self.schema_file,
            self.rest,
            self.unit,
            self.per_person,
            self.survey_weight,
        )
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
            schema = schema.with_unit(self.unit, self.per_person)
            return schema.with_survey_weight(self.survey_weight)
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
            pseudonym=self.pseudonym,
            shifts={
                name: as_whole("--shift-dates", name, value.lstrip("±"))
                for name, value in as_pairs(
                    "--shift-dates", self.shift_dates, "COLUMN=DAYS"
                ).items()
            },
            unit=self.unit,
            per_person=self.per_person,
            survey_weight=self.survey_weight,
            rest=self.rest,
            kinds=as_pairs("--kind", self.kind),
            importance=_numbers("--importance", self.importance),
            weights=_numbers("--weight", self.weight),
            orders={
                name: value.split(",") for name, value in as_pairs("--order", self.order).items()
            },
            hierarchies={**as_pairs("--hierarchy", self.hierarchy)},
            separators={
                name: "\t" if value == "\\t" else value
                for name, value in as_pairs("--separator", self.separator).items()
            },
            node_holders={
                name: as_whole("--node-holders", name, value)
                for name, value in as_pairs("--node-holders", self.node_holders).items()
            },
            breaks={
                name: [as_number("--breaks", name, part) for part in value.split(",")]
                for name, value in as_pairs("--breaks", self.breaks).items()
            },
            bins={
                name: as_whole("--bins", name, value)
                for name, value in as_pairs("--bins", self.bins).items()
            },
            snaps={
                name: as_number("--snap", name, value)
                for name, value in as_pairs("--snap", self.snap).items()
            },
            tops={**as_pairs("--top", self.top)},
            bottoms={**as_pairs("--bottom", self.bottom)},
            granularities=as_pairs("--granularity", self.granularity),
        )

    def check(self) -> None:
        """Raise an error if the columns are wrong."""
        if self.required or self.given:
            _ = self.schema


def _numbers(option: str, typed: list[str] | None) -> dict[str, float]:
    """The number of every column, from COLUMN=NUMBER pairs."""
    pairs = as_pairs(option, typed)
    return {name: as_number(option, name, value) for name, value in pairs.items()}


@dataclass(frozen=True, kw_only=True)
class OptionalColumnOptions(ColumnOptions):
    """Columns of a release that usually describes them itself."""

    required: ClassVar[bool] = False

    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="mottle.toml; needed for other tools' releases and bins."),
    ] = None
