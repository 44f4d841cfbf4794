"""ℓ-diversity in its strict form: a bound on frequencies, not a count of distinct values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.encoding.sensitive import SensitiveValues
from mottle.errors import UsageError
from mottle.guarantees._numbers import check_whole
from mottle.guarantees.base import Guarantee
from mottle.typing import Float64Array


@dataclass(frozen=True)
class LDiversity(Guarantee):
    """Nobody's sensitive value is known with probability above 1/ℓ (NH10, Definition 9).

    This is the strict reading (frequency), not merely ℓ distinct values.

    >>> LDiversity(3)
    LDiversity(l=3)
    """

    l: int  # noqa: E741 - the papers' name

    def __post_init__(self) -> None:
        check_whole("ℓ", self.l)
        if self.l < 2:
            raise UsageError(
                f"ℓ = {self.l} protects no sensitive value.",
                "Choose ℓ of at least 2 (3 to 5 are common).",
            )

    def caps(self, values: SensitiveValues) -> Float64Array:
        return np.full(len(values.counts), 1 / self.l)

    def remedy(self, values: SensitiveValues, value: int) -> str:
        largest = values.rows // int(values.counts[value])
        if largest < 2:
            return "No ℓ is feasible: more than half of the rows share that value."
        return f"The largest feasible ℓ is {largest}."

    def describe(self) -> dict[str, object]:
        return {
            "name": "ℓ-diversity",
            "short": f"ℓ = {self.l}",
            "l": self.l,
            "statement": (
                "Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                f" believes in no sensitive value of a person with more than 1/{self.l}."
            ),
        }
