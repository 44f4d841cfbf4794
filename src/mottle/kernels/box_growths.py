"""Growth of many boxes by many candidates at once: kernels.

The same as `mottle.kernels.ncp_growth.add_growth`, for all pairs of a box and a candidate. What
depends on candidates alone is prepared once: their positions, and a number for every different code
of a column. Neighbours have few different codes, so that a box compares with a bit for each of
them, or computes its growth once for each of them, and candidates look it up. Sums are taken column
by column, so that they equal those of `add_growth`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.kernels.climbing import climb
from mottle.kernels.ncp_growth import BITS, RANGE, SET, Scales
from mottle.kernels.reading_growth import is_read, set_node_table, set_value_table
from mottle.kernels.vote_growth import add_growth_of_all
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

_WORD = 64
_MOST_MARKS = 1 << 30  # from then on marks begin anew, so that they fit into 32 bits


class Candidates(NamedTuple):
    """What candidates are, column by column; the codes of a column are numbered."""

    codes: Int32Array  # [d, candidates]
    number: Int32Array  # [d, candidates] SET, NODE: number of the code
    kinds: Int64Array  # [d] SET, NODE: how many different codes
    code: Int32Array  # [d, candidates] SET, NODE: the code of a number
    base: Int64Array  # [d] SET, NODE: what ``marks`` hold for number 0
    bit: NDArray[np.uint64]  # [d, candidates] SET of at most 64 codes: one bit for the number
    position: Float64Array  # [d, candidates] RANGE
    lowest: Float64Array  # [d] RANGE: lowest position; infinite if a candidate is missing
    highest: Float64Array  # [d] RANGE: highest position, likewise


@inner_kernel
def make_candidates(scales: Scales, count: int) -> Candidates:
    """Allocate room for ``count`` candidates; the caller fills ``codes``."""
    columns = scales.form.size
    return Candidates(
        np.empty((columns, count), np.int32),
        np.empty((columns, count), np.int32),
        np.zeros(columns, np.int64),
        np.empty((columns, count), np.int32),
        np.zeros(columns, np.int64),
        np.empty((columns, count), np.uint64),
        np.empty((columns, count)),
        np.empty(columns),
        np.empty(columns),
    )


@kernel
def prepare(
    scales: Scales, candidates: Candidates, count: int, marks: Int32Array, mark: int
) -> int:
    """Number the codes of the first ``count`` candidates.

    ``marks`` is scratch space over all domains, below or equal to ``mark`` everywhere; it is left
    with the numbers of codes, for `add_growths`. Returns the highest mark that was used.
    """
    if mark > _MOST_MARKS:
        marks[:] = 0
        mark = 0
    for column in range(scales.form.size):
        form, offset, codes = scales.form[column], scales.offset[column], candidates.codes[column]
        if form == RANGE:
            lowest, highest = np.inf, -np.inf
            for candidate in range(count):
                at = scales.position[offset + codes[candidate]]
                if codes[candidate] == scales.missing[column]:
                    lowest, highest = -np.inf, np.inf
                candidates.position[column, candidate] = at
                lowest, highest = min(lowest, at), max(highest, at)
            candidates.lowest[column], candidates.highest[column] = lowest, highest
        elif form != BITS:
            base = mark + 1
            for candidate in range(count):
                at = offset + codes[candidate]
                if marks[at] < base:
                    mark += 1
                    marks[at] = mark
                    candidates.code[column, mark - base] = codes[candidate]
                candidates.number[column, candidate] = marks[at] - base
            candidates.base[column], candidates.kinds[column] = base, mark + 1 - base
            if candidates.kinds[column] <= _WORD:
                for candidate in range(count):
                    candidates.bit[column, candidate] = np.uint64(1) << np.uint64(
                        candidates.number[column, candidate]
                    )
    return mark


@inner_kernel
def add_growths(
    scales: Scales,
    ordered: Int32Array,
    boxes: Int32Array,
    members: int,
    candidates: Candidates,
    size: int,
    stale: BoolArray,
    marks: Int32Array,
    counts: Int32Array,
    cost: Float64Array,
) -> None:
    """Set ``cost[:size, :size]`` to what each candidate would add to the loss of each box.

    The box of row r is ``boxes[r, :members]``, of rows of ``ordered`` [n, d]. Rows that are not
    ``stale`` are left unchanged; if boxes vote, all rows must be stale. ``candidates`` and
    ``marks`` are those that `prepare` left; ``counts`` is scratch space over all domains, all zero
    before and after.
    """
    table = np.empty(size)  # by number of a code: what it adds
    for row in range(size):
        if not stale[row]:
            continue
        box, growth = boxes[row], cost[row]
        for candidate in range(size):
            growth[candidate] = 0.0
        for column in range(scales.form.size):
            form, offset = scales.form[column], scales.offset[column]
            if form == RANGE:
                _add_range(scales, ordered, box, members, candidates, size, column, growth)
                continue
            if form == BITS:
                continue
            base, kinds = candidates.base[column], candidates.kinds[column]
            if form == SET and not is_read(scales.reading, column) and kinds <= _WORD:
                held = np.uint64(0)
                for member in range(members):
                    number = marks[offset + ordered[box[member], column]] - base
                    if number >= 0:
                        held |= np.uint64(1) << np.uint64(number)
                _add_steps(held, candidates.bit[column], kinds, size, scales.step[column], growth)
                continue
            if is_read(scales.reading, column):
                if form == SET:
                    set_value_table(
                        scales.reading,
                        ordered,
                        box,
                        members,
                        candidates.code[column],
                        kinds,
                        column,
                        offset,
                        counts,
                        table,
                    )
                else:
                    set_node_table(
                        scales.reading,
                        scales,
                        scales.node[offset + ordered[box[0], column]],
                        ordered,
                        box,
                        members,
                        candidates.code[column],
                        kinds,
                        column,
                        offset,
                        table,
                    )
            elif form == SET:
                for number in range(kinds):
                    table[number] = scales.step[column]
                for member in range(members):
                    number = marks[offset + ordered[box[member], column]] - base
                    if number >= 0:
                        table[number] = 0.0
            else:
                node = scales.node[offset + ordered[box[0], column]]
                for member in range(1, members):
                    node = climb(scales, node, ordered[box[member], column])
                for number in range(kinds):
                    above = climb(scales, node, candidates.code[column, number])
                    table[number] = scales.penalty[above] - scales.penalty[node]
            _add_looked_up(table, candidates.number[column], kinds, size, growth)
    for column in range(scales.form.size):
        if scales.form[column] == BITS:
            add_growth_of_all(
                scales.lists,
                ordered,
                boxes,
                members,
                candidates.codes[column],
                size,
                column,
                marks[scales.offset[column] :],
                cost,
            )


@inner_kernel
def _add_steps(
    held: np.uint64,
    bit: NDArray[np.uint64],
    kinds: int,
    size: int,
    step: float,
    growth: Float64Array,
) -> None:
    """A value that no member has costs one step. Loops have no branches, so they are vectorized."""
    if held == np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(_WORD - kinds):
        return
    for candidate in range(size):
        growth[candidate] += step if (held & bit[candidate]) == 0 else 0.0


@inner_kernel
def _add_looked_up(
    table: Float64Array, number: Int32Array, kinds: int, size: int, growth: Float64Array
) -> None:
    some = False
    for kind in range(kinds):
        some = some or table[kind] != 0.0
    if some:
        for candidate in range(size):
            growth[candidate] += table[number[candidate]]


@inner_kernel
def _add_range(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    candidates: Candidates,
    size: int,
    column: int,
    growth: Float64Array,
) -> None:
    """Growth of a range: the distance to it, or one step for a missing value."""
    missing, offset, step = scales.missing[column], scales.offset[column], scales.step[column]
    position = candidates.position[column]
    lowest, highest = np.inf, -np.inf
    or_missing = False
    for member in range(members):
        code = ordered[box[member], column]
        if code == missing:
            or_missing = True
        else:
            at = scales.position[offset + code]
            lowest, highest = min(lowest, at), max(highest, at)
    if lowest <= candidates.lowest[column] and candidates.highest[column] <= highest:
        return
    if candidates.highest[column] < np.inf and lowest <= highest:  # nothing is missing
        for candidate in range(size):
            at = position[candidate]
            growth[candidate] += max(at - highest, 0.0) + max(lowest - at, 0.0)
        return
    for candidate in range(size):
        if candidates.codes[column, candidate] == missing:
            growth[candidate] += 0.0 if or_missing else step
        elif highest < lowest:
            growth[candidate] += step
        else:
            at = position[candidate]
            growth[candidate] += max(at - highest, 0.0) + max(lowest - at, 0.0)
