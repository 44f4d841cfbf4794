"""The sets that a published record may stand for: membership, number, listing, sampling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from random import Random


@dataclass(frozen=True)
class PossibleWorlds:
    """All sets that differ from ``base`` in at most ``distance`` items, all of them uncertain.

    SET12's example, base bitmap 1100, distance bitmap 0011, threshold 1:

    >>> worlds = PossibleWorlds(frozenset("ab"), frozenset("cd"), 1)
    >>> [sorted(world) for world in worlds], worlds.count()
    ([['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'd']], 3)
    >>> {"a", "b", "d"} in worlds, {"a"} in worlds
    (True, False)
    """

    base: frozenset[str]
    uncertain: frozenset[str]
    distance: int

    def __contains__(self, items: Iterable[str]) -> bool:
        flipped = self.base ^ frozenset(items)
        return flipped <= self.uncertain and len(flipped) <= self.distance

    def __iter__(self) -> Iterator[frozenset[str]]:
        uncertain = sorted(self.uncertain)
        for flips in range(min(self.distance, len(uncertain)) + 1):
            for flipped in combinations(uncertain, flips):
                yield self.base ^ frozenset(flipped)

    def count(self) -> int:
        """Return the number of possible sets, which can be very large."""
        return sum(comb(len(self.uncertain), flips) for flips in range(self.distance + 1))

    def sample(self, random: Random) -> frozenset[str]:
        """Draw one of the possible sets, each with the same probability."""
        at = random.randrange(self.count())
        flips = 0
        while at >= comb(len(self.uncertain), flips):
            at -= comb(len(self.uncertain), flips)
            flips += 1
        return self.base ^ frozenset(random.sample(sorted(self.uncertain), flips))
