"""Measures of mixtures of sensitive values: agree with their definitions, value by value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mottle.audit.containment.coded_columns import CodedColumn, offsets_of
from mottle.audit.containment.index import build_index
from mottle.audit.links.edges import Edges
from mottle.audit.sensitive.shares import (
    DISTANCE,
    DISTINCT,
    ENHANCED,
    ENTROPY,
    GAIN,
    LIKELIEST,
    LOG_RATIO,
    MARGIN,
    MOST_GAINED,
    RATIO,
    SHARE,
    measure_along_edges,
    measure_by_containment,
    measure_groups,
    reference_distribution,
)


def by_definition(counts, overall, caps, ordered) -> dict[int, float]:
    share, usual = counts / counts.sum(), overall / overall.sum()
    some = counts > 0
    gains = share[some] / usual[some]
    enhanced = [
        0.0 if gain <= 1 else gain - 1 if gain - 1 <= -math.log(p) else math.inf
        for gain, p in zip(gains, usual[some], strict=True)
    ]
    if ordered:
        steps = np.abs(np.cumsum(share - usual))[:-1]
        distance = steps.mean() if len(steps) else 0.0
    else:
        distance = np.abs(share - usual).sum() / 2
    top = np.sort(np.append(counts, 0))[::-1]
    return {
        SHARE: share.max(),
        RATIO: (share / caps).max(),
        DISTINCT: some.sum(),
        ENTROPY: -(share[some] * np.log(share[some])).sum(),
        GAIN: gains.max(),
        ENHANCED: max(enhanced),
        DISTANCE: distance,
        LOG_RATIO: np.abs(np.log(gains)).max(),
        MARGIN: top[0] - top[1],
    }


@st.composite
def groups_of_values(draw: st.DrawFn):
    values = draw(st.integers(1, 6))
    rows = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, values - 1)), min_size=1))
    groups, codes = np.array(rows).T
    groups = np.unique(groups, return_inverse=True)[1]
    codes = np.unique(codes, return_inverse=True)[1]
    return groups.astype(np.int64), codes.astype(np.int32)


@given(groups_of_values(), st.booleans())
def test_measures_of_groups_agree_with_their_definitions(rows, ordered):
    groups, codes = rows
    overall = np.bincount(codes)
    caps = np.linspace(0.3, 1, len(overall))
    measured = measure_groups(groups, codes, reference_distribution(overall, caps, ordered))
    for group, found in enumerate(measured):
        counts = np.bincount(codes[groups == group], minlength=len(overall))
        for measure, expected in by_definition(counts, overall, caps, ordered).items():
            assert found[measure] == pytest.approx(expected, abs=1e-9), measure


@given(groups_of_values())
def test_edges_containment_and_groups_agree_on_homogeneous_groups(rows):
    """In groups of equal records all three kinds of matches are the group."""
    groups, codes = rows
    values = reference_distribution(np.bincount(codes), np.full(int(codes.max()) + 1, 0.5), True)
    expected = measure_groups(groups, codes, values)[groups]
    members = [np.flatnonzero(groups == group) for group in groups]
    edges = Edges(
        offsets=offsets_of(np.array([len(each) for each in members])),
        originals=np.concatenate(members).astype(np.int32),
        truth=np.arange(len(groups), dtype=np.int32),
        blocks=None,
    )
    exact = groups.astype(np.int32)
    index = build_index([CodedColumn(exact, np.arange(len(groups) + 1), exact, exact)])
    records = np.arange(len(codes))
    mixtures = csr_array((np.ones(len(codes)), (records, codes)))
    contained, guesses = measure_by_containment(index, mixtures, values)
    along, _ = measure_along_edges(edges, codes, values)
    np.testing.assert_allclose(along, expected, atol=1e-9)
    np.testing.assert_allclose(contained[index.place_of], expected, atol=1e-9)
    for person, group in enumerate(groups):
        counts = np.bincount(codes[groups == group])
        likeliest, gained = guesses[index.place_of[person], [LIKELIEST, MOST_GAINED]]
        assert counts[likeliest] == counts[gained] == counts.max()


def test_values_that_the_table_does_not_have_are_left_out():
    groups = np.zeros(4, np.int64)
    values = reference_distribution(np.array([2, 2]), np.ones(2), False)
    found = measure_groups(groups, np.array([0, 0, 1, -1], np.int32), values)[0]
    assert found[SHARE] == pytest.approx(2 / 3)
    assert found[DISTINCT] == 2
