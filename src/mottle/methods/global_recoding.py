"""Global recoding: every column at one level for the whole table, the best combination of levels.

El Emam et al.: A Globally Optimal k-Anonymity Method for the De-Identification of Health Data
(JAMIA 2009), the search that ARX and others have made common. The levels of a column are those of
its hierarchy; without one, ranges of equal width, halved from level to level, for columns with an
order, and all values together for others. Records that are alike at their levels are a group.
Whether groups are large enough is monotone along the lattice of combinations, so only the lowest
ones that are feasible are measured.

Cells are as narrow as the records of their group allow, which loses no more than the level itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes, Domain
from mottle.errors import UsageError
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.loss.ncp import measure
from mottle.methods.base import Arrangement, MethodContext, register
from mottle.methods.options import MethodOption
from mottle.typing import BoolArray, Int64Array

MOST_RECORDS = 20_000  # groups are large, and everybody is a candidate for all records of a group
MOST_COMBINATIONS = 4096  # of levels; columns with many levels lose some of them above that
_RANGES = (64, 32, 16, 8, 4, 2)  # ranges of equal width, by level

SUPPRESSED = MethodOption(
    "suppressed",
    0.05,
    "the largest share of records that may lie in groups below k; they become one group",
    least=0,
    most=1,
)

Levels = tuple[int, ...]  # of every column


@register(
    "global",
    title="every column at one level of its hierarchy for all records (for comparison)",
    paper="El Emam et al. 2009",
    offers=Capability.K_ANONYMITY,
    cost="O(n·d) time for each of up to 4,096 combinations of levels; up to 20,000 rows",
    options=(SUPPRESSED,),
)
def global_recoding(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Find the lowest combinations of levels with groups of k records, and take the best of them.

    Without suppressed records no combination loses less: whatever is feasible lies above one of the
    lowest, and wider groups lose no less. With them, it is the best of the lowest.
    """
    if codes.records > MOST_RECORDS:
        raise UsageError(
            "Method 'global' makes groups of any size, and connects all records of a group:"
            f" {codes.records:,} rows are more than its {MOST_RECORDS:,}.",
            "Try it on a sample, or use method 'mondrian'.",
        )
    lattice = Lattice.of(codes)
    few = int(context.option(SUPPRESSED) * codes.records)
    best: tuple[float, Levels, Graph] | None = None
    tried = 0
    for levels in lattice.lowest(demand.degree, few):
        graph = lattice.groups(levels, demand.degree)
        loss = float(measure(cover(graph, codes), codes).gcp)
        tried += 1
        if best is None or loss < best[0]:
            best = loss, levels, graph
            context.on_progress(loss)
    assert best is not None  # all values of every column together are always feasible
    _, chosen, graph = best
    return Arrangement(
        graph,
        facts={
            "levels": {
                domain.name: f"{level} of {len(lattice.ladders[place]) - 1}"
                for place, (domain, level) in enumerate(zip(codes.domains, chosen, strict=True))
            },
            "combinations": prod(len(ladder) for ladder in lattice.ladders),
            "measured": tried,
            "below_k": lattice.below(chosen, demand.degree),
        },
    )


