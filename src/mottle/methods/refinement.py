"""Refinement: exchange originals among a few boxes at a time, by optimal assignments.

Take any set J of published records and remove one preimage from each. However these originals are
put back, one into each record of J, every original keeps its number of matches and every published
record its number of preimages: the graph stays regular. The best way to put them back is an
assignment problem of size |J|, and it is never worse than before. Repeating this for different sets
J is a large-neighbourhood search that can be stopped at any moment.

Which preimage is removed from a record matters. The one whose removal shrinks the record most is
the best candidate for a better place, but always removing that one ends in a poor local optimum; so
each preimage is removed with a chance that grows with its cost.

A record that loses nothing is left out: its preimages are equal, so an exchange could only move a
loss to it. And the second exchange in a set J finds half of what the first one does (the sixth a
seventh, on ADULT at k = 10), so a pass makes few in each set, and the next pass has other sets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mottle.kernels.box_growths import add_growths, make_candidates, prepare
from mottle.kernels.linear_assignment import match_rows
from mottle.kernels.ncp_growth import FORBIDDEN, Scales, add_pulls, add_savings, box_loss
from mottle.kernels.vote_growth import ItemLists
from mottle.methods.base import MethodContext
from mottle.methods.layer_exchange import exchange_layers, next_layer
from mottle.methods.options import MethodOption
from mottle.orderings import lexicographic
from mottle.orderings.random_cuts import random_cuts
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array, UInt64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.xorshift import below, fraction

# (one original of every published record, number of the pass, random generator) -> an order of the
# published records that keeps similar ones together.
Orders = Callable[[Int32Array, int, np.random.Generator], Int64Array]

DEALT_TOGETHER = 120  # |J|: a larger set finds more per exchange, a smaller one is faster
EXCHANGES = 2  # most exchanges of a set in one pass; the next is made only if the last one gained
LEAST_GAIN = 0.001  # without a time limit: stop when the last passes gain less than this share
INTERRUPTED = "interrupted"
PASSES = MethodOption("passes", 1_000_000, "most passes of refinement", least=1, most=1_000_000)
_MOST_DEALT = 400
_NOWHERE = -1
_TINY = 1e-12
_MOST_TOGETHER = 30  # passes, or exchanges in one, that count together: time stays linear in k
_NO_LOSS = 1e-9  # rounding may leave less than this of exact cells
_SAMPLED = 200_000  # preimages that the losses of columns are measured by


@dataclass(frozen=True)
class Refined:
    """The outcome of a refinement."""

    passes: int
    ended: str  # "no more gain", "time limit", "passes" or "interrupted"


def refine(
    scales: Scales,
    ordered: Int32Array,
    orders: Orders,
    preimages: Int32Array,
    context: MethodContext,
    bucket_starts: Int64Array | None = None,
    together: int = DEALT_TOGETHER,
    people: Int32Array | None = None,
    ncp: Scales | None = None,
) -> Refined:
    """Improve ``preimages`` [n, k] in place until the time is up or passes gain too little.

    Ctrl-C ends it and keeps what has been reached. A repeatable run knows no time limit, and Ctrl-C
    ends all of it. Every pass puts the published records, each
    represented by a random one of its preimages, into the next of ``orders`` (`table_orders` for
    tables), cuts the order into sets J of ``together`` records, and exchanges in each of them. The
    sets of one pass are disjoint, so all cores work on them. Memory O(n) per core in addition to
    ``preimages``; a pass costs O(n · (k + |J|) · d), an assignment a little more than |J|² for |J|
    records.

    ``bucket_starts`` are the starts of buckets, and the end: each set J then lies within one
    bucket, and all of its records give away the same layer, so that buckets stay matched with
    buckets.

    ``people`` [n] says whose row each original is: no record gets two preimages of one person. At
    the beginning none has. Without it every original is a person of its own.

    ``ncp`` is what is reported of columns, if ``scales`` are of another objective.
    """
    if people is None:
        people = np.arange(len(ordered), dtype=np.int32)
    limit = None if context.repeatable else context.seconds
    until = np.inf if limit is None else time.perf_counter() + limit
    random = np.random.default_rng(context.seed)
    passes = 0
    most = context.option(PASSES)
    degree = preimages.shape[1]
    half = min(degree // 2 + 1, _MOST_TOGETHER)
    exchanges, window = EXCHANGES, half  # the end is decided by what so many passes gain together
    if scales.lists is not None or bucket_starts is not None:
        # Orders of sets take long, and buckets exchange another layer each time: more per pass.
        exchanges, window = half, 1
    settled = _nothing_settled(bucket_starts, degree)
    worth = np.zeros((len(preimages) if len(settled) else 0, degree))
    by_column = partial(column_losses, like(ncp or scales, scales), ordered, preimages)
    try:
        # What each layer of a record costs it is needed to choose a layer; buckets draw theirs.
        saved = np.empty((len(preimages) if bucket_starts is None else 0, degree), np.float32)
        losses = _losses_of(scales, ordered, preimages, saved)
        curve = [float(losses.mean())]
        context.on_columns(by_column)
        context.on_progress(curve[-1])
        while time.perf_counter() < until:
            taking_part = np.flatnonzero(losses > _NO_LOSS)
            if len(taking_part) < 2 or (len(settled) and settled.all()):
                return Refined(passes, "no more gain")
            _one_pass(
                scales,
                ordered,
                orders,
                preimages,
                losses,
                saved,
                people,
                taking_part,
                random,
                passes,
                until,
                bucket_starts,
                together,
                exchanges,
                settled,
                worth,
            )
            passes += 1
            curve.append(float(losses.mean()))
            context.on_columns(by_column)
            context.on_progress(curve[-1])
            before = curve[-1 - min(window, passes)]
            gained_little = before - curve[-1] <= LEAST_GAIN * before
            if limit is None and gained_little and passes >= window:
                return Refined(passes, "no more gain")
            if passes == most:
                return Refined(passes, "passes")
    except KeyboardInterrupt:
        if context.repeatable:
            raise
        return Refined(passes, INTERRUPTED)
    return Refined(passes, "time limit")


def dealt_together(degree: int) -> int:
    """|J| of tables: boxes of many preimages need more others to choose from."""
    return min(max(DEALT_TOGETHER, 5 * degree), _MOST_DEALT)


def table_orders(ordered: Int32Array, sizes: Int64Array, together: int = DEALT_TOGETHER) -> Orders:
    """Orders of coded records, of two alternating kinds.

    Lexicographic with the attributes in random order, which suits columns with few values, and by
    random median cuts into pieces of at most ``together`` records, which suit numbers.
    """

    def order(originals: Int32Array, number: int, random: np.random.Generator) -> Int64Array:
        shown = ordered[originals]
        if number % 2 == 0:
            in_turn = lexicographic(shown, sizes, random.permutation(len(sizes)))
            return np.roll(in_turn, random.integers(len(shown)))
        return random_cuts(shown, sizes, together, random)

    return order


def mean_loss(scales: Scales, ordered: Int32Array, preimages: Int32Array) -> float:
    """The mean loss of the records with these preimages; GCP if NCP is the objective."""
    nothing = np.empty((0, preimages.shape[1]), np.float32)
    return float(_losses_of(scales, ordered, preimages, nothing).mean())


def like(ncp: Scales, scales: Scales) -> Scales:
    """NCP in the type of other scales, so that kernels need not be compiled for it."""
    if ncp.reading is not None or scales.reading is None:
        return ncp
    nothing_read = scales.reading._replace(score=np.zeros_like(scales.reading.score))
    return ncp._replace(reading=nothing_read)


def column_losses(scales: Scales, ordered: Int32Array, preimages: Int32Array) -> Float64Array:
    """[d]: how much of the mean loss is each column's, by records at regular places.

    They have about `_SAMPLED` preimages, so that it takes the same short time in any table.
    """
    degree = preimages.shape[1]
    chosen = preimages[:: max(preimages.size // _SAMPLED, 1)]
    boxes = np.arange(chosen.size, dtype=np.int32).reshape(-1, degree)
    shown = ordered[chosen.ravel()]
    nothing = np.empty((0, degree), np.float32)
    return np.array(
        [
            _losses_of(
                scales.of_column(column),
                np.ascontiguousarray(shown[:, column : column + 1]),
                boxes,
                nothing,
            ).mean()
            for column in range(shown.shape[1])
        ]
    )


def _losses_of(
    scales: Scales, ordered: Int32Array, preimages: Int32Array, saved: NDArray[np.float32]
) -> Float64Array:
    """[n]: the loss of every record; also sets what it loses less without each preimage."""
    losses = np.empty(len(preimages))
    parallel.over_rows(
        lambda first, last: _set_losses(scales, ordered, preimages, first, last, losses, saved),
        len(preimages),
    )
    return losses


def _one_pass(
    scales: Scales,
    ordered: Int32Array,
    orders: Orders,
    preimages: Int32Array,
    losses: Float64Array,
    saved: NDArray[np.float32],
    people: Int32Array,
    taking_part: Int64Array,
    random: np.random.Generator,
    number: int,
    until: float,
    bucket_starts: Int64Array | None,
    together: int,
    exchanges: int,
    settled: BoolArray,
    worth: Float64Array,
) -> None:
    """Exchange preimages of the records ``taking_part``, which are in increasing order."""
    records, degree = len(taking_part), preimages.shape[1]
    in_turn = taking_part
    if not len(settled):
        shown = preimages[taking_part, random.integers(0, degree, records)]
        in_turn = taking_part[orders(shown, number, random)]
    if bucket_starts is None:
        sets = max(records // together, 1)
        starts = np.linspace(0, records, sets + 1).astype(np.int64)
    elif len(settled):  # sets are whole buckets, in which the order makes no difference
        starts = np.searchsorted(taking_part, bucket_starts)
    else:
        bucket_of = np.searchsorted(bucket_starts, in_turn, side="right")
        in_turn = in_turn[np.argsort(bucket_of, kind="stable")]
        starts = _cut_buckets(np.searchsorted(taking_part, bucket_starts))
    order = in_turn.astype(np.int32)
    seeds = random.integers(1, 2**63, len(starts) - 1).astype(np.uint64)
    same_layer = bucket_starts is not None

    def exchange(first: int, last: int) -> None:
        if time.perf_counter() >= until:
            return
        if same_layer and scales.lists is None:
            exchange_layers(
                scales,
                ordered,
                preimages,
                losses,
                order,
                starts,
                first,
                last,
                seeds,
                exchanges,
                settled,
                worth,
            )
        else:
            _exchange(
                scales,
                scales.lists,
                ordered,
                preimages,
                losses,
                saved,
                people,
                order,
                starts,
                first,
                last,
                seeds,
                same_layer,
                exchanges,
                settled,
            )

    parallel.over_blocks(exchange, starts, rows_at_once=20_000)


def _nothing_settled(bucket_starts: Int64Array | None, degree: int) -> BoolArray:
    """[buckets, degree]: whether a layer of a bucket is known to be the best for the others.

    Without rows if sets are not whole buckets: then every pass has other sets.
    """
    if bucket_starts is None or np.any(_sets_of(np.diff(bucket_starts)) > 1):
        return np.zeros((0, degree), np.bool_)
    return np.zeros((len(bucket_starts) - 1, degree), np.bool_)


def _sets_of(sizes: Int64Array) -> Int64Array:
    """Into how many sets of about `DEALT_TOGETHER` records buckets of these sizes are cut."""
    return np.maximum(np.round(sizes / DEALT_TOGETHER).astype(np.int64), 1)


def _cut_buckets(bucket_starts: Int64Array) -> Int64Array:
    """Starts of sets of about `DEALT_TOGETHER` records that each lie within one bucket."""
    sizes = np.diff(bucket_starts)
    sets = _sets_of(sizes)
    bucket = np.repeat(np.arange(len(sizes)), sets)
    number = np.arange(len(bucket)) - np.repeat(np.cumsum(sets) - sets, sets)
    starts = bucket_starts[bucket] + sizes[bucket] * number // sets[bucket]
    return np.append(starts, bucket_starts[-1])


@kernel
def _set_losses(
    scales: Scales,
    ordered: Int32Array,
    preimages: Int32Array,
    first: int,
    last: int,
    losses: Float64Array,
    saved: NDArray[np.float32],
) -> None:
    """Set the losses of the records ``first .. last - 1``, and what each preimage costs them."""
    marks = np.zeros(scales.position.size, np.int32)
    counts = np.zeros(scales.position.size, np.int32)
    own = np.empty(preimages.shape[1])
    for record in range(first, last):
        box = preimages[record]
        losses[record] = box_loss(scales, ordered, box, box.size, marks, record - first + 1)
        if saved.shape[0] > 0:
            _set_saved(scales, ordered, box, counts, own, saved[record])


@inner_kernel
def _set_saved(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    counts: Int32Array,
    own: Float64Array,
    saved: NDArray[np.float32],
) -> None:
    """Set what a record loses less without each of its preimages; ``own`` is scratch space."""
    add_savings(scales, ordered, box, box.size, counts, own)
    for layer in range(box.size):
        saved[layer] = own[layer]


@inner_kernel
def _all_but(box: Int32Array, layer: int, others: Int32Array) -> None:
    """Fill ``others`` with all preimages except that of ``layer``."""
    kept = 0
    for other in range(box.size):
        if other != layer:
            others[kept] = box[other]
            kept += 1


@kernel
def _exchange(
    scales: Scales,
    lists: ItemLists | None,
    ordered: Int32Array,
    preimages: Int32Array,
    losses: Float64Array,
    saved: NDArray[np.float32],
    people: Int32Array,
    order: Int32Array,
    starts: Int64Array,
    first: int,
    last: int,
    seeds: UInt64Array,
    same_layer: bool,
    exchanges: int,
    settled: BoolArray,
) -> None:
    """Exchange preimages in the sets ``order[starts[s]:starts[s + 1]]`` for s = first .. last - 1.

    At most ``exchanges`` times in each of them, and no more after one that gained nothing, unless
    each gives away another layer. ``losses`` and ``saved`` are kept as `_set_losses` left them.
    ``same_layer``: all records of a set give away the same layer, one after another in turn;
    ``settled`` [sets, degree], if sets are whole buckets, says which layers cannot gain before
    another has changed. ``lists`` are those of the scales, passed separately because only the type
    of an argument makes Numba compile this with votes or without.
    """
    degree = preimages.shape[1]
    columns = ordered.shape[1]
    largest = int(np.int64(0))  # of a literal 0 Numba would compile `make_candidates` twice
    for number in range(first, last):
        largest = max(largest, starts[number + 1] - starts[number])
    taken = np.empty(largest, np.int32)  # by record of the set: the layer it gives away
    dealt = np.empty(largest, np.int32)  # by record of the set: the original in that layer
    twin = np.empty(largest, np.int32)  # another place in the set that gives away the same person
    place_of = np.full(people.max() + 1, _NOWHERE, np.int32)  # a place that gives a person away
    others = np.empty((largest, degree), np.int32)  # the preimages each record keeps
    candidates = make_candidates(scales, largest)
    cost = np.empty((largest, largest))
    stale = np.ones(largest, np.bool_)  # every exchange changes all rows of ``cost``
    wish = cost  # cost plus pull if boxes vote; with only two voters there are no plateaus
    if lists is not None and degree > 2:
        wish = np.empty((largest, largest))
    marks = np.zeros(scales.position.size, np.int32)
    counts = np.zeros(scales.position.size, np.int32)
    mark = int(np.int64(0))  # a literal 0 would make Numba compile `prepare` a second time
    own = np.empty(degree)
    state = np.empty(1, np.uint64)
    column_of = np.empty(largest, np.int32)
    work, prices = np.empty((5, largest), np.int32), np.empty((2, largest))
    for number in range(first, last):
        start, size = starts[number], starts[number + 1] - starts[number]
        state[0] = seeds[number]
        common = below(state, degree) if same_layer else 0
        for _ in range(exchanges):
            if same_layer:
                common = (common + 1) % degree
                if len(settled) > 0:
                    common = next_layer(settled[number], common)
                if common < 0:
                    break
            for place in range(size):
                record = order[start + place]
                box = preimages[record]
                layer = common
                if not same_layer:
                    layer = _layer_to_give(saved[record], state)
                original = box[layer]
                _all_but(box, layer, others[place])
                taken[place], dealt[place] = layer, original
                person = people[original]
                twin[place], place_of[person] = place_of[person], place
                for column in range(columns):
                    candidates.codes[column, place] = ordered[original, column]
            mark = prepare(scales, candidates, size, marks, mark)
            add_growths(
                scales, ordered, others, degree - 1, candidates, size, stale, marks, counts, cost
            )
            for place in range(0 if same_layer else size):  # a bucket is met in one layer only
                for kept in range(degree - 1):
                    again = place_of[people[others[place, kept]]]
                    while again != _NOWHERE:
                        cost[place, again] = FORBIDDEN
                        again = twin[again]
            for place in range(size):
                place_of[people[dealt[place]]] = _NOWHERE
            if lists is not None and degree > 2:
                for place in range(size):  # element by element: slices take seconds to compile
                    for candidate in range(size):
                        wish[place, candidate] = cost[place, candidate]
                add_pulls(scales, ordered, others, degree - 1, candidates.codes, size, marks, wish)
            match_rows(wish, size, column_of, work, prices)
            saved_cost, saved_wish = 0.0, 0.0
            for place in range(size):
                saved_cost += cost[place, place] - cost[place, column_of[place]]
                saved_wish += wish[place, place] - wish[place, column_of[place]]
            gains = saved_wish > _TINY and saved_cost > -_TINY
            if len(settled) > 0:
                if gains:
                    settled[number] = False
                settled[number, common] = True
            if gains:
                for place in range(size):
                    if column_of[place] == place:
                        continue
                    record = order[start + place]
                    box = preimages[record]
                    box[taken[place]] = dealt[column_of[place]]
                    losses[record] += cost[place, column_of[place]] - cost[place, place]
                    if not same_layer:
                        _set_saved(scales, ordered, box, counts, own, saved[record])
            elif lists is None and not same_layer:
                break


@inner_kernel
def _layer_to_give(saved: NDArray[np.float32], state: UInt64Array) -> int:
    """Choose the preimage with the largest product of its cost to the box and a random number."""
    chosen, best = below(state, saved.size), 0.0
    for layer in range(saved.size):
        if saved[layer] > 0.0:
            score = saved[layer] * fraction(state)
            if score > best:
                chosen, best = layer, score
    return chosen
