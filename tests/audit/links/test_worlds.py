"""Worlds: exactly the assignments that the certified draw could have made, each once."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from mottle.assignment import assign
from mottle.audit.containment.coded_columns import offsets_of
from mottle.audit.links.edges import Edges
from mottle.audit.links.worlds import world_groups
from mottle.graph.model import Graph
from mottle.utils.csprng import Secret

RING = [[place, (place + 1) % 5, (place + 2) % 5] for place in range(5)]
TABLE = [[b * 2 + (place + b * (place // 2)) % 2 for b in range(3)] for place in range(6)]


def drawn(rows: list[list[int]], draw: str, seed: int) -> np.ndarray:
    """The true originals of one block."""
    graph = Graph.explicit(
        np.arange(len(rows)),
        np.array([0, len(rows)]),
        np.array([len(rows[0])]),
        np.array(rows),
    )
    return assign(graph, Secret.draw(seed=seed), draw)


def edges_of(rows: list[list[int]], truth: np.ndarray) -> Edges:
    return Edges(
        offsets_of(np.array([len(row) for row in rows])),
        np.array(rows, np.int32).ravel(),
        truth.astype(np.int32),
        np.zeros(len(rows), np.int32),
    )


@pytest.mark.parametrize(("rows", "draw"), [(RING, "rotation"), (TABLE, "buckets")])
def test_worlds_are_what_the_draw_could_have_made(rows, draw):
    edges = edges_of(rows, drawn(rows, draw, 3))
    (group,) = world_groups(edges, draw, edges.clusters)
    worlds = [tuple(world) for world in group.every()]
    assert len(set(worlds)) == len(worlds) == group.count
    owner = edges.truth
    possible = set()
    for seed in range(200):
        record_of = np.argsort(drawn(rows, draw, seed))
        possible.add(tuple(owner[record_of]))
    assert set(worlds) == possible
    assert tuple(range(len(rows))) in possible  # the true world
    random = np.random.default_rng(0)
    assert {tuple(group.draw(random)) for _ in range(300)} == possible


def test_in_a_complete_block_everybody_may_be_anybody():
    rows = [list(range(4))] * 4
    edges = edges_of(rows, drawn(rows, "closed", 1))
    (group,) = world_groups(edges, "closed", edges.clusters)
    assert {tuple(world) for world in group.every()} == set(permutations(range(4)))
    assert group.count == 24


def test_parts_of_a_table_move_together():
    """Two parts with one numbering: a permutation of three buckets, not one for each part."""
    second = [[place + 6 for place in row] for row in TABLE]
    truth = np.concatenate([drawn(TABLE, "buckets", 1), 6 + drawn(TABLE, "buckets", 2)])
    edges = edges_of(TABLE + second, truth)
    (group,) = world_groups(edges, "buckets", np.zeros(12, np.int64))
    assert (len(group.people), group.count) == (12, 6)
    bucket = np.tile(np.repeat(np.arange(3), 2), 2)
    for world in group.every():
        moved = {(int(bucket[person]), int(bucket[other])) for person, other in enumerate(world)}
        assert len(moved) == 3  # every bucket has the values of one other, in both parts


def test_walks_over_other_blocks_have_no_worlds():
    edges = edges_of(RING, drawn(RING, "closed", 1))
    assert world_groups(edges, "closed", edges.clusters) == []
