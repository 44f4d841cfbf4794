"""Cells of set columns: how likely each satisfies conditions on the items that a record holds.

The cell of a record is a base set, uncertain items and a distance t: the record may hold every set
that differs from the base only in uncertain items, and in at most t of them. Each uncertain item is
assumed to be flipped (to differ from the base) with the same probability p. The probability that a
record holds none of some given items is then a ratio of binomial distributions: if s of its u
uncertain items are among the given ones, j of these in the base,

    p^j (1 - p)^(s - j) · P(at most t - j of u - s) / P(at most t of u).

Everything else follows by inclusion and exclusion. The certificate states how many items are
misreported, which gives p. Without it p = 1/2, for which all possible sets are equally likely; this
is usually far too high, since most possible sets are as far from the base as they can be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import bdtr, bdtrik

from mottle.encoding.set_columns import LISTS
from mottle.errors import UsageError
from mottle.queries.cells.atoms import Covered, Numbers
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution, Moments
from mottle.queries.conditions import Condition, Conditions
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

EVEN = 0.5  # the probability of a flip for which all possible sets are equally likely
_MAX_ALTERNATIVES = 12  # conditions on items that have to hold together
_MIN_FLIP = 1e-6  # lowest probability of a flip
_BELOW_ONE = np.nextafter(1.0, 0.0)
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Items:
    """The items of a column, instead of atoms: a record holds any number of them."""

    name: str
    values: pa.Array  # [items], sorted by text

    missing_measure = 1.0

    @property
    def measure(self) -> Float64Array:
        """Empty: items do not exclude one another, so they have no relative weights."""
        return np.zeros(0)

    prior = measure

    def covered(self, conditions: Conditions) -> Covered:
        """Raise: a set is not covered in part."""
        raise self._refusal("cannot be added up")

    def takes_missing(self, condition: Condition) -> bool:
        """Return whether it does: only if the condition says so."""
        return condition.missing

    def numbers(self, conditions: Conditions) -> Numbers:
        """Raise: sets are not numbers."""
        raise self._refusal("cannot be added up")

    def points(self) -> pa.Array:
        """Raise: a record may hold several items, so groups by item would overlap."""
        raise self._refusal("cannot be grouped by")

    def draw(self, atoms: Int64Array, random: np.random.Generator) -> pa.Array:
        """Return items by number."""
        return self.values.take(pa.array(atoms))

    def strangers(self, wanted: list[object]) -> list[object]:
        """Return those of the wanted items that no cell names."""
        return [item for item in wanted if str(item) not in self.place_of]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The number of each item."""
        return {item: place for place, item in enumerate(self.values.to_pylist())}

    def _refusal(self, what: str) -> UsageError:
        return UsageError(
            f"Column '{self.name}' holds sets of items, which {what}.",
            f"Count the records that hold an item: {{'{self.name}': ITEM}}.",
        )


