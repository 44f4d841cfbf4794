"""Exchanges inside buckets: all records of a bucket give away the same layer.

Layer l of the records of a bucket always holds the same originals, those of one other bucket, so an
exchange only puts them in another order. What boxes hold is counted once for all exchanges of a
bucket (`mottle.kernels.held_boxes`), because each of them changes one member of a box.
"""

from __future__ import annotations

import numpy as np

from mottle.kernels.box_growths import make_candidates, prepare
from mottle.kernels.held_boxes import deal, hold, make_held, scores_of, set_growths_without
from mottle.kernels.linear_assignment import match_rows
from mottle.kernels.ncp_growth import Scales
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array, UInt64Array
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.xorshift import below

_TINY = 1e-12
_LESS = 1e-14  # of a box; rounding may leave less than this


@kernel
def exchange_layers(
    scales: Scales,
    ordered: Int32Array,
    preimages: Int32Array,
    losses: Float64Array,
    order: Int32Array,
    starts: Int64Array,
    first: int,
    last: int,
    seeds: UInt64Array,
    exchanges: int,
    settled: BoolArray,
    worth: Float64Array,
) -> None:
    """Exchange layers in the sets ``order[starts[s]:starts[s + 1]]`` for s = first .. last - 1.

    At most ``exchanges`` times in each of them, one layer after another. ``losses`` are kept up to
    date. If sets are whole buckets, ``settled`` [sets, degree] says which layers cannot gain before
    another has changed, and ``worth`` [n, degree] what the last assignment of a layer has shown
    each of its originals to be worth to the boxes; then most layers that cannot gain are known
    without another assignment.
    """
    degree = preimages.shape[1]
    largest = int(np.int64(0))  # of a literal 0 Numba would compile `make_candidates` twice
    for number in range(first, last):
        largest = max(largest, starts[number + 1] - starts[number])
    held = make_held(scales, largest)
    scores = scores_of(scales.reading, ordered.shape[1])
    candidates = make_candidates(scales, largest)
    cost = np.empty((largest, largest))
    marks = np.zeros(scales.position.size, np.int32)
    scratch = np.zeros(scales.position.size, np.int32)
    mark = int(np.int64(0))
    state = np.empty(1, np.uint64)
    column_of = np.empty(largest, np.int32)
    work, prices = np.empty((5, largest), np.int32), np.empty((2, largest))
    price = prices[0]
    dealt = np.empty(largest, np.int32)
    for number in range(first, last):
        start, size = starts[number], starts[number + 1] - starts[number]
        records = order[start : start + size]
        state[0] = seeds[number]
        layer = below(state, degree)
        hold(scales, scores, ordered, preimages, records, held)
        for _ in range(exchanges):
            layer = (layer + 1) % degree
            if len(settled) > 0:
                layer = next_layer(settled[number], layer)
            if layer < 0:
                break
            for place in range(size):
                dealt[place] = preimages[records[place], layer]
                for column in range(ordered.shape[1]):
                    candidates.codes[column, place] = ordered[dealt[place], column]
            mark = prepare(scales, candidates, size, marks, mark)
            set_growths_without(
                scales,
                scores,
                ordered,
                preimages,
                records,
                layer,
                candidates,
                held,
                scratch,
                cost,
            )
            if len(settled) > 0:
                for place in range(size):
                    price[place] = worth[records[place], layer]
                settled[number, layer] = True
                if _is_best(cost, size, price):
                    continue
            match_rows(cost, size, column_of, work, prices)
            saved = 0.0
            for place in range(size):
                saved += cost[place, place] - cost[place, column_of[place]]
            gains = saved > _TINY
            if len(settled) > 0:
                for place in range(size):
                    worth[records[place], layer] = price[column_of[place] if gains else place]
            if not gains:
                continue
            if len(settled) > 0:
                settled[number] = False
                settled[number, layer] = True
            for place in range(size):
                other = column_of[place]
                losses[records[place]] += cost[place, other] - cost[place, place]
                preimages[records[place], layer] = dealt[other]
            deal(
                scales,
                scores,
                ordered,
                preimages,
                records,
                layer,
                column_of,
                candidates,
                held,
            )


@inner_kernel
def _is_best(cost: Float64Array, size: int, price: Float64Array) -> bool:
    """Whether, at these prices of candidates, no box would rather have another than its own.

    Then no other assignment costs less, whatever the prices are. The inner loop has no branches, so
    that it is vectorized.
    """
    for place in range(size):
        own = cost[place, place] - price[place] - _LESS
        others = False
        for candidate in range(size):
            others |= cost[place, candidate] - price[candidate] < own
        if others:
            return False
    return True


@inner_kernel
def next_layer(settled: BoolArray, first: int) -> int:
    """The next layer, from ``first`` on and around, that is not settled; -1 for none."""
    for step in range(settled.size):
        layer = (first + step) % settled.size
        if not settled[layer]:
            return int(layer)
    return -1
