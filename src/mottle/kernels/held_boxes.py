"""Boxes whose members are counted, to exchange one layer after another: kernels.

The growths are those of `mottle.kernels.box_growths`, of boxes without the member in one layer, by
all members of that layer. What a box holds is kept column by column: how many members have each
code, the lowest and highest code, and the sums of `mottle.kernels.reading_growth`. Another member
in a layer changes a few of these numbers, whatever the size of the box. Members are read again only
where the lowest or highest one is away, and in columns of sets with many values.

Kernels are called once for a column and all boxes: a call with all that `Scales` holds takes longer
than the growth of a single box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.kernels.box_growths import Candidates
from mottle.kernels.climbing import climb
from mottle.kernels.ncp_growth import RANGE, SET, Scales
from mottle.kernels.reading_growth import (
    LOGARITHM,
    NCP,
    Reading,
    is_read,
    loss_of_cell,
    set_value_table,
)
from mottle.typing import Float64Array, Int8Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel

_WORD = 64
_MOST_COUNTED = 512  # values of a column that are counted in every box
_NOT_COUNTED = -1
_NOBODY = -1
_LISTED, _MASS, _SQUARES, _TERMS = 0, 1, 2, 3


class HeldBoxes(NamedTuple):
    """What boxes hold; a code of column c of a set is counted at ``start[c] + code``."""

    start: Int64Array  # [d] SET: where counts of a column begin, -1 if it has too many values
    counts: Int32Array  # [boxes, counted codes]
    lowest: Int32Array  # [d, boxes] RANGE, NODE: lowest code, -1 for none
    highest: Int32Array  # [d, boxes] likewise
    absent: Int32Array  # [d, boxes] RANGE: members whose value is missing
    sums: Float64Array  # [d, boxes, 4] read columns: s, M, Q and R or L, see `reading_growth`
    table: Float64Array  # [boxes] scratch space: what each kind of candidate adds


class Scores(NamedTuple):
    """`Reading`, also where nothing is read."""

    score: Int8Array  # [d]
    rate: Float64Array  # [d]
    share: Float64Array  # [all codes]
    term: Float64Array  # [all codes]
    mass: Float64Array  # [all nodes]
    squares: Float64Array  # [all nodes]


@inner_kernel
def scores_of(reading: Reading | None, columns: int) -> Scores:
    """What is read of columns, in the same type for all scales."""
    if reading is None:
        nothing = np.zeros(1)
        return Scores(np.zeros(columns, np.int8), nothing, nothing, nothing, nothing, nothing)
    return Scores(
        reading.score, reading.rate, reading.share, reading.term, reading.mass, reading.squares
    )


@inner_kernel
def make_held(scales: Scales, count: int) -> HeldBoxes:
    """Allocate room for ``count`` boxes."""
    columns = scales.form.size
    start = np.full(columns, _NOT_COUNTED, np.int64)
    counted = 0
    for column in range(columns):
        last = column + 1 == columns
        end = scales.position.size if last else scales.offset[column + 1]
        codes = end - scales.offset[column]
        if scales.form[column] == SET and codes <= _MOST_COUNTED:
            start[column] = counted
            counted += codes
    return HeldBoxes(
        start,
        np.empty((count, counted), np.int32),
        np.empty((columns, count), np.int32),
        np.empty((columns, count), np.int32),
        np.empty((columns, count), np.int32),
        np.empty((columns, count, 4)),
        np.empty(count),
    )


@inner_kernel
def hold(
    scales: Scales,
    scores: Scores,
    ordered: Int32Array,
    preimages: Int32Array,
    records: Int32Array,
    held: HeldBoxes,
) -> None:
    """Count the members of the boxes ``preimages[records]``, rows of ``ordered`` [n, d]."""
    for column in range(scales.form.size):
        if scales.form[column] != SET:
            missing = scales.missing[column] if scales.form[column] == RANGE else _NOBODY
            for place in range(records.size):
                lowest, highest, absent = _extremes(
                    ordered, preimages, records[place], _NOBODY, column, missing
                )
                held.lowest[column, place], held.highest[column, place] = lowest, highest
                held.absent[column, place] = absent
        elif held.start[column] != _NOT_COUNTED:
            start = held.start[column]
            last = column + 1 == scales.form.size
            end = scales.position.size if last else scales.offset[column + 1]
            codes = end - scales.offset[column]
            _count(ordered, preimages, records, column, start, codes, held.counts)
        if scores.score[column] != NCP:
            _sum_up(
                ordered,
                preimages,
                records,
                column,
                held.start[column],
                held.counts,
                scores.share[scales.offset[column] :],
                scores.term[scales.offset[column] :],
                held.sums[column],
            )


@inner_kernel
def _count(
    ordered: Int32Array,
    preimages: Int32Array,
    records: Int32Array,
    column: int,
    start: int,
    codes: int,
    counts: Int32Array,
) -> None:
    for place in range(records.size):
        for at in range(start, start + codes):
            counts[place, at] = 0
        for layer in range(preimages.shape[1]):
            counts[place, start + ordered[preimages[records[place], layer], column]] += 1


@inner_kernel
def _sum_up(
    ordered: Int32Array,
    preimages: Int32Array,
    records: Int32Array,
    column: int,
    start: int,
    counts: Int32Array,
    share: Float64Array,
    term: Float64Array,
    sums: Float64Array,
) -> None:
    """Set s, M, Q (of a set that is counted) and R or L."""
    for place in range(records.size):
        listed, mass, squares, terms = 0.0, 0.0, 0.0, 0.0
        for layer in range(preimages.shape[1]):
            code = ordered[preimages[records[place], layer], column]
            terms += term[code]
            if start != _NOT_COUNTED and counts[place, start + code] > 0:
                counts[place, start + code] *= -1  # met
                listed += 1.0
                mass += share[code]
                squares += share[code] * share[code]
        if start != _NOT_COUNTED:
            for layer in range(preimages.shape[1]):
                code = ordered[preimages[records[place], layer], column]
                counts[place, start + code] = abs(counts[place, start + code])
        sums[place, _LISTED], sums[place, _MASS] = listed, mass
        sums[place, _SQUARES], sums[place, _TERMS] = squares, terms


@inner_kernel
def _extremes(
    ordered: Int32Array,
    preimages: Int32Array,
    record: int,
    without: int,
    column: int,
    missing: int,
) -> tuple[int, int, int]:
    """Lowest and highest code (-1: none), and missing values, but for the layer ``without``."""
    lowest, highest, absent = _NOBODY, _NOBODY, 0
    for layer in range(preimages.shape[1]):
        if layer == without:
            continue
        code = ordered[preimages[record, layer], column]
        if code == missing:
            absent += 1
            continue
        lowest = code if lowest < 0 else min(lowest, code)
        highest = max(highest, code)
    return lowest, highest, absent


@inner_kernel
def deal(
    scales: Scales,
    scores: Scores,
    ordered: Int32Array,
    preimages: Int32Array,
    records: Int32Array,
    layer: int,
    column_of: Int32Array,
    candidates: Candidates,
    held: HeldBoxes,
) -> None:
    """Count the layer that ``preimages`` now have; ``candidates`` are those it had.

    The box at a place has got what the box at ``column_of[place]`` had.
    """
    for column in range(scales.form.size):
        start, offset, form = held.start[column], scales.offset[column], scales.form[column]
        if form == SET and start == _NOT_COUNTED:
            continue
        if form == SET:
            _deal_set(
                records.size,
                column_of,
                candidates.codes[column],
                start,
                held.counts,
                scores.score[column] != NCP,
                scores.share[offset:],
                scores.term[offset:],
                held.sums[column],
            )
            continue
        missing = scales.missing[column] if form == RANGE else _NOBODY
        for place in range(records.size):
            old, new = candidates.codes[column, place], candidates.codes[column, column_of[place]]
            if old == new:
                continue
            if scores.score[column] != NCP:
                held.sums[column, place, _TERMS] += (
                    scores.term[offset + new] - scores.term[offset + old]
                )
            lowest, highest = held.lowest[column, place], held.highest[column, place]
            if old == lowest or old == highest:  # noqa: SIM109 - compiles to less
                lowest, highest, _ = _extremes(
                    ordered, preimages, records[place], _NOBODY, column, missing
                )
            elif new != missing:
                lowest = new if lowest < 0 else min(lowest, new)
                highest = max(highest, new)
            held.lowest[column, place], held.highest[column, place] = lowest, highest
            held.absent[column, place] += (new == missing) - (old == missing)


@inner_kernel
def _deal_set(
    size: int,
    column_of: Int32Array,
    codes: Int32Array,
    start: int,
    counts: Int32Array,
    read: bool,
    share: Float64Array,
    term: Float64Array,
    sums: Float64Array,
) -> None:
    for place in range(size):
        old, new = codes[place], codes[column_of[place]]
        if old == new:
            continue
        counts[place, start + old] -= 1
        counts[place, start + new] += 1
        if not read:
            continue
        sums[place, _TERMS] += term[new] - term[old]
        if counts[place, start + old] == 0:
            sums[place, _LISTED] -= 1.0
            sums[place, _MASS] -= share[old]
            sums[place, _SQUARES] -= share[old] * share[old]
        if counts[place, start + new] == 1:
            sums[place, _LISTED] += 1.0
            sums[place, _MASS] += share[new]
            sums[place, _SQUARES] += share[new] * share[new]


@inner_kernel
def set_growths_without(
    scales: Scales,
    scores: Scores,
    ordered: Int32Array,
    preimages: Int32Array,
    records: Int32Array,
    layer: int,
    candidates: Candidates,
    held: HeldBoxes,
    scratch: Int32Array,
    cost: Float64Array,
) -> None:
    """Set ``cost`` to what each candidate would add to the loss of each box without its ``layer``.

    ``candidates`` are the members of the layer, box by box, as `prepare` left them; ``scratch`` is
    space over all domains, all zero before and after.
    """
    size, members = records.size, preimages.shape[1] - 1
    for place in range(size):
        for candidate in range(size):
            cost[place, candidate] = 0.0
    for column in range(scales.form.size):
        form, offset, start = scales.form[column], scales.offset[column], held.start[column]
        number, kinds = candidates.number[column], candidates.kinds[column]
        read = scores.score[column] != NCP
        if form == RANGE:
            _add_ranges(
                ordered,
                preimages,
                records,
                layer,
                column,
                scales.missing[column],
                scales.step[column],
                scales.position[offset:],
                candidates.codes[column],
                candidates.position[column],
                candidates.lowest[column],
                candidates.highest[column],
                held.lowest[column],
                held.highest[column],
                held.absent[column],
                cost,
            )
        elif form != SET:
            if not read or kinds > 1:
                _add_nodes(
                    scales,
                    scores,
                    ordered,
                    preimages,
                    records,
                    layer,
                    column,
                    candidates,
                    held,
                    cost,
                )
        elif start == _NOT_COUNTED:
            _add_uncounted(
                scales, ordered, preimages, records, layer, column, candidates, held, scratch, cost
            )
        elif read:
            if kinds > 1:  # else it adds the same everywhere
                _add_read_sets(
                    size,
                    members,
                    scores.score[column] == LOGARITHM,
                    scores.rate[column],
                    scores.share[offset:],
                    scores.term[offset:],
                    candidates.code[column],
                    number,
                    kinds,
                    start,
                    held.counts,
                    held.sums[column],
                    held.table,
                    cost,
                )
        elif kinds <= _WORD:
            _add_steps(
                size,
                scales.step[column],
                candidates.code[column],
                number,
                candidates.bit[column],
                kinds,
                start,
                held.counts,
                cost,
            )
        else:
            for place in range(size):
                for kind in range(kinds):
                    own = kind == number[place]
                    has = held.counts[place, start + candidates.code[column, kind]] > own
                    held.table[kind] = 0.0 if has else scales.step[column]
                _add_looked_up(held.table, number, size, cost, place)


@inner_kernel
def _add_looked_up(
    table: Float64Array, number: Int32Array, size: int, cost: Float64Array, place: int
) -> None:
    for candidate in range(size):
        cost[place, candidate] += table[number[candidate]]


@inner_kernel
def _add_steps(
    size: int,
    step: float,
    code: Int32Array,
    number: Int32Array,
    bit: NDArray[np.uint64],
    kinds: int,
    start: int,
    counts: Int32Array,
    cost: Float64Array,
) -> None:
    """Sets: a value that no other member has costs one step."""
    everything = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(_WORD - kinds)
    for place in range(size):
        others = np.uint64(0)
        for kind in range(kinds):
            has = counts[place, start + code[kind]] > (kind == number[place])
            others |= np.uint64(has) << np.uint64(kind)
        if others == everything:
            continue
        for candidate in range(size):
            cost[place, candidate] += step if (others & bit[candidate]) == 0 else 0.0


@inner_kernel
def _add_read_sets(
    size: int,
    members: int,
    logarithm: bool,
    rate: float,
    share: Float64Array,
    term: Float64Array,
    code: Int32Array,
    number: Int32Array,
    kinds: int,
    start: int,
    counts: Int32Array,
    sums: Float64Array,
    table: Float64Array,
    cost: Float64Array,
) -> None:
    """Sets whose loss is that of a reader."""
    for place in range(size):
        own = code[number[place]]
        listed, mass, squares = sums[place, _LISTED], sums[place, _MASS], sums[place, _SQUARES]
        terms = sums[place, _TERMS] - term[own]
        if counts[place, start + own] == 1:
            listed -= 1.0
            mass -= share[own]
            squares -= share[own] * share[own]
        before = loss_of_cell(logarithm, members, listed, mass, squares, terms)
        some = False
        for kind in range(kinds):
            at = code[kind]
            has = counts[place, start + at] > (kind == number[place])
            f = 0.0 if has else share[at]
            new = 0.0 if has else 1.0
            after = loss_of_cell(
                logarithm, members + 1, listed + new, mass + f, squares + f * f, terms + term[at]
            )
            table[kind] = 0.0 if listed == 1.0 and has else rate * (after - before)
            some = some or table[kind] != 0.0
        if some:
            for candidate in range(size):
                cost[place, candidate] += table[number[candidate]]


@inner_kernel
def _add_uncounted(
    scales: Scales,
    ordered: Int32Array,
    preimages: Int32Array,
    records: Int32Array,
    layer: int,
    column: int,
    candidates: Candidates,
    held: HeldBoxes,
    scratch: Int32Array,
    cost: Float64Array,
) -> None:
    """Sets of many values: members are read, while that of the layer is last."""
    code, kinds, offset = candidates.code[column], candidates.kinds[column], scales.offset[column]
    members = preimages.shape[1] - 1
    for place in range(records.size):
        box = preimages[records[place]]
        box[layer], box[members] = box[members], box[layer]
        if is_read(scales.reading, column):
            set_value_table(
                scales.reading,
                ordered,
                box,
                members,
                code,
                kinds,
                column,
                offset,
                scratch,
                held.table,
            )
        else:
            for member in range(members):
                scratch[offset + ordered[box[member], column]] = 1
            for kind in range(kinds):
                has = scratch[offset + code[kind]] > 0
                held.table[kind] = 0.0 if has else scales.step[column]
            for member in range(members):
                scratch[offset + ordered[box[member], column]] = 0
        box[layer], box[members] = box[members], box[layer]
        _add_looked_up(held.table, candidates.number[column], records.size, cost, place)


@inner_kernel
def _add_nodes(
    scales: Scales,
    scores: Scores,
    ordered: Int32Array,
    preimages: Int32Array,
    records: Int32Array,
    layer: int,
    column: int,
    candidates: Candidates,
    held: HeldBoxes,
    cost: Float64Array,
) -> None:
    """Nodes: the one above all other members, and those above each kind of candidate too."""
    offset, members = scales.offset[column], preimages.shape[1] - 1
    read, logarithm = scores.score[column] != NCP, scores.score[column] == LOGARITHM
    for place in range(records.size):
        own = candidates.codes[column, place]
        lowest, highest = held.lowest[column, place], held.highest[column, place]
        if own == lowest or own == highest:  # noqa: SIM109 - compiles to less
            lowest, highest, _ = _extremes(
                ordered, preimages, records[place], layer, column, _NOBODY
            )
        node = climb(scales, scales.node[offset + lowest], highest)
        terms, before = 0.0, 0.0
        if read:
            terms = held.sums[column, place, _TERMS] - scores.term[offset + own]
            before = loss_of_cell(
                logarithm, members, 0.0, scores.mass[node], scores.squares[node], terms
            )
        for kind in range(candidates.kinds[column]):
            code = candidates.code[column, kind]
            above = climb(scales, node, code)
            if read:
                after = loss_of_cell(
                    logarithm,
                    members + 1,
                    0.0,
                    scores.mass[above],
                    scores.squares[above],
                    terms + scores.term[offset + code],
                )
                held.table[kind] = scores.rate[column] * (after - before)
            else:
                held.table[kind] = scales.penalty[above] - scales.penalty[node]
        _add_looked_up(held.table, candidates.number[column], records.size, cost, place)


@inner_kernel
def _add_ranges(
    ordered: Int32Array,
    preimages: Int32Array,
    records: Int32Array,
    layer: int,
    column: int,
    missing: int,
    step: float,
    position_of: Float64Array,
    codes: Int32Array,
    position: Float64Array,
    least: float,
    most: float,
    lowest_of: Int32Array,
    highest_of: Int32Array,
    absent_of: Int32Array,
    cost: Float64Array,
) -> None:
    """Ranges: the distance to the others, or one step for a missing value.

    ``position`` are those of candidates, from ``least`` to ``most``.
    """
    size = records.size
    for place in range(size):
        own, lowest, highest = codes[place], lowest_of[place], highest_of[place]
        if own == lowest or own == highest:  # noqa: SIM109 - compiles to less
            lowest, highest, _ = _extremes(
                ordered, preimages, records[place], layer, column, missing
            )
        low, high = np.inf, -np.inf
        if highest >= 0:
            low, high = position_of[lowest], position_of[highest]
            if low <= least and most <= high:
                continue
            if most < np.inf:  # nothing is missing
                for candidate in range(size):
                    at = position[candidate]
                    cost[place, candidate] += max(at - high, 0.0) + max(low - at, 0.0)
                continue
        or_missing = absent_of[place] > (own == missing)
        for candidate in range(size):
            if codes[candidate] == missing:
                cost[place, candidate] += 0.0 if or_missing else step
            elif highest < 0:
                cost[place, candidate] += step
            else:
                at = position[candidate]
                cost[place, candidate] += max(at - high, 0.0) + max(low - at, 0.0)
