"""Columns of sets as codes: distinct sets in Gray order, missing ones, odd items."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.encoding.domain import Form
from mottle.encoding.encode import along_orders, encode, encode_column
from mottle.encoding.set_columns import as_text_of_items, encode_sets, sets_as_lists, sorted_lists
from mottle.errors import DataError, SchemaError
from mottle.schema.model import Column, Kind, Representation, Role, Schema

ITEMS = st.sampled_from(["a", "b", "c", "", ";", "{x|y}", "..", "é\n", "null", "\\e"])
SETS = st.lists(st.none() | st.lists(ITEMS, max_size=5), min_size=1, max_size=30)


def column(sets: list) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(sets, pa.list_(pa.string()))])


@given(SETS)
def test_codes_read_back_as_the_sets(sets: list):
    domain, lists, codes = encode_sets(column(sets), "x", ";")
    read = [None if code < 0 else set(lists[int(code)].as_py()) for code in codes]
    assert read == [None if items is None else set(items) for items in sets]
    distinct = {frozenset(items) for items in sets if items is not None}
    assert len(lists) == len(distinct)
    assert len(domain.sets.sizes) == len(distinct) + (None in sets)


@given(SETS)
def test_mean_items_count_every_item_once_and_a_missing_set_as_one(sets: list):
    domain, _, _ = encode_sets(column(sets), "x", ";")
    held = [1 if items is None else len(set(items)) for items in sets]
    assert domain.mean_items == pytest.approx(np.mean(held))


def test_neighbours_in_code_differ_in_few_items():
    random = np.random.default_rng(1)
    sets = [[item for item in "abcdefgh" if random.random() < 0.4] for _ in range(400)]
    _, lists, _ = encode_sets(column(sets), "x", ";")
    known = [set(items) for items in lists.to_pylist()]
    steps = [len(one ^ other) for one, other in pairwise(known)]
    assert np.mean(steps) < 1.7  # 256 sets of eight items, most of which occur; Gray's is 1


def test_text_is_split_and_trimmed_and_only_separators_are_an_empty_set():
    texts = pa.chunked_array([["b; a", "a;;b;a", ";", " ", "", None]])
    lists = sorted_lists(texts, "x", ";")
    assert lists.to_pylist() == [["a", "b"], ["a", "b"], [], [], [], None]


def test_numbers_and_dates_become_text():
    numbers = pa.chunked_array([pa.array([[3, 10], [10]], pa.list_(pa.int8()))])
    assert sorted_lists(numbers, "x", ";").to_pylist() == [["3", "10"], ["10"]]
    assert sorted_lists(pa.chunked_array([[7, None]]), "x", ";").to_pylist() == [["7"], None]


@pytest.mark.parametrize("sets", [[[], []], [None, None], [["a"], ["a"]], [["a"], None]])
def test_a_column_of_one_value_or_none(sets: list):
    qi = Column(name="x", role=Role.QUASI_IDENTIFYING)
    domain, codes = encode_column(column(sets), qi, Representation.RANGE)
    assert domain.form is Form.WORLDS
    assert domain.column.kind is Kind.SET
    assert [domain.values[int(code)].as_py() for code in codes] == sets
    assert domain.missing == (domain.size - 1 if None in sets else -1)


def test_lists_are_sets_without_being_asked_and_text_when_asked():
    table = pa.table({"x": [["a"], []], "y": ["a;b", "b"], "z": ["a|b", None]})
    schema = Schema.of(quasi_identifying=["x", "y", "z"], kinds={"y": "set"}, separators={"z": "|"})
    codes = encode(table, schema, Representation.SET)
    assert [domain.form for domain in codes.domains] == [Form.WORLDS] * 3
    assert [domain.sets.names.to_pylist() for domain in codes.domains] == [
        ["a"],
        ["a", "b"],
        ["a", "b"],
    ]
    assert sets_as_lists(table, schema).column("z").to_pylist() == [["a", "b"], None]


@given(st.lists(st.none() | st.lists(st.sampled_from("abc"), max_size=3), min_size=1))
def test_text_of_items_reads_back(sets: list):
    lists = sorted_lists(column(sets), "x", ";")
    assert sorted_lists(as_text_of_items(lists, "x", ";"), "x", ";").equals(lists)


@pytest.mark.parametrize("item", ["", " a", "a;b", "\t"])
def test_items_that_text_cannot_hold_are_refused(item: str):
    with pytest.raises(DataError, match="'x' has items that text cannot hold"):
        as_text_of_items(column([["a"], [item]]), "x", ";")


def test_notes_tell_of_repeated_and_missing_items_without_naming_them():
    table = pa.table({"x": [["secret", "secret", None], ["b"]]})
    notes = encode(table, Schema.of(quasi_identifying=["x"]), Representation.RANGE).notes
    assert len(notes) == 2
    assert all(note.startswith("Column 'x': 1 ") for note in notes)
    assert "secret" not in "".join(notes)


def test_a_list_is_no_other_kind():
    table = pa.table({"x": [["a"], []]})
    schema = Schema.of(quasi_identifying=["x"], kinds={"x": "category"})
    with pytest.raises(SchemaError, match=r"'x' holds .* of kind category"):
        encode(table, schema, Representation.RANGE)


@given(SETS)
def test_on_a_line_sets_keep_their_codes_and_lie_in_order(sets: list):
    table = pa.table({"x": column(sets), "age": list(range(len(sets)))})
    codes = encode(table, Schema.of(quasi_identifying=["x", "age"]), Representation.RANGE)
    line = along_orders(codes)
    domain = line.domains[0]
    known = domain.size - (domain.missing >= 0)
    assert line.matrix is codes.matrix
    assert domain.form is Form.RANGE
    assert np.all(np.diff(domain.positions[:known]) > 0)
    assert domain.positions.min() >= 0
    assert domain.positions.max() <= 1
    assert along_orders(line) is line


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.string())])
def test_values_behind_a_missing_list_are_nobodys(kind: pa.DataType):
    hiding = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b"]), mask=pa.array([True, False])
    )
    values = pa.chunked_array([hiding]).cast(kind)
    assert sorted_lists(values, "x", ";").to_pylist() == [None, ["b"]]


def test_lists_of_fixed_size_are_sets():
    values = pa.chunked_array([pa.array([["b", "a"], None], pa.list_(pa.string(), 2))])
    assert sorted_lists(values, "x", ";").to_pylist() == [["a", "b"], None]
