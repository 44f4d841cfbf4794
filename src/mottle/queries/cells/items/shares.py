"""Between which shares of a record's candidates hold items: bounds that need no assumption.

Proved in docs/queries.md ("Why bounds on items are narrow"). In a regular graph every original is a
candidate of as many records as its record has candidates, so the number of originals that satisfy a
condition is the sum, over published records, of the share of candidates that do. A vote tells much
about that share: more than half of the candidates hold an item of the base set, at most half one
that is outside it, at least one holds an uncertain item and at least one does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.typing import BoolArray, Float64Array, Int64Array

Share = tuple[float, float]  # the lowest and the highest that is possible


@dataclass(frozen=True)
class ShareBounds:
    """Shares of candidates that hold an item, where records have ``least`` to ``most`` of them.

    >>> bounds = ShareBounds(10, 10)
    >>> bounds.in_base, bounds.outside
    ((0.6, 0.9), (0.1, 0.5))
    """

    least: int
    most: int

    @property
    def _ends(self) -> tuple[int, ...]:
        """The numbers of candidates, of both parities, at which shares are extreme."""
        return tuple(d for d in (self.most, self.most - 1) if d >= max(self.least, 2)) or (2,)

    @property
    def one(self) -> float:
        """The smallest share that one candidate can be."""
        return 1 / max(self.most, 1)

    @property
    def in_base(self) -> Share:
        """Of an uncertain item of the base set: more than half, and not all."""
        low = min((d // 2 + 1) / d for d in self._ends)
        return min(low, 1 - self.one), 1 - self.one

    @property
    def outside(self) -> Share:
        """Of an uncertain item outside the base set: at least one, and not more than half."""
        high = max((d // 2) / d for d in self._ends)
        return min(self.one, high), high


@dataclass(frozen=True, eq=False)
class CellShares:
    """The lowest and highest share of candidates that satisfy something, by cell."""

    low: Float64Array  # [cells]
    high: Float64Array  # [cells]

    @classmethod
    def of_item(
        cls,
        bounds: ShareBounds,
        base: BoolArray,
        doubtful: BoolArray,
        uncertain: Int64Array,
        distance: Int64Array,
        missing: BoolArray,
    ) -> CellShares:
        """Return the bounds for holding one item.

        Parameters
        ----------
        bounds : ShareBounds
            The shares that votes allow.
        base, doubtful : bool[cells]
            Whether the base set holds the item, and whether it is uncertain.
        uncertain, distance : int64[cells]
            Numbers of uncertain items, and of those that may differ; -1: there is no set.
        missing : bool[cells]
            Whether some candidates have no set, so that they do not vote.
        """
        one, few = bounds.one, np.where(missing, 2 * bounds.one, bounds.in_base[0])
        # Every uncertain item differs in one candidate or more, none in more items than distance.
        most = np.maximum(distance - (uncertain - 1) * one, one)
        low = np.where(base, 1.0, 0.0)
        low = np.where(base & missing, one, low)
        low = np.where(doubtful, np.where(base, np.maximum(few, 1 - most - missing), one), low)
        high = np.where(base & missing, 1 - one, np.where(base, 1.0, 0.0))
        outside = np.minimum(bounds.outside[1], most)
        high = np.where(doubtful, np.where(base, bounds.in_base[1], outside), high)
        low, high = (np.where(distance < 0, 0.0, part) for part in (low, high))
        return cls(np.minimum(low, high), high)

    def without(self, missing: BoolArray, one: float) -> CellShares:
        """Return the bounds for having a set that does not satisfy this."""
        known = np.where(missing, 1 - one, 1.0)
        low = np.where(missing, 0.0, 1.0 - self.high)
        return CellShares(low, np.maximum(known - self.low, low))


def all_of(parts: list[CellShares], cells: int) -> CellShares:
    """Return the bounds for satisfying everything: those who fail one part may all be different."""
    low, high = np.ones(cells), np.ones(cells)
    for part in parts:
        low -= 1.0 - part.low
        high = np.minimum(high, part.high)
    return CellShares(np.minimum(np.maximum(low, 0.0), high), high)


def one_of(parts: list[CellShares], cells: int) -> CellShares:
    """Return the bounds for satisfying at least one part."""
    low, high = np.zeros(cells), np.zeros(cells)
    for part in parts:
        low = np.maximum(low, part.low)
        high += part.high
    return CellShares(low, np.minimum(high, 1.0))
