"""Lots drawn region by region have the distribution of lots drawn over the whole table."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, hypergeom

from mottle.methods.buckets.partitioned.lots import draw_counts
from mottle.utils.csprng import Secret


@pytest.mark.parametrize(("good", "bad", "sample"), [(7, 5, 6), (300, 500, 200), (1, 9, 9)])
def test_what_a_region_gives_has_the_distribution_of_a_random_draw(good, bad, sample):
    draws = 4000
    quotas = np.tile([good, bad], (draws, 1))
    counts = np.array([[sample] * draws, [good + bad - sample] * draws])
    drawn = draw_counts(Secret.draw(seed=3), quotas, counts)
    assert np.array_equal(drawn.sum(axis=0), quotas)
    assert np.array_equal(drawn.sum(axis=2), counts)
    taken = drawn[0, :, 0]
    likely = [n for n in range(sample + 1) if hypergeom.pmf(n, good + bad, good, sample) > 2e-3]
    observed = [np.sum(taken == number) for number in likely]
    expected = hypergeom.pmf(likely, good + bad, good, sample) * draws
    observed.append(draws - sum(observed))
    expected = np.append(expected, draws - expected.sum())
    wide = expected > 1
    scale = np.array(observed)[wide].sum() / expected[wide].sum()
    assert chisquare(np.array(observed)[wide], expected[wide] * scale).pvalue > 1e-4


def test_three_places_and_three_regions_are_drawn_as_a_shuffled_deck():
    """Four records of a value: two regions of one and one of two; places of one, one and two."""
    draws = 6000
    quotas, counts = np.tile([1, 1, 2], (draws, 1)), np.tile([[1], [1], [2]], draws)
    drawn = draw_counts(Secret.draw(seed=4), quotas, counts)
    observed = Counter(tuple(map(tuple, drawn[:, value].tolist())) for value in range(draws))
    expected: Counter = Counter()
    for deck in permutations([0, 1, 2, 2]):
        hands = ([deck[0]], [deck[1]], deck[2:])
        expected[tuple(tuple(list(hand).count(place) for place in range(3)) for hand in hands)] += 1
    assert set(observed) == set(expected)
    total = sum(expected.values())
    found = [observed[way] for way in expected]
    assert chisquare(found, [draws * times / total for times in expected.values()]).pvalue > 1e-4


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=1, max_size=5),
    st.integers(1, 5),
    st.integers(0, 10**6),
)
def test_quotas_are_filled_by_what_regions_have(counts, places, seed):
    counts = np.array(counts)
    random = np.random.default_rng(seed)
    totals = counts.sum(axis=0)
    quotas = np.stack([random.multinomial(total, np.ones(places) / places) for total in totals])
    drawn = draw_counts(Secret.draw(seed=seed), quotas, counts)
    assert drawn.min() >= 0
    assert np.array_equal(drawn.sum(axis=0), quotas)
    assert np.array_equal(drawn.sum(axis=2), counts)


def test_large_numbers_are_drawn_around_their_mean():
    drawn = draw_counts(
        Secret.draw(seed=1),
        np.array([[4 * 10**9, 6 * 10**9]]),
        np.array([[5 * 10**8], [95 * 10**8]]),
    )
    assert abs(int(drawn[0, 0, 0]) - 2 * 10**8) < 10**5
