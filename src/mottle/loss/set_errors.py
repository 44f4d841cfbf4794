"""Information loss of set releases: error rate, query errors, item and pair frequencies (SET12 §5).

Counts over a release are counts over its base sets, which are its best guess of the originals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mottle.graph.bit_voting import Votes
from mottle.graph.model import Graph, preimage
from mottle.itemsets.data import Sets
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel


@dataclass(frozen=True)
class Error:
    """Difference between base sets and the sets they stand for, expected over the random draw."""

    rate: float  # ER: mean over records of (bits flipped / items held)
    flipped: float  # bits flipped in all records / items held in all records


def error(graph: Graph, sets: Sets, votes: Votes) -> Error:
    """Compute ER, "the average ratio of the number of bits flipped to the number of bits valued 1".

    The published record of an original is each of its matches with equal chance, so the mean over
    all edges is the expected ratio. An empty set counts as if it held one item.
    """
    rows = len(votes.block_of)
    ratios, flips = np.empty(rows), np.empty(rows)
    parallel.over_rows(
        lambda first, last: _errors(graph, sets, votes, first, last, ratios, flips), rows
    )
    records = votes.multiplicity
    return Error(
        rate=float((ratios * records).sum() / graph.records),
        flipped=float((flips * records).sum() / max(len(sets.items), 1)),
    )


class Lists(NamedTuple):
    """Sets of item codes, one after another, each counting for one or more records."""

    starts: Int64Array  # [sets + 1]: where each set's items begin
    items: Int32Array  # item codes
    weights: Int64Array  # [sets]: number of records that each set counts for
    universe: int  # number of different items

    @classmethod
    def of_originals(cls, sets: Sets) -> Lists:
        """The original records."""
        return cls(sets.starts, sets.items, np.ones(sets.records, np.int64), sets.universe)

    @classmethod
    def of_bases(cls, votes: Votes, universe: int) -> Lists:
        """The base sets of a release."""
        return cls(votes.base_starts, votes.base, votes.multiplicity, universe)

    @property
    def records(self) -> int:
        """Number of records that the sets count for."""
        return int(self.weights.sum())


def query_error(
    original: Lists, released: Lists, *, absent: bool, size: int, seed: int, queries: int = 500
) -> float:
    """Mean QE = |count in the original - count in the release| / n over random queries.

    Type I (``absent`` false) counts the records that hold all of ``size`` random items, type II
    those that hold none of them.
    """
    random = np.random.default_rng(seed)
    size = min(size, original.universe)
    asked = np.stack(
        [random.choice(original.universe, size, replace=False) for _ in range(queries)]
    ).astype(np.int32)
    wanted = 0 if absent else size
    differences = _answers(original, asked, wanted) - _answers(released, asked, wanted)
    return float(np.abs(differences).mean() / original.records)


def item_frequency_error(original: Lists, released: Lists) -> float:
    """Sum over items of |difference of counts| per item held in the original."""
    before, after = item_counts(original), item_counts(released)
    return float(np.abs(before - after).sum() / max(before.sum(), 1))


def pair_support_error(original: Lists, released: Lists, items: int = 50) -> float:
    """Mean relative error of the support of pairs among the most frequent items of the original."""
    frequent = np.argsort(-item_counts(original), kind="stable")[:items]
    before, after = pair_counts(original, frequent), pair_counts(released, frequent)
    occurring = before > 0
    if not occurring.any():
        return 0.0
    return float((np.abs(before - after)[occurring] / before[occurring]).mean())


def item_counts(lists: Lists) -> Int64Array:
    """Number of records that hold each item."""
    weights = np.repeat(lists.weights, np.diff(lists.starts))
    counted = np.bincount(lists.items, weights, minlength=lists.universe)
    return counted.astype(np.int64)


def pair_counts(lists: Lists, items: Int64Array) -> Int64Array:
    """Number of records that hold each pair of ``items``: the upper triangle, row by row."""
    place_of = np.full(lists.universe, -1, np.int64)
    place_of[items] = np.arange(len(items))
    held = np.repeat(np.arange(len(lists.weights)), np.diff(lists.starts))
    places = place_of[lists.items]
    among = places >= 0
    holds = np.zeros((len(lists.weights), len(items)), np.float32)
    holds[held[among], places[among]] = 1.0
    together = (holds * lists.weights[:, None].astype(np.float64)).T @ holds
    rows, columns = np.triu_indices(len(items), 1)
    counts: Int64Array = np.rint(together[rows, columns]).astype(np.int64)
    return counts


def _answers(lists: Lists, asked: Int32Array, wanted: int) -> Int64Array:
    """For every query, the number of records that hold exactly ``wanted`` of its items."""
    counts = parallel.over_blocks(
        lambda first, last: _count_matches(lists, asked[first:last], wanted),
        np.arange(len(asked) + 1),
    )
    return np.concatenate(counts)


@kernel
def _count_matches(lists: Lists, asked: Int32Array, wanted: int) -> Int64Array:
    counts = np.zeros(len(asked), np.int64)
    in_query = np.zeros(lists.universe, np.bool_)
    for query in range(len(asked)):
        for item in asked[query]:
            in_query[item] = True
        for record in range(lists.weights.size):
            held = 0
            for at in range(lists.starts[record], lists.starts[record + 1]):
                held += in_query[lists.items[at]]
            if held == wanted:
                counts[query] += lists.weights[record]
        for item in asked[query]:
            in_query[item] = False
    return counts


@kernel
def _errors(
    graph: Graph,
    sets: Sets,
    votes: Votes,
    first: int,
    last: int,
    ratios: Float64Array,
    flips: Float64Array,
) -> None:
    """By row: the means over its preimages of flipped bits per item held, and of flipped bits."""
    in_base = np.zeros(sets.universe, np.bool_)
    for row in range(first, last):
        begin, end = votes.base_starts[row], votes.base_starts[row + 1]
        for at in range(begin, end):
            in_base[votes.base[at]] = True
        block = votes.block_of[row]
        degree = graph.degrees[block]
        ratio, flipped = 0.0, 0
        for layer in range(degree):
            place = preimage(graph, block, votes.place_of[row], layer)
            original = graph.members[graph.starts[block] + place]
            size = sets.starts[original + 1] - sets.starts[original]
            different = end - begin + size
            for at in range(sets.starts[original], sets.starts[original + 1]):
                different -= 2 * in_base[sets.items[at]]
            flipped += different
            ratio += different / max(size, 1)
        ratios[row], flips[row] = ratio / degree, flipped / degree
        for at in range(begin, end):
            in_base[votes.base[at]] = False
