"""freeform for sets: regular, monotone, better than rings, and valid whenever it is stopped."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mottle
from mottle.graph.bit_voting import vote
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import ItemSets
from mottle.loss.set_errors import error
from mottle.methods import MethodContext
from mottle.methods.sets import registered
from mottle.methods.sets.freeform import freeform


@pytest.fixture(scope="module")
def baskets() -> ItemSets:
    return mottle.datasets.baskets(900, items=80, size=8, seed=1)


def rate(data: ItemSets, method: str, k: int, effort: MethodContext) -> float:
    sets = data.sets()
    graph = registered()[method].arrange(sets, Demand(k), effort).graph
    assert graph.check_regular(k) == (k, k)
    return error(graph, sets, vote(graph, sets)).rate


@given(st.lists(st.sets(st.sampled_from("abcdef")), min_size=2, max_size=25), st.data())
@settings(max_examples=40)
def test_any_sets_get_a_regular_graph(lists: list[set[str]], data: st.DataObject) -> None:
    k = data.draw(st.integers(2, len(lists)))
    effort = MethodContext(data.draw(st.sampled_from([0.0, None])), seed=1)
    rate(ItemSets.of(lists), "freeform", k, effort)


@pytest.mark.parametrize("k", [3, 6])
def test_what_it_tells_falls_and_is_the_error_rate_in_the_end(baskets: ItemSets, k: int) -> None:
    reported: list[float] = []
    found = rate(baskets, "freeform", k, MethodContext(None, 1, reported.append))
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(reported))
    assert reported[-1] < reported[0]
    assert found == pytest.approx(reported[-1], rel=1e-3)  # weights are whole numbers


@pytest.mark.parametrize("k", [2, 5, 10])
def test_it_loses_a_tenth_less_than_the_ring(baskets: ItemSets, k: int) -> None:
    ring = rate(baskets, "gray-tsp-ring", k, MethodContext(seed=1))
    assert rate(baskets, "freeform", k, MethodContext(None, seed=1)) < 0.9 * ring


def test_identical_records_lose_nothing() -> None:
    data = ItemSets.of(["ab", "ab", "c", "c", "", ""] * 5)
    assert rate(data, "freeform", 10, MethodContext(None, seed=1)) == 0.0


def test_interrupting_the_refinement_leaves_a_valid_graph(baskets: ItemSets) -> None:
    reported: list[float] = []

    def on_progress(loss: float) -> None:
        reported.append(loss)
        if len(reported) == 3:
            raise KeyboardInterrupt

    arrangement = freeform(baskets.sets(), Demand(4), MethodContext(None, 1, on_progress))
    assert arrangement.facts["refinement"] == {"passes": 2, "ended": "interrupted"}
    assert arrangement.graph.check_regular(4) == (4, 4)


def test_without_time_sparse_records_are_dealt_by_what_they_share(baskets: ItemSets) -> None:
    arrangement = freeform(baskets.sets(), Demand(4), MethodContext(0.0, 1))
    assert arrangement.facts["refinement"] is None
    assert arrangement.facts["clusters"] > 10  # type: ignore[operator]


def test_dense_records_are_matched() -> None:
    random = np.random.default_rng(1)
    lists = [np.flatnonzero(random.random(40) < 0.7) for _ in range(200)]
    arrangement = freeform(ItemSets.of(lists).sets(), Demand(4), MethodContext(0.0, 1))
    assert arrangement.facts["clusters"] == 0
    assert arrangement.graph.check_regular(4) == (4, 4)


@pytest.mark.parametrize("k", [2, 3])
def test_parts_are_joined_to_one_regular_graph(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    monkeypatch.setattr("mottle.methods.sets.freeform.PART", 100)
    data = mottle.datasets.baskets(450, items=60, size=6, seed=2)
    assert rate(data, "freeform", k, MethodContext(0.0, seed=1)) < rate(
        data, "gray-ring", k, MethodContext()
    )
