"""What cuts gain, as counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.methods.buckets.gains import (
    gain_by_code,
    gain_by_prefix,
    ordered_gain,
    unordered_gain,
)


def distances(positions: np.ndarray, records: np.ndarray) -> float:
    """The mean distance of two records, times their number."""
    places = np.repeat(positions, records.astype(int))
    return float(np.abs(places[:, None] - places[None]).sum() / max(len(places), 1))


held = st.lists(st.integers(1, 9), min_size=2, max_size=8)


@given(held, st.integers(0, 10**6), st.booleans())
def test_gains_of_ordered_cuts_are_those_of_all_pairs(records, seed, backwards):
    records = np.array(records, float)
    positions = np.sort(np.random.default_rng(seed).random(len(records)))
    if backwards:
        positions = positions[::-1].copy()
    whole = distances(positions, records)
    expected = [
        whole
        - distances(positions[:place], records[:place])
        - distances(positions[place:], records[place:])
        for place in range(1, len(records))
    ]
    assert ordered_gain(positions, records) == pytest.approx(expected)


@given(held)
def test_gains_of_unordered_cuts_are_those_of_all_pairs(records):
    records = np.array(records, float)

    def differing(part: np.ndarray) -> float:
        codes = np.repeat(np.arange(len(part)), part.astype(int))
        return float((codes[:, None] != codes[None]).sum() / len(codes))

    sizes = np.cumsum(records)[:-1]
    squares = np.cumsum(records**2)[:-1]
    expected = [
        differing(records) - differing(records[:place]) - differing(records[place:])
        for place in range(1, len(records))
    ]
    assert unordered_gain(sizes, squares, records) == pytest.approx(expected)


@given(held, st.integers(1, 4), st.booleans(), st.integers(0, 10**6))
def test_what_cuts_gain_in_all(records, classes, ordered, seed):
    """The part that counts in full: how far the codes of classes are from those of all."""
    random = np.random.default_rng(seed)
    records = np.array(records, float)
    positions = np.sort(random.random(len(records))) if ordered else None
    weight = random.dirichlet(np.ones(classes), len(records)) * records[:, None]
    found = gain_by_prefix(records, weight, positions, 0.3, 0.0)

    def apart(part: slice) -> float:
        if not records[part].sum():
            return 0.0
        everybody = records[part] / records[part].sum()
        total = 0.0
        for mine in weight[part].T:
            difference = mine - everybody * mine.sum()
            if positions is None:
                total += 0.3 / 2 * np.abs(difference).sum()
            else:
                total += (np.abs(np.cumsum(difference))[:-1] * np.diff(positions[part])).sum()
        return total

    whole = apart(slice(None))
    expected = [
        whole - apart(slice(None, place)) - apart(slice(place, None))
        for place in range(1, len(records) + 1)
    ]
    assert found == pytest.approx(expected, abs=1e-9)


@given(held, st.booleans())
def test_without_an_association_only_the_distance_of_records_counts(records, ordered):
    records = np.array(records, float)
    positions = np.arange(len(records)) / len(records) if ordered else None
    weight = np.outer(records, [0.2, 0.5, 0.3])
    found = gain_by_prefix(records, weight, positions, 0.3, 0.25)
    if ordered:
        expected = ordered_gain(positions, records)
    else:
        expected = 0.3 * unordered_gain(
            np.cumsum(records)[:-1], np.cumsum(records**2)[:-1], records
        )
    assert found[:-1] == pytest.approx(0.25 * expected, abs=1e-9)
    assert found[-1] == pytest.approx(0, abs=1e-9)


@given(held, st.integers(1, 4), st.integers(0, 10**6))
def test_cutting_off_a_code_gains_what_it_gains_as_the_first_of_an_order(records, classes, seed):
    random = np.random.default_rng(seed)
    records = np.array(records, float)
    weight = random.dirichlet(np.ones(classes), len(records)) * records[:, None]
    expected = [
        gain_by_prefix(np.roll(records, -code), np.roll(weight, -code, axis=0), None, 0.3, 0.25)[0]
        for code in range(len(records))
    ]
    assert gain_by_code(records, weight, 0.3, 0.25) == pytest.approx(expected, abs=1e-9)