class Holding(NamedTuple):
    """For every item the distinct cells that name it: cells[starts[item]:starts[item + 1]]."""

    starts: Int64Array
    cells: Int64Array

    def of(self, items: Int64Array, count: int) -> Int64Array:
        """[cells]: how many of the given items each cell names."""
        named = [self.cells[self.starts[item] : self.starts[item + 1]] for item in items]
        return np.bincount(np.concatenate([np.empty(0, np.int64), *named]), minlength=count)


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemCells(CellDistribution):
    """The distinct cells of a column of sets."""

    items: Items
    base: Holding
    doubtful_base: Holding  # uncertain items that are in the base
    doubtful_rest: Holding  # uncertain items that are not in the base
    uncertain: Int64Array  # [cells]: how many items are uncertain
    distance: Int64Array  # [cells]; -1 if only the missing value is possible
    flip: float = EVEN  # the probability that an uncertain item differs from the base
    # Probability of a missing value where it is possible; None: as likely as one uncertain item.
    missing_chance: float | None = None

    @property
    def count(self) -> int:
        """Number of distinct cells."""
        return len(self.distance)

    @property
    def known(self) -> BoolArray:
        """[cells]: whether there may be a set at all."""
        return self.distance >= 0

    def shares(self, conditions: Conditions) -> Float64Array:
        """[cells]: how likely each satisfies conditions; 1 for certain, -1 for impossible."""
        wanted = _ItemConditions.of(self.items, conditions)
        expected = (1 - self._missing_chances) * self._expected(wanted)
        possible = self.known & self._possible(wanted)
        certain = ~self.known | self._certain(wanted)
        if wanted.missing:
            expected += self._missing_chances
            possible |= self.missing
        else:
            certain &= ~self.missing
        shares = np.clip(expected, 0.0, _BELOW_ONE)
        shares[certain] = 1.0
        shares[~possible] = IMPOSSIBLE
        return shares

    def moments(self, conditions: Conditions) -> Moments:
        """Raise: sets are not numbers."""
        self.items.numbers(conditions)
        raise AssertionError("unreachable")

    def holding(self, item: str) -> Float64Array:
        """[cells]: how likely each holds an item."""
        return np.maximum(self.shares((Condition(values=(item,)),)), 0.0)

    def calibrated(self, loss: float, degree: int) -> ItemCells:
        """Return the same cells with the flip probability that gives the certificate's loss.

        Let b, r and u be the means, over records, of the size of the base, of the number of
        uncertain items outside it, and of the number of all uncertain items. Then p · u flips,
        divided by b + p · (r - (u - r)) items held, are the loss.
        """
        weights = np.bincount(self.of_row, minlength=self.count) * self.known
        rest = np.bincount(self.doubtful_rest.cells, minlength=self.count)
        size = np.bincount(self.base.cells, minlength=self.count)
        base, outside, all_of_them = (
            float(weights @ part) / max(float(weights.sum()), 1.0)
            for part in (size, rest, self.uncertain)
        )
        divisor = all_of_them - loss * (2 * outside - all_of_them)
        flip = 1 / max(degree, 2)  # if all bases are empty, every p gives the same loss
        if base > 0:
            flip = loss * base / divisor if divisor > 0 else EVEN
        return replace(
            self,
            flip=min(max(flip, _MIN_FLIP), EVEN),
            missing_chance=1 / degree if degree else None,
        )

    def draw(self, random: np.random.Generator) -> pa.Array:
        """Draw a set from every record's cell; null for missing."""
        rows, universe = self.of_row, max(len(self.items.values), 1)
        missing = random.random(len(rows)) < self._missing_chances[rows]
        uncertain, distance = self.uncertain[rows], np.maximum(self.distance[rows], 0)
        at_most = bdtr(distance, np.maximum(uncertain, distance), self.flip)
        drawn = _binomial_quantile(
            random.random(len(rows)) * at_most, np.maximum(uncertain, 1), self.flip
        )
        flips = np.clip(np.where(uncertain > 0, drawn, 0), 0, np.minimum(distance, uncertain))
        row_of, items = _spread(self._doubtful_lists, rows)
        shuffled = np.lexsort((random.random(len(items)), row_of))
        place = np.arange(len(items)) - np.repeat(np.cumsum(uncertain) - uncertain, uncertain)
        flipped = shuffled[place < np.repeat(flips, uncertain)]
        base_row, base_items = _spread(self._base_lists, rows)
        held = np.setxor1d(
            base_row * universe + base_items,
            row_of[flipped] * universe + items[flipped],
            assume_unique=True,
        )
        sizes = np.bincount(held // universe, minlength=len(rows))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        members = self.items.values.take(pa.array(held % universe))
        drawn_sets = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), members)
        return pc.if_else(pa.array(missing), pa.scalar(None, LISTS), drawn_sets)

    # ------------------------------------------------------------------------- probabilities

    @cached_property
    def _missing_chances(self) -> Float64Array:
        possible = 1 / (2 + self.uncertain) if self.missing_chance is None else self.missing_chance
        return np.where(self.known, np.where(self.missing, possible, 0.0), 1.0)

    @cached_property
    def _base_lists(self) -> tuple[Int64Array, Int64Array]:
        return _by_cell(self.count, self.base)

    @cached_property
    def _doubtful_lists(self) -> tuple[Int64Array, Int64Array]:
        return _by_cell(self.count, self.doubtful_base, self.doubtful_rest)

    def _expected(self, wanted: _ItemConditions) -> Float64Array:
        """[cells]: the probability that the set, if there is one, satisfies all conditions."""
        if not wanted.known:
            return np.zeros(self.count)
        chance = np.zeros(self.count)
        for left_out in range(len(wanted.some_of) + 1):
            for chosen in combinations(wanted.some_of, left_out):
                none_of = np.unique(np.concatenate([wanted.none_of, *chosen]))
                chance += (-1) ** left_out * self._holds_none(none_of)
        return chance

    def _holds_none(self, items: Int64Array) -> Float64Array:
        """[cells]: the probability that the set holds none of the given items."""
        in_base = self.doubtful_base.of(items, self.count)
        among = in_base + self.doubtful_rest.of(items, self.count)
        sure = self.base.of(items, self.count) > in_base
        left = self.distance - in_base
        pattern = self.flip**in_base * (1 - self.flip) ** (among - in_base)
        remaining = _at_most(left, self.uncertain - among, self.flip)
        whole = _at_most(self.distance, self.uncertain, self.flip)
        chance = pattern * remaining / np.maximum(whole, _TINY)
        return np.where(sure | (left < 0), 0.0, chance)

    def _can_hold_none(self, items: Int64Array) -> BoolArray:
        """[cells]: whether some possible set holds none of the given items."""
        in_base = self.doubtful_base.of(items, self.count)
        sure = self.base.of(items, self.count) > in_base
        return ~sure & (in_base <= self.distance)

    def _can_hold_one(self, items: Int64Array) -> BoolArray:
        """[cells]: whether some possible set holds at least one of the given items."""
        rest = self.doubtful_rest.of(items, self.count) > 0
        return (self.base.of(items, self.count) > 0) | (rest & (self.distance > 0))

    def _certain(self, wanted: _ItemConditions) -> BoolArray:
        """[cells]: whether every possible set satisfies all conditions."""
        certain = np.full(self.count, wanted.known)
        for items in wanted.some_of:
            certain &= ~self._can_hold_none(items)
        return certain & ~self._can_hold_one(wanted.none_of)

    def _possible(self, wanted: _ItemConditions) -> BoolArray:
        """[cells]: whether some possible set satisfies all conditions.

        Exact, except for several lists of which one item each has to be held: the flips that they
        need together are then counted as one, so that too many cells may count as possible.
        """
        if not wanted.known:
            return np.zeros(self.count, np.bool_)
        single = [items for items in wanted.some_of if len(items) == 1]
        needed = np.unique(np.concatenate([np.empty(0, np.int64), *single]))
        possible = np.full(self.count, not np.isin(needed, wanted.none_of).any())
        out = self.doubtful_base.of(wanted.none_of, self.count)
        possible &= self.base.of(wanted.none_of, self.count) == out
        added = self.doubtful_rest.of(needed, self.count)
        possible &= self.base.of(needed, self.count) + added == len(needed)
        one_more = np.zeros(self.count, np.bool_)
        for items in wanted.some_of:
            allowed = np.setdiff1d(items, wanted.none_of)
            free = self.base.of(allowed, self.count) > 0
            free |= np.isin(allowed, needed).any()
            possible &= free | (self.doubtful_rest.of(allowed, self.count) > 0)
            one_more |= ~free
        return possible & (out + added + one_more <= self.distance)


