"""β-likeness, plain and enhanced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.encoding.sensitive import SensitiveValues
from mottle.errors import UsageError
from mottle.guarantees._numbers import finite
from mottle.guarantees.base import Guarantee
from mottle.typing import Float64Array


@dataclass(frozen=True)
class BetaLikeness(Guarantee):
    """Belief in a sensitive value grows by no more than the factor 1 + β (HET, Definition 4).

    ``enhanced`` bounds the factor by 1 + min(β, -ln φ), so that frequent values (share φ) stay
    well below certainty.

    >>> BetaLikeness(2)
    BetaLikeness(beta=2.0, enhanced=False)
    """

    beta: float
    enhanced: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", finite("β", self.beta))
        if self.beta < 0:
            raise UsageError("β must be 0 or more.", "1 to 5 are common; 0 allows no gain at all.")

    def caps(self, values: SensitiveValues) -> Float64Array:
        share = values.counts / values.rows
        growth = np.minimum(self.beta, -np.log(share)) if self.enhanced else self.beta
        return np.minimum((1 + growth) * share, 1.0)

    def describe(self) -> dict[str, object]:
        kind = "enhanced β-likeness" if self.enhanced else "β-likeness"
        grown = f"the factor {1 + self.beta:g} over its share in the whole table"
        return {
            "name": kind,
            "short": f"β = {self.beta:g}",
            "beta": self.beta,
            "enhanced": self.enhanced,
            "statement": (
                "Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                f" believes in no sensitive value of a person with more than {grown}"
                + (" (less for frequent values)." if self.enhanced else ".")
            ),
        }
