"""What cuts gain, as counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.methods.buckets.gains import gains_by_code, gains_by_prefix, separation

held = st.lists(st.integers(1, 9), min_size=2, max_size=8)


def by_prefix(records, weight, positions, step, density, wanted=None):
    """What prefixes of the codes of one column gain."""
    size = len(records)
    return gains_by_prefix(
        np.array([0, size]),
        np.array(records),
        weight,
        np.zeros(size) if positions is None else positions,
        np.full(size, positions is not None),
        np.full(size, step),
        np.ones(size, np.bool_) if wanted is None else wanted,
        density,
    )


def distances(positions: np.ndarray, records: np.ndarray) -> float:
    """The mean distance of two records, times their number."""
    places = np.repeat(positions, records)
    return float(np.abs(places[:, None] - places[None]).sum() / max(len(places), 1))


def differing(records: np.ndarray) -> float:
    """The chance that two records differ, times their number."""
    codes = np.repeat(np.arange(len(records)), records)
    return float((codes[:, None] != codes[None]).sum() / max(len(codes), 1))


@given(held, st.integers(0, 10**6), st.booleans())
def test_gains_of_ordered_cuts_are_those_of_all_pairs(records, seed, backwards):
    records = np.array(records)
    positions = np.sort(np.random.default_rng(seed).random(len(records)))
    if backwards:
        positions = positions[::-1].copy()
    whole = distances(positions, records)
    expected = [
        whole
        - distances(positions[:place], records[:place])
        - distances(positions[place:], records[place:])
        for place in range(1, len(records) + 1)
    ]
    weight = np.outer(records, [0.2, 0.5, 0.3])  # no association: only distances count
    found = by_prefix(records, weight, positions, 0.0, 0.25)
    assert found == pytest.approx(0.25 * np.array(expected), abs=1e-9)


@given(held)
def test_gains_of_unordered_cuts_are_those_of_all_pairs(records):
    records = np.array(records)
    expected = [
        differing(records) - differing(records[:place]) - differing(records[place:])
        for place in range(1, len(records) + 1)
    ]
    weight = np.outer(records, [0.2, 0.5, 0.3])
    found = by_prefix(records, weight, None, 0.3, 0.25)
    assert found == pytest.approx(0.25 * 0.3 * np.array(expected), abs=1e-9)


@given(held, st.integers(1, 4), st.booleans(), st.integers(0, 10**6))
def test_what_cuts_gain_in_all(records, classes, ordered, seed):
    """The part that counts in full: how far the codes of classes are from those of all."""
    random = np.random.default_rng(seed)
    records = np.array(records)
    positions = np.sort(random.random(len(records))) if ordered else None
    weight = random.dirichlet(np.ones(classes), len(records)) * records[:, None]
    wanted = random.random(len(records)) < 0.7
    found = by_prefix(records, weight, positions, 0.3, 0.0, wanted)

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
    assert found == pytest.approx(np.where(wanted, expected, 0.0), abs=1e-9)


@given(held, held, st.integers(0, 10**6))
def test_columns_do_not_change_each_others_gains(one, two, seed):
    random = np.random.default_rng(seed)
    records = np.array([*one, *two])
    weight = random.random((len(records), 3)) * records[:, None]
    ordered = np.repeat([True, False], [len(one), len(two)])
    position, step = np.arange(len(records)) / 20, np.full(len(records), 0.3)
    found = gains_by_prefix(
        np.array([0, len(one), len(records)]),
        records,
        weight,
        position,
        ordered,
        step,
        np.ones(len(records), np.bool_),
        0.25,
    )
    first = by_prefix(one, weight[: len(one)], position[: len(one)], 0.3, 0.25)
    second = by_prefix(two, weight[len(one) :], None, 0.3, 0.25)
    assert found == pytest.approx(np.concatenate([first, second]), abs=1e-9)


@given(held, st.integers(1, 4), st.integers(0, 10**6))
def test_cutting_off_a_code_gains_what_it_gains_as_the_first_of_an_order(records, classes, seed):
    random = np.random.default_rng(seed)
    size = len(records)
    records = np.array(records)
    weight = random.dirichlet(np.ones(classes), size) * records[:, None]
    expected = [
        by_prefix(np.roll(records, -code), np.roll(weight, -code, axis=0), None, 0.3, 0.25)[0]
        for code in range(size)
    ]
    # The column lies behind another one.
    found = gains_by_code(
        np.array([0, 3, 3 + size]),
        np.ones(size, np.int64),
        3 + np.arange(size),
        np.concatenate([[4, 5, 6], records]),
        np.concatenate([np.ones((3, classes)), weight]),
        np.full(size, 0.3),
        0.25,
    )
    assert found == pytest.approx(expected, abs=1e-9)


@given(held, st.integers(0, 10**6))
def test_separating_a_part_of_a_code_leaves_the_rest_with_the_others(records, seed):
    random = np.random.default_rng(seed)
    records = np.array(records) + 1
    weight = random.random((len(records), 2)) * records[:, None]
    part, predicted = np.array([1]), random.random((1, 2)) * weight[0]
    ends = np.array([0]), np.array([len(records)])
    found = separation(records, weight, *ends, np.array([0]), part, predicted, np.array([0.3]))
    # The same as cutting off a code of its own that is exactly like it.
    split = np.concatenate([[1, records[0] - 1], records[1:]])
    split_weight = np.concatenate([predicted, weight[:1] - predicted, weight[1:]])
    alone = by_prefix(split, split_weight, None, 0.3, 0.0)[0]
    joined = by_prefix(np.append(1, records), np.append(predicted, weight, axis=0), None, 0.3, 0.0)
    assert np.isfinite(joined).all()
    inner = (
        np.abs(split_weight[:2] - split[:2, None] / split.sum() * split_weight.sum(axis=0)).sum()
        - np.abs(weight[0] - records[0] / records.sum() * weight.sum(axis=0)).sum()
    )
    assert found[0] == pytest.approx(alone - 0.15 * inner, abs=1e-9)
