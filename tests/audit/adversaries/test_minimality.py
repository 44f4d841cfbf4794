"""Minimality: uncut groups reveal a planted victim; exact counts agree; sound methods pass."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Schema, anonymize
from mottle.audit.sensitive.mondrian_cuts import (
    all_cuts_refused,
    candidate_cuts,
    sample_explaining_worlds,
)

SCHEMA = Schema.of(quasi_identifying=["age"], sensitive=["ill"])


def minimality(table, release, **options):
    return mottle.audit_release(table, release, adversaries=["minimality"], **options).findings


def victims(copies: int) -> pa.Table:
    """Three young and twenty old people, far from the next ones; half of all but one have x.

    Cutting the young ones off would be fair only if exactly one of them had x. It was not done.
    """
    young, old = 3, 20
    ages = [
        100 * copy + (0 if person < young else 1)
        for copy in range(copies)
        for person in range(young + old)
    ]
    ill = ["x"] * 2 + ["y0"] + ["x"] * 9 + [f"y{number}" for number in range(1, 12)]
    return pa.table({"age": ages, "ill": ill * copies})


def test_belief_about_a_planted_victim_exceeds_the_cap():
    table = victims(1)
    release = anonymize(table, SCHEMA, LDiversity(2), method="mondrian-strict", seed=1)
    assert len(release.links.graph.degrees) == 1  # left uncut
    (found,) = minimality(table, release)
    assert found.passed is False
    assert found.achieved == 3  # the young ones
    assert found.details["highest_belief_by_cap"] > 1.1
    assert "cut" in found.details["mixed_decision"]


def test_beliefs_are_those_of_all_worlds_that_explain_the_group():
    codes = np.array([[0], [0], [0], [1], [1], [1], [1], [1], [1]], np.int32)
    values = np.array([0, 0, 1, 0, 0, 2, 3, 4, 5])
    caps = np.full(6, 0.5)
    cuts = candidate_cuts(codes, 2, "mondrian-strict")
    assert cuts.tolist() == [[True] * 3 + [False] * 6]
    codes = values[:, None].astype(np.int32)
    assert all_cuts_refused(cuts, codes, caps)
    assert not all_cuts_refused(cuts, codes[[0, 2, 5, 1, 3, 4, 6, 7, 8]], caps)
    worlds = sample_explaining_worlds(cuts, codes, caps, values, 40_000, seed=1)
    # x on 0, 2 or 3 of the young: 15, 45 and 6 of 66 ways to place four x
    assert worlds.counts[0, 0] / worlds.accepted == pytest.approx(108 / 198, abs=0.02)
    assert worlds.counts[8, 0] / worlds.accepted == pytest.approx(156 / 396, abs=0.02)


def test_relaxed_cuts_halve_and_strict_ones_keep_equals_together():
    codes = np.array([[0], [1], [1], [1], [2], [2]], np.int32)
    halves = [[True, True, True, False, False, False]]
    assert candidate_cuts(codes, 2, "mondrian-relaxed").tolist() == halves
    assert candidate_cuts(codes, 2, "mondrian-strict").tolist() == [[True] * 4 + [False] * 2]
    assert len(candidate_cuts(codes, 2, "mondrian")) == 2
    assert len(candidate_cuts(codes, 4, "mondrian")) == 0


def test_every_uncut_group_is_explained_by_refused_cuts(crowd):
    """The audit tries the very cuts that the method tries: none of those left was allowed."""
    schema = Schema.of(
        quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
    )
    for method in ("mondrian", "mondrian-strict", "mondrian-relaxed"):
        release = anonymize(crowd, schema, LDiversity(4), method=method, seed=1)
        (found,) = minimality(crowd, release)
        assert found.details["groups_not_explained_by_refused_cuts"] == 0
        assert found.details["groups_examined"] > 3


def test_methods_whose_decisions_never_look_at_both_pass(crowd, sound):
    schema = Schema.of(
        quasi_identifying=["age", "sex"], sensitive=["diagnosis"], rest="insensitive"
    )
    for method in ("buckets", "het-greedy", "anatomy"):
        release = anonymize(crowd, schema, LDiversity(3), method=method, effort=0, seed=1)
        (found,) = minimality(crowd, release)
        assert found.passed is None
        assert "does_not_apply" in found.details
    (found,) = minimality(crowd, sound)
    assert "no decision looked at sensitive values" in found.details["does_not_apply"]


def test_methods_without_a_known_attack_say_what_they_decided(crowd, diverse, outside):
    schema = Schema.of(
        quasi_identifying=["age", "sex"], sensitive=["diagnosis"], rest="insensitive"
    )
    for method in ("nh", "hilbert", "burel"):
        release = anonymize(crowd, schema, LDiversity(3), method=method, seed=1)
        (found,) = minimality(crowd, release)
        assert found.passed is None
        assert found.details["mixed_decision"]
        assert "not_played" in found.details
    (found,) = minimality(crowd, outside(diverse))
    assert "private link file" in found.details["not_played"]
    unknown = mottle.Release(diverse.table, diverse.columns, None, diverse.links)
    (found,) = minimality(crowd, unknown, guarantee=LDiversity(3))
    assert "which method" in found.details["not_played"]


def test_k_anonymous_groups_are_cut_by_quasi_identifiers_alone():
    table = victims(2)
    release = anonymize(table, SCHEMA, KAnonymity(3), method="mondrian", seed=1)
    (found,) = minimality(table, release)
    assert found.passed is None
