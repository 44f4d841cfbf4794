"""What a release promises: typed guarantees that travel with it, and what they demand of a table.

Every guarantee about sensitive values is a *cap* per value: the highest share that the value may
have among the records an individual matches. ℓ-diversity caps every value at 1/ℓ, β-likeness at
(1 + β) times its share in the whole table, and `Caps` at what the user says. One mechanism then
serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from mottle.encoding.sensitive import SensitiveValues
from mottle.errors import GuaranteeError, UsageError
from mottle.guarantees.demand import Demand, allowed
from mottle.typing import Float64Array


class Guarantee:
    """A promise; ``a & b`` promises both."""

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        """The promises it is made of."""
        return (self,)

    @property
    def degree(self) -> int:
        """How many originals each published record must at least be able to stand for."""
        return 2

    @property
    def about_values(self) -> bool:
        """Whether it speaks about sensitive values."""
        return True

    def check_feasible(self, rows: int) -> None:
        """Raise `GuaranteeError` when no table of ``rows`` records can have this guarantee."""
        if rows < 2:
            raise GuaranteeError(
                "A table of one row cannot be anonymized: its record has nobody to hide among.",
                "Give more rows.",
            )

    def check_values(self, sensitive: Sequence[SensitiveValues]) -> None:
        """Raise `UsageError` when the guarantee names values that no sensitive column has."""

    def caps(self, values: SensitiveValues) -> Float64Array:
        """The highest share each of the values may have among an individual's matches."""
        return np.ones(len(values.counts))

    def remedy(self, values: SensitiveValues, value: int) -> str:
        """The nearest feasible guarantee when ``value`` is too frequent."""
        raise NotImplementedError

    def describe(self) -> dict[str, object]:
        """The guarantee as it stands on the certificate."""
        raise NotImplementedError

    def __and__(self, other: Guarantee) -> Guarantee:
        return Combined((*self.parts, *other.parts))

    def demand(self, rows: int, sensitive: Sequence[SensitiveValues] = ()) -> Demand:
        """What it demands of a table; raises `GuaranteeError` when the table is not eligible.

        ``sensitive`` holds the only sensitive column, or the joint value of several and then each.
        """
        self.check_feasible(rows)
        self.check_values(sensitive)
        if not self.about_values:
            return Demand(self.degree)
        if not sensitive:
            raise UsageError(
                f"{self.describe()['name']} is about sensitive values, but no column is sensitive.",
                "Name the column with --sensitive.",
            )
        caps = [self._eligible_caps(values) for values in sensitive]
        sizes = [len(values.counts) for values in sensitive]
        offsets = np.cumsum([0, *sizes[:-1]])
        marks = np.stack(
            [values.codes + offset for values, offset in zip(sensitive, offsets, strict=True)],
            axis=1,
        )
        return Demand(
            degree=self.degree,
            sensitive_codes=np.ascontiguousarray(marks, np.int32),
            caps=np.concatenate(caps),
            counts=np.concatenate([values.counts for values in sensitive]),
        )

    def _eligible_caps(self, values: SensitiveValues) -> Float64Array:
        """The caps of all parts together, after checking that the whole table is within them."""
        rows = values.rows
        for part in self.parts:
            over = values.counts - allowed(part.caps(values), rows)
            if over.max() > 0:
                value = int(np.argmax(over))
                raise GuaranteeError(
                    f"{part.describe()['name']} cannot be met: {values.describe(value)} is"
                    f" {values.counts[value]:,} of {rows:,} rows, too frequent in the table itself"
                    f" for {part.describe()['short']}.",
                    part.remedy(values, value),
                )
        return reduce(np.minimum, [part.caps(values) for part in self.parts])


@dataclass(frozen=True)
class Combined(Guarantee):
    """Several guarantees at once, written ``KAnonymity(5) & LDiversity(3)``."""

    guarantees: tuple[Guarantee, ...]

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        return self.guarantees

    @property
    def degree(self) -> int:
        return max(part.degree for part in self.parts)

    @property
    def about_values(self) -> bool:
        return any(part.about_values for part in self.parts)

    def check_feasible(self, rows: int) -> None:
        for part in self.parts:
            part.check_feasible(rows)

    def check_values(self, sensitive: Sequence[SensitiveValues]) -> None:
        for part in self.parts:
            part.check_values(sensitive)

    def describe(self) -> dict[str, object]:
        described = [part.describe() for part in self.parts]
        return {
            "name": " and ".join(str(part["name"]) for part in described),
            "short": ", ".join(str(part["short"]) for part in described),
            "parts": described,
            "statement": " ".join(str(part["statement"]) for part in described),
        }
