"""Judging guesses: chance is granted three standard deviations, luck of whole clusters included."""

from __future__ import annotations

import numpy as np
import pytest

from mottle.audit.sensitive.accuracy import GuessAccuracy, judge, judge_seen, judge_shared

ALONE = np.arange(10_000)


def right(share: float, count: int = 10_000) -> np.ndarray:
    return np.arange(count) < round(share * count)


def test_guesses_within_three_sigma_pass_and_beyond_fail():
    allowed = np.full(10_000, 0.2)  # sigma .004
    assert judge(right(0.211), allowed, ALONE).passed is True
    assert judge(right(0.214), allowed, ALONE).passed is False
    assert judge(right(0.1), allowed, ALONE).passed is True


def test_sigma_is_that_of_independent_guesses_when_clusters_agree_no_more_than_chance():
    generator = np.random.default_rng(1)
    found = judge(generator.random(10_000) < 0.2, np.full(10_000, 0.2), ALONE // 10)
    assert found.sigma == pytest.approx(0.004, rel=0.15)


def test_guesses_that_are_right_by_cluster_have_the_spread_of_clusters():
    clusters = ALONE // 100
    together = np.isin(clusters, np.arange(25))  # 25 of 100 clusters, each all right
    found = judge(together, np.full(10_000, 0.2), clusters)
    assert found.sigma == pytest.approx(0.0433, rel=0.01)
    assert found.passed is True


def test_always_right_fails_even_with_few_guesses_and_never_with_too_few():
    assert judge(right(1, 10), np.full(10, 0.2), np.arange(10)).passed is False
    assert judge(right(1, 3), np.full(3, 0.2), np.arange(3)).passed is True
    assert judge(right(0, 3), np.full(3, 0.2), np.arange(3)).passed is None


def test_one_cluster_that_may_be_right_as_a_whole_proves_nothing():
    one = np.zeros(1000, np.int64)
    assert judge_shared(right(1, 1000), np.full(1000, 0.1), one).passed is True
    assert judge_shared(right(0, 1000), np.full(1000, 0.1), one).passed is None
    several = np.arange(1000) // 100
    assert judge_shared(right(1, 1000), np.full(1000, 0.1), several).passed is False


def test_the_best_of_many_strategies_is_granted_more():
    once = GuessAccuracy(10_000, 0.213, 0.2, 0.004)
    assert once.passed is False
    assert GuessAccuracy(10_000, 0.213, 0.2, 0.004, trials=20).passed is True


def test_no_guess_at_all_and_what_is_always_allowed_prove_nothing():
    nothing = np.empty(0)
    assert judge(nothing.astype(bool), nothing, nothing.astype(np.int64)).passed is None
    assert judge(right(1, 50), np.ones(50), np.arange(50)).passed is None


def test_what_is_never_allowed_must_never_be_right():
    never = np.zeros(50)
    assert judge(right(0.02, 50), never, np.arange(50)).passed is False


@pytest.mark.parametrize(("people", "passed"), [(8, True), (200, False)])
def test_luck_with_few_people_whose_records_were_seen_breaks_nothing(people, passed):
    """All of them are guessed, and nobody whose record was not seen (found by the fuzzer)."""
    found = judge_seen(
        np.ones(people, np.bool_),
        np.zeros(people, np.bool_),
        np.full(people, 0.7),
        np.arange(people) // 2,
        combined=0.77,
        trials=3,
    )
    assert found.passed is passed
