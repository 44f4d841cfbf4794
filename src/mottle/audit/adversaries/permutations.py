"""The permutations adversary: assumes that what should have been permuted never moves.

Each published record is generalized around one original, its *centre*; whoever runs the method
again knows which. A sound draw permutes the buckets of a block, or the records of a complete block,
uniformly; it turns a ring by a uniform number of places. If the permutation is always the identity,
always the same shift or always the same one, everybody's record is known.

One block has one permutation, so each block counts once, however many records it moves: the number
of units (buckets, or records of a complete block) that a uniformly random permutation shifts by a
given number of places has the distribution of its fixed points, and the sum over blocks is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial, sqrt

import numpy as np
from scipy.stats import binom, poisson

from mottle.audit.base import register
from mottle.audit.links.edges import Edges
from mottle.audit.report import Outcome
from mottle.audit.view import Evidence, View
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_LEVEL = 1e-4  # probability that a sound release fails
_MOST_SHIFTS = 16  # shifts that are tried
_LONGEST = 8  # units of the longest permutations of which the most frequent one is looked for
_MOST_BLOCKS = 2000  # blocks up to which the distribution is exact; Poisson's beyond
_MEASURE = "units that move by the same number of places in every block"
_FREQUENT = "blocks with the same permutation"


@register(
    "permutations",
    title="assumes that nothing was permuted, or the same way in every block",
    assumes="knows the algorithm, its graph and around whom each record was generalized",
    seconds=1,
)
def permutations(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Compare how often units move alike with uniformly random permutations."""
    subgraph, draw = evidence.subgraph, view.draw
    if subgraph is None or not draw:
        why = "needs the private link file and a certificate that states the draw"
        yield Outcome(_MEASURE, None, details={"not_played": why})
        return
    if draw == "apart":
        why = "the sensitive values are in a second table, and nothing is drawn"
        yield Outcome(_MEASURE, None, details={"does_not_apply": why}, public=True)
        return
    if subgraph.edges.centres is None:
        why = "the link file does not say around whom each record was generalized"
        yield Outcome(_MEASURE, None, details={"not_played": why})
        return
    moves = _moves(subgraph.edges, draw)
    if len(moves.sizes) == 0:
        why = "no block has its buckets, its records or its ring permuted as a whole"
        yield Outcome(_MEASURE, None, details={"does_not_apply": why})
        return
    examined = {"draw": draw, **subgraph.facts(int(view.people.num_rows))}
    yield _same_shift(moves, examined)
    yield from _same_permutation(moves, examined)


@dataclass(frozen=True)
class _Moves:
    """By how many places every unit of every block was moved."""

    block: Int64Array  # [units], ascending
    place: Int64Array  # [units]: the unit's place in its block's list, ascending
    shift: Int64Array  # [units]: from 0 to the degree of its block
    sizes: Int64Array  # [blocks]: the degree: how many shifts a unit of the block may have
    turned: BoolArray  # [blocks]: whether the block is turned as one unit


def _moves(edges: Edges, draw: str) -> _Moves:
    """The units of all blocks that are permuted as a whole, each with one draw.

    A unit is a bucket, a record of a complete block, or a whole ring; all its records move alike.
    """
    assert edges.centres is not None
    numbers, block = np.unique(edges.clusters[edges.truth], return_inverse=True)
    degrees = np.zeros(len(numbers), np.int64)
    degrees[block] = edges.degrees
    complete = degrees == np.bincount(block)
    turned = ~complete & (draw == "rotation")
    to, place = _layers_of(edges, edges.truth), _layers_of(edges, edges.centres)
    used = (complete | (draw in ("buckets", "rotation")))[block] & (to >= 0) & (place >= 0)
    unit = np.where(turned[block], 0, np.where(complete[block], np.arange(edges.records), place))
    keys = np.stack([block, np.where(turned[block], 0, place), unit], axis=1)[used]
    first = np.flatnonzero(used)[np.unique(keys, axis=0, return_index=True)[1]]
    blocks, number = np.unique(block[first], return_inverse=True)
    shift = (to - place)[first] % degrees[block[first]]
    return _Moves(number.ravel(), place[first], shift, degrees[blocks], turned[blocks])


