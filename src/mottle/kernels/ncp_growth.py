"""Growth of NCP when a published record takes in one more original: kernels.

`Scales` holds the loss of `mottle.loss.ncp` as flat arrays, already multiplied by weights and
denominators, so that a kernel adds up plain numbers: the loss of a record is the weighted mean NCP
of its cells, between 0 and 1, and the mean over records is GCP.

A column may hold sets of items. Its codes are then indices of item lists, and its loss is the error
of bit voting (`mottle.kernels.vote_growth`). The missing value counts as one more item, so it is
voted on like any other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.kernels.climbing import climb as climb
from mottle.kernels.reading_growth import (
    Reading,
    add_node_savings,
    add_set_savings,
    is_read,
    node_reading,
    set_reading,
)
from mottle.kernels.vote_growth import (
    ItemLists,
    add_growth_of_one,
    add_pull_of_all,
    add_voter_savings,
    votes_loss,
)
from mottle.kinds.forms.base import Form
from mottle.typing import Float64Array, Int8Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

SET = Form.SET.kernel_code
RANGE = Form.RANGE.kernel_code
NODE = Form.NODE.kernel_code
BITS = Form.WORLDS.kernel_code
_WORD = 64  # values that one machine word can mark
FORBIDDEN = 1e6  # growth of an edge that may not be used; real growth is at most 1


class Scales(NamedTuple):
    """The loss of every column as arrays. A code of column c is stored at ``offset[c] + code``."""

    form: Int8Array  # [d] SET, RANGE, NODE or BITS
    step: Float64Array  # [d] SET: cost of one more member; RANGE: cost of "or missing"
    missing: Int32Array  # [d] code of the missing value, -1 for none
    offset: Int64Array  # [d] where the codes of a column begin in flat arrays over all domains
    position: Float64Array  # [all codes] RANGE: weighted position of the value
    node: Int32Array  # [all codes] NODE: the node of the value
    parent: Int32Array  # [all nodes] NODE: the node above; the root is its own
    first_leaf: Int32Array  # [all nodes] lowest code below the node
    last_leaf: Int32Array  # [all nodes] highest code below the node
    penalty: Float64Array  # [all nodes] weighted NCP of the node
    lists: ItemLists | None  # BITS: the items of every code; None if no column has sets
    reading: Reading | None = None  # SET and NODE: what readers lose; None if NCP alone counts

    @property
    def domain_total(self) -> int:
        """Length of a flat array over all domains."""
        return len(self.position)

    def of_column(self, column: int) -> Scales:
        """The loss of one column, for records that have no other."""
        here = slice(column, column + 1)
        lists, reading = self.lists, self.reading
        if lists is not None:
            lists = lists._replace(step=lists.step[here], rows=lists.rows[here])
        if reading is not None:
            reading = reading._replace(score=reading.score[here], rate=reading.rate[here])
        return self._replace(
            form=self.form[here],
            step=self.step[here],
            missing=self.missing[here],
            offset=self.offset[here],
            lists=lists,
            reading=reading,
        )


@inner_kernel
def add_growth(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    candidates: Int32Array,
    count: int,
    marks: Int32Array,
    mark: int,
    growth: Float64Array,
) -> None:
    """Set ``growth[:count]`` to what each candidate would add to the NCP of a box.

    ``box[:members]`` are the records (rows of ``ordered`` [n, d]) that a published record stands
    for; ``candidates`` [d, ≥ count] are the codes of the candidates, column by column. ``marks`` is
    scratch space over all domains in which ``mark`` (above 0) has not been used before.
    """
    _add_cell_growth(scales, ordered, box, members, candidates, count, marks, mark, growth)
    for column in range(scales.form.size):
        if scales.form[column] == BITS:
            add_growth_of_one(
                scales.lists,
                ordered,
                box,
                members,
                candidates[column],
                count,
                column,
                marks[scales.offset[column] :],
                growth,
            )


@inner_kernel
def add_pulls(
    scales: Scales,
    ordered: Int32Array,
    boxes: Int32Array,
    members: int,
    candidates: Int32Array,
    size: int,
    marks: Int32Array,
    cost: Float64Array,
) -> None:
    """Add to ``cost[:size, :size]`` the pull of each box on each candidate, if boxes vote."""
    for column in range(scales.form.size):
        if scales.form[column] == BITS:
            add_pull_of_all(
                scales.lists,
                ordered,
                boxes,
                members,
                candidates[column],
                size,
                column,
                marks[scales.offset[column] :],
                cost,
            )


@inner_kernel
def _add_cell_growth(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    candidates: Int32Array,
    count: int,
    marks: Int32Array,
    mark: int,
    growth: Float64Array,
) -> None:
    """Set growth as in `add_growth`, for all columns except those of sets."""
    for candidate in range(count):
        growth[candidate] = 0.0
    for column in range(scales.form.size):
        offset = scales.offset[column]
        codes = candidates[column]
        if scales.form[column] == SET:
            _add_set_growth(
                scales, ordered, box, members, codes, count, column, marks[offset:], mark, growth
            )
        elif scales.form[column] == RANGE:
            _add_range_growth(scales, ordered, box, members, codes, count, column, offset, growth)
        elif scales.form[column] == NODE:
            node = scales.node[offset + ordered[box[0], column]]
            for member in range(1, members):
                node = climb(scales, node, ordered[box[member], column])
            for candidate in range(count):
                above = climb(scales, node, codes[candidate])
                growth[candidate] += scales.penalty[above] - scales.penalty[node]


@inner_kernel
def _add_set_growth(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    codes: Int32Array,
    count: int,
    column: int,
    marks: Int32Array,
    mark: int,
    growth: Float64Array,
) -> None:
    """A value that no member has costs one step. Loops have no branches, so they are vectorized."""
    step = scales.step[column]
    if _room(scales, column) <= _WORD:
        held = np.uint64(0)
        for member in range(members):
            held |= np.uint64(1) << np.uint64(ordered[box[member], column])
        for candidate in range(count):
            has = (held >> np.uint64(codes[candidate])) & np.uint64(1)
            growth[candidate] += 0.0 if has else step
    else:
        for member in range(members):
            marks[ordered[box[member], column]] = mark
        for candidate in range(count):
            growth[candidate] += 0.0 if marks[codes[candidate]] == mark else step


@kernel
def _room(scales: Scales, column: int) -> int:
    """Number of places of a column in flat arrays over all domains."""
    last = column + 1 == scales.form.size
    end = scales.position.size if last else scales.offset[column + 1]
    return int(end - scales.offset[column])


@inner_kernel
def _add_range_growth(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    codes: Int32Array,
    count: int,
    column: int,
    offset: int,
    growth: Float64Array,
) -> None:
    missing = scales.missing[column]
    step = scales.step[column]
    lowest, highest = np.inf, -np.inf
    or_missing = False
    for member in range(members):
        code = ordered[box[member], column]
        if code == missing:
            or_missing = True
        else:
            position = scales.position[offset + code]
            lowest = min(lowest, position)
            highest = max(highest, position)
    only_missing = highest < lowest
    if missing < 0:
        for candidate in range(count):
            position = scales.position[offset + codes[candidate]]
            growth[candidate] += max(position - highest, 0.0) + max(lowest - position, 0.0)
        return
    for candidate in range(count):
        code = codes[candidate]
        if code == missing:
            if not or_missing:
                growth[candidate] += step
        elif only_missing:
            growth[candidate] += step
        else:
            position = scales.position[offset + code]
            growth[candidate] += max(position - highest, 0.0) + max(lowest - position, 0.0)


@inner_kernel
def box_loss(
    scales: Scales, ordered: Int32Array, box: Int32Array, members: int, marks: Int32Array, mark: int
) -> float:
    """Loss of a published record that stands for ``box[:members]``; marks as in `add_growth`."""
    loss = 0.0
    for column in range(scales.form.size):
        offset = scales.offset[column]
        read = is_read(scales.reading, column)
        if scales.form[column] == SET and read:
            loss += set_reading(
                scales.reading, ordered, box, members, column, offset, marks[offset:], mark
            )
        elif scales.form[column] == SET:
            distinct = 0
            for member in range(members):
                place = offset + ordered[box[member], column]
                if marks[place] != mark:
                    marks[place] = mark
                    distinct += 1
            loss += scales.step[column] * (distinct - 1)
        elif scales.form[column] == RANGE:
            lowest, _, highest, _, absent = _extremes(scales, ordered, box, members, column)
            if highest >= 0:
                loss += scales.position[offset + highest] - scales.position[offset + lowest]
                loss += scales.step[column] if absent > 0 else 0.0
        elif scales.form[column] == BITS:
            loss += votes_loss(scales.lists, ordered, box, members, column, marks[offset:])
        else:
            node = scales.node[offset + ordered[box[0], column]]
            for member in range(1, members):
                node = climb(scales, node, ordered[box[member], column])
            if read:
                loss += node_reading(scales.reading, node, ordered, box, members, column, offset)
            else:
                loss += scales.penalty[node]
    return loss


@inner_kernel
def add_savings(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    counts: Int32Array,
    saved: Float64Array,
) -> None:
    """Set ``saved[:members]`` to the decrease of the box's loss when each member is removed.

    ``counts`` is scratch space over all domains, all zero before and after.
    """
    for member in range(members):
        saved[member] = 0.0
    for column in range(scales.form.size):
        offset = scales.offset[column]
        if scales.form[column] != BITS and is_constant(ordered, box, members, column):
            continue
        if is_read(scales.reading, column):
            _add_reader_savings(scales, ordered, box, members, column, counts[offset:], saved)
            continue
        if scales.form[column] == SET and _room(scales, column) <= _WORD:
            once, twice = np.uint64(0), np.uint64(0)
            for member in range(members):
                bit = np.uint64(1) << np.uint64(ordered[box[member], column])
                twice |= once & bit
                once |= bit
            if once != twice:
                for member in range(members):
                    code = np.uint64(ordered[box[member], column])
                    if ((twice >> code) & np.uint64(1)) == 0:
                        saved[member] += scales.step[column]
            continue
        if scales.form[column] == SET:
            for member in range(members):
                counts[offset + ordered[box[member], column]] += 1
            for member in range(members):
                if counts[offset + ordered[box[member], column]] == 1:
                    saved[member] += scales.step[column]
            for member in range(members):
                counts[offset + ordered[box[member], column]] = 0
            continue
        if scales.form[column] == BITS:
            add_voter_savings(scales.lists, ordered, box, members, column, counts[offset:], saved)
            continue
        # Only a member that is the only lowest, highest or missing one makes a difference.
        lowest, second_lowest, highest, second_highest, absent = _extremes(
            scales, ordered, box, members, column
        )
        missing = scales.missing[column]
        for member in range(members):
            code = ordered[box[member], column]
            if scales.form[column] == NODE:
                low = second_lowest if code == lowest else lowest
                high = second_highest if code == highest else highest
                if low != lowest or high != highest:
                    whole = climb(scales, scales.node[offset + lowest], highest)
                    part = climb(scales, scales.node[offset + low], high)
                    saved[member] += scales.penalty[whole] - scales.penalty[part]
            elif code == missing:
                if absent == 1 and highest >= 0:
                    saved[member] += scales.step[column]
            else:
                if code == lowest and second_lowest >= 0:
                    saved[member] += (
                        scales.position[offset + second_lowest] - scales.position[offset + lowest]
                    )
                if code == highest and second_highest >= 0:
                    saved[member] += (
                        scales.position[offset + highest] - scales.position[offset + second_highest]
                    )
                if second_lowest < 0 and absent > 0:
                    saved[member] += scales.step[column]


@inner_kernel
def is_constant(ordered: Int32Array, box: Int32Array, members: int, column: int) -> bool:
    """Whether all members of a box have the same value in a column."""
    code = ordered[box[0], column]
    for member in range(1, members):  # noqa: SIM110 - compiles to less than all()
        if ordered[box[member], column] != code:
            return False
    return True


@inner_kernel
def _add_reader_savings(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    members: int,
    column: int,
    counts: Int32Array,
    saved: Float64Array,
) -> None:
    """Savings as in `add_savings`, for a column whose loss is that of a reader."""
    offset = scales.offset[column]
    if scales.form[column] == SET:
        add_set_savings(scales.reading, ordered, box, members, column, offset, counts, saved)
        return
    lowest, second_lowest, highest, second_highest, _ = _extremes(
        scales, ordered, box, members, column
    )
    whole = climb(scales, scales.node[offset + lowest], highest)
    parts = np.full(members, whole, np.int32)
    for member in range(members):
        code = ordered[box[member], column]
        low = second_lowest if code == lowest else lowest
        high = second_highest if code == highest else highest
        if members > 1 and (low != lowest or high != highest):
            parts[member] = climb(scales, scales.node[offset + low], high)
    add_node_savings(scales.reading, whole, parts, ordered, box, members, column, offset, saved)


@inner_kernel
def _extremes(
    scales: Scales, ordered: Int32Array, box: Int32Array, members: int, column: int
) -> tuple[int, int, int, int, int]:
    """Lowest, second lowest, highest, second highest code (-1: none), and number of missing values.

    If two members have the lowest code, the second lowest is the same code. In a hierarchy the
    missing value is a code like any other; it is the highest.
    """
    missing = scales.missing[column] if scales.form[column] == RANGE else -1
    lowest, second_lowest, highest, second_highest, absent = -1, -1, -1, -1, 0
    for member in range(members):
        code = ordered[box[member], column]
        if code == missing:
            absent += 1
            continue
        if lowest < 0 or code < lowest:
            lowest, second_lowest = code, lowest
        elif second_lowest < 0 or code < second_lowest:
            second_lowest = code
        if code > highest:
            highest, second_highest = code, highest
        elif code > second_highest:
            second_highest = code
    return lowest, second_lowest, highest, second_highest, absent
