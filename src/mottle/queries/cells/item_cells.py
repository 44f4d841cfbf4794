"""Cells of set columns: how likely each satisfies conditions on the items that a record holds.

The cell of a record is a base set, uncertain items and a distance t: the record may hold every set
that differs from the base only in uncertain items, and in at most t of them. Each uncertain item is
assumed to be flipped (to differ from the base) with the same probability p. The probability that a
record holds none of some given items is then a ratio of binomial distributions: if s of its u
uncertain items are among the given ones, j of these in the base,

    p^j (1 - p)^(s - j) · P(at most t - j of u - s) / P(at most t of u).

Everything else follows by inclusion and exclusion. The certificate states how many items are
misreported, which gives p. Without it p = 1/2, for which all possible sets are equally likely; this
is usually far too high, since most possible sets are as far from the base as they can be. Where the
release states how many records hold each item, every item has chances of its own instead
(`mottle.queries.cells.items.chances`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.set_columns import LISTS
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution, Moments
from mottle.queries.cells.items.asked import ItemConditions, items_below_nodes
from mottle.queries.cells.items.chances import ItemChances, Tally, far_ratio, fit_chances
from mottle.queries.cells.items.index import Holding, Items
from mottle.queries.cells.items.shares import CellShares, ShareBounds, all_of, one_of
from mottle.queries.conditions import Condition, Conditions
from mottle.release.item_totals import ItemTotals
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.lazy import lazy_module

special = lazy_module("scipy.special")

EVEN = 0.5  # the probability of a flip for which all possible sets are equally likely
_MIN_FLIP = 1e-6  # lowest probability of a flip
BELOW_ONE = np.nextafter(1.0, 0.0)
_TINY = np.finfo(np.float64).tiny


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
    item_chances: ItemChances | None = None  # of every item, fitted to the totals that are stated
    totals: ItemTotals | None = None  # what the release states about its items

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
        held, absent = items_below_nodes(self.items, conditions)
        shares = self._shares(ItemConditions.of(self.items, conditions))
        if not held and not absent:
            return shares
        most = self._shares(ItemConditions.of(self.items, conditions, generous=True))
        part = np.prod([self._part_of_node(item) for item in held])
        part *= np.prod([1 - self._part_of_node(item) for item in absent])
        least = np.maximum(shares, 0.0)
        between = least + part * (np.maximum(most, 0.0) - least)
        between = np.where(shares == 1.0, 1.0, np.minimum(between, BELOW_ONE))
        return np.where(most == IMPOSSIBLE, IMPOSSIBLE, between)

    def _part_of_node(self, item: str) -> float:
        """How many of those who hold the node above an item hold the item, about."""
        above = self.items.above(item)
        assert above is not None
        node = str(self.items.values[above].as_py())
        part = self.items.leaves(item) / self.items.leaves(node)
        of_node = 0 if self.totals is None else self.totals.count_of.get(node, 0)
        if self.totals is None or not of_node:
            return part
        count = self.totals.count_of.get(item)
        most = self.total_bounds(item)[1]
        return min(part * of_node, most) / of_node if count is None else count / of_node

    def _shares(self, wanted: ItemConditions) -> Float64Array:
        """As `shares`, for items and nodes that are published."""
        expected = (1 - self.missing_chances) * self._expected(wanted)
        possible = self.known & self._possible(wanted)
        certain = ~self.known | self._certain(wanted)
        if wanted.missing:
            expected += self.missing_chances
            possible |= self.missing
        else:
            certain &= ~self.missing
        shares = np.clip(expected, 0.0, BELOW_ONE)
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
        rest = self.doubtful_rest.by_cell(None, self.count)
        size = self.base.by_cell(None, self.count)
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

    def fitted_to(self, totals: ItemTotals, bounds: ShareBounds) -> ItemCells:
        """Return the same cells with chances that give the totals of items.

        Parameters
        ----------
        totals : ItemTotals
            How many records hold each item.
        bounds : ShareBounds
            Between which shares of candidates are possible.

        Returns
        -------
        ItemCells
            The same cells; ``flip`` remains that of all items together.
        """
        stated = np.full(len(self.items.values), np.nan)
        for item, count in zip(totals.items, totals.counts, strict=True):
            if item in self.items.place_of:
                stated[self.items.place_of[item]] = count
        most = totals.least - 1.0 if totals.least else np.inf
        within, without = fit_chances(self.tally, stated, most, self.flip, bounds)
        differing = np.zeros(self.count)
        for holding, chance in ((self.doubtful_base, 1 - within), (self.doubtful_rest, without)):
            differing += holding.by_cell(chance, self.count)
        far = far_ratio(np.maximum(self.distance, 0), differing, bounds.least)
        chances = ItemChances(within, without, far, bounds.least)
        return replace(self, item_chances=chances, totals=totals)

    def total_bounds(self, item: str) -> tuple[float, float]:
        """Return between which numbers of records hold an item, as the release states."""
        if self.totals is None:
            return 0.0, float(len(self.of_row))
        count = self.totals.count_of.get(item)
        if count is not None:
            return float(count), float(count)
        return 0.0, self.totals.least - 1.0 if self.totals.least else float(len(self.of_row))

    @cached_property
    def rows(self) -> Int64Array:
        """[cells]: how many records have each."""
        return np.bincount(self.of_row, minlength=self.count)

    @cached_property
    def weights(self) -> Float64Array:
        """[cells]: how many records have each, and a set."""
        return self.rows * (1 - self.missing_chances)

    @cached_property
    def tally(self) -> Tally:
        """How many records name each item."""
        holdings = (self.base, self.doubtful_base, self.doubtful_rest)
        base, within, outside = (one.by_item(self.weights) for one in holdings)
        return Tally(base - within, within, outside)

    def draw(self, random: np.random.Generator) -> pa.Array:
        """Draw a set from every record's cell; null for missing."""
        rows, universe = self.of_row, max(len(self.items.values), 1)
        missing = random.random(len(rows)) < self.missing_chances[rows]
        uncertain, distance = self.uncertain[rows], np.maximum(self.distance[rows], 0)
        row_of, items = _spread(self._doubtful_lists, rows)
        place = np.arange(len(items)) - np.repeat(np.cumsum(uncertain) - uncertain, uncertain)
        if self.item_chances is None:
            at_most = special.bdtr(distance, np.maximum(uncertain, distance), self.flip)
            drawn = _binomial_quantile(
                random.random(len(rows)) * at_most, np.maximum(uncertain, 1), self.flip
            )
            flips = np.clip(np.where(uncertain > 0, drawn, 0), 0, np.minimum(distance, uncertain))
            shuffled = np.lexsort((random.random(len(items)), row_of))
        else:
            differs = self._draw_differing(self.item_chances, row_of, items, place, random)
            flips = np.minimum(np.bincount(row_of[differs], minlength=len(rows)), distance)
            shuffled = np.lexsort((random.random(len(items)), ~differs, row_of))
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

    def _draw_differing(
        self,
        chances: ItemChances,
        row_of: Int64Array,
        items: Int64Array,
        place: Int64Array,
        random: np.random.Generator,
    ) -> BoolArray:
        """Draw which uncertain items differ from the base set, as the far or another candidate."""
        rows = self.of_row
        cells = rows[row_of].astype(np.int64)
        in_base = np.bincount(self.doubtful_base.cells, minlength=self.count)
        is_in_base = place < in_base[cells]  # those of the base set are listed first
        chance = np.where(is_in_base, 1 - chances.in_base[items], chances.outside[items])
        far = (random.random(len(rows)) < chances.far_share)[row_of]
        likely = np.where(
            far, chances.flips(chance, cells, far=True), chances.flips(chance, cells, far=False)
        )
        differs: BoolArray = random.random(len(items)) < likely
        return differs

    # ------------------------------------------------------------------------- bounds of shares

    def candidate_shares(self, conditions: Conditions, bounds: ShareBounds) -> CellShares:
        """[cells]: between which shares of the candidates satisfy conditions."""
        found = self._candidate_shares(ItemConditions.of(self.items, conditions), bounds)
        if not any(items_below_nodes(self.items, conditions)):
            return found
        generous = ItemConditions.of(self.items, conditions, generous=True)
        return CellShares(found.low, self._candidate_shares(generous, bounds).high)

    def _candidate_shares(self, wanted: ItemConditions, bounds: ShareBounds) -> CellShares:
        """As `candidate_shares`, for items and nodes that are published."""
        parts = [
            one_of([self._item_share(item, bounds) for item in items], self.count)
            for items in wanted.some_of
        ]
        one = bounds.one
        parts += [
            self._item_share(item, bounds).without(self.missing, one) for item in wanted.none_of
        ]
        if not wanted.known:
            parts.append(CellShares(np.zeros(self.count), np.zeros(self.count)))
        if not wanted.some_of:  # who holds an item has a set
            known = np.where(self.missing, one, 1.0), np.where(self.missing, 1 - one, 1.0)
            parts.append(CellShares(*(np.where(self.known, part, 0.0) for part in known)))
        low, high = (part.copy() for part in vars(all_of(parts, self.count)).values())
        if wanted.missing:
            low += np.where(self.missing, np.where(self.known, one, 1.0), 0.0)
            high += np.where(self.missing, np.where(self.known, 1 - one, 1.0), 0.0)
        share = self._shares(wanted)
        low[share == 1.0], high[share == IMPOSSIBLE] = 1.0, 0.0
        return CellShares(np.minimum(low, np.minimum(high, 1.0)), np.minimum(high, 1.0))

    def _item_share(self, item: int, bounds: ShareBounds) -> CellShares:
        one = np.array([item])
        base = self.base.of(one, self.count) > 0
        doubtful = self.doubtful_base.of(one, self.count) + self.doubtful_rest.of(one, self.count)
        return CellShares.of_item(
            bounds, base, doubtful > 0, self.uncertain, self.distance, self.missing
        )

    # ------------------------------------------------------------------------- probabilities

    @cached_property
    def missing_chances(self) -> Float64Array:
        """[cells]: how likely the set is missing."""
        possible = 1 / (2 + self.uncertain) if self.missing_chance is None else self.missing_chance
        return np.where(self.known, np.where(self.missing, possible, 0.0), 1.0)

    @cached_property
    def _base_lists(self) -> tuple[Int64Array, Int64Array]:
        return _by_cell(self.count, self.base)

    @cached_property
    def _doubtful_lists(self) -> tuple[Int64Array, Int64Array]:
        return _by_cell(self.count, self.doubtful_base, self.doubtful_rest)

    def _expected(self, wanted: ItemConditions) -> Float64Array:
        """[cells]: the probability that the set, if there is one, satisfies all conditions."""
        if not wanted.known:
            return np.zeros(self.count)
        if self.item_chances is not None:
            far = self.item_chances.far_share
            return far * self._likely(wanted, self.item_chances, far=True) + (
                1 - far
            ) * self._likely(wanted, self.item_chances, far=False)
        chance = np.zeros(self.count)
        for left_out in range(len(wanted.some_of) + 1):
            for chosen in combinations(wanted.some_of, left_out):
                none_of = np.unique(np.concatenate([wanted.none_of, *chosen]))
                chance += (-1) ** left_out * self._holds_none(none_of)
        return chance

    def _likely(self, wanted: ItemConditions, chances: ItemChances, *, far: bool) -> Float64Array:
        """[cells]: how likely the far candidate, or another one, satisfies all conditions."""
        single = [items for items in wanted.some_of if len(items) == 1]
        several = [items for items in wanted.some_of if len(items) != 1]
        needed = np.unique(np.concatenate([np.empty(0, np.int64), *single]))
        named = np.unique(np.concatenate([needed, wanted.none_of, *several]))
        held = {int(item): self._held(int(item), chances, far=far) for item in named}
        likely = np.zeros(self.count)
        for left_out in range(len(several) + 1):
            for chosen in combinations(several, left_out):
                none_of = np.unique(np.concatenate([wanted.none_of, *chosen]))
                if np.isin(needed, none_of).any():
                    continue
                part = np.full(self.count, (-1.0) ** left_out)
                for item in needed:
                    part *= held[int(item)]
                for item in none_of:
                    part *= 1 - held[int(item)]
                likely += part
        return likely

    def _held(self, item: int, chances: ItemChances, *, far: bool) -> Float64Array:
        """[cells]: how likely the far candidate, or another one, holds an item."""
        held = np.zeros(self.count)
        held[self.base.naming(item)] = 1.0
        inside, outside = self.doubtful_base.naming(item), self.doubtful_rest.naming(item)
        held[inside] = 1 - chances.flips(1 - float(chances.in_base[item]), inside, far=far)
        held[outside] = chances.flips(float(chances.outside[item]), outside, far=far)
        return held

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

    def _certain(self, wanted: ItemConditions) -> BoolArray:
        """[cells]: whether every possible set satisfies all conditions."""
        certain = np.full(self.count, wanted.known)
        for items in wanted.some_of:
            certain &= ~self._can_hold_none(items)
        return certain & ~self._can_hold_one(wanted.none_of)

    def _possible(self, wanted: ItemConditions) -> BoolArray:
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


def _at_most(successes: Int64Array, trials: Int64Array, chance: float) -> Float64Array:
    """P(at most ``successes`` of ``trials``); 1 if there are no more trials than that."""
    inside = np.clip(successes, 0, np.maximum(trials, 0))
    likely: Float64Array = np.where(
        successes >= trials, 1.0, special.bdtr(inside, np.maximum(trials, 1), chance)
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
    above = np.clip(np.ceil(np.nan_to_num(special.bdtrik(share, count, chance))), 0, count)
    below = np.maximum(above - 1, 0)
    found: Float64Array = np.where(special.bdtr(below, count, chance) >= share, below, above)
    return found
