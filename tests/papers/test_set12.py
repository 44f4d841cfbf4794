"""Golden values printed in SET12: Tables 1 to 5, the running example, votes, possible worlds."""

from __future__ import annotations

import numpy as np
import pytest

from mottle.assignment import assign, check_assignment
from mottle.graph.bit_voting import vote
from mottle.graph.model import Graph
from mottle.itemsets.data import ItemSets
from mottle.itemsets.gray import gray_order
from mottle.itemsets.hamming import steps
from mottle.methods.sets.gray_ring import ring
from mottle.orderings.gray_tsp import gray_tsp_order
from mottle.release.possible_worlds import PossibleWorlds
from mottle.utils.csprng import Secret

SPORTS = ["1 jogging", "2 swimming", "3 tennis", "4 soccer"]  # in the order of the table's columns
TABLE_1 = {"r1": "1100", "r2": "0110", "r3": "1101", "r4": "0111", "r5": "1110", "r6": "1011"}
TABLE_3 = {  # base bitmap, distance bitmap, threshold
    "r1": ("1101", "1011", 2),
    "r2": ("1110", "1101", 2),
    "r3": ("0111", "1011", 2),
    "r4": ("0111", "1101", 2),
    "r5": ("1100", "0011", 1),
    "r6": ("1110", "0111", 2),
}
TABLE_4 = {
    "r1": {"r1", "r3", "r4"},
    "r2": {"r2", "r5", "r6"},
    "r3": {"r2", "r3", "r4"},
    "r4": {"r2", "r4", "r6"},
    "r5": {"r1", "r3", "r5"},
    "r6": {"r1", "r5", "r6"},
}
GRAY_TSP = ["r2", "r4", "r3", "r1", "r5", "r6"]  # one of three shortest paths from r2 to r6


def items(bitmap: str) -> list[str]:
    return [sport for sport, bit in zip(SPORTS, bitmap, strict=True) if bit == "1"]


def bitmap(codes: np.ndarray) -> str:
    return "".join("1" if place in codes else "0" for place in range(len(SPORTS)))


@pytest.fixture(scope="module")
def sports() -> ItemSets:
    data = ItemSets.of([items(bits) for bits in TABLE_1.values()])
    assert data.names.to_pylist() == SPORTS
    return data


def names(order: np.ndarray) -> list[str]:
    return [list(TABLE_1)[record] for record in order]


def test_table_5_gray_codes_of_0_to_7_have_their_numbers_as_ranks() -> None:
    codes = ["000", "001", "011", "010", "110", "111", "101", "100"]
    shuffled = np.random.default_rng(1).permutation(8)
    data = ItemSets.of(
        [
            [place for place in "abc" if codes[number]["abc".index(place)] == "1"]
            for number in shuffled
        ]
    )
    assert shuffled[gray_order(data.sets())].tolist() == list(range(8))


def test_cyclic_sums_fall_from_14_to_12_to_10(sports: ItemSets) -> None:
    sets = sports.sets()
    assert steps(sets, np.arange(6)).sum() == 14
    gray = gray_order(sets)
    assert names(gray) == ["r2", "r4", "r1", "r3", "r5", "r6"]
    assert steps(sets, gray).sum() == 12
    for genetic in (False, True):
        order = gray_tsp_order(sets, seed=1, genetic=genetic)
        assert (names(order)[0], names(order)[-1]) == ("r2", "r6")
        assert steps(sets, order).sum() == 10
    paper = np.array([list(TABLE_1).index(record) for record in GRAY_TSP])
    assert steps(sets, paper).sum() == 10


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Figure 1(a): a record goes to itself and its successors, so preimages are predecessors."""
    return ring(np.array([list(TABLE_1).index(record) for record in GRAY_TSP[::-1]]), 3)


def test_table_4_who_matches_whom(graph: Graph) -> None:
    assert graph.check_regular(3) == (3, 3)
    for position in range(6):
        (published,) = names(graph.members[[position]])
        assert set(names(graph.members[graph.preimages(position)])) == TABLE_4[published]


def test_table_3_bases_distance_bitmaps_and_thresholds(graph: Graph, sports: ItemSets) -> None:
    votes = vote(graph, sports.sets())
    for position in range(6):
        row = votes.row_of[position]
        base = votes.base[votes.base_starts[row] : votes.base_starts[row + 1]]
        uncertain = votes.uncertain[votes.uncertain_starts[row] : votes.uncertain_starts[row + 1]]
        (published,) = names(graph.members[[position]])
        found = bitmap(base), bitmap(uncertain), int(votes.distance[row])
        assert found == TABLE_3[published]


def test_figure_5_the_ring_falls_into_three_disjoint_assignments(graph: Graph) -> None:
    drawn = {tuple(assign(graph, Secret.draw(seed))) for seed in range(60)}
    for truth in drawn:
        assert check_assignment(graph, np.array(truth, np.int32)) == 6
    assert len(drawn) > 3  # not one fixed triple: which three are on offer is random too


def test_votes_of_three_bitmaps_that_no_preimage_equals() -> None:
    data = ItemSets.of([items("1100"), items("1011"), items("0101")])
    votes = vote(ring(np.arange(3), 3), data.sets())
    assert bitmap(votes.base) == "1101"


def test_possible_worlds_of_r5() -> None:
    worlds = PossibleWorlds(frozenset(items("1100")), frozenset(items("0011")), 1)
    expected = [frozenset(items(bits)) for bits in ("1100", "1110", "1101")]
    assert list(worlds) == expected
    assert worlds.count() == 3
    assert all(world in worlds for world in expected)
    assert items("1111") not in worlds
    assert items("0100") not in worlds
