"""Commands for before a release: inspect, import, methods, hierarchies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from mottle.cli._option_groups import COLUMNS, DATA, OUTPUT
from mottle.cli.commands.base import (
    IMPORTED_TOOLS,
    Command,
    check_method,
)
from mottle.cli.options.data import SourceOptions
from mottle.cli.options.output import (
    check_word,
)
from mottle.cli.options.single import (
    AsJson,
    Data,
    Overwrite,
)
from mottle.errors import UsageError, did_you_mean


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


WARMED = ("nh", "freeform", "buckets", "sets")


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


@dataclass(frozen=True, kw_only=True)
class Warm(Command):
    """The command ``mottle warm``."""

    module: ClassVar[str] = "mottle.cli.warm"

    methods: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"What to compile for: {', '.join(WARMED)}. Everything by default.",
            show_default=False,
        ),
    ] = None

    def check(self) -> None:
        """Raise `UsageError` if there is nothing of such a name to compile."""
        super().check()
        for name in self.methods or []:
            if name not in WARMED:
                raise UsageError(f"'{name}' cannot be compiled.", did_you_mean(name, WARMED))


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
    item_separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="new, lint: what separates the items, if the column holds sets as text.",
            rich_help_panel=DATA,
        ),
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
            help="new, lint: mottle.toml; says how the table is read, and what is sensitive.",
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
class Studio(Command):
    """The command ``mottle studio``."""

    module: ClassVar[str] = "mottle.cli.studio"
    panel: ClassVar[str] = OUTPUT

    place: Annotated[
        Path,
        typer.Argument(
            metavar="[FOLDER|FILE]",
            help="The project's folder, or a table in it.",
            show_default="this folder",
        ),
    ] = Path()
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port on this machine.", show_default="any that is free"
        ),
    ] = 0
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Show the address instead of opening a browser.")
    ] = False
    idle: Annotated[
        float,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="End when no page was open and nothing ran for so long.",
        ),
    ] = 3600.0
