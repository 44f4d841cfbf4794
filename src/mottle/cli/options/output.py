"""Options for what a run may cost and what it writes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from mottle.cli._option_groups import EFFORT, OUTPUT, SCALE, OptionGroup
from mottle.cli.options.single import (
    Checklist,
    Seconds,
    WithExamples,
    Work,
    checklist_names,
)
from mottle.errors import UsageError, did_you_mean
from mottle.utils.lazy import lazy_module
from mottle.utils.option_values import as_pairs, check_key
from mottle.utils.redaction import redacted

if TYPE_CHECKING:
    import pyarrow as pa

    from mottle import report
    from mottle.cli import _sources
    from mottle.itemsets.data import ItemSets
    from mottle.schema import context
else:
    _sources = lazy_module("mottle.cli._sources")
    context = lazy_module("mottle.schema.context")
    report = lazy_module("mottle.report")

# Names of `mottle.assignment.WALKS`, which loads Numba.
WALKS = ("closed", "closed-printed", "backtracking")
_IS_URL = re.compile(r"[A-Za-z][\w+.-]+:/")


@dataclass(frozen=True, kw_only=True)
class EffortOptions(OptionGroup):
    """How a release is made, and how long it is improved."""

    panel: ClassVar[str] = EFFORT

    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="An option of the method, see 'mottle methods NAME'. Repeatable.",
        ),
    ] = None
    order_by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The order along which 'ordered', 'ordered-ring' and 'burel' group records; the"
            " same as --set order=NAME.",
        ),
    ] = None
    seconds: Seconds = None
    walk: Annotated[
        str, typer.Option(help=f"How the true assignment is drawn: {', '.join(WALKS)}.")
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
        check_word("walk", self.walk, WALKS)
        check_key(self.key, self.seed, self.seconds)
        _ = self.options

    @property
    def options(self) -> dict[str, str]:
        """The options of the method by name, as they were typed."""
        given = as_pairs("--set", self.settings, "NAME=VALUE")
        if self.order_by is None:
            return given
        if "order" in given:
            raise UsageError("--order-by and --set order say the same.", "Leave one of them out.")
        return {**given, "order": self.order_by}


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
    checklist: Checklist = None
    context_file: Annotated[
        Path | None,
        typer.Option(
            "--context",
            help="TOML file whose table [context] states purpose, recipients, controls, reviewer"
            " and review_by; printed as given.",
            show_default="[context] of --schema",
        ),
    ] = None

    def check(self) -> None:
        """Refuse examples without an internal report, which only the owner sees."""
        _ = self.checklists
        if self.report_examples and self.internal_report is None:
            raise UsageError(
                "--report-examples shows rows of the original, which report.html must not.",
                "Name a file for the internal report with --internal-report.",
            )

    @property
    def checklists(self) -> tuple[str, ...]:
        """The checklists that the report prints; none: those of mottle.toml."""
        return checklist_names(self.checklist)

    def context(self, stated: context.Context | None = None) -> context.Context | None:
        """Return what the owner states about the release, if anything.

        ``stated`` is what the schema says, which --context replaces.
        """
        if self.context_file is not None:
            stated = context.Context.read(self.context_file)
        if self.checklists:
            stated = (stated or context.Context()).with_checklists(self.checklists)
        return stated

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
