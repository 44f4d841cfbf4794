"""Estimators of population uniques agree with their formulas, and with known populations."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mottle.risk import Keys, population_uniques
from mottle.risk.population import correct_matches, fit_pitman, main_effects, pitman, zayatz


def keys_of(**columns: object) -> Keys:
    return Keys.of(pa.table(columns), list(columns))


def test_main_effects_are_those_of_independent_columns():
    keys = keys_of(a=["x", "x", "x", "y"], b=[1, 1, 2, 2])
    assert main_effects(keys) == pytest.approx([1.5, 1.5, 1.5, 0.5])


def test_zayatz_by_hand():
    """Three singles and one pair, a third sampled: 3·1/3 against 3·1/3 + 1·2·1/3·2/3."""
    found = zayatz(np.array([1, 1, 1, 2]), 1 / 3)
    assert found == pytest.approx(3 * 1 / (1 + 4 / 9))
    assert zayatz(np.array([2, 3]), 0.5) == 0


def test_estimates_by_weights_and_by_the_log_linear_model_by_hand():
    keys = keys_of(a=["x", "x", "y", "z"])
    found = population_uniques(keys, np.array([10.0, 10.0, 4.0, 2.0]))
    assert found.by_weights == pytest.approx(1 / 4 + 1 / 2)
    assert found.log_linear == pytest.approx(np.exp(-3.0) + np.exp(-1.0))
    assert found.right_links == pytest.approx((1 - np.exp(-3.0)) / 3 + (1 - np.exp(-1.0)))


def test_a_complete_sample_has_as_many_population_uniques_as_sample_uniques():
    keys = keys_of(a=[1, 1, 2, 3, 3, 4])
    found = population_uniques(keys, np.ones(6))
    parts = (found.by_weights, found.log_linear, found.zayatz, found.pitman)
    assert parts == pytest.approx((2, 2, 2, 2), rel=0.5)
    assert (found.by_weights, found.log_linear, found.zayatz, found.right_links) == (2, 2, 2, 2)


def partition(size: int, alpha: float, theta: float, seed: int) -> np.ndarray:
    """Class sizes of a draw of Pitman's partition, person by person."""
    generator = np.random.default_rng(seed)
    of_person: list[int] = []
    classes: list[int] = []
    for person in range(size):
        new = (theta + alpha * len(classes)) / (theta + person)
        if generator.random() < new:
            of_person.append(len(classes))
            classes.append(1)
        else:
            while True:  # an old class in proportion to its size less alpha
                chosen = of_person[generator.integers(person)]
                if generator.random() < (classes[chosen] - alpha) / classes[chosen]:
                    break
            of_person.append(chosen)
            classes[chosen] += 1
    return np.array(of_person)


def test_pitmans_model_recovers_its_parameters_and_the_uniques_of_a_population():
    people = partition(40_000, 0.5, 60.0, seed=3)
    sample = np.random.default_rng(1).choice(people, 4_000, replace=False)
    sizes = np.unique(sample, return_counts=True)[1]
    alpha, theta = fit_pitman(sizes)
    assert alpha == pytest.approx(0.5, abs=0.06)
    assert theta == pytest.approx(60, rel=0.4)
    true = np.count_nonzero(np.bincount(people) == 1) * len(sample) / len(people)
    assert pitman(sizes, len(people)) == pytest.approx(true, rel=0.15)


def test_pitmans_model_without_repetitions_or_without_uniques():
    assert pitman(np.array([1, 1, 1]), 100) == 3
    assert pitman(np.array([2, 2]), 100) == 0


def test_dis_by_hand():
    assert correct_matches(np.array([1, 1, 2]), 0.1) == pytest.approx(0.2 / (0.2 + 1.8))
    assert correct_matches(np.array([2]), 0.1) == 0