class _ItemConditions(NamedTuple):
    """All conditions on a set of items, combined."""

    some_of: list[Int64Array]  # at least one item of each list is held
    none_of: Int64Array  # none of these items is held
    known: bool  # whether a set can satisfy the conditions
    missing: bool  # whether a missing set satisfies them

    @classmethod
    def of(cls, items: Items, conditions: Conditions) -> _ItemConditions:
        some_of, none_of = [], [np.empty(0, np.int64)]
        for condition in conditions:
            if condition.has_range:
                raise UsageError(
                    f"The sets of column '{items.name}' have no order.",
                    f"Name items instead of a range: {{'{items.name}': ITEM}}.",
                )
            if condition.values is not None:
                some_of.append(_places(items, condition.values))
            none_of.append(_places(items, condition.excluded))
        if len(some_of) > _MAX_ALTERNATIVES:
            raise UsageError(
                f"There are {len(some_of)} conditions on the items of column '{items.name}'.",
                f"Use at most {_MAX_ALTERNATIVES} in one query.",
            )
        return cls(
            some_of,
            np.unique(np.concatenate(none_of)),
            all(condition.known for condition in conditions),
            all(condition.missing for condition in conditions),
        )


def _places(items: Items, wanted: tuple[object, ...]) -> Int64Array:
    """Numbers of the wanted items, without those that no cell names: no record holds them."""
    found = {items.place_of[str(item)] for item in wanted if str(item) in items.place_of}
    return np.array(sorted(found), np.int64)


def _at_most(successes: Int64Array, trials: Int64Array, chance: float) -> Float64Array:
    """P(at most ``successes`` of ``trials``); 1 if there are no more trials than that."""
    inside = np.clip(successes, 0, np.maximum(trials, 0))
    likely: Float64Array = np.where(
        successes >= trials, 1.0, bdtr(inside, np.maximum(trials, 1), chance)
    )
    return likely


def _by_cell(count: int, *holdings: Holding) -> tuple[Int64Array, Int64Array]:
    """The items of every cell: where they begin, and all items concatenated."""
    cells = np.concatenate([holding.cells for holding in holdings])
    items = np.concatenate(
        [np.repeat(np.arange(len(part.starts) - 1), np.diff(part.starts)) for part in holdings]
    )
    starts = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=count))])
    return starts.astype(np.int64), items[np.argsort(cells, kind="stable")]


def _spread(
    lists: tuple[Int64Array, Int64Array], rows: Int32Array
) -> tuple[Int64Array, Int64Array]:
    """The lists of the rows' cells, concatenated: the row of each item, and the item."""
    starts, items = lists
    sizes = np.diff(starts)[rows]
    ends = np.cumsum(sizes)
    row_of = np.repeat(np.arange(len(rows)), sizes)
    return row_of, items[np.arange(len(row_of)) + np.repeat(starts[rows] - ends + sizes, sizes)]


def _binomial_quantile(share: Float64Array, count: Int64Array, chance: float) -> Float64Array:
    """The lowest number of successes that is not exceeded with a given probability.

    >>> _binomial_quantile(np.array([0.2, 0.5, 0.9]), np.array([2, 2, 2]), 0.5).tolist()
    [0.0, 1.0, 2.0]
    """
    above = np.clip(np.ceil(np.nan_to_num(bdtrik(share, count, chance))), 0, count)
    below = np.maximum(above - 1, 0)
    found: Float64Array = np.where(bdtr(below, count, chance) >= share, below, above)
    return found
