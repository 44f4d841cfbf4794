"""All cuts of a node that are large enough and gain something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mottle.methods.buckets.cut_columns import CutColumn
from mottle.methods.buckets.gains import gains_by_code, gains_by_prefix, separation
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array


class Scope(NamedTuple):
    """The records that have one of some codes in a column; everybody for no column."""

    column: int = -1
    code: int = -1

    def holds(self, codes: Int32Array) -> BoolArray:
        """Whether each record, given by its codes [columns, n], belongs to it."""
        if self.column < 0:
            return np.ones(codes.shape[1], np.bool_)
        return np.asarray(codes[self.column] == self.code)


EVERYBODY = Scope()


class Histograms(NamedTuple):
    """The records of a node that belong to a scope; places: see `Places`."""

    records: Int64Array  # [places]
    predicted: Float64Array  # [places, classes]
    in_wave: Float64Array  # the same of the first wave's records, as released


class Places(NamedTuple):
    """The codes of all columns, one after another."""

    starts: Int64Array  # [columns + 1]: the place of each column's first code
    column: Int64Array  # [places]
    position: Float64Array  # [places] of ordered columns: see `CutColumn.positions`
    ordered: BoolArray  # [places]
    step: Float64Array  # [places] of columns that are not ordered

    @classmethod
    def of(cls, columns: Sequence[CutColumn]) -> Places:
        """The places of some columns."""
        sizes = np.array([column.size for column in columns])
        positions = [
            np.zeros(column.size) if column.positions is None else column.positions
            for column in columns
        ]
        return cls(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.repeat(np.arange(len(columns)), sizes),
            np.concatenate([*positions, np.empty(0)]),
            np.repeat([column.positions is not None for column in columns], sizes),
            np.repeat([column.step for column in columns], sizes),
        )


class Cuts(NamedTuple):
    """Cuts of a node. Each takes consecutive codes of a list."""

    gains: Float64Array  # [cuts]
    sizes: Int64Array  # [cuts]: records in the left half
    predicted: Float64Array  # [cuts, classes]: predicted for the left half
    column: Int64Array  # [cuts]
    scope: Int64Array  # [cuts]: index of the scope
    first: Int64Array  # [cuts]: where in ``listed`` the codes begin that it takes
    last: Int64Array  # [cuts]: where they end
    listed: Int64Array  # places

    def taken(self, cut: int) -> Int64Array:
        """The places that a cut puts into the left half."""
        return self.listed[self.first[cut] : self.last[cut]]

    @classmethod
    def joined(cls, parts: Sequence[Cuts]) -> Cuts:
        """All cuts of several lists."""
        before = np.cumsum([0, *[len(part.listed) for part in parts]]).tolist()
        moved = [
            part._replace(first=part.first + start, last=part.last + start)
            for part, start in zip(parts, before, strict=False)
        ]
        return cls(*(np.concatenate(each) for each in zip(*moved, strict=True)))


class Size(NamedTuple):
    """How large halves have to be."""

    node: int  # records
    least: int  # fewest of a half

    def fits(self, left: Int64Array) -> BoolArray:
        """Whether halves of these sizes, and what is left of the node, are large enough."""
        return np.asarray((left >= self.least) & (self.node - left >= self.least))


def cuts_of(
    places: Places,
    scopes: Sequence[Scope],
    histograms: Sequence[Histograms],
    risks: Sequence[Float64Array],
    size: Size,
    density: float,
) -> Cuts | None:
    """All cuts of a node inside each scope that leave halves large enough and gain something.

    Codes of an ordered column are cut at every border. Those of others are sorted by each of the
    ``risks`` [places, risks], one for every scope, and cut at every border too; and every code may
    be cut off by itself. ``density``: see `gains_by_prefix`.
    """
    found = [
        part
        for number, (scope, mine, risk) in enumerate(zip(scopes, histograms, risks, strict=True))
        for part in _cuts_in(places, number, scope, mine, histograms[0], risk, size, density)
    ]
    return Cuts.joined(found) if found else None


def _cuts_in(
    places: Places,
    number: int,
    scope: Scope,
    mine: Histograms,
    everybody: Histograms,
    risk: Float64Array,
    size: Size,
    density: float,
) -> Iterator[Cuts]:
    """The cuts inside a scope: by prefixes of orders; and, of everybody, of single codes."""
    whole = scope == EVERYBODY  # it may be a copy, in a chunk
    present = np.flatnonzero(mine.records)
    present = present[places.column[present] != scope.column]
    listed, starts = _orders(places, present, risk, both_ways=not whole)
    if not len(listed):
        return
    held = mine.records[listed]
    family = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    running = np.cumsum(held)
    sizes = running - (running - held)[starts[family]]
    fits = size.fits(sizes)
    if fits.any():
        weight = mine.predicted[listed]
        summed = np.cumsum(weight, axis=0)
        summed -= (summed - weight)[starts[family]]
        if whole:
            gains = gains_by_prefix(
                starts,
                held,
                weight,
                places.position[listed],
                places.ordered[listed],
                places.step[listed],
                fits,
                density,
            )
        else:
            gains = np.zeros(len(listed))
            gains[fits] = _gain_of_separating(
                places, scope, everybody, size, sizes[fits], summed[fits], density
            )
        at = np.flatnonzero(fits & (gains > 0))
        yield Cuts(
            gains[at],
            sizes[at],
            summed[at],
            places.column[listed[at]],
            np.full(len(at), number),
            starts[family[at]],
            at + 1,
            listed,
        )
    alone = present[~places.ordered[present] & size.fits(mine.records[present])]
    if whole and len(alone):
        gains = gains_by_code(
            places.starts,
            places.column[alone],
            alone,
            mine.records,
            mine.predicted,
            places.step[alone],
            density,
        )
        alone, gains = alone[gains > 0], gains[gains > 0]
        at = np.arange(len(alone))
        yield Cuts(
            gains,
            mine.records[alone],
            mine.predicted[alone],
            places.column[alone],
            np.full(len(alone), number),
            at,
            at + 1,
            alone,
        )


def _orders(
    places: Places, present: Int64Array, risk: Float64Array, both_ways: bool
) -> tuple[Int64Array, Int64Array]:
    """Places column by column in several orders, and where each column of each order begins."""
    in_order, others = present[places.ordered[present]], present[~places.ordered[present]]
    orders = [in_order]
    if both_ways:
        orders.append(in_order[::-1])
    orders += [others[np.lexsort((each[others], places.column[others]))] for each in risk.T]
    listed = np.concatenate(orders)
    order = np.repeat(np.arange(len(orders)), [len(each) for each in orders])
    column = places.column[listed]
    new = (column[1:] != column[:-1]) | (order[1:] != order[:-1])
    inner = np.flatnonzero(new) + 1
    return listed, np.concatenate([[0], inner, [len(listed)]]).astype(np.int64)


def _gain_of_separating(
    places: Places,
    scope: Scope,
    everybody: Histograms,
    size: Size,
    separated: Int64Array,
    weight: Float64Array,
    density: float,
) -> Float64Array:
    """What it gains to separate some records of a scope, ``separated`` [cuts], from all others.

    All of these records have the code of the scope, so the gain is that of the scope's column.
    """
    first, last = places.starts[scope.column], places.starts[scope.column + 1]
    records, step = everybody.records[first:last], float(places.step[first])
    mine, total = int(records[scope.code]), int(records @ records)
    rest = total - mine**2 + (mine - separated) ** 2
    spread = separated + rest / np.maximum(size.node - separated, 1) - total / size.node
    return np.asarray(
        density * step * spread
        + separation(
            everybody.records,
            everybody.predicted,
            np.full(len(separated), first),
            np.full(len(separated), last),
            np.full(len(separated), first + scope.code),
            separated,
            weight,
            np.full(len(separated), step),
        )
    )
