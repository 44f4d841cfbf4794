"""Partitions of nh and hp against NH10 Fig. 8, written down as a plain recursion."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import Schema, methods
from mottle.coding import Codes, encode
from mottle.guarantees import Demand
from mottle.methods.nh import lexicographic_partitions
from mottle.schema import Representation

Rows = list[tuple[int, ...]]


def partition(part: Rows, k: int, attribute: int) -> list[Rows]:
    """Fig. 8 with the choices stated in `lexicographic_partitions`; line numbers are the figure's.

    ``part`` is sorted; its rows agree on all attributes before ``attribute``.
    """
    if len(part) < 2 * k or attribute == len(part[0]):
        return [part]
    values = sorted({row[attribute] for row in part})
    parts = [[row for row in part if row[attribute] == value] for value in values]  # line 2
    place = 0
    while place < len(parts):  # line 4
        small = parts[place]
        if len(small) >= k:
            place += 1
        elif place + 1 < len(parts):  # line 5: the neighbour is the next part
            neighbour = parts[place + 1]
            if len(small) + len(neighbour) >= 2 * k:  # lines 6-7
                wanted = k - len(small)
                parts[place : place + 2] = [small + neighbour[:wanted], neighbour[wanted:]]
            else:  # line 9
                parts[place : place + 2] = [small + neighbour]
        else:  # or the previous one for the last
            neighbour = parts[place - 1]
            if len(small) + len(neighbour) >= 2 * k:
                kept = len(neighbour) + len(small) - k
                parts[place - 1 :] = [neighbour[:kept], neighbour[kept:] + small]
            else:
                parts[place - 1 :] = [neighbour + small]
            place = len(parts)
    finished = []
    for group in parts:  # line 11
        if len({row[attribute] for row in group}) > 1:  # line 12
            finished.append(group)
        else:  # line 15
            finished += partition(group, k, attribute + 1)
    return finished


@st.composite
def small_tables(draw) -> pa.Table:
    attributes = draw(st.integers(1, 4))
    rows = draw(st.integers(2, 60))
    columns = {}
    for attribute in range(attributes):
        values = draw(st.integers(1, 6))
        codes = st.lists(st.integers(0, values - 1), min_size=rows, max_size=rows)
        columns[f"a{attribute}"] = pa.array(draw(codes), pa.int64())
    return pa.table(columns)


def codes_of(table: pa.Table) -> Codes:
    schema = Schema.of(quasi_identifying=table.column_names)
    return encode(table, schema, Representation.RANGE)


@settings(max_examples=300)
@given(small_tables(), st.integers(2, 9))
def test_partitions_are_those_of_figure_8(table: pa.Table, k: int):
    codes = codes_of(table)
    members, starts = lexicographic_partitions(codes, k)
    attributes = sorted(range(len(codes.domains)), key=lambda a: codes.domains[a].size)
    rows = sorted(tuple(row[a] for a in attributes) for row in codes.matrix.tolist())
    expected = partition(rows, k, 0)
    found = [
        [tuple(codes.matrix[row, attributes].tolist()) for row in members[first:last]]
        for first, last in itertools.pairwise(starts)
    ]
    assert found == expected


@pytest.mark.parametrize("method", ["nh", "hp"])
@given(table=small_tables(), k=st.integers(2, 9))
def test_parts_are_large_enough_and_hold_every_row_once(method: str, table: pa.Table, k: int):
    k = min(k, table.num_rows)
    graph = methods.get(method).arrange(codes_of(table), Demand(k), methods.Effort()).graph
    assert sorted(graph.members.tolist()) == list(range(table.num_rows))
    assert graph.starts[0] == 0
    assert graph.starts[-1] == table.num_rows
    assert graph.sizes.min() >= k
    expected = graph.sizes if method == "hp" else np.full(len(graph.sizes), k)
    assert graph.degrees.tolist() == expected.tolist()


@given(small_tables())
def test_table_smaller_than_two_groups_stays_whole(table: pa.Table):
    members, starts = lexicographic_partitions(codes_of(table), table.num_rows)
    assert starts.tolist() == [0, table.num_rows]
    assert sorted(members.tolist()) == list(range(table.num_rows))


def test_constant_table_is_one_part():
    codes = codes_of(pa.table({"a": [1] * 50, "b": [2] * 50}))
    assert lexicographic_partitions(codes, 5)[1].tolist() == [0, 50]


def test_all_distinct_column_is_cut_into_groups_of_k():
    codes = codes_of(pa.table({"a": list(range(23))}))
    assert lexicographic_partitions(codes, 5)[1].tolist() == [0, 5, 10, 15, 23]
