"""Association: values that follow quasi-identifiers are found, others are not; no verdict."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, KnownRecords, LDiversity, Schema, anonymize
from mottle.assignment import assign
from mottle.audit.adversaries.association import guess_by_association
from mottle.audit.links.edges import read_edges
from mottle.audit.links.moves import Moves
from mottle.release.links import Links
from mottle.utils.csprng import Secret

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="identifying"
)


def association(table, release, **options):
    return mottle.audit_release(table, release, adversaries=["association"], **options).findings


def ill_by_age(rows: int) -> pa.Table:
    """People who have the illness of their age, or one of its neighbours."""
    people = mottle.datasets.population(rows, seed=5).select(["age", "sex", "origin"])
    shifted = people.column("age").to_numpy() + np.random.default_rng(2).normal(0, 6, rows)
    rank = np.argsort(np.argsort(shifted)) / rows
    number = np.searchsorted([0.2, 0.37, 0.52, 0.64, 0.74, 0.83, 0.91, 0.96], rank)
    return people.append_column("diagnosis", pa.array([f"illness {each}" for each in number]))


@pytest.mark.parametrize("method", ["buckets", "anatomy"])
def test_values_that_go_with_age_are_guessed_far_beyond_the_cap(method):
    table = ill_by_age(900)
    release = anonymize(table, SCHEMA, LDiversity(3), method=method, effort=0, seed=2)
    (found,) = association(table, release)
    assert found.achieved > 0.6
    assert found.details["cap_of_guesses"] == pytest.approx(1 / 3)
    assert found.details["right_by_chance"] < 0.4
    assert found.achieved > found.details["right_by_regression_on_others"] + 0.15
    assert found.passed is None
    assert found.allowed is None
    assert not found.public


def test_the_owner_is_told_in_words_and_the_certificate_says_nothing_of_it():
    table = ill_by_age(900)
    release = anonymize(
        table, SCHEMA, LDiversity(3), method="buckets", effort=0, seed=2, audit="full"
    )
    (note,) = [note for note in release.audited.notes if "similar people" in note]
    assert "--known-records" in note
    assert release.audited.passed
    stated = release.certificate.audit
    assert stated.owner.passed
    assert "association" not in stated.owner.adversaries
    assert "association" not in {finding.adversary for finding in stated.findings}


@pytest.mark.parametrize("method", ["buckets", "mondrian", "nh", "anatomy", "het-greedy"])
def test_independent_values_are_guessed_by_chance(crowd, method):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method=method, effort=0, seed=2)
    (found,) = association(crowd, release)
    chance, sigma = found.details["right_by_chance"], found.details["sigma"]
    assert abs(found.achieved - chance) < 3 * sigma
    assert "for_owner" not in found.details


def test_fewer_known_records_make_it_harder():
    table = ill_by_age(900)
    right = []
    for bound in (1, 63):
        guarantee = LDiversity(3) & KnownRecords(bound)
        release = anonymize(table, SCHEMA, guarantee, method="buckets", effort=0, seed=2)
        right.append(association(table, release)[0].achieved)
    assert right[0] < right[1]


@pytest.mark.parametrize("method", ["buckets", "nh", "mondrian"])
def test_guesses_follow_from_the_release_and_not_from_the_true_assignment(method):
    """Another draw on the same graph, with people's values so that the release is the same."""
    table = ill_by_age(300)
    release = anonymize(table, SCHEMA, LDiversity(3), method=method, effort=0, seed=2)
    links, draw = release.links, release.certificate.parameters.draw
    truth = np.asarray(assign(links.graph, Secret.draw(seed=7), draw), np.int32)
    again = dataclasses.replace(links, truth=truth)
    codes = release.table.column("diagnosis").combine_chunks().dictionary_encode().indices
    codes = codes.to_numpy().astype(np.int32)
    features = table.column("age").to_numpy()[:, None].astype(np.int32)
    overall = np.bincount(codes) / len(codes)
    guessed = []
    for given in (links, again):
        edges = read_edges(given, 300)
        guessed.append(guess_by_association(edges, Moves.of(edges, draw), codes, features, overall))
    assert not np.array_equal(read_edges(links, 300).truth, read_edges(again, 300).truth)
    np.testing.assert_array_equal(guessed[0][0], guessed[1][0])
    np.testing.assert_allclose(guessed[0][1], guessed[1][1])


def test_without_links_or_caps_it_is_not_played(crowd, guarded, sound, outside):
    (found,) = association(crowd, outside(guarded))
    assert found.achieved is None
    assert "link file" in found.details["not_played"]
    (found,) = association(crowd, sound)
    assert "does_not_apply" in found.details


def test_links_that_do_not_fit_the_draw_are_not_attacked(crowd, guarded):
    graph = guarded.links.graph
    elsewhere = dataclasses.replace(
        guarded,
        links=Links(
            graph, guarded.links.position_of_row, np.arange(graph.records, dtype=np.int32)[::-1]
        ),
    )
    (found,) = association(crowd, elsewhere)
    assert found.achieved is None


def test_k_anonymity_alone_bounds_no_values(crowd):
    release = anonymize(crowd, SCHEMA, KAnonymity(3), seed=1, effort=0)
    (found,) = association(crowd, release)
    assert found.details == {"does_not_apply": "no guarantee bounds sensitive values"}
