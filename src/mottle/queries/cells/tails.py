"""Open ends of a column: values of which a release says only on which side of an end they are.

Where a column has ``top = 90``, the number 90 stands for 90 and more. Conditions are on the
published numbers, so one that would tell 92 from 97 cannot be answered and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from mottle.errors import UsageError
from mottle.queries._literals import exact_number
from mottle.queries.conditions import Condition, Conditions
from mottle.release.column import PublishedColumn


@dataclass(frozen=True)
class Tails:
    """The values that stand for all smaller and for all larger ones; None without such a tail."""

    name: str = ""
    value_type: pa.DataType | None = None
    bottom: pa.Scalar | None = None
    top: pa.Scalar | None = None

    @classmethod
    def of(cls, column: PublishedColumn) -> Tails:
        """The tails of a published column."""
        if column.rule is None:
            return cls()
        ends = column.rule.tail_values(column.value_type, column.name)
        return cls(column.name, column.value_type, *ends)

    def check(self, conditions: Conditions) -> None:
        """Raise `UsageError` if a condition distinguishes values within a tail."""
        if (self.bottom is None and self.top is None) or not any(map(self._splits, conditions)):
            return
        words = [
            f"values {side} {end} are published as {end}"
            for side, end in (("below", self.bottom), ("above", self.top))
            if end is not None
        ]
        raise UsageError(
            f"In column '{self.name}' {' and '.join(words)}: they cannot be told apart.",
            "Ask for values within these limits, or leave out the end that lies beyond them.",
        )

    def check_bounded(self, conditions: Conditions) -> None:
        """Raise `UsageError` if values of a tail satisfy conditions: their sum has no bounds."""
        below = self.bottom is not None and not any(
            each.low is not None
            and (self._exact(each.low), each.low_open) > (self._exact(self.bottom.as_py()), False)
            for each in conditions
        )
        above = self.top is not None and not any(
            each.high is not None
            and (self._exact(each.high), not each.high_open) < (self._exact(self.top.as_py()), True)
            for each in conditions
        )
        if below or above:
            raise UsageError(
                f"Column '{self.name}' has open ends, so sums and averages of it have no bounds.",
                "Add a condition that leaves these out, such as a range within its limits; or"
                " count.",
            )

    def _splits(self, condition: Condition) -> bool:
        ends = [end for end in (condition.low, condition.high) if end is not None]
        named = [*ends, *(condition.values or ()), *condition.excluded]
        if self.top is not None:
            top = self._exact(self.top.as_py())
            beyond = condition.low_open and condition.low is not None
            if any(self._exact(value) > top for value in named) or (
                beyond and self._exact(condition.low) >= top
            ):
                return True
        if self.bottom is not None:
            bottom = self._exact(self.bottom.as_py())
            beyond = condition.high_open and condition.high is not None
            return any(self._exact(value) < bottom for value in named) or (
                beyond and self._exact(condition.high) <= bottom
            )
        return False

    def _exact(self, value: object) -> Fraction | float:
        assert self.value_type is not None
        return exact_number(value, self.value_type, self.name)
