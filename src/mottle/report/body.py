"""What a report says of the rows themselves: of a table's columns, or of sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from mottle.evaluation.query_accuracy import QueryAccuracy
from mottle.io.batch_source import Source
from mottle.itemsets.data import ItemSets
from mottle.report.columns import ColumnReport

EXAMPLES = 10


@dataclass(frozen=True)
class Owner:
    """What only the owner of the data can add to a report; never to be published."""

    original: pa.Table | Source | ItemSets | None  # None where the run has it at hand
    command: str = ""  # as it was typed, without passwords
    source: str = ""  # where the original was read from
    examples: Sequence[int] | None = None  # whose the first records are, to be shown beside them


@dataclass(frozen=True)
class Examples:
    """Some people's rows before and after."""

    headings: list[str]
    pairs: list[tuple[list[str], list[str]]]  # original and published cells


@dataclass(frozen=True, kw_only=True)
class Body:
    """All that has to be looked up in the rows, or in what describes them."""

    of_sets: bool
    method: str  # what it does
    columns: list[ColumnReport]
    accuracy: list[QueryAccuracy]
    queried_rows: int | None = None  # records that questions were asked of, when not of all
    figures: Mapping[str, str] = field(default_factory=dict)  # of sets
    command: str
    schema: str = ""
    examples: Examples | None = None


def shown(value: object) -> str:
    """A cell for people; missing is empty."""
    return "" if value is None else str(value)
