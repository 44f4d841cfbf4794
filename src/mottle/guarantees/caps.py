"""Bounds that the owner sets for sensitive values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mottle.encoding.sensitive import SensitiveValues
from mottle.errors import UsageError, did_you_mean
from mottle.guarantees._numbers import finite
from mottle.guarantees.base import Guarantee
from mottle.typing import Float64Array


@dataclass(frozen=True)
class Caps(Guarantee):
    """The user's own bounds: no more than this belief in these sensitive values.

    ``shares`` names values as text; all others are bound by ``default``.

    >>> Caps({"HIV": 0.05}, default=0.5).shares
    {'HIV': 0.05}
    """

    shares: Mapping[str, float]
    default: float = 1.0

    def __post_init__(self) -> None:
        for value, share in {**self.shares, "default": self.default}.items():
            if not 0 < finite(f"The cap of {value}", share) <= 1:
                raise UsageError(
                    f"The cap of {value} must be above 0 and at most 1.", "Write 0.05 for 5 %."
                )

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.shares.items())), self.default))

    def caps(self, values: SensitiveValues) -> Float64Array:
        if values.joint:
            return np.ones(len(values.counts))  # each column is bound by itself
        labels = [values.label(value) for value in range(len(values.counts))]
        return np.array([self.shares.get(label, self.default) for label in labels], np.float64)

    def check_values(self, sensitive: Sequence[SensitiveValues]) -> None:
        _check_known(self.shares, sensitive)

    def remedy(self, values: SensitiveValues, value: int) -> str:
        share = values.counts[value] / values.rows
        return f"The smallest feasible cap for it is {math.ceil(share * 10_000) / 10_000:g}."

    def describe(self) -> dict[str, object]:
        lowest = min([*self.shares.values(), self.default])
        return {
            "name": "caps",
            "short": f"its cap (the lowest is {lowest:g})",
            "values": len(self.shares),
            "lowest": lowest,
            "default": self.default,
            "statement": (
                "Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                " believes in no sensitive value of a person with more than the cap the owner set"
                f" for it ({len(self.shares)} values have their own, from {lowest:g}; all others"
                f" {self.default:g})."
            ),
        }


def _check_known(shares: Mapping[str, float], sensitive: Sequence[SensitiveValues]) -> None:
    """Refuse caps for values that no sensitive column has: a misspelt cap protects nobody."""
    single = [values for values in sensitive if not values.joint]
    known = {values.label(value) for values in single for value in range(len(values.counts))}
    for value in shares:
        if single and value not in known:
            raise UsageError(
                f"No sensitive column has the value '{value}' that a cap names.",
                did_you_mean(value, sorted(known)),
            )
