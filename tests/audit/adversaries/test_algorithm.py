"""The algorithm-aware adversary: the papers' walk is caught, sound draws such as buckets pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mottle
from mottle import BetaLikeness, LDiversity, Schema, anonymize
from mottle.audit.links.edges import read_edges
from mottle.audit.links.redraw import describe_edges, heaviest_edges, prepare_redraw
from mottle.graph.model import Graph
from mottle.release.certificate import RunParameters

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
)


def algorithm(table, release, **options):
    return mottle.audit_release(table, release, adversaries=["algorithm"], **options).findings


@pytest.mark.parametrize("method", ["buckets", "het-greedy"])
def test_the_papers_walk_is_caught_and_permuted_buckets_pass(crowd, method):
    unsafe = anonymize(
        crowd,
        SCHEMA,
        LDiversity(3),
        method=method,
        effort=0,
        seed=1,
        unsafe_paper_randomization=True,
    )
    guessed, frequent = algorithm(crowd, unsafe)
    assert guessed.passed is False
    assert guessed.achieved > 1.2 * guessed.allowed
    once = guessed.details["guesses"]["seen once"]
    assert once["right"] > once["allowed"] + 3 * once["sigma"]
    assert frequent.passed  # each link has its chance even so: that is not what leaks
    sound = anonymize(crowd, SCHEMA, LDiversity(3), method=method, effort=0, seed=1)
    guessed, frequent = algorithm(crowd, sound)
    assert guessed.passed is True
    assert guessed.achieved <= guessed.allowed + 0.05
    assert frequent.passed


@pytest.mark.parametrize("guarantee", [LDiversity(3), BetaLikeness(2)], ids=str)
@pytest.mark.parametrize("method", ["mondrian", "burel"])
def test_releases_in_groups_pass(crowd, method, guarantee):
    release = anonymize(crowd, SCHEMA, guarantee, method=method, seed=1)
    assert all(found.passed is not False for found in algorithm(crowd, release))


def test_the_learned_rule_is_as_good_as_striking_out(crowd):
    """Nobody tells it to strike out repeated values: it learns that from simulated runs."""
    unsafe = anonymize(
        crowd,
        SCHEMA,
        LDiversity(3),
        method="het-greedy",
        effort=0,
        seed=2,
        unsafe_paper_randomization=True,
    )
    guesses = algorithm(crowd, unsafe)[0].details["guesses"]
    assert guesses["learned"]["guesses"] == crowd.num_rows
    assert guesses["learned"]["right"] > guesses["seen once"]["right"] - 0.05
    assert guesses["learned, most exposed"]["right"] > guesses["learned"]["right"]


def test_k_anonymity_has_no_values_to_guess_but_its_links_are_drawn_evenly(crowd, sound):
    (frequent,) = algorithm(crowd, sound)
    assert frequent.passed
    assert frequent.details["draws"] == 400
    assert frequent.achieved < frequent.allowed


def test_a_draw_other_than_the_certified_one_is_caught(crowd, sound):
    """A walk sold as one turn of each ring."""
    certificate = sound.certificate.with_changes(parameters=RunParameters(draw="rotation"))
    (found,) = algorithm(crowd, replace(sound, certified=certificate))
    assert found.passed is False
    assert "certified" in found.measure


def test_links_that_are_drawn_unevenly_are_caught(crowd, sound, monkeypatch):
    """A program that takes the first layer in half of all cases."""

    def uneven(graph: Graph, secret, walk: str) -> np.ndarray:
        generator = np.random.default_rng(secret.seed)
        layers = generator.integers(0, graph.degrees) * generator.integers(0, 2, len(graph.degrees))
        at = graph.edge_starts[:-1].repeat(graph.sizes)
        places = np.concatenate([np.arange(size) for size in graph.sizes])
        edge = at + places * graph.degrees.repeat(graph.sizes) + layers.repeat(graph.sizes)
        return graph.edges[edge] + graph.starts[:-1].repeat(graph.sizes)

    monkeypatch.setattr("mottle.audit.links.redraw.assign", uneven)
    (frequent,) = algorithm(crowd, sound)
    assert frequent.passed is False
    assert frequent.achieved > 2


def test_values_published_in_a_second_table_are_guessed_by_group_and_nothing_is_drawn(crowd):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method="anatomy", seed=1)
    (guessed,) = algorithm(crowd, release)
    assert guessed.passed
    assert guessed.achieved == pytest.approx(1 / 3, abs=0.01)


def test_without_links_it_is_not_played(crowd, diverse, outside):
    (found,) = algorithm(crowd, outside(diverse))
    assert found.passed is None
    assert "private link file" in found.details["not_played"]


def test_with_too_many_links_only_some_blocks_are_attacked(crowd, diverse, monkeypatch):
    monkeypatch.setattr("mottle.audit.adversaries.algorithm._MOST_EDGES", 2000)
    guessed, _ = algorithm(crowd, diverse)
    assert 0 < guessed.details["people_with_links"] < crowd.num_rows
    monkeypatch.setattr("mottle.audit.adversaries.algorithm._MOST_EDGES", 2)
    (found,) = algorithm(crowd, diverse)
    assert "small enough" in found.details["not_played"]


@pytest.mark.parametrize("method", ["buckets", "nh", "mondrian"])
def test_redrawn_links_lie_on_edges_and_are_one_to_one(crowd, method):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method=method, effort=0, seed=1)
    edges = read_edges(release.links, crowd.num_rows)
    redraw = prepare_redraw(edges, release.certificate.parameters.draw)
    starts, records = edges.matches
    drawn = [redraw.record_of_person(seed) for seed in range(20)]
    for record_of in drawn:
        assert np.array_equal(np.sort(record_of), np.arange(crowd.num_rows))
        for person, record in enumerate(record_of.tolist()):
            assert record in records[starts[person] : starts[person + 1]]
    assert not np.array_equal(drawn[0], drawn[1])


def test_values_are_described_by_occurrences_distinct_values_and_rarity():
    starts, records = np.array([0, 4]), np.array([0, 1, 2, 3], np.int32)
    codes = np.array([2, 0, 2, 1], np.int32)
    times, kinds, rarer = describe_edges(starts, records, codes, np.array([0.5, 0.2, 0.3]))
    assert times.tolist() == [2, 1, 2, 1]
    assert kinds.tolist() == [3, 3, 3, 3]
    assert rarer.tolist() == [1, 2, 1, 0]
    chosen, ties = heaviest_edges(starts, records, codes, (times == 1).astype(float), 3)
    assert (chosen.tolist(), ties.tolist()) == ([False, True, False, True], [2])
