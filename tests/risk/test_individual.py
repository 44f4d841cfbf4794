"""Individual and household risk agree with their definition, summed term by term."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nbinom

from mottle.risk import household_risk, individual_risk


@pytest.mark.parametrize("frequency", [1, 2, 3, 7, 29, 30, 40, 500])
@pytest.mark.parametrize("chance", [0.9, 0.3, 0.02])
def test_individual_risk_is_the_expected_inverse_of_a_negative_binomial(frequency, chance):
    """F − f failures before the f-th success, as Benedetti and Franconi have it."""
    failures = np.arange(200_000)
    likely = nbinom.pmf(failures, frequency, chance)
    expected = (likely / (frequency + failures)).sum()
    found = individual_risk(np.array([frequency]), np.array([frequency / chance]))
    assert found[0] == pytest.approx(expected, rel=1e-9)


def test_individual_risk_has_the_closed_forms_that_sdcmicro_prints():
    p = 0.04
    once, twice = individual_risk(np.array([1, 2]), np.array([1 / p, 2 / p]))
    assert once == pytest.approx(p / (1 - p) * np.log(1 / p))
    assert twice == pytest.approx(p / (1 - p) ** 2 * (1 - p + p * np.log(p)))


def test_a_sample_that_is_the_population_has_a_risk_of_one_in_its_frequency():
    risk = individual_risk(np.array([1, 2, 5]), np.array([1.0, 0.5, 5.0]))
    assert risk.tolist() == [1.0, 0.5, 0.2]


def test_very_rare_and_very_frequent_combinations_stay_probabilities():
    risk = individual_risk(np.array([1, 1_000_000]), np.array([1e12, 2e6]))
    assert 0 < risk[0] < 1e-10
    assert risk[1] == pytest.approx(5e-7, rel=1e-3)


def test_household_risk_by_hand():
    risks = np.array([0.2, 0.1, 0.5, 1.0, 0.3])
    household = np.array([1, 1, 2, 3, 3])
    assert household_risk(risks, household) == pytest.approx([0.28, 0.28, 0.5, 1.0, 1.0])
