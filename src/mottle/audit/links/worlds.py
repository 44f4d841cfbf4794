"""The worlds among which a draw chose: who could have had whose values, given the graph.

The published values stay where they are, and people are given the values of other matches, as the
certified draw could have done: any order within a complete block, any permutation of the buckets of
a table, any turn of a ring. Only one table or block changes at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from math import factorial

import numpy as np

from mottle.audit.links.edges import Edges
from mottle.typing import Int64Array

# For the people of one group: the person whose true record each of them has in a world.
World = Int64Array


class WorldGroup:
    """The people of a group that is drawn together, and the worlds in which they may be.

    Parameters
    ----------
    people : Int64Array
        The people of the group.
    count : int
        The number of worlds, equally likely.
    every : callable
        Iterates over all worlds.
    draw : callable
        Draws one of them.
    """

    def __init__(
        self,
        people: Int64Array,
        count: int,
        every: Callable[[], Iterator[World]],
        draw: Callable[[np.random.Generator], World],
    ) -> None:
        self.people = people
        self.count = count
        self.every = every
        self.draw = draw


def world_groups(edges: Edges, draw: str, tables: Int64Array) -> list[WorldGroup]:
    """All groups of a release, by their smallest member.

    Parameters
    ----------
    edges : Edges
        The links.
    draw : str
        How the true assignment was drawn.
    tables : Int64Array
        [people]: the block of everybody, or the table of blocks whose buckets move together.

    Returns
    -------
    list of WorldGroup
        Blocks that are walked over are left out: their graph does not depend on values.
    """
    matches = np.bincount(edges.originals, minlength=edges.records)
    blocks = edges.clusters
    number = np.unique(blocks, return_inverse=True)[1].ravel()
    complete = matches == np.bincount(number)[number]
    order = np.argsort(tables, kind="stable")
    cuts = np.flatnonzero(np.diff(tables[order])) + 1
    groups = []
    for people in np.split(order, cuts):
        degree = int(matches[people[0]])
        if len(np.unique(blocks[people])) == 1 and complete[people[0]]:
            groups.append(_any_order(people))
        elif draw in ("buckets", "rotation"):
            of_buckets = draw == "buckets"
            choices = _choices(edges, people, degree, buckets=of_buckets)
            groups.append((_permuted if of_buckets else _turned)(people, choices))
    return groups


def _any_order(people: Int64Array) -> WorldGroup:
    """A complete block: everybody may have anybody's record."""
    return WorldGroup(
        people,
        factorial(len(people)) if len(people) <= 12 else 2**62,
        lambda: (people[list(order)] for order in permutations(range(len(people)))),
        lambda random: random.permutation(people),
    )


def _choices(edges: Edges, people: Int64Array, degree: int, *, buckets: bool) -> Int64Array:
    """[people, degree]: whose record a person has if the draw picks a bucket, or a layer.

    Which bucket a record was published for is shown by the layer of its true original.
    """
    starts, records = edges.matches
    layer = np.zeros(edges.records, np.int64)
    layer[edges.originals] = edges.layers
    by_original = np.argsort(edges.originals, kind="stable")
    place = np.repeat(starts[people], degree) + np.tile(np.arange(degree), len(people))
    owners = edges.truth[records[place]].astype(np.int64)
    column = layer[owners] if buckets else edges.layers[by_original][place].astype(np.int64)
    choices = np.empty((len(people), degree), np.int64)
    choices[np.repeat(np.arange(len(people)), degree), column] = owners
    return choices


def _permuted(people: Int64Array, choices: Int64Array) -> WorldGroup:
    """A table: people of bucket b have the records that show bucket π(b)."""
    degree = choices.shape[1]
    rows = np.arange(len(people))
    bucket = np.argmax(choices == people[:, None], axis=1)  # everybody's own record is among them

    def world(order: Int64Array) -> World:
        return np.asarray(choices[rows, order[bucket]], np.int64)

    return WorldGroup(
        people,
        factorial(degree) if degree <= 12 else 2**62,
        lambda: (world(np.array(order)) for order in permutations(range(degree))),
        lambda random: world(random.permutation(degree)),
    )


def _turned(people: Int64Array, choices: Int64Array) -> WorldGroup:
    """A ring: everybody has the record of the same layer."""
    degree = choices.shape[1]
    return WorldGroup(
        people,
        degree,
        lambda: (choices[:, layer] for layer in range(degree)),
        lambda random: choices[:, int(random.integers(degree))],
    )
