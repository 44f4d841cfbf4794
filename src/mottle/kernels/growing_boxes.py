"""Boxes that grow one original at a time, stored as the contents of their cells: kernels.

`mottle.kernels.ncp_growth` computes the same from a list of members, which suits boxes whose
members change. Here a box with many members costs no more than one with few. Columns of sets are
left out, because their votes need the members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.kernels.ncp_growth import NODE, RANGE, SET, Scales, climb
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel

_WORD = 64


class GrowingBoxes(NamedTuple):
    """The contents of the cells of many boxes, by box and column."""

    word: Int64Array  # [d + 1] SET: the word where the bits of a column begin
    held: NDArray[np.uint64]  # [boxes, words] SET: one bit for every value
    lowest: Float64Array  # [boxes, d] RANGE: lowest position
    highest: Float64Array  # [boxes, d] RANGE: highest position
    absent: NDArray[np.bool_]  # [boxes, d] RANGE: whether a member has the missing value
    node: Int32Array  # [boxes, d] NODE: the lowest node that covers all members


@inner_kernel
def make_boxes(scales: Scales, count: int) -> GrowingBoxes:
    """Allocate ``count`` boxes."""
    columns = scales.form.size
    word = np.zeros(columns + 1, np.int64)
    for column in range(columns):
        last = column + 1 == columns
        end = scales.position.size if last else scales.offset[column + 1]
        words = (end - scales.offset[column] + _WORD - 1) // _WORD
        word[column + 1] = word[column] + (words if scales.form[column] == SET else 0)
    return GrowingBoxes(
        word,
        np.empty((count, word[columns]), np.uint64),
        np.empty((count, columns)),
        np.empty((count, columns)),
        np.empty((count, columns), np.bool_),
        np.empty((count, columns), np.int32),
    )


@inner_kernel
def open_box(scales: Scales, boxes: GrowingBoxes, box: int, original: Int32Array) -> None:
    """Make a box hold a single original."""
    boxes.held[box] = 0
    for column in range(scales.form.size):
        boxes.lowest[box, column], boxes.highest[box, column] = np.inf, -np.inf
        boxes.absent[box, column] = False
        if scales.form[column] == NODE:
            boxes.node[box, column] = scales.node[scales.offset[column] + original[column]]
    widen(scales, boxes, box, original)


@inner_kernel
def widen(scales: Scales, boxes: GrowingBoxes, box: int, original: Int32Array) -> None:
    """Add one original to a box."""
    for column in range(scales.form.size):
        form, code = scales.form[column], original[column]
        if form == SET:
            bit = np.uint64(1) << np.uint64(code % _WORD)
            boxes.held[box, boxes.word[column] + code // _WORD] |= bit
        elif form == RANGE:
            if code == scales.missing[column]:
                boxes.absent[box, column] = True
            else:
                position = scales.position[scales.offset[column] + code]
                boxes.lowest[box, column] = min(boxes.lowest[box, column], position)
                boxes.highest[box, column] = max(boxes.highest[box, column], position)
        elif form == NODE:
            boxes.node[box, column] = climb(scales, boxes.node[box, column], code)


@inner_kernel
def set_growths(
    scales: Scales, boxes: GrowingBoxes, candidates: Int32Array, count: int, cost: Float64Array
) -> None:
    """Set ``cost[:count, :count]`` to what each candidate would add to the loss of each box.

    All boxes are handled in one call, because passing so many arrays takes as long as a short row.
    Inner loops have no branches, so that they are vectorized.
    """
    for box in range(count):
        growth = cost[box]
        for candidate in range(count):
            growth[candidate] = 0.0
        for column in range(scales.form.size):
            form, codes = scales.form[column], candidates[column]
            offset, step = scales.offset[column], scales.step[column]
            if form == SET:
                word = boxes.word[column]
                if boxes.word[column + 1] - word == 1:
                    only = boxes.held[box, word]
                    for candidate in range(count):
                        has = (only >> np.uint64(codes[candidate])) & np.uint64(1)
                        growth[candidate] += 0.0 if has else step
                else:
                    for candidate in range(count):
                        code = codes[candidate]
                        held = boxes.held[box, word + (code >> 6)]
                        has = (held >> np.uint64(code & 63)) & np.uint64(1)
                        growth[candidate] += 0.0 if has else step
            elif form == RANGE:
                low, high = boxes.lowest[box, column], boxes.highest[box, column]
                missing, absent = scales.missing[column], boxes.absent[box, column]
                if missing < 0:
                    for candidate in range(count):
                        at = scales.position[offset + codes[candidate]]
                        growth[candidate] += max(at - high, 0.0) + max(low - at, 0.0)
                    continue
                for candidate in range(count):
                    if codes[candidate] == missing:
                        growth[candidate] += 0.0 if absent else step
                    elif high < low:
                        growth[candidate] += step
                    else:
                        at = scales.position[offset + codes[candidate]]
                        growth[candidate] += max(at - high, 0.0) + max(low - at, 0.0)
            elif form == NODE:
                node = boxes.node[box, column]
                for candidate in range(count):
                    above = climb(scales, node, codes[candidate])
                    growth[candidate] += scales.penalty[above] - scales.penalty[node]
