"""Invariant 6: records with too many preimages of one person are found, in every shape of block."""

from __future__ import annotations

import numpy as np
import pytest

from mottle.errors import GuaranteeError, PrivacyError
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.guarantees.people import ChunkShareError, check_feasible, check_shares, people_of_keys


def demand(k: int, *people: int) -> Demand:
    return Demand(k, people=np.array(people, np.int32))


def ring(size: int, degree: int) -> Graph:
    return Graph.rings(np.arange(size), np.array([0, size]), np.array([degree]))


def test_without_people_nothing_is_measured() -> None:
    assert check_shares(ring(4, 2), Demand(2)) == {}


def test_people_far_enough_apart_pass() -> None:
    assert check_shares(ring(6, 3), demand(3, 0, 1, 2, 0, 1, 2)) == {"largest_share": 1 / 3}


def test_people_too_close_on_a_ring_are_found() -> None:
    with pytest.raises(PrivacyError, match=r"Invariant 6.* of 1 records"):
        check_shares(ring(6, 3), demand(3, 0, 1, 0, 2, 3, 4))  # the window 0 .. 2


def test_a_larger_degree_allows_several_rows() -> None:
    assert check_shares(ring(6, 4), demand(2, 0, 0, 1, 1, 2, 2))["largest_share"] == 0.5
    with pytest.raises(PrivacyError, match="Invariant 6"):
        check_shares(ring(6, 4), demand(2, 0, 0, 0, 1, 2, 3))


def test_a_complete_block_is_judged_as_a_whole() -> None:
    assert check_shares(ring(4, 4), demand(2, 5, 5, 6, 7))["largest_share"] == 0.5
    with pytest.raises(PrivacyError, match="of 4 records"):
        check_shares(ring(4, 4), demand(2, 5, 5, 5, 7))


def test_edges_and_blocks_are_followed_to_the_rows() -> None:
    edges = np.array([[0, 1], [1, 2], [2, 0], [0, 1], [1, 0]])
    graph = Graph.explicit(np.array([4, 3, 2, 1, 0]), np.array([0, 3, 5]), np.array([2, 2]), edges)
    assert check_shares(graph, demand(2, 0, 1, 2, 1, 0))["largest_share"] == 0.5
    with pytest.raises(PrivacyError, match="of 2 records"):  # rows 0 and 1 are the second block
        check_shares(graph, demand(2, 9, 9, 2, 1, 0))


def test_persons_of_another_table_are_refused() -> None:
    with pytest.raises(PrivacyError, match="not those of the table"):
        check_shares(ring(4, 2), demand(2, 0, 1))


def test_the_largest_feasible_k_is_named_and_nobody() -> None:
    check_feasible("patient", 5, 50, 10)
    with pytest.raises(GuaranteeError, match="one person has 11 of 50 rows") as refused:
        check_feasible("patient", 5, 50, 11)
    assert "largest feasible k is 4" in refused.value.remedy
    assert "--per-person aggregate" in refused.value.remedy
    with pytest.raises(GuaranteeError, match="more than half"):
        check_feasible("patient", 2, 50, 26)


def test_chunks_number_their_people() -> None:
    assert people_of_keys(np.array([70, -3, 70, 12]), 2).tolist() == [2, 0, 2, 1]
    with pytest.raises(ChunkShareError, match="worked on at once"):
        people_of_keys(np.array([70, -3, 70, 12]), 3)
