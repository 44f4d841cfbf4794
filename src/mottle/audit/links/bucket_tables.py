"""Which blocks share one numbering of buckets, and so tell about each other.

The buckets of a table hold the same values in all connected parts of the table, although every part
is permuted separately. Whoever knows where her bucket went in one part knows which values it holds,
and recognizes it in the other parts by these values. What one known link reveals is therefore the
bucket in all parts of the table, not in one.

Links do not say which blocks are parts of one table. Blocks that are not, number their buckets
independently: a value is then in the same bucket of two blocks only by chance. The parts of a table
follow each other, so each block is compared with the run of blocks before it. If more blocks agree
than would if they were numbered at random, the ones of which agreeing by chance is unlikely are
taken for parts of one table.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations
from math import factorial

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.audit.links.edges import Edges
from mottle.guarantees.demand import ROUNDING
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_LEVEL = 1e-6  # probability that blocks agree as often by chance
_SURE = 0.9  # probability from which on two blocks that agree are parts of one table
_RENUMBERINGS = 120  # random numberings by which the chance to agree is measured, if not all
_MOST_BLOCKS = 2000  # blocks by which it is decided whether numberings are shared


@dataclass(frozen=True)
class BucketTables:
    """The tables that blocks are parts of, and the units that one known link reveals."""

    units: Int64Array  # [people]: the number of the unit; -1 for people who are drawn one by one
    tables: Int64Array  # [people]: the table, or the block where it is none
    blocks: int
    shared: bool  # whether blocks share the numbering of their buckets
    agreement: float | None  # share of blocks that agree with those before; None for one block
    by_chance: float | None  # the same if they were numbered at random

    def facts(self) -> dict[str, object]:
        """The figures for a report."""
        return {
            "blocks": self.blocks,
            "tables": len(np.unique(self.tables)),
            "blocks_that_number_buckets_alike": self.agreement,
            "alike_by_chance": self.by_chance,
        }


def find_tables(edges: Edges, values: Int32Array, caps: Float64Array) -> BucketTables:
    """Find the tables of a release whose buckets were permuted.

    Parameters
    ----------
    edges : Edges
        The links.
    values : Int32Array
        [people]: everybody's own value.
    caps : Float64Array
        [values]: a value lies in at most cap · μ of the μ buckets of a table.

    Returns
    -------
    BucketTables
    """
    numbers, block = np.unique(edges.clusters, return_inverse=True)
    degrees = np.zeros(len(numbers), np.int64)
    degrees[block[edges.originals]] = edges.degrees[edges.published]
    layer, fixed = _layers(edges)
    numbered = np.ones(len(numbers), np.bool_)
    np.logical_and.at(numbered, block, fixed)
    contents = _contents(block, layer, values, len(numbers))
    table, agreement, by_chance, shared = _runs(contents, degrees, numbered, caps)
    complete = degrees == np.bincount(block)
    alone = complete & (np.bincount(table)[table] == 1)
    units = _recognized(block, layer, values, table, int(degrees.max()))
    return BucketTables(
        units=np.where(alone[block], -1, units),
        tables=table[block],
        blocks=len(numbers),
        shared=shared,
        agreement=agreement,
        by_chance=by_chance,
    )


def _layers(edges: Edges) -> tuple[Int64Array, BoolArray]:
    """For each original: its layer, and whether it is in that layer of all its matches."""
    layer = np.zeros(edges.records, np.int64)
    layer[edges.originals] = edges.layers
    fixed = np.ones(edges.records, np.bool_)
    fixed[edges.originals[layer[edges.originals] != edges.layers]] = False
    return layer, fixed


# For each block: the buckets of every value.
_Contents = list[dict[int, set[int]]]


def _contents(block: Int64Array, layer: Int64Array, values: Int32Array, blocks: int) -> _Contents:
    contents: _Contents = [defaultdict(set) for _ in range(blocks)]
    for number, value, bucket in np.unique(np.stack([block, values, layer], axis=1), axis=0):
        contents[number][int(value)].add(int(bucket))
    return contents


def _runs(
    contents: _Contents, degrees: Int64Array, numbered: BoolArray, caps: Float64Array
) -> tuple[Int64Array, float | None, float | None, bool]:
    """Runs of blocks that agree, how often they do and would by chance, and whether that proves it.

    A block agrees with a run if no value is then in more buckets than its cap allows.
    """
    agreed = np.zeros(len(contents), np.bool_)
    chances = np.full(len(contents), np.nan)
    known: dict[int, set[int]] = {}
    compared = 0
    for number, own in enumerate(contents):
        degree = int(degrees[number])
        if number and numbered[number] and numbered[number - 1] and degrees[number - 1] == degree:
            agreed[number] = _agrees(known, own, caps, degree, range(degree))
            if compared < _MOST_BLOCKS:
                orders = _renumberings(degree, number)
                hits = [_agrees(known, own, caps, degree, order) for order in orders]
                chances[number] = float(np.mean(hits))
                compared += 1
        if not agreed[number]:
            known = defaultdict(set)
        for value, buckets in own.items():
            known[value] |= buckets
    alone = np.arange(len(contents))
    if compared == 0:
        return alone, None, None, False
    judged = ~np.isnan(chances)
    found, expected = int(agreed[judged].sum()), float(chances[judged].sum())
    share = max(found - expected, 0.0) / max(compared - expected, 1e-9)
    chance = np.where(judged, chances, expected / compared)
    merged = agreed & (share >= _SURE * (share + (1 - share) * chance))
    shared = bool(_chance_of(found, chances[judged]) <= _LEVEL and merged.any())
    runs = np.maximum.accumulate(np.where(merged, 0, alone))
    return runs if shared else alone, found / compared, expected / compared, shared


def _agrees(
    known: dict[int, set[int]],
    own: dict[int, set[int]],
    caps: Float64Array,
    degree: int,
    order: range | tuple[int, ...] | list[int],
) -> bool:
    """Whether the block's values are in the buckets known of them, renumbered by ``order``."""
    for value, buckets in own.items():
        there = known.get(value)
        if there:
            together = there | {order[bucket] for bucket in buckets}
            if len(together) > max(int(caps[value] * degree + ROUNDING), 1):
                return False
    return True


