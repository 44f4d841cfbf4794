"""Commands that make a release, and what they leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from mottle.cli._option_groups import DATA, EFFORT, OUTPUT
from mottle.cli._over_time_options import OverTimeOptions
from mottle.cli.commands.base import (
    Command,
    check_method,
)
from mottle.cli.options.columns import ColumnOptions
from mottle.cli.options.data import SetSourceOptions, SourceOptions
from mottle.cli.options.guarantees import (
    BudgetedGuaranteeOptions,
    GuaranteeOptions,
)
from mottle.cli.options.output import (
    DestinationOptions,
    EffortOptions,
    ReportOptions,
    ScaleOptions,
    check_word,
)
from mottle.cli.options.single import (
    OBJECTIVES,
    AnotherDraw,
    AsJson,
    Data,
    Encoding,
    Objective,
    Overwrite,
    Private,
    SetData,
    Work,
)
from mottle.errors import UsageError


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
    classic: Annotated[
        bool,
        typer.Option(
            "--classic",
            help="Groups of identical rows, by the best method that makes them; states what they"
            " cost. The same as --method classic.",
            rich_help_panel=EFFORT,
        ),
    ] = False
    objective: Objective = None
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
        if self.classic and self.method not in ("auto", "classic"):
            raise UsageError(
                f"--classic chooses the method, and --method names '{self.method}'.",
                "Leave one of them out.",
            )
        if self.objective is not None:
            check_word("objective", self.objective, OBJECTIVES)
        check_word("audit", self.audit, ("basic", "full"))

    @property
    def chosen_method(self) -> str:
        """The name of the method, as typed or by --classic."""
        return "classic" if self.classic else self.method


@dataclass(frozen=True, kw_only=True)
class AnonymizeSets(Command):
    """The command ``mottle anonymize-sets``."""

    module: ClassVar[str] = "mottle.cli.anonymize_sets"

    data: SetData
    source: SetSourceOptions
    encoding: Encoding = None
    guarantee: GuaranteeOptions
    method: Annotated[
        str, typer.Option(help="See 'mottle methods --sets'.", rich_help_panel=EFFORT)
    ] = "auto"
    item_hierarchy: Annotated[
        Path | None,
        typer.Option(
            help="A hierarchy file whose leaves are the items: they are published as its nodes"
            " where that loses less.",
            rich_help_panel=EFFORT,
        ),
    ] = None
    node_holders: Annotated[
        int | None,
        typer.Option(
            help="Publish items as the lowest nodes that so many records hold.",
            show_default="what loses least",
            rich_help_panel=EFFORT,
        ),
    ] = None
    effort: EffortOptions
    destination: DestinationOptions
    private: Private = None
    no_totals: Annotated[
        bool,
        typer.Option(
            "--no-totals",
            help="Do not publish how many records hold each item (docs/queries.md).",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Compare counts with those in the original.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    measured_items: Annotated[
        str | None,
        typer.Option(
            metavar="IN,EX",
            help="Items that a count of --measure asks for, and that another excludes.",
            show_default="2,4",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    reports: ReportOptions
    overwrite: Overwrite = False
    another_draw: AnotherDraw = False
    scale: ScaleOptions
    as_json: AsJson = False

    def check(self) -> None:
        """Raise an error if an option is wrong, before anything costly is imported."""
        super().check()
        check_method(self.method, sets=True)
        if self.measured_items is not None and not self.measure:
            raise UsageError("--measured-items belongs to --measure.", "Add --measure.")
        _ = self.items_of_counts

    @property
    def items_of_counts(self) -> dict[str, int]:
        """How many items a count asks for and how many it excludes, if given."""
        if self.measured_items is None:
            return {}
        words = self.measured_items.split(",")
        if len(words) != 2 or not all(word.strip().isdecimal() and int(word) for word in words):
            raise UsageError(
                "--measured-items takes two whole numbers of at least 1.",
                "Write --measured-items 3,4.",
            )
        return {"present": int(words[0]), "absent": int(words[1])}


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
    objective: Objective = None
    as_json: AsJson = False

    def check(self) -> None:
        """Raise an error if an option is wrong, before anything costly is imported."""
        super().check()
        check_method(self.method)
        if self.objective is not None:
            check_word("objective", self.objective, OBJECTIVES)
        check_word("parameter", self.vary, ("k", "l", "beta"))


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