@dataclass(frozen=True)
class Lattice:
    """All combinations of levels, and the groups of records that each one makes."""

    matrix: Int64Array  # [n, d]: the codes of all records
    ladders: tuple[tuple[Int64Array, ...], ...]  # by column and level: the class of every code

    @classmethod
    def of(cls, codes: Codes) -> Lattice:
        """Make the levels of all columns, and few enough of them."""
        ladders = [levels_of(domain) for domain in codes.domains]
        while prod(len(ladder) for ladder in ladders) > MOST_COMBINATIONS:
            place = max(range(len(ladders)), key=lambda each: len(ladders[each]))
            if len(ladders[place]) == 2:
                raise UsageError(
                    f"Method 'global' tries {MOST_COMBINATIONS:,} combinations of levels, and"
                    f" {len(ladders)} columns have more of them.",
                    "Give it fewer quasi-identifiers.",
                )
            del ladders[place][len(ladders[place]) // 2]
        return cls(codes.matrix.astype(np.int64), tuple(map(tuple, ladders)))

    def lowest(self, k: int, few: int) -> Iterator[Levels]:
        """Yield the combinations that are feasible while none below them is.

        Parameters
        ----------
        k : int
            The fewest records of a group.
        few : int
            How many records may lie in smaller ones.

        Yields
        ------
        tuple of int
            The level of every column.
        """
        if not self.ladders:
            yield ()
            return
        sizes = [len(ladder) for ladder in self.ladders]
        long = sizes.index(max(sizes))  # along it, the first feasible level is searched for
        others = [range(size) for place, size in enumerate(sizes) if place != long]
        found: dict[Levels, int] = {}  # by the levels of the others; the number of levels: none
        for rest in product(*others):
            most = min((found[each] for each in _below(rest)), default=sizes[long])
            first = most
            low, high = 0, most
            while low < high:
                middle = (low + high) // 2
                if self.below((*rest[:long], middle, *rest[long:]), k) <= few:
                    high = first = middle
                else:
                    low = middle + 1
            found[rest] = first
            if first < most:
                yield (*rest[:long], first, *rest[long:])

    def below(self, levels: Levels, k: int) -> int:
        """How many records lie in groups of fewer than k."""
        sizes = np.bincount(self._group_of(levels), weights=self._distinct[1])
        return int(sizes[sizes < k].sum())

    def groups(self, levels: Levels, k: int) -> Graph:
        """The groups at some levels; small ones become one, with the next larger if need be."""
        group_of = self._group_of(levels)[self._distinct[2]]
        sizes = np.bincount(group_of)
        by_size = np.argsort(sizes, kind="stable")
        together = np.searchsorted(sizes[by_size], k)  # groups that are too small
        while 0 < together < len(sizes) and sizes[by_size[:together]].sum() < k:
            together += 1
        name = np.arange(len(sizes))
        name[by_size[:together]] = by_size[0]
        order = np.argsort(name[group_of], kind="stable")
        sizes = np.bincount(name[group_of])
        sizes = sizes[sizes > 0]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return Graph.rings(order.astype(np.int32), starts, sizes.astype(np.int32))

    @cached_property
    def _distinct(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Distinct rows, how often each occurs, and which one every record has."""
        rows, whose, counts = np.unique(
            self.matrix, axis=0, return_inverse=True, return_counts=True
        )
        return rows, counts, whose.reshape(-1)

    def _group_of(self, levels: Levels) -> Int64Array:
        """The group of every distinct row, from 0 on."""
        rows = self._distinct[0]
        group = np.zeros(len(rows), np.int64)
        for column, (level, ladder) in enumerate(zip(levels, self.ladders, strict=True)):
            if level == len(ladder) - 1:  # all values together
                continue
            classes = ladder[level]
            group = group * (int(classes.max()) + 1) + classes[rows[:, column]]
            group = np.unique(group, return_inverse=True)[1].reshape(-1)
        return group


def _below(levels: Levels) -> Iterator[Levels]:
    """The combinations with one level less."""
    for place, level in enumerate(levels):
        if level > 0:
            yield (*levels[:place], level - 1, *levels[place + 1 :])


def levels_of(domain: Domain) -> list[Int64Array]:
    """The levels of a column, from its values to all of them together.

    Parameters
    ----------
    domain : Domain
        The column.

    Returns
    -------
    list of Int64Array
        By level, the class of every code; missing values are a class of their own, and join the
        others at the last level.
    """
    size = domain.size
    present = np.arange(size) != domain.missing
    found = [np.arange(size)]
    if domain.hierarchy is not None:
        ancestors = domain.hierarchy.ancestors
        inner = range(1, ancestors.shape[1] - 1)
        found += [_with_missing(ancestors[:, level].astype(np.int64), present) for level in inner]
    elif len(domain.positions):
        for ranges in _RANGES:
            if ranges < present.sum():
                places = np.floor(domain.positions[present] * ranges).astype(np.int64)
                found.append(_with_missing(np.minimum(places, ranges - 1), present))
    found.append(np.zeros(size, np.int64))
    return _distinct_levels(found)


def _with_missing(classes: Int64Array, present: BoolArray) -> Int64Array:
    """Classes of all codes, of which the missing value has its own."""
    found = np.full(len(present), -1, np.int64)
    found[present] = classes
    return np.unique(found, return_inverse=True)[1].reshape(-1)


def _distinct_levels(levels: list[Int64Array]) -> list[Int64Array]:
    """Levels that merge something, and the last one."""
    kept = levels[:1]
    for level in levels[1:]:
        if len(np.unique(level)) < len(np.unique(kept[-1])):
            kept.append(level)
    return kept