def _renumberings(degree: int, seed: int) -> list[tuple[int, ...]] | list[list[int]]:
    """All numberings of the buckets, or some random ones if there are many."""
    if factorial(min(degree, 6)) <= _RENUMBERINGS:
        return list(permutations(range(degree)))
    random = np.random.default_rng(seed)
    return [random.permutation(degree).tolist() for _ in range(_RENUMBERINGS)]


def _chance_of(found: int, chances: Float64Array) -> float:
    """The probability that as many blocks agree by chance."""
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.convolve(distribution, [1 - chance, chance])
    return float(distribution[found:].sum())


def _recognized(
    block: Int64Array, layer: Int64Array, values: Int32Array, table: Int64Array, layers: int
) -> Int64Array:
    """For each person: the number of the unit of buckets that recognize each other by values.

    Two parts of a table show the same bucket if they show a value that no other bucket has.
    """
    in_table = table[block]
    bucket = np.unique(block * layers + layer, return_inverse=True)[1].ravel()
    shown, value_of = np.unique(in_table * (int(values.max()) + 1) + values, return_inverse=True)
    value_of = value_of.ravel()
    lowest = np.full(len(shown), layers, np.int64)
    highest = np.full(len(shown), -1, np.int64)
    np.minimum.at(lowest, value_of, layer)
    np.maximum.at(highest, value_of, layer)
    telling = (lowest == highest)[value_of]
    count = int(bucket.max()) + 1
    size = count + len(shown)
    ends = (bucket[telling], count + value_of[telling])
    graph = csr_array((np.ones(len(ends[0]), np.int8), ends), (size, size))
    return np.asarray(connected_components(graph, directed=False)[1][bucket], np.int64)
