"""Columns of every kind as the tree of cuts sees them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from mottle import Column, Hierarchy, Schema
from mottle.encoding.encode import encode
from mottle.kernels.scales import scales
from mottle.methods.buckets.cut_columns import CutColumn, codes_of, cut_columns
from mottle.schema.model import Representation

PLACES = Hierarchy.from_rows(
    [
        ("Italy", "South", "Europe", "*"),
        ("Spain", "South", "Europe", "*"),
        ("France", "West", "Europe", "*"),
        ("US", "North", "America", "*"),
        ("Canada", "North", "America", "*"),
    ]
)


def quasi(name: str, kind: str, **options) -> Column:
    return Column(name=name, role="quasi-identifying", kind=kind, **options)


def seen(values, kind: str, **options) -> tuple[tuple[CutColumn, ...], np.ndarray, object]:
    """The columns that the tree sees of one column, the codes of records in them, the domain."""
    schema = Schema(columns=(quasi("q", kind, **options),))
    codes = encode(pa.table({"q": values}), schema, Representation.RANGE)
    columns = cut_columns(codes.matrix, scales(codes, 3))
    return columns, codes_of(columns, codes.matrix), codes


@pytest.mark.parametrize("missing", [[], [None]])
def test_a_number_is_ordered_by_its_share_of_the_range(missing):
    columns, codes, _ = seen(pa.array([10, 20, 60, 20, *missing]), "number")
    (column,) = columns
    assert column.size == 3 + len(missing)
    assert column.positions[:3] / column.positions[2] == pytest.approx([0, 0.2, 1])
    assert np.all(np.diff(column.positions) >= 0)
    assert codes[0][:4].tolist() == [0, 1, 2, 1]


def test_a_category_is_not_ordered_and_costs_a_step():
    columns, codes, _ = seen(["x", "y", "z", "x"], "category")
    (column,) = columns
    assert (column.size, column.positions) == (3, None)
    assert column.step > 0
    assert codes.tolist() == [[0, 1, 2, 0]]


@pytest.mark.parametrize("missing", [[], [None]])
def test_leaves_of_a_tree_are_ordered_and_far_apart_where_high_nodes_meet(missing):
    values = [*PLACES.leaves, *missing]
    columns, codes, coded = seen(pa.array(values), "hierarchy", hierarchy=PLACES)
    (column,) = columns
    gaps = dict(zip(pairwise(values), np.diff(column.positions), strict=True))
    assert np.all(np.diff(column.positions) >= 0)
    assert gaps["Italy", "Spain"] < gaps["Spain", "France"] < gaps["France", "US"]
    assert column.positions[-1] <= 1 + 1e-9
    assert codes[0].tolist() == coded.matrix[:, 0].tolist()


def test_prefixes_are_ordered_as_a_tree():
    values = ["75001", "75002", "75116", "10115"]
    (column,), _, _ = seen(values, "prefix")
    near, far, farthest = sorted(np.diff(column.positions).tolist())
    assert near < far < farthest


def test_a_set_is_one_column_for_each_item_that_varies():
    values = pa.array([["a", "b"], ["a"], ["a", "b", "c"], ["a", "c"], ["b"]])
    columns, codes, _ = seen(values, "set")
    assert all(column.size == 2 and column.positions is None for column in columns)
    held = sorted(mine.tolist() for mine in codes)
    assert held == sorted([[1, 1, 1, 1, 0], [1, 0, 1, 0, 1], [0, 0, 1, 1, 0]])
    assert codes[-1].tolist() == [1, 1, 1, 1, 0]  # what varies least comes last
    assert all(column.step > 0 for column in columns)


def test_only_the_items_that_vary_most_are_seen():
    values = pa.array([[f"i{item}" for item in range(row, 90)] for row in range(90)])
    columns, codes, _ = seen(values, "set")
    assert len(columns) == 64
    assert np.abs(codes.mean(axis=1) - 0.5).max() < 0.4


def test_columns_of_several_kinds_keep_their_places():
    table = pa.table(
        {
            "age": [30, 40, 50],
            "tags": pa.array([["a"], ["a", "b"], []]),
            "sex": ["m", "f", "m"],
            "place": ["US", "Italy", "Spain"],
        }
    )
    schema = Schema(
        columns=(
            quasi("age", "number"),
            quasi("tags", "set"),
            quasi("sex", "category"),
            quasi("place", "hierarchy", hierarchy=PLACES),
        )
    )
    codes = encode(table, schema, Representation.RANGE)
    columns = cut_columns(codes.matrix, scales(codes, 2))
    assert [column.source for column in columns] == [0, 1, 1, 2, 3]
    matrix = codes_of(columns, codes.matrix)
    for column, mine in zip(columns, matrix, strict=True):
        assert mine.max() < column.size
        if column.holds is None:
            assert mine.tolist() == codes.matrix[:, column.source].tolist()
    items = sorted(mine.tolist() for mine in matrix[1:3])
    assert items == [[0, 1, 0], [1, 1, 0]]
