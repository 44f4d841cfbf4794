"""What a report says about the rows themselves: about a table's columns, or about sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from mottle.evaluation.query_accuracy import QueryAccuracy
from mottle.io.batch_source import Source
from mottle.itemsets.data import ItemSets
from mottle.report.columns import ColumnReport
from mottle.report.identical_rows import IdenticalRows
from mottle.report.questions import AskedQuestion
from mottle.report.subgroups import SubgroupLoss
from mottle.risk.report import RiskReport

EXAMPLES = 10  # people whose rows an internal report shows before and after


@dataclass(frozen=True)
class Owner:
    """What only the owner of the data can add to a report; never to be published.

    Attributes
    ----------
    original : pyarrow.Table, Source, ItemSets or None
        The data the release was made from; None where the run supplies it.
    command : str
        The command as it was typed, without passwords.
    source : str
        Where the original was read from.
    examples : sequence of int or None
        The original row of each of the first records, to be shown next to them.
    """

    original: pa.Table | Source | ItemSets | None
    command: str = ""
    source: str = ""
    examples: Sequence[int] | None = None


@dataclass(frozen=True)
class Examples:
    """Some people's rows before and after anonymization."""

    headings: list[str]
    pairs: list[tuple[list[str], list[str]]]  # original and published cells


@dataclass(frozen=True, kw_only=True)
class Body:
    """The parts of a report that are taken from the rows, or from what describes them."""

    of_sets: bool  # whether this is a release of sets, not of a table
    method: str  # what the method does
    columns: list[ColumnReport]
    accuracy: list[QueryAccuracy]
    queried_rows: int | None = None  # number of records that were queried, if not all
    figures: Mapping[str, str] = field(default_factory=dict)  # figures on sets, by description
    command: str  # the command that makes such a release
    schema: str = ""  # its mottle.toml
    examples: Examples | None = None
    risk: RiskReport | None = None  # before and after, for the owner
    questions: Sequence[AskedQuestion] = ()  # of the owner, with their answers
    subgroups: Sequence[SubgroupLoss] = ()  # that lose most, for the owner
    identical: IdenticalRows | None = None  # what a checker of equal rows finds; None: not counted


def cell_text(value: object) -> str:
    """A cell as text for people; a missing value is empty."""
    return "" if value is None else str(value)
