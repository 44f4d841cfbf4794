"""Options for releases over time: of ``mottle anonymize``, and of ``mottle audit``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from mottle.cli._option_groups import OVER_TIME, OptionGroup
from mottle.errors import UsageError, did_you_mean
from mottle.utils.paths import resolved

_LEAVERS = ("keep", "drop")
_CHANGED = ("refuse", "keep")


@dataclass(frozen=True, kw_only=True)
class OverTimeOptions(OptionGroup):
    """How a release continues earlier ones; see docs/over-time.md."""

    panel: ClassVar[str] = OVER_TIME

    same: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Identifying column that says who is who in later releases; needs --private.",
        ),
    ] = None
    previous: Annotated[
        Path | None,
        typer.Option(
            metavar="LINKS",
            help="Link file of the release that this one continues; needs --private.",
        ),
    ] = None
    leavers: Annotated[
        str | None,
        typer.Option(
            help="Records of people who left: keep, or drop with their whole block.",
            show_default="keep",
        ),
    ] = None
    changed: Annotated[
        str | None,
        typer.Option(
            help="People with other values by now: refuse, or keep as first published.",
            show_default="refuse",
        ),
    ] = None
    least_newcomers: Annotated[
        int | None,
        typer.Option(
            metavar="INTEGER",
            help="Fewer newcomers than this wait for a later release.",
            show_default="k; 100 with sensitive values",
        ),
    ] = None
    few_remain: Annotated[
        bool,
        typer.Option(
            "--few-remain",
            help="Says that most people of the earlier release really left.",
        ),
    ] = False

    @property
    def given(self) -> bool:
        """Whether the release is one of several over time."""
        return self.same is not None or self.previous is not None

    def check(self) -> None:
        """Raise `UsageError` if rules are wrong or have no earlier release."""
        for option, word, known in (
            ("--leavers", self.leavers, _LEAVERS),
            ("--changed", self.changed, _CHANGED),
        ):
            if word is not None and word not in known:
                raise UsageError(f"{option} does not know '{word}'.", did_you_mean(word, known))
        rules = {
            "--leavers": self.leavers,
            "--changed": self.changed,
            "--least-newcomers": self.least_newcomers,
            "--few-remain": self.few_remain or None,
        }
        for option, value in rules.items():
            if value is not None and self.previous is None:
                raise UsageError(
                    f"{option} is for a release that continues an earlier one.",
                    "Name the link file of that with --previous.",
                )

    def check_private(self, private: Path | None) -> None:
        """Raise `UsageError` unless the links of this release get a file of their own."""
        if not self.given:
            return
        if private is None:
            raise UsageError(
                "A release over time needs a file for its links, without which no further release"
                " can be made.",
                "Name it with --private FILE.",
            )
        if self.previous is not None and resolved(self.previous) == resolved(private):
            raise UsageError(
                f"{private} holds the links of the earlier release.",
                "Name another file with --private; keep both.",
            )


@dataclass(frozen=True, kw_only=True)
class EarlierOptions(OptionGroup):
    """Earlier releases of the same people, for an audit."""

    panel: ClassVar[str] = OVER_TIME

    earlier: Annotated[
        list[Path] | None,
        typer.Option(metavar="RELEASE", help="An earlier release of the same people. Repeatable."),
    ] = None
    earlier_original: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="The table of an --earlier release, in the same order. Repeatable.",
            show_default="the original",
        ),
    ] = None
    earlier_private: Annotated[
        list[Path] | None,
        typer.Option(metavar="LINKS", help="The link file of an --earlier release. Repeatable."),
    ] = None
    same: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that says who is who in all tables.",
            show_default="as links say, or row numbers",
        ),
    ] = None

    def check(self) -> None:
        """Raise `UsageError` if tables or links do not belong to as many releases."""
        count = len(self.earlier or [])
        for option, values in (
            ("--earlier-original", self.earlier_original),
            ("--earlier-private", self.earlier_private),
        ):
            if values and len(values) != count:
                raise UsageError(
                    f"{option} is given {len(values)} times, --earlier {count} times.",
                    f"Give {option} once for each --earlier, in the same order, or not at all.",
                )
        if self.same is not None and not count:
            raise UsageError("--same compares releases.", "Name an earlier one with --earlier.")
