"""How likely uncertain items are held, fitted to the totals of items that a release states.

Every published record has d candidates, and every original is a candidate of as many records. The
share of a record's candidates that hold an item is known to be 0 or 1 for certain items and is
estimated for uncertain ones: one chance for an item where it is in the base set and one where it is
not, both moved by the same odds until all records together give the item's total.

Items of one candidate come together: where a candidate differs from the base in many items (that is
what the published distance says), it holds many of the uncertain items at once. So one candidate of
d is the *far* one. It differs in as many items as the distance, the others share the rest; given
which candidate is meant, items are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mottle.queries.cells.items.shares import ShareBounds
from mottle.typing import Float64Array, Int32Array, Int64Array

_STEPS = 50  # of a bisection
_WIDEST = 40.0  # largest change of log odds


class Tally(NamedTuple):
    """For every item the number of records that name it in a base set, or as uncertain."""

    sure: Float64Array  # [items]: in the base set and not uncertain
    in_base: Float64Array  # [items]: uncertain, in the base set
    outside: Float64Array  # [items]: uncertain, not in the base set

    @property
    def based(self) -> Float64Array:
        """[items]: records whose base set holds the item."""
        return self.sure + self.in_base


@dataclass(frozen=True, eq=False)
class ItemChances:
    """How likely uncertain items are held, by item and by whether the base set holds them."""

    in_base: Float64Array  # [items]: chance of being held where it is uncertain and in the base
    outside: Float64Array  # [items]: the same where it is not in the base
    far: Float64Array  # [cells]: by how much likelier the far candidate differs from the base
    degree: int  # candidates of a record; below 2 there is no far candidate

    @property
    def far_share(self) -> float:
        """How likely the far candidate is meant."""
        return 1 / self.degree if self.degree > 1 else 0.0

    def flips(
        self, chance: Float64Array | float, cells: Int64Array | slice, *, far: bool
    ) -> Float64Array:
        """Return how likely items with a given chance to differ from the base do so.

        In the far candidate, or in one of the others; over all of them it is the given chance.
        """
        often = np.minimum(chance * self.far[cells], 1.0)
        if far:
            return np.asarray(often)
        if self.degree < 2:
            return np.asarray(chance + 0.0 * often)
        return np.asarray(np.clip((self.degree * chance - often) / (self.degree - 1), 0.0, 1.0))


def fit_chances(
    tally: Tally, totals: Float64Array, most: float, flip: float, bounds: ShareBounds
) -> tuple[Float64Array, Float64Array]:
    """Fit the chances of items to their totals.

    Parameters
    ----------
    tally : Tally
        How many records name each item, and how.
    totals : float64[items]
        How many records hold each item; NaN where that is not known.
    most : float
        The largest possible total of items without one.
    flip : float
        How likely an uncertain item differs from the base set, over all items.
    bounds : ShareBounds
        Between which shares of candidates are possible.

    Returns
    -------
    in_base, outside : float64[items]
        As `ItemChances` has them.
    """
    flip = min(max(flip, 1e-6), 0.5)
    log_odds = np.log(flip / (1 - flip))
    low_in, high_in = bounds.in_base
    low_out, high_out = bounds.outside

    def chances(moved: Float64Array) -> tuple[Float64Array, Float64Array]:
        within = np.clip(1 / (1 + np.exp(log_odds - moved)), low_in, high_in)
        without = np.clip(1 / (1 + np.exp(-log_odds - moved)), low_out, high_out)
        return within, without

    nothing = np.zeros(len(totals))
    within, without = chances(nothing)
    guess = tally.sure + tally.in_base * within + tally.outside * without
    wanted = np.where(np.isnan(totals), np.minimum(guess, most), totals) - tally.sure
    low, high = np.full_like(nothing, -_WIDEST), np.full_like(nothing, _WIDEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        within, without = chances(middle)
        above = tally.in_base * within + tally.outside * without > wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    free = (tally.in_base + tally.outside) > 0
    return chances(np.where(free, (low + high) / 2, 0.0))


def far_ratio(
    distance: Int64Array | Int32Array, expected: Float64Array, degree: int
) -> Float64Array:
    """[cells]: by how much likelier the far candidate differs from the base than the average one.

    ``expected`` [cells] is the mean number of differing items over the candidates.
    """
    if degree < 2:
        return np.ones(len(expected))
    ratio = np.divide(distance, expected, out=np.ones(len(expected)), where=expected > 0)
    return np.clip(ratio, 1.0, degree)
