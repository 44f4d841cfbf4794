"""The index of originals by containment: agrees with looking at every pair."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.audit.containment.coded_columns import CodedColumn, count_outside, offsets_of
from mottle.audit.containment.compact import concatenate_ranges, group_rows
from mottle.audit.containment.index import build_index


@st.composite
def coded(draw: st.DrawFn) -> list[CodedColumn]:
    """A few columns of originals and of cells that are lists of intervals."""
    people = draw(st.integers(1, 12))
    records = draw(st.integers(1, 12))
    columns = []
    for _ in range(draw(st.integers(1, 3))):
        codes = draw(st.lists(st.integers(0, 7), min_size=people, max_size=people))
        cells = draw(
            st.lists(
                st.lists(st.integers(0, 9), unique=True, max_size=6).map(sorted),
                min_size=records,
                max_size=records,
            )
        )
        pairs = [list(zip(cell[::2], cell[1::2], strict=False)) for cell in cells]
        columns.append(
            CodedColumn(
                np.array(codes, np.int32),
                offsets_of(np.array([len(cell) for cell in pairs])),
                np.array([low for cell in pairs for low, _ in cell], np.int32),
                np.array([high for cell in pairs for _, high in cell], np.int32),
            )
        )
    return columns


def inside(columns: list[CodedColumn]) -> np.ndarray:
    """[originals, records] by the definition."""
    people, records = len(columns[0].codes), len(columns[0].offsets) - 1
    matrix = np.ones((people, records), bool)
    for column in columns:
        for record in range(records):
            span = range(column.offsets[record], column.offsets[record + 1])
            for person in range(people):
                code = column.codes[person]
                matrix[person, record] &= any(
                    column.lowest[place] <= code <= column.highest[place] for place in span
                )
    return matrix


@given(coded())
def test_counts_and_pairs_agree_with_every_pair(columns):
    expected = inside(columns)
    index = build_index(columns)
    assert np.array_equal(index.matches_of_points()[index.place_of], expected.sum(axis=1))
    assert np.array_equal(index.originals_in(index.pieces)[index.box_of], expected.sum(axis=0))
    points, boxes = index.pairs()
    assert index.pair_count() == len(points)
    listed = np.zeros((len(index.weights), len(index.multiplicities)), bool)
    listed[points, boxes] = True
    assert np.array_equal(listed[index.place_of][:, index.box_of], expected)
    assert listed.sum() == len(points)  # no pair twice


@given(coded(), st.data())
def test_a_sample_of_people_has_the_matches_it_has_among_all(columns, data):
    expected = inside(columns).sum(axis=1)
    people = np.array(sorted(data.draw(st.sets(st.integers(0, len(expected) - 1), min_size=1))))
    index = build_index(columns, people)
    assert np.array_equal(index.matches_of_points()[index.place_of], expected[people])


@given(coded())
def test_pairs_that_are_no_match_are_counted(columns):
    expected = inside(columns)
    people, records = (axis.ravel().astype(np.int32) for axis in np.indices(expected.shape))
    assert count_outside(columns, people, records) == np.count_nonzero(~expected)


def test_branches_cover_every_point_once():
    codes = np.random.default_rng(1).integers(0, 40, (2, 300)).astype(np.int32)
    anything = (np.array([0, 1]), np.array([0], np.int32), np.array([50], np.int32))
    index = build_index([CodedColumn(column, *anything) for column in codes])
    branches = index.branches(16)
    sizes = index.tree.last[branches] - index.tree.first[branches]
    assert sizes.max() <= 16
    covered = concatenate_ranges(index.tree.first[branches], sizes)
    assert np.array_equal(np.sort(covered), np.arange(len(index.weights)))


def test_many_columns_do_not_overflow_the_walk_down_the_tree():
    codes = np.random.default_rng(2).integers(0, 2, (40, 200)).astype(np.int32)
    exact = [CodedColumn(column, np.arange(201), column.copy(), column.copy()) for column in codes]
    index = build_index(exact)
    assert np.all(index.matches_of_points()[index.place_of] == 1)


def test_rows_are_grouped_by_equality():
    groups, distinct = group_rows(np.array([[1, 1], [0, 1], [1, 1], [0, 0]], np.int32))
    assert groups[0] == groups[2]
    assert len(distinct) == len(np.unique(groups)) == 3
    assert [distinct[group].tolist() for group in groups] == [[1, 1], [0, 1], [1, 1], [0, 0]]


@pytest.mark.parametrize("rows", [1, 5])
def test_a_release_of_nothing_but_missing_values_matches_everybody(rows):
    from mottle import KAnonymity, Schema, anonymize
    from mottle.audit.containment.coded_columns import code_columns

    table = pa.table({"a": pa.array([None] * max(rows, 2), pa.int64())})
    release = anonymize(table, Schema.of(quasi_identifying=["a"]), KAnonymity(2), seed=1)
    index = build_index(code_columns(table, release))
    assert index.matches_of_points().tolist() == [table.num_rows]
