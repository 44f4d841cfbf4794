"""SortGreedy: the lightest pair first, whichever original it belongs to (HKA15 section IV).

Its equality with Algorithm 2 over all pairs is tested with Greedy's, in test_greedy.py.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import Schema, datasets, methods
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.loss.ncp import measure
from mottle.methods.hka15.sortgreedy import _sift_down
from mottle.schema.model import Representation


def codes_of(table: pa.Table) -> Codes:
    return encode(table, Schema.of(quasi_identifying=table.column_names), Representation.RANGE)


def loss(method: str, codes: Codes, k: int) -> float:
    graph = methods.get(method).arrange(codes, Demand(k), methods.MethodContext()).graph
    return measure(cover(graph, codes), codes).gcp


def test_light_edge_is_kept_from_an_original_whose_turn_comes_earlier():
    """e_{k,j} is lighter than e_{i,j} though S_i is processed first: the example of section IV."""
    codes = codes_of(pa.table({"a": [0, 4, 5, 9]}))
    graph = methods.get("sortgreedy").arrange(codes, Demand(2), methods.MethodContext()).graph
    assert graph.edges.reshape(-1, 2)[:, 1].tolist() == [3, 2, 1, 0]
    graph = methods.get("greedy").arrange(codes, Demand(2), methods.MethodContext()).graph
    assert graph.edges.reshape(-1, 2)[:, 1].tolist() == [3, 0, 1, 2]


def test_loses_less_than_greedy_on_a_population():
    people = datasets.population(1500, seed=1).select(["age", "sex", "diagnosis"])
    codes = codes_of(people)
    assert loss("sortgreedy", codes, 5) < loss("greedy", codes, 5)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_result_does_not_depend_on_the_number_of_threads(threads: str, monkeypatch):
    codes = codes_of(datasets.population(600, seed=3).select(["age", "sex", "diagnosis"]))
    monkeypatch.setenv("MOTTLE_THREADS", threads)
    edges = methods.get("sortgreedy").arrange(codes, Demand(4), methods.MethodContext()).graph.edges
    monkeypatch.setenv("MOTTLE_THREADS", "2")
    other = methods.get("sortgreedy").arrange(codes, Demand(4), methods.MethodContext()).graph.edges
    assert np.array_equal(edges, other)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_heap_gives_originals_by_weight_then_position(weights: list[int]):
    weight = np.array(weights, np.float64)
    heap = np.argsort(weight, kind="stable")
    weight[heap[0]] += 2  # the top became heavier and sinks
    _sift_down(heap, len(heap), weight)
    popped = []
    for size in range(len(heap) - 1, -1, -1):
        popped.append(heap[0])
        heap[0] = heap[size]
        _sift_down(heap, size, weight)
    assert popped == sorted(range(len(weights)), key=lambda original: (weight[original], original))
