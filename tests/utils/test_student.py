"""Quantiles of Student's t distribution."""

from __future__ import annotations

import math

import pytest
from scipy import special

from mottle.utils.student import t_quantile


@pytest.mark.parametrize("degrees", [1.0, 1.5, 4.0, 4.37, 17.2, 300.0, 12345.6, 3e6])
@pytest.mark.parametrize("probability", [0.5, 0.6, 0.9, 0.975, 0.999, 0.025])
def test_quantiles_are_those_of_scipy(degrees: float, probability: float) -> None:
    expected = float(special.stdtrit(degrees, probability))
    assert t_quantile(degrees, probability) == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_the_normal_distribution_has_infinitely_many_degrees() -> None:
    assert t_quantile(math.inf, 0.975) == pytest.approx(float(special.ndtri(0.975)), rel=1e-12)
