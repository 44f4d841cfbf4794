"""The heart of the proof: all worlds that a release leaves open lead to the same cuts.

A table is cut. Then the values of its records are exchanged, either bucket by bucket in every
table, as another draw would have it, or at random inside blocks; and the tree is grown again from
the same first wave as released and the same quasi-identifiers.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import BetaLikeness, Guarantee, LDiversity, Schema
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.graph.model import Graph
from mottle.methods import Arrangement, MethodContext
from mottle.methods.buckets import buckets as module
from mottle.methods.buckets import tree, waves
from mottle.methods.buckets.buckets import buckets
from mottle.methods.buckets.tree import CutError
from mottle.schema.model import Representation

ROWS = 3000
SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "education", "workclass"],
    sensitive=["illness"],
    rest="insensitive",
)


class Run:
    """A run on people whose illnesses depend on their age, and how to repeat its cuts."""

    def __init__(self, guarantee: Guarantee, monkeypatch: pytest.MonkeyPatch) -> None:
        people = mottle.datasets.population(ROWS, seed=1)
        random = np.random.default_rng(1)
        age = people.column("age").to_numpy()
        shift = np.where(random.random(ROWS) < 0.3, age // 20, 0)
        illness = (random.choice(8, ROWS, p=np.arange(12, 4, -1) / 68) + shift) % 8
        table = people.append_column("illness", pa.array([f"v{value}" for value in illness]))
        schema = SCHEMA.covering(table.column_names)
        demand = guarantee.demand(ROWS, encode_sensitive(table, schema))
        self._calls: list[tuple] = []
        self._cut = module._cut

        def spy(*arguments):
            self._calls.append(arguments)
            return self._cut(*arguments)

        monkeypatch.setattr(waves, "_FEWEST", 100)
        monkeypatch.setattr(module, "_cut", spy)
        codes = encode(table, schema, Representation.RANGE)
        self.arranged: Arrangement = buckets(codes, demand, MethodContext(0))
        self.values = demand.values

    def blocks(self, values: np.ndarray | None = None) -> list[list[int]]:
        """The blocks of all tiers, if records had other values; none if a cut fails."""
        found = []
        for run, *others in self._calls:
            codes = run.demand.sensitive_codes if values is None else values[:, None]
            demand = replace(run.demand, sensitive_codes=codes)
            try:
                found += self._cut(run._replace(demand=demand), *others)
            except CutError:
                return []
        return [block.tolist() for block in found]


def by_other_draws(graph: Graph, values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The world in which what is published was drawn by other permutations of the buckets."""
    other = values.copy()
    for block, (start, end) in enumerate(pairwise(graph.starts.tolist())):
        degree = int(graph.degrees[block])
        edges = graph.edges[graph.edge_starts[block] :][: (end - start) * degree]
        edges = edges.reshape(-1, degree)
        members = graph.members[start:end]
        bucket = np.arange(end - start) // ((end - start) // degree)
        true, otherwise = random.permutation(degree), random.permutation(degree)
        published = values[members[edges[np.arange(len(edges)), true[bucket]]]]
        other[members[edges[np.arange(len(edges)), otherwise[bucket]]]] = published
    return other


def shuffled_inside(
    blocks: list[list[int]], values: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    other = values.copy()
    for block in blocks:
        other[block] = values[random.permutation(block)]
    return other


GUARANTEES = [LDiversity(2), LDiversity(3), BetaLikeness(2)]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_cuts_are_the_same_in_all_worlds_that_a_release_leaves_open(guarantee, monkeypatch):
    run = Run(guarantee, monkeypatch)
    blocks = run.blocks()
    assert len(blocks) >= 6
    random = np.random.default_rng(2)
    for _ in range(2):
        for world in (
            by_other_draws(run.arranged.graph, run.values, random),
            shuffled_inside(blocks, run.values, random),
        ):
            assert np.mean(world != run.values) > 0.3
            assert np.array_equal(np.bincount(world), np.bincount(run.values))
            assert run.blocks(world) == blocks


@pytest.mark.parametrize("guarantee", GUARANTEES[:2], ids=str)
def test_cuts_that_follow_the_values_of_records_differ(guarantee, monkeypatch):
    """Planted: predictions that are made from the values of the records themselves."""
    honest = tree.summary

    def looking(known, codes, values, shares, node):
        mine = np.eye(shares.shape[1], dtype=np.float32)[known.association.class_of[values]]
        return honest(known, codes, values, (shares + mine) / 2, node)

    monkeypatch.setattr(tree, "summary", looking)
    run = Run(guarantee, monkeypatch)
    blocks = run.blocks()
    assert len(blocks) >= 6
    random = np.random.default_rng(2)
    assert run.blocks(by_other_draws(run.arranged.graph, run.values, random)) != blocks
    assert run.blocks(shuffled_inside(blocks, run.values, random)) != blocks
