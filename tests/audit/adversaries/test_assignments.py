"""Pruning: NH10's two traps are caught, sound releases pass, and links replace a search."""

from __future__ import annotations

import numpy as np
import pytest
from certificates import certificate

import mottle
from mottle import KAnonymity
from mottle.release.certificate import Certificate


def assignments(table, release, **options):
    return mottle.audit_release(table, release, adversaries=["assignments"], **options).findings


def promising(k: int) -> Certificate:
    return certificate(guarantee=KAnonymity(k).describe())


def test_table_4_of_nh10_is_caught(of_graph):
    """Originals 1..5, published 1-5, 2-3, 3-4, 3-4, 1-5: the second keeps one match."""
    ranges = [(1, 5), (2, 3), (3, 4), (3, 4), (1, 5)]
    graph = np.array([[low <= i <= high for low, high in ranges] for i in range(1, 6)])
    table, release = of_graph(graph, promising(2))
    linked = mottle.audit_release(table, release, adversaries=["linkage"]).findings[0]
    assert linked.passed  # the trap: everybody has two matches
    pruned, disjoint = assignments(table, release)
    assert (pruned.achieved, pruned.allowed, pruned.passed) == (1, 2, False)
    assert pruned.details["fewest_matches_before"] == 2
    assert (disjoint.achieved, disjoint.passed) == (1, False)


def figure_4() -> np.ndarray:
    """Figure 4 as far as its text goes: every way back to n1 leads over n5 → n6.

    Two complete graphs of three (a, b), every node with at least three edges in and three out.
    """
    both_ways = (
        "a1-a2 a1-a3 a2-a3 b1-b2 b1-b3 b2-b3 n2-a1 n2-n3 n3-a2 n3-n5 n5-a3"
        " n6-b1 n6-n4 n4-b1 n7-b2 n7-n8 n8-b3"
    )
    one_way = "n1-n2 n1-n3 n5-n6 n7-n1 n8-n1"
    names = [f"n{number}" for number in range(1, 9)] + ["a1", "a2", "a3", "b1", "b2", "b3"]
    graph = np.eye(len(names), dtype=bool)
    for way in f"{both_ways} {one_way}".split():
        tail, head = way.split("-")
        graph[names.index(tail), names.index(head)] = True
        graph[names.index(head), names.index(tail)] |= way in both_ways.split()
    return graph


def test_figure_4_of_nh10_is_caught(of_graph):
    """Three matches of everybody fit some assignment, but no three assignments are disjoint."""
    pruned, disjoint = assignments(*of_graph(figure_4(), promising(3)))
    assert (pruned.achieved, pruned.passed) == (3, True)
    assert (disjoint.achieved, disjoint.allowed, disjoint.passed) == (2, 3, False)


@pytest.mark.parametrize("linked", [True, False])
def test_a_sound_release_passes_with_and_without_links(crowd, sound, outside, linked):
    found = assignments(crowd, sound if linked else outside(sound))
    assert [finding.passed for finding in found] == [True, True]
    assert found[0].achieved >= 5
    shown = "links" if linked else "maximum flow"
    assert shown in found[1].details["shown_by"]


def test_a_release_in_which_not_everybody_can_have_a_record_is_caught(of_graph):
    graph = np.ones((6, 6), bool)
    graph[:3, 2:] = False  # three people share two records
    found = assignments(*of_graph(graph, promising(2)))
    assert [(finding.achieved, finding.passed) for finding in found] == [(0, False)]


def test_above_the_sample_only_links_are_pruned(crowd, sound, outside):
    (by_links,) = assignments(crowd, sound, sample=100)
    assert (by_links.achieved, by_links.passed) == (5, True)
    (not_played,) = assignments(crowd, outside(sound), sample=100)
    assert not_played.passed is None
    assert "private link file" in not_played.details["not_played"]


def test_without_guarantee_only_the_effective_matches_are_reported(of_graph):
    (found,) = assignments(*of_graph(np.ones((3, 3), bool)))
    assert (found.achieved, found.passed) == (3, None)
