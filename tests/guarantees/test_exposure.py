"""Shares of sensitive values among matches: measured right, and enforced."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.errors import PrivacyError
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.guarantees.exposure import check_within_caps, exposure


def demand_of(values, cap: float) -> Demand:
    values = np.array(values, np.int32)
    counts = np.bincount(values)
    return Demand(2, values[:, None], np.full(len(counts), cap), counts)


def shares_by_hand(graph: Graph, truth, values) -> list[float]:
    highest = []
    for original in range(graph.records):
        matches = [p for p in range(graph.records) if original in graph.preimages(p)]
        seen = [values[graph.members[truth[p]]] for p in matches]
        highest.append(max(seen.count(v) for v in seen) / len(seen))
    return highest


@given(st.integers(3, 9), st.integers(2, 3), st.integers(0, 10**6))
def test_agrees_with_counting_by_hand(size, degree, seed):
    random = np.random.default_rng(seed)
    graph = Graph.rings(
        random.permutation(2 * size), np.array([0, size, 2 * size]), np.array([degree, size])
    )
    truth = np.concatenate([(np.arange(size) + 1) % size, size + random.permutation(size)])
    values = random.integers(0, 3, 2 * size)
    values[:3] = [0, 1, 2]
    shares = shares_by_hand(graph, truth.astype(np.int32), values.tolist())
    found = exposure(graph, truth.astype(np.int32), demand_of(values, 0.5))
    assert found.violations == sum(share > 0.5 for share in shares)
    assert found.nearest == pytest.approx(max(shares) / 0.5)


def test_one_value_too_many_is_refused():
    ring = Graph.rings(np.arange(4), np.array([0, 4]), np.array([2]))
    truth = np.arange(4, dtype=np.int32)
    assert check_within_caps(ring, truth, demand_of([0, 1, 0, 1], 0.5))["individuals"] == 4
    with pytest.raises(PrivacyError, match="Invariant 4"):
        check_within_caps(ring, truth, demand_of([0, 1, 1, 2], 0.5))


def test_without_caps_there_is_nothing_to_check():
    ring = Graph.rings(np.arange(4), np.array([0, 4]), np.array([2]))
    assert check_within_caps(ring, np.arange(4, dtype=np.int32), Demand(2)) == {"capped_values": 0}


def test_every_system_of_marks_counts():
    ring = Graph.rings(np.arange(4), np.array([0, 4]), np.array([2]))
    marks = np.array([[0, 4], [1, 4], [2, 5], [3, 5]], np.int32)
    demand = Demand(2, marks, np.full(6, 0.5), np.array([1, 1, 1, 1, 2, 2]))
    found = exposure(ring, np.arange(4, dtype=np.int32), demand)
    assert found.violations == 2
    assert found.repeats == 0  # joint values all differ


@dataclass(frozen=True)
class AtLeast:
    """Among the matches of everybody are this many different values."""

    values: int

    def __call__(self, counts) -> bool:
        return int((counts > 0).sum()) >= self.values


@pytest.mark.parametrize("degrees", [[2, 3], [3, 3], [3, 2]])
def test_a_condition_on_matches_is_enforced_for_everybody(degrees):
    graph = Graph.rings(np.arange(6), np.array([0, 3, 6]), np.array(degrees))
    truth = np.arange(6, dtype=np.int32)
    demand = demand_of([0, 1, 2, 0, 0, 1], 1.0)
    fewest = min(
        len({int(demand.values[p]) for p in range(6) if original in graph.preimages(p)})
        for original in range(6)
    )
    check_within_caps(graph, truth, replace(demand, condition=AtLeast(fewest)))
    with pytest.raises(PrivacyError, match="break the condition of the guarantee"):
        check_within_caps(graph, truth, replace(demand, condition=AtLeast(fewest + 1)))
