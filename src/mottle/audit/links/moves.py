"""What a draw moves as a whole, and beliefs about where it went.

A draw moves *units* of people onto units of records: a bucket of a table onto a bucket, a person
of a complete block or of a walk onto a record; a ring is turned by one of its layers. A *move* is a
pair of units. All edges of a move are true together or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from mottle.audit.links.edges import Edges
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_ALL_PERMUTATIONS = 6  # units of the largest blocks whose permutations are all weighed
_ROUNDS = 12  # alternations that make the beliefs of larger blocks add up for either side


@dataclass(frozen=True, repr=False)
class Moves:
    """The moves of a graph under a draw."""

    move: Int64Array  # [edges]: the move that each edge is part of
    of_people: Int64Array  # [moves]: the unit of people
    of_records: Int64Array  # [moves]: the unit of records
    turned: BoolArray  # [moves]: whether a ring is turned, so that units of records do not compete
    squares: tuple[Int64Array, ...]  # each [blocks, units, units]: the moves of small blocks

    @classmethod
    def of(cls, edges: Edges, draw: str) -> Moves:
        """The moves of all edges; units of records are told apart by around whom they are."""
        numbers, block = np.unique(edges.clusters[edges.truth], return_inverse=True)
        degrees = np.zeros(len(numbers), np.int64)
        degrees[block] = edges.degrees
        complete = degrees == np.bincount(block)
        in_block = block[edges.published]
        together = (~complete & (draw in ("buckets", "rotation")))[in_block]
        turned = together & (draw == "rotation")
        bucket = in_block * (int(edges.degrees.max()) + 1)
        centre = edges.truth if edges.centres is None else edges.centres
        # numbers of buckets and rings begin after those of single people and records
        people = np.where(together, edges.records + bucket, edges.originals)
        people += np.where(together & ~turned, edges.layers, 0)
        layer = np.where(turned, edges.layers, _layers_of(edges, centre)[edges.published])
        records = np.where(together, edges.records + bucket + layer, edges.published)
        order = np.lexsort((records, people, in_block))
        begins = np.ones(len(order), np.bool_)
        begins[1:] = (np.diff(people[order]) != 0) | (np.diff(records[order]) != 0)
        move = np.empty(len(order), np.int64)
        move[order] = np.cumsum(begins) - 1
        first = order[begins]
        return cls(
            move,
            people[first],
            records[first],
            turned[first],
            _squares(in_block[first], people[first], turned[first]),
        )

    def beliefs(self, scores: Float64Array) -> Float64Array:
        """[moves]: the probability of each, given the logarithm of its likelihood."""
        found = np.empty(len(scores))
        rest = np.ones(len(scores), np.bool_)
        for square in self.squares:
            found[square] = _permuted(scores[square])
            rest[square] = False
        found[rest] = _balanced(
            scores[rest], self.of_people[rest], self.of_records[rest], self.turned[rest]
        )
        return found


def _layers_of(edges: Edges, originals: Int32Array) -> Int64Array:
    """For each record: the layer of the given original among its preimages; 0 if it is none."""
    layers = np.zeros(edges.records, np.int64)
    found = np.flatnonzero(edges.originals == originals[edges.published])
    layers[edges.published[found]] = edges.layers[found]
    return layers


def _squares(block: Int64Array, people: Int64Array, turned: BoolArray) -> tuple[Int64Array, ...]:
    """The moves of blocks of few units, in which every unit may move to every other.

    Moves are given in the order of blocks and units.
    """
    _, first, moves = np.unique(block, return_index=True, return_counts=True)
    units = np.add.reduceat(np.diff(people, prepend=-1) != 0, first, dtype=np.int64)
    found = []
    for size in range(1, _ALL_PERMUTATIONS + 1):
        chosen = first[(units == size) & (moves == size**2) & ~turned[first]]
        if len(chosen):
            found.append(chosen[:, None, None] + np.arange(size**2).reshape(size, size))
    return tuple(found)


def _balanced(
    scores: Float64Array, people: Int64Array, records: Int64Array, turned: BoolArray
) -> Float64Array:
    """Likelihoods scaled so that they add up to 1 for every unit of people and of records.

    That is close to the share of each move in all permutations, weighed by their likelihood.
    """
    if len(scores) == 0:
        return scores
    _, people = np.unique(people, return_inverse=True)
    _, records = np.unique(records, return_inverse=True)
    highest = np.full(int(people.max()) + 1, -np.inf)
    np.maximum.at(highest, people, scores)
    found = np.exp(scores - highest[people]) + 1e-12
    for _ in range(_ROUNDS):
        found = np.where(turned, found, found / np.bincount(records, found)[records])
        found = found / np.bincount(people, found)[people]
    return np.asarray(found)


def _permuted(scores: Float64Array) -> Float64Array:
    """Probability of every move [blocks, units, units], all permutations weighed by their scores.

    >>> _permuted(np.log([[[2.0, 1.0], [1.0, 2.0]]])).round(3).tolist()
    [[[0.8, 0.2], [0.2, 0.8]]]
    """
    size = scores.shape[1]
    orders = list(permutations(range(size)))
    units = np.arange(size)
    total = np.stack([scores[:, units, order].sum(axis=1) for order in orders], axis=1)
    chance = np.exp(total - total.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    found = np.zeros(scores.shape)
    for number, order in enumerate(orders):
        found[:, units, order] += chance[:, number, None]
    return found