def _layers_of(edges: Edges, originals: Int32Array) -> Int64Array:
    """For each record: the layer of the given original among its preimages; -1 if it is none."""
    layers = np.full(edges.records, -1, np.int64)
    found = np.flatnonzero(edges.originals == originals[edges.published])
    layers[edges.published[found]] = edges.layers[found]
    return layers


def _same_shift(moves: _Moves, examined: dict[str, object]) -> Outcome:
    """The shift that most units share, compared with uniformly random permutations."""
    shifts = min(_MOST_SHIFTS, int(moves.sizes.max()))
    found = []
    for shift in range(shifts):
        able = moves.sizes > shift
        tail = _tail(moves.sizes[able], moves.turned[able]) * shifts
        count = int(np.count_nonzero(moves.shift == shift))
        possible = int(np.count_nonzero(able[moves.block]))
        allowed = int(np.count_nonzero(tail >= _LEVEL)) - 1
        chance = min(float(tail[min(count, len(tail) - 1)]), 1.0)
        found.append((chance, -possible, shift, count, allowed))
    chance, possible, shift, count, allowed = min(found)
    facts = {
        **examined,
        "independent_permutations": len(moves.sizes),
        "units": -possible,
        "shift": shift,
        "chance": chance,
        "level": _LEVEL,
    }
    return Outcome(_MEASURE, count, allowed, _verdict(count, allowed, -possible), facts)


def _same_permutation(moves: _Moves, examined: dict[str, object]) -> Iterator[Outcome]:
    """The permutation that most blocks of the same degree share, by the binomial tail."""
    by_degree: dict[int, Counter[bytes]] = {}
    starts = np.searchsorted(moves.block, np.arange(len(moves.sizes) + 1))
    for number, degree in enumerate(moves.sizes.tolist()):
        units = slice(starts[number], starts[number + 1])
        if degree <= _LONGEST and np.array_equal(moves.place[units], np.arange(degree)):
            by_degree.setdefault(degree, Counter())[moves.shift[units].tobytes()] += 1
    found = []
    for degree, counts in by_degree.items():
        blocks, most = counts.total(), counts.most_common(1)[0][1]
        trials = factorial(degree) * len(by_degree)
        chance = min(float(binom.sf(most - 1, blocks, 1 / factorial(degree))) * trials, 1.0)
        allowed = int(binom.isf(_LEVEL / trials, blocks, 1 / factorial(degree)))
        found.append((chance, -blocks, most, allowed, degree))
    if found:
        chance, blocks, count, allowed, degree = min(found)
        facts = {
            **examined,
            "independent_permutations": -blocks,
            "units_of_each": degree,
            "chance": chance,
            "level": _LEVEL,
        }
        yield Outcome(_FREQUENT, count, allowed, _verdict(count, allowed, -blocks), facts)


def _verdict(count: int, allowed: int, possible: int) -> bool | None:
    """Whether the count is within what chance allows; None if no count could be beyond it."""
    return None if allowed >= possible else count <= allowed


def _tail(sizes: Int64Array, turned: BoolArray) -> Float64Array:
    """P(at least x units move by a given shift) for x = 0, 1, …, if all draws are uniform."""
    length = int(len(sizes) + 15 * sqrt(len(sizes)) + 40)
    if len(sizes) > _MOST_BLOCKS:
        mean = float(np.where(turned, 1 / sizes, 1.0).sum())
        return np.asarray(poisson.sf(np.arange(length) - 1, mean))
    total = np.ones(1)
    for (size, ring), blocks in Counter(zip(sizes.tolist(), turned.tolist(), strict=True)).items():
        one = np.array([1 - 1 / size, 1 / size]) if ring else _fixed_points(size)
        total = np.convolve(total, _power(one, blocks, length))[:length]
    return np.append(np.cumsum(total[::-1])[::-1], 0.0)


def _fixed_points(size: int) -> Float64Array:
    """The distribution of the number of fixed points of a random permutation."""
    most = min(size, 25)
    unmoved = np.cumsum([(-1.0) ** number / factorial(number) for number in range(most + 1)])
    return np.array([unmoved[most - count] / factorial(count) for count in range(most + 1)])


def _power(one: Float64Array, times: int, length: int) -> Float64Array:
    """The distribution of the sum of independent counts with the same distribution."""
    result, base = np.ones(1), one
    while times:
        if times & 1:
            result = np.convolve(result, base)[:length]
        base = np.convolve(base, base)[:length]
        times >>= 1
    return result
