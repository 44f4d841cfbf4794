"""Refinement: exchange originals among a few boxes at a time, by optimal assignments.

Take any set J of published records and remove one preimage from each. However these originals are
put back, one into each record of J, every original keeps its number of matches and every published
record its number of preimages: the graph stays regular. The best way to put them back is an
assignment problem of size |J|, and it is never worse than before. Repeating this for different sets
J is a large-neighbourhood search that can be stopped at any moment.

Which preimage is removed from a record matters. The one whose removal shrinks the record most is
the best candidate for a better place, but always removing that one ends in a poor local optimum; so
each preimage is removed with a chance that grows with its cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from mottle.kernels.linear_assignment import match_rows
from mottle.kernels.ncp_growth import (
    FORBIDDEN,
    Scales,
    add_growths,
    add_pulls,
    add_savings,
    box_loss,
)
from mottle.kernels.vote_growth import ItemLists
from mottle.methods.base import MethodContext
from mottle.methods.options import MethodOption
from mottle.orderings import lexicographic
from mottle.orderings.random_cuts import random_cuts
from mottle.typing import Float64Array, Int32Array, Int64Array, UInt64Array
from mottle.utils import parallel
from mottle.utils.xorshift import below, fraction

# (one original of every published record, number of the pass, random generator) -> an order of the
# published records that keeps similar ones together.
Orders = Callable[[Int32Array, int, np.random.Generator], Int64Array]

DEALT_TOGETHER = 120  # |J|: a larger set finds more per exchange, a smaller one is faster
LEAST_GAIN = 0.001  # without a time limit: stop when a pass gains less than this share
INTERRUPTED = "interrupted"
PASSES = MethodOption("passes", 1_000_000, "most passes of refinement", least=1, most=1_000_000)
_NOWHERE = -1
_TINY = 1e-12


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
) -> Refined:
    """Improve ``preimages`` [n, k] in place until the time is up or a pass gains too little.

    Ctrl-C ends it and keeps what has been reached. A repeatable run knows no time limit, and Ctrl-C
    ends all of it. Every pass puts the published records, each
    represented by a random one of its preimages, into the next of ``orders`` (`table_orders` for
    tables), cuts the order into sets J of ``together`` records, and makes about k/2 exchanges in
    each. The sets of one pass are disjoint, so all cores work on them. Memory O(n) per core in
    addition to ``preimages``; a pass costs O(n · k · |J| · d).

    ``bucket_starts`` are the starts of buckets, and the end: each set J then lies within one
    bucket, and all of its records give away the same layer, so that buckets stay matched with
    buckets.

    ``people`` [n] says whose row each original is: no record gets two preimages of one person. At
    the beginning none has. Without it every original is a person of its own.
    """
    if people is None:
        people = np.arange(len(ordered), dtype=np.int32)
    limit = None if context.repeatable else context.seconds
    until = np.inf if limit is None else time.perf_counter() + limit
    random = np.random.default_rng(context.seed)
    passes = 0
    most = context.option(PASSES)
    try:
        loss = mean_loss(scales, ordered, preimages)
        context.on_progress(loss)
        while time.perf_counter() < until:
            before = loss
            _one_pass(
                scales,
                ordered,
                orders,
                preimages,
                people,
                random,
                passes,
                until,
                bucket_starts,
                together,
            )
            passes += 1
            loss = mean_loss(scales, ordered, preimages)
            context.on_progress(loss)
            if limit is None and before - loss <= LEAST_GAIN * before:
                return Refined(passes, "no more gain")
            if passes == most:
                return Refined(passes, "passes")
    except KeyboardInterrupt:
        if context.repeatable:
            raise
        return Refined(passes, INTERRUPTED)
    return Refined(passes, "time limit")


def table_orders(ordered: Int32Array, sizes: Int64Array) -> Orders:
    """Orders of coded records, of two alternating kinds.

    Lexicographic with the attributes in random order, which suits columns with few values, and by
    random median cuts, which suit numbers.
    """

    def order(originals: Int32Array, number: int, random: np.random.Generator) -> Int64Array:
        shown = ordered[originals]
        if number % 2 == 0:
            in_turn = lexicographic(shown, sizes, random.permutation(len(sizes)))
            return np.roll(in_turn, random.integers(len(shown)))
        return random_cuts(shown, sizes, DEALT_TOGETHER, random)

    return order


def mean_loss(scales: Scales, ordered: Int32Array, preimages: Int32Array) -> float:
    """The mean loss of the records with these preimages; GCP if NCP is the objective."""
    losses = parallel.over_rows(
        lambda first, last: _sum_of_losses(scales, ordered, preimages, first, last), len(preimages)
    )
    return float(sum(losses) / len(preimages))


def _one_pass(
    scales: Scales,
    ordered: Int32Array,
    orders: Orders,
    preimages: Int32Array,
    people: Int32Array,
    random: np.random.Generator,
    number: int,
    until: float,
    bucket_starts: Int64Array | None,
    together: int,
) -> None:
    records, degree = preimages.shape
    shown = preimages[np.arange(records), random.integers(0, degree, records)]
    in_turn = orders(shown, number, random)
    if bucket_starts is None:
        sets = max(records // together, 1)
        starts = np.linspace(0, records, sets + 1).astype(np.int64)
    else:
        bucket_of = np.repeat(np.arange(len(bucket_starts) - 1), np.diff(bucket_starts))
        in_turn = in_turn[np.argsort(bucket_of[in_turn], kind="stable")]
        starts = _cut_buckets(bucket_starts)
    order = in_turn.astype(np.int32)
    seeds = random.integers(1, 2**63, len(starts) - 1).astype(np.uint64)
    same_layer = bucket_starts is not None

    def exchange(first: int, last: int) -> None:
        if time.perf_counter() < until:
            _exchange(
                scales,
                scales.lists,
                ordered,
                preimages,
                people,
                order,
                starts,
                first,
                last,
                seeds,
                same_layer,
            )

    parallel.over_blocks(exchange, starts, rows_at_once=20_000)


def _cut_buckets(bucket_starts: Int64Array) -> Int64Array:
    """Starts of sets of about `DEALT_TOGETHER` records that each lie within one bucket."""
    sizes = np.diff(bucket_starts)
    sets = np.maximum(np.round(sizes / DEALT_TOGETHER).astype(np.int64), 1)
    bucket = np.repeat(np.arange(len(sizes)), sets)
    number = np.arange(len(bucket)) - np.repeat(np.cumsum(sets) - sets, sets)
    starts = bucket_starts[bucket] + sizes[bucket] * number // sets[bucket]
    return np.append(starts, bucket_starts[-1])


@njit(cache=True, nogil=True)
def _sum_of_losses(
    scales: Scales, ordered: Int32Array, preimages: Int32Array, first: int, last: int
) -> float:
    marks = np.zeros(scales.position.size, np.int32)
    total = 0.0
    for record in range(first, last):
        box = preimages[record]
        total += box_loss(scales, ordered, box, box.size, marks, record + 1)
    return total


@njit(cache=True, nogil=True)
def _all_but(box: Int32Array, layer: int, others: Int32Array) -> None:
    """Fill ``others`` with all preimages except that of ``layer``."""
    kept = 0
    for other in range(box.size):
        if other != layer:
            others[kept] = box[other]
            kept += 1


@njit(cache=True, nogil=True)
def _exchange(
    scales: Scales,
    lists: ItemLists | None,
    ordered: Int32Array,
    preimages: Int32Array,
    people: Int32Array,
    order: Int32Array,
    starts: Int64Array,
    first: int,
    last: int,
    seeds: UInt64Array,
    same_layer: bool,
) -> None:
    """Exchange preimages in the sets ``order[starts[s]:starts[s + 1]]`` for s = first .. last - 1.

    ``same_layer``: all records of a set give away the same layer. ``lists`` are those of the
    scales, passed separately because only the type of an argument makes Numba compile this with
    votes or without.
    """
    degree = preimages.shape[1]
    columns = ordered.shape[1]
    largest = 0
    for number in range(first, last):
        largest = max(largest, starts[number + 1] - starts[number])
    taken = np.empty(largest, np.int32)  # by record of the set: the layer it gives away
    dealt = np.empty(largest, np.int32)  # by record of the set: the original in that layer
    twin = np.empty(largest, np.int32)  # another place in the set that gives away the same person
    place_of = np.full(people.max() + 1, _NOWHERE, np.int32)  # a place that gives a person away
    others = np.empty((largest, degree), np.int32)  # the preimages each record keeps
    candidates = np.empty((columns, largest), np.int32)
    cost = np.empty((largest, largest))
    stale = np.ones(largest, np.bool_)  # every exchange changes all rows of ``cost``
    wish = cost  # cost plus pull if boxes vote; with only two voters there are no plateaus
    if lists is not None and degree > 2:
        wish = np.empty((largest, largest))
    marks = np.zeros(scales.position.size, np.int32)
    counts = np.zeros(scales.position.size, np.int32)
    mark = int(np.int64(0))  # a literal 0 would make Numba compile `add_growths` a second time
    saved = np.empty(degree)
    state = np.empty(1, np.uint64)
    column_of = np.empty(largest, np.int32)
    work, prices = np.empty((5, largest), np.int32), np.empty((2, largest))
    for number in range(first, last):
        start, size = starts[number], starts[number + 1] - starts[number]
        state[0] = seeds[number]
        for _ in range(degree // 2 + 1):
            common = below(state, degree)
            for place in range(size):
                record = order[start + place]
                box = preimages[record]
                layer = common
                if not same_layer:
                    layer = _layer_to_give(scales, ordered, box, counts, saved, state)
                original = box[layer]
                _all_but(box, layer, others[place])
                taken[place], dealt[place] = layer, original
                person = people[original]
                twin[place], place_of[person] = place_of[person], place
                for column in range(columns):
                    candidates[column, place] = ordered[original, column]
            mark = add_growths(
                scales, ordered, others, degree - 1, candidates, size, stale, marks, mark, cost
            )
            for place in range(size):
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
                add_pulls(scales, ordered, others, degree - 1, candidates, size, marks, wish)
            match_rows(wish, size, column_of, work, prices)
            saved_cost, saved_wish = 0.0, 0.0
            for place in range(size):
                saved_cost += cost[place, place] - cost[place, column_of[place]]
                saved_wish += wish[place, place] - wish[place, column_of[place]]
            if saved_wish > _TINY and saved_cost > -_TINY:
                for place in range(size):
                    preimages[order[start + place], taken[place]] = dealt[column_of[place]]


@njit(cache=True, nogil=True)
def _layer_to_give(
    scales: Scales,
    ordered: Int32Array,
    box: Int32Array,
    counts: Int32Array,
    saved: Float64Array,
    state: UInt64Array,
) -> int:
    """Choose the preimage with the largest product of its cost to the box and a random number."""
    add_savings(scales, ordered, box, box.size, counts, saved)
    chosen, best = below(state, box.size), 0.0
    for layer in range(box.size):
        if saved[layer] > 0.0:
            score = saved[layer] * fraction(state)
            if score > best:
                chosen, best = layer, score
    return chosen
