"""A closer look at one column or two, before and after; the page draws it by Vega-Lite."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mottle.errors import UsageError
from mottle.report.columns import ColumnReport
from mottle.studio.pairs import Joint


@dataclass(frozen=True)
class Mark:
    """One bar, or one cell of two columns: shares of the records."""

    label: str
    other: str  # the value of the second column; empty if there is none
    after: float  # in the release
    before: float  # in the original
    certain: float | None = None  # bounds of the share in the release
    possible: float | None = None


@dataclass(frozen=True)
class Look:
    """What is drawn."""

    first: str
    second: str | None
    marks: tuple[Mark, ...]

    @property
    def content(self) -> dict[str, Any]:
        """What the script of the page gets."""
        return asdict(self)


def look_at_column(column: ColumnReport) -> Look:
    """Look at one column, by the bars of its chart."""
    if not column.bars:
        raise UsageError("There is no closer look at this column.", "Choose another.")
    marks = [
        Mark(bar.label, "", bar.share, bar.before or 0.0, bar.certain, bar.possible)
        for bar in column.bars
    ]
    return Look(column.name, None, tuple(marks))


def look_at_pair(first: str, second: str, joint: Joint) -> Look:
    """Look at two columns together."""
    marks = [
        Mark(one, two, float(joint.after[row, column]), float(joint.before[row, column]))
        for row, one in enumerate(joint.first.labels)
        for column, two in enumerate(joint.second.labels)
    ]
    return Look(first, second, tuple(marks))
