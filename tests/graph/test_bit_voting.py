"""Bit voting and possible worlds against enumeration; the invariant notices what is wrong."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import PrivacyError
from mottle.graph.bit_voting import Votes, check_worlds, vote
from mottle.graph.model import Graph
from mottle.itemsets.data import ItemSets
from mottle.release.possible_worlds import PossibleWorlds

ITEMS = "abcdef"
records = st.lists(st.sets(st.sampled_from(ITEMS)), min_size=2, max_size=12)


def all_sets() -> list[frozenset[str]]:
    sizes = range(len(ITEMS) + 1)
    return [frozenset(found) for size in sizes for found in combinations(ITEMS, size)]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[ItemSets, Graph]:
    lists = draw(records)
    members = np.array(draw(st.permutations(range(len(lists)))), np.int32)
    cut = draw(st.integers(0, len(lists) - 1))
    starts = np.array(sorted({0, cut, len(lists)}), np.int64)
    degrees = np.array([draw(st.integers(1, size)) for size in np.diff(starts).tolist()], np.int32)
    return ItemSets.of(lists), Graph.rings(members, starts, degrees)


def published(votes: Votes, data: ItemSets, position: int) -> PossibleWorlds:
    row = votes.row_of[position]
    names = data.names.to_pylist()
    base = votes.base[votes.base_starts[row] : votes.base_starts[row + 1]]
    uncertain = votes.uncertain[votes.uncertain_starts[row] : votes.uncertain_starts[row + 1]]
    assert np.all(np.diff(base) > 0)
    assert np.all(np.diff(uncertain) > 0)
    return PossibleWorlds(
        frozenset(names[item] for item in base),
        frozenset(names[item] for item in uncertain),
        int(votes.distance[row]),
    )


@given(graphs())
def test_every_item_is_voted_on_by_all_preimages(case: tuple[ItemSets, Graph]) -> None:
    data, graph = case
    votes = vote(graph, data.sets())
    for position in range(data.records):
        preimages = [
            frozenset(data.record(graph.members[place])) for place in graph.preimages(position)
        ]
        counts = Counter(chain.from_iterable(preimages))
        worlds = published(votes, data, position)
        assert worlds.base == {item for item, count in counts.items() if 2 * count > len(preimages)}
        assert worlds.uncertain == {
            item for item, count in counts.items() if count < len(preimages)
        }
        assert worlds.distance == max(len(worlds.base ^ preimage) for preimage in preimages)
        assert all(preimage in worlds for preimage in preimages)
    pairs = check_worlds(graph, data.sets(), votes)
    assert pairs == sum(
        int(size * degree) for size, degree in zip(graph.sizes, graph.degrees, strict=True)
    )


@given(st.sets(st.sampled_from(ITEMS)), st.sets(st.sampled_from(ITEMS)), st.integers(0, 7))
def test_worlds_are_what_enumeration_finds(
    base: set[str], uncertain: set[str], distance: int
) -> None:
    worlds = PossibleWorlds(frozenset(base), frozenset(uncertain), distance)
    found = [
        world for world in all_sets() if world ^ base <= uncertain and len(world ^ base) <= distance
    ]
    assert set(worlds) == set(found)
    assert worlds.count() == len(found) == len(list(worlds))
    assert [world in worlds for world in all_sets()] == [world in found for world in all_sets()]


def test_samples_are_uniform_over_the_worlds() -> None:
    worlds = PossibleWorlds(frozenset("ab"), frozenset("bcd"), 2)
    random = Random(1)
    drawn = Counter(worlds.sample(random) for _ in range(7000))
    assert set(drawn) == set(worlds)
    expected = 7000 / worlds.count()
    chi_square = sum((count - expected) ** 2 / expected for count in drawn.values())
    assert chi_square < 22.5  # 0.1 % quantile of six degrees of freedom


def test_a_thousand_uncertain_items_can_be_counted_and_sampled() -> None:
    uncertain = frozenset(map(str, range(1000)))
    worlds = PossibleWorlds(frozenset(), uncertain, 500)
    assert worlds.count() > 2**999
    assert worlds.sample(Random(1)) in worlds


@pytest.fixture
def voted() -> tuple[Graph, ItemSets, Votes]:
    data = ItemSets.of(["ab", "bc", "cd", "ad", "abcd"])
    graph = Graph.rings(np.arange(5), np.array([0, 5]), np.array([3]))
    return graph, data, vote(graph, data.sets())


def test_a_smaller_threshold_is_noticed(voted: tuple[Graph, ItemSets, Votes]) -> None:
    graph, data, votes = voted
    votes.distance[2] -= 1
    with pytest.raises(PrivacyError, match=r"Invariant 2: \d preimages"):
        check_worlds(graph, data.sets(), votes)


def test_an_uncertain_item_taken_for_certain_is_noticed(
    voted: tuple[Graph, ItemSets, Votes],
) -> None:
    graph, data, votes = voted
    first = votes.uncertain_starts[1]
    votes.uncertain[first] = (votes.uncertain[first] + 1) % 4
    votes.distance[:] = 4
    with pytest.raises(PrivacyError, match="Invariant 2"):
        check_worlds(graph, data.sets(), votes)


def test_a_changed_base_is_noticed(voted: tuple[Graph, ItemSets, Votes]) -> None:
    graph, data, votes = voted
    sizes = np.diff(votes.uncertain_starts)
    row = int(np.flatnonzero((sizes < 4) & (np.diff(votes.base_starts) > 0))[0])
    held = set(votes.uncertain[votes.uncertain_starts[row] : votes.uncertain_starts[row + 1]])
    (certain, *_) = set(range(4)) - held
    votes.base[votes.base_starts[row]] = certain
    with pytest.raises(PrivacyError, match="Invariant 2"):
        check_worlds(graph, data.sets(), votes)


def test_votes_of_another_graph_are_noticed(voted: tuple[Graph, ItemSets, Votes]) -> None:
    _, data, votes = voted
    other = Graph.rings(np.arange(5), np.array([0, 2, 5]), np.array([2, 3]))
    with pytest.raises(PrivacyError, match="not those of the graph"):
        check_worlds(other, data.sets(), votes)


def test_records_of_a_complete_block_share_one_row() -> None:
    data = ItemSets.of(["a", "b", "c", "d"] * 5)
    graph = Graph.rings(np.arange(20), np.array([0, 8, 20]), np.array([8, 3]))
    votes = vote(graph, data.sets())
    assert len(votes.distance) == 1 + 12
    assert votes.multiplicity.tolist() == [8] + [1] * 12
