"""The chance that a cut fails: spreads are learned, and what cannot happen has no chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from mottle.methods.buckets.margins import _SPREADS, Local, Margins, chance_of_excess, depth_of


def cuts_with(spread: float, cuts: int, codes: int, seed: int = 0):
    """Predicted and found records of codes, whose log-odds are off by ``spread``."""
    random = np.random.default_rng(seed)
    for _ in range(cuts):
        share = random.uniform(0.2, 0.8, codes)
        odds = np.log(share / (1 - share)) + random.normal(0, spread, codes)
        yield share, random.binomial(3000, 1 / (1 + np.exp(-odds))).astype(float)


def spread_of(margins: Margins, column: int = 0) -> np.ndarray:
    """By code: the expected spread."""
    return margins.chances()[column] @ _SPREADS


def learned(spreads: dict[int, float], codes: int = 6, cuts: int = 12) -> Margins:
    """Learn from cuts of one column; spreads of single codes, -1 for the others."""
    margins = Margins(2, codes)
    for code in range(codes):
        for share, found in cuts_with(spreads.get(code, spreads[-1]), cuts, 1, seed=code):
            margins.learn(0, np.array([code]), np.array([3000.0]), share, found, np.zeros(1), 1.0)
    return margins


@pytest.mark.parametrize("spread", [0.07, 0.15, 0.3, 0.6])
def test_the_spread_of_a_column_is_learned_from_its_cuts(spread):
    margins = learned({-1: spread})
    assert np.all(spread_of(margins) > spread / 2)
    assert np.all(spread_of(margins) < spread * 2)
    unknown = Margins(2, 6)
    assert spread_of(margins, 1) == pytest.approx(spread_of(unknown, 1))  # nothing about others


def test_probabilities_of_spreads_sum_to_one():
    assert Margins(3, 4).chances().sum(axis=2) == pytest.approx(1)
    assert learned({-1: 0.2}).chances().sum(axis=2) == pytest.approx(1)


def test_a_code_that_is_an_outlier_has_a_spread_of_its_own():
    spreads = spread_of(learned({-1: 0.05, 0: 1.4}))
    assert spreads[0] > 0.5
    assert np.all(spreads[1:] < 0.15)


def test_one_wild_cut_of_a_code_teaches_more_about_it_than_about_others():
    margins = learned({-1: 0.05})
    before = spread_of(margins)
    margins.learn(
        0, np.array([0]), np.array([3000.0]), np.array([0.5]), np.array([2600.0]), np.zeros(1), 1.0
    )
    after = spread_of(margins)
    assert after[0] > 3 * before[0]
    assert np.all(after[1:] < 1.5 * before[1:])


def test_rare_codes_teach_nothing():
    margins = Margins(1, 1)
    before = margins.chances()
    nothing = np.zeros(1)
    margins.learn(0, np.array([0]), np.array([9.0]), np.array([0.5]), np.array([9.0]), nothing, 1.0)
    assert np.array_equal(margins.chances(), before)


def excess(counts, share, left, right, doubt=0.0, chances=None, depth=1.0, local=None) -> float:
    """`chance_of_excess` of one cut."""
    counts = np.asarray(counts)
    shape = (1, len(counts))
    if chances is None:
        chances = np.eye(len(_SPREADS))[np.zeros(shape, int)]  # the smallest spread for certain
    nothing = Local(np.zeros(shape), np.zeros(shape))
    (found,) = chance_of_excess(
        counts,
        np.asarray(share, float).reshape(shape),
        np.asarray(left).reshape(shape),
        np.asarray(right).reshape(shape),
        np.full(shape, doubt),
        chances,
        depth,
        nothing if local is None else local,
    )
    return float(found)


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=6),
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
    st.floats(0, 100),
)
def test_a_cut_that_cannot_break_a_cap_has_no_chance_to(counts, share, doubt):
    share = share[: len(counts)]
    chances = np.full((1, len(counts), len(_SPREADS)), 1 / len(_SPREADS))
    assert excess(counts, share, counts, counts, doubt, chances) == 0
    tight = np.maximum(np.array(counts) - 1, 0)
    broken = excess(counts, share, tight, tight, doubt, chances)
    assert (broken > 0) == any(counts)


def test_the_chance_rises_with_the_predicted_share_and_with_doubt():
    limits = [[400], [1000]]
    by_share = [excess([1000], [share], *limits) for share in np.linspace(0.05, 0.95, 19)]
    assert by_share == sorted(by_share)
    assert by_share[0] < 1e-9
    assert by_share[-1] > 1 - 1e-9
    by_doubt = [excess([1000], [0.3], *limits, doubt) for doubt in (0.0, 0.01, 0.1, 1.0)]
    assert by_doubt == sorted(by_doubt)
    by_spread = []
    for number in range(len(_SPREADS)):
        chances = np.eye(len(_SPREADS))[np.full((1, 1), number)]
        by_spread.append(excess([1000], [0.3], *limits, 0.0, chances))
    assert by_spread == sorted(by_spread)


@pytest.mark.parametrize("limit", [110, 120, 130])
def test_without_doubt_the_chance_is_that_of_independent_records(limit):
    """``depth=0``: the node is the whole table, in which effects have no spread."""
    found = excess([400], [0.28], [limit], [400], depth=0.0)
    assert found == pytest.approx(binom.sf(limit, 400, 0.28), abs=0.02)


def test_what_the_wave_shows_in_the_node_itself_moves_the_prediction():
    chances = np.eye(len(_SPREADS))[np.full((1, 1), 6)]
    limits = ([1000], [360], [1000])

    def of(residual: float) -> float:
        return excess(*limits[:1], [0.3], *limits[1:], 0.0, chances, 1.0, told(residual))

    def told(residual: float) -> Local:
        return Local(np.full((1, 1), 30.0), np.full((1, 1), residual))

    assert of(-8.0) < of(0.0) < of(8.0)


def test_what_the_wave_shows_of_a_node_speaks_for_a_wide_spread():
    """Records found far from the prediction say that effects differ here."""
    chances = np.full((1, 1, len(_SPREADS)), 1 / len(_SPREADS))
    information = np.full((1, 1), 20.0)
    as_predicted = Local(information, np.zeros((1, 1)))
    far_off = Local(information, np.full((1, 1), -20.0))  # one unit of log-odds too few
    given = {"counts": [1000], "share": [0.5], "left": [620], "right": [1000], "chances": chances}
    assert excess(**given, local=far_off) < excess(**given, local=as_predicted)
    mirrored = given | {"left": [1000], "right": [620]}
    assert excess(**mirrored, local=far_off) > 0.5 > excess(**mirrored, local=as_predicted)


def test_spreads_count_more_in_smaller_nodes():
    chances = np.full((1, 1, len(_SPREADS)), 1 / len(_SPREADS))
    given = {"counts": [1000], "share": [0.5], "left": [620], "right": [1000], "chances": chances}
    found = [excess(**given, depth=depth_of(size, 10_000)) for size in (10_000, 5000, 1000)]
    assert found == sorted(found)
    assert found[0] < 1e-6 < found[1] < found[2]
