"""The Hilbert order visits every cell once, steps to a neighbour each time, and sorts wide keys."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import Hierarchy, Schema
from mottle.encoding.encode import encode
from mottle.orderings.hilbert import grid_cells, hilbert, hilbert_keys, key_gaps, sort_keys
from mottle.orderings.unit_cube import place
from mottle.schema.model import Representation


def as_integers(keys: np.ndarray) -> list[int]:
    return [int.from_bytes(row.astype(">u8").tobytes(), "big") for row in keys]


@pytest.mark.parametrize(
    ("dimensions", "bits"), [(1, 5), (2, 1), (2, 6), (3, 1), (3, 4), (4, 3), (5, 2)]
)
def test_curve_visits_every_cell_once_and_steps_to_a_neighbour(dimensions: int, bits: int):
    cells = np.array(list(itertools.product(range(2**bits), repeat=dimensions)), np.uint32)
    keys = hilbert_keys(cells, bits)
    assert sorted(as_integers(keys)) == list(range(len(cells)))
    steps = np.diff(cells[sort_keys(keys)].astype(int), axis=0)
    assert (np.abs(steps).sum(axis=1) == 1).all()


@st.composite
def wide_cells(draw) -> tuple[np.ndarray, int]:
    dimensions = draw(st.integers(1, 80))
    bits = draw(st.integers(2, 16))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    cells = random.integers(0, 2**bits, (draw(st.integers(1, 40)), dimensions))
    repeated = random.integers(0, len(cells), len(cells))
    return cells[repeated].astype(np.uint32), bits


@given(wide_cells())
def test_coarser_grid_has_the_same_curve(case: tuple[np.ndarray, int]):
    cells, bits = case
    fine = as_integers(hilbert_keys(cells, bits))
    coarse = as_integers(hilbert_keys(cells >> 1, bits - 1))
    assert [key >> cells.shape[1] for key in fine] == coarse


@given(wide_cells())
def test_keys_of_several_words_sort_as_the_numbers_they_are(case: tuple[np.ndarray, int]):
    cells, bits = case
    keys = hilbert_keys(cells, bits)
    numbers = as_integers(keys)
    assert sort_keys(keys).tolist() == sorted(range(len(keys)), key=lambda row: numbers[row])


@given(wide_cells())
def test_gaps_are_exact_differences_of_keys(case: tuple[np.ndarray, int]):
    cells, bits = case
    keys = hilbert_keys(cells, bits)
    keys = keys[sort_keys(keys)]
    unit = 2 ** (64 * (keys.shape[1] - 1))
    expected = [(high - low) / unit for low, high in itertools.pairwise(as_integers(keys))]
    assert key_gaps(keys) == pytest.approx(expected, rel=1e-15, abs=0)


def test_keys_leave_the_cells_alone():
    cells = np.array([[5, 9], [7, 1]], np.uint32)
    hilbert_keys(cells, 4)
    assert cells.tolist() == [[5, 9], [7, 1]]


def test_points_without_dimensions_keep_their_order():
    assert hilbert(np.zeros((3, 0))).tolist() == [0, 1, 2]


def test_both_ends_of_a_dimension_are_on_the_grid():
    assert grid_cells(np.array([[0.0, 0.5, 1.0]])).tolist() == [[0, 2048, 4095]]


def test_values_are_placed_by_position_leaf_and_frequency():
    tree = Hierarchy.from_rows([("a", "x", "*"), ("c", "y", "*"), ("b", "x", "*")])
    table = pa.table(
        {
            "number": [10, 40, None, 20, 20],
            "category": ["u", "w", None, "w", "v"],
            "leaf": ["a", "b", "c", "c", None],
            "constant": [1, 1, 1, 1, 1],
        }
    )
    schema = Schema.of(quasi_identifying=table.column_names, hierarchies={"leaf": tree})
    points = place(encode(table, schema, Representation.RANGE))
    # the missing number lies one mean step of 15 above 40
    assert points[:, 0] == pytest.approx([0, 30 / 45, 1, 10 / 45, 10 / 45])
    # w is the most frequent, then as coded: u, v, missing
    assert points[:, 1] == pytest.approx([1 / 3, 0, 1, 0, 2 / 3])
    plain = place(encode(table, schema, Representation.RANGE), by_frequency=False)
    assert plain[:, 1] == pytest.approx([0, 2 / 3, 1, 2 / 3, 1 / 3])
    assert plain[:, [0, 2]].tolist() == points[:, [0, 2]].tolist()
    # c is as frequent as a and b together, which are below x; x loses 2/4, the root 1
    assert points[:, 2] == pytest.approx([0, 0.5 / 2.5, 1.5 / 2.5, 1.5 / 2.5, 1])
    assert points.shape == (5, 3)


def test_leaves_of_frequent_branches_come_first_and_stay_together():
    tree = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])
    table = pa.table({"leaf": [*"ab", *"cddd"]})
    schema = Schema.of(quasi_identifying=["leaf"], hierarchies={"leaf": tree})
    points = place(encode(table, schema, Representation.RANGE))[:, 0]
    # d, c, then a, b: half of the values below y or x, all of them below the root
    assert points == pytest.approx(np.array([1.5, 2, 0.5, 0, 0, 0]) / 2)


def test_axes_of_numbers_in_sets_are_as_long_as_what_ten_records_can_lose():
    random = np.random.default_rng(1)
    table = pa.table(
        {
            "few": random.integers(0, 8, 300),
            "age": np.arange(300) % 73,
            "code": [f"c{value}" for value in np.arange(300) % 90],
        }
    )
    schema = Schema.of(quasi_identifying=table.column_names)
    in_sets, in_ranges = (
        encode(table, schema, form) for form in (Representation.SET, Representation.RANGE)
    )
    equal = place(in_sets)
    assert np.ptp(equal, axis=0).tolist() == [1, 1, 1]
    assert place(in_sets, by_loss=True) == pytest.approx(equal * [1, 9 / 72, 1])
    assert place(in_ranges, by_loss=True).tolist() == place(in_ranges).tolist()


def test_columns_with_few_values_are_placed_first():
    table = pa.table({"many": [1, 2, 3], "few": [5, 5, 6], "more": ["x", "y", "z"]})
    points = place(
        encode(table, Schema.of(quasi_identifying=table.column_names), Representation.RANGE)
    )
    assert points.T.tolist() == [[0, 0, 1], [0, 0.5, 1], [0, 0.5, 1]]


def test_numbers_and_days_lie_at_their_values_as_sets_too():
    """NH10 §7: HS publishes the groups of HR as sets, so both have one order."""
    table = pa.table({"number": [10, 40, None, 20], "day": pa.array([0, 9, 9, 1], pa.date32())})
    schema = Schema.of(quasi_identifying=table.column_names)
    as_sets, as_ranges = (
        place(encode(table, schema, form)) for form in (Representation.SET, Representation.RANGE)
    )
    assert as_sets.tolist() == as_ranges.tolist()
    assert as_sets[:, 0] == pytest.approx([0, 1, 1, 1 / 9])
