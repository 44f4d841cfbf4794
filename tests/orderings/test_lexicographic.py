"""The packed order is Python's order of tuples."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mottle.orderings import by_cardinality, lexicographic


@st.composite
def tables(draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sizes = draw(
        st.lists(
            st.one_of(
                st.integers(1, 3),
                st.sampled_from([2**15, 2**16 + 1, 2**30, 2**31 - 1, 2**31]),
                st.integers(1, 2**31),
            ),
            min_size=1,
            max_size=9,
        )
    )
    codes = [
        st.one_of(st.integers(0, min(size - 1, 2)), st.integers(0, size - 1)) for size in sizes
    ]
    rows = draw(st.lists(st.tuples(*codes), min_size=0, max_size=25))
    matrix = np.array(rows, np.int32).reshape(len(rows), len(sizes))
    attributes = draw(st.permutations(range(len(sizes))))
    return matrix, np.array(sizes, np.int64), np.array(attributes, np.int64)


@given(tables())
def test_order_is_that_of_tuples_and_keeps_equal_records_in_place(case):
    matrix, sizes, attributes = case
    rows = [tuple(row) for row in matrix[:, attributes].tolist()]
    expected = sorted(range(len(rows)), key=lambda row: rows[row])
    assert lexicographic(matrix, sizes, attributes).tolist() == expected


@given(st.lists(st.integers(0, 1), min_size=200, max_size=400), st.integers(20, 70))
def test_many_small_attributes_overflow_into_further_keys(bits: list[int], attributes: int):
    matrix = np.resize(np.array(bits, np.int32), (17, attributes))
    order = lexicographic(matrix, np.full(attributes, 2), np.arange(attributes))
    rows = [tuple(row) for row in matrix.tolist()]
    assert order.tolist() == sorted(range(17), key=lambda row: rows[row])


def test_largest_codes_of_largest_domains_do_not_spill_into_each_other():
    top = 2**31 - 1
    matrix = np.array([[0, top, 0], [1, 0, top], [0, top, top], [1, 0, 0]], np.int32)
    order = lexicographic(matrix, np.full(3, 2**31), np.arange(3))
    assert order.tolist() == [0, 2, 3, 1]


def test_table_without_attributes_keeps_its_order():
    assert lexicographic(np.empty((3, 0), np.int32), np.empty(0), np.empty(0)).tolist() == [0, 1, 2]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=10))
def test_attributes_with_few_values_come_first(sizes: list[int]):
    expected = sorted(range(len(sizes)), key=lambda attribute: sizes[attribute])
    assert by_cardinality(np.array(sizes)).tolist() == expected
