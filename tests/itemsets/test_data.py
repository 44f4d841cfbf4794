"""Set-valued data: canonical lists, whatever comes in, and bitmaps that say the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import DataError
from mottle.itemsets.data import ItemSets, bitmaps

records = st.lists(st.lists(st.text(max_size=4), max_size=8), min_size=1, max_size=12)


@given(records)
def test_records_come_back_as_their_sets(lists: list[list[str]]) -> None:
    data = ItemSets.of(lists)
    assert [set(data.record(number)) for number in range(data.records)] == [
        set(record) for record in lists
    ]
    assert data.starts[-1] == len(data.items) == sum(len(set(record)) for record in lists)
    for first, last in zip(data.starts[:-1], data.starts[1:], strict=True):
        assert np.all(np.diff(data.items[first:last]) > 0)


@given(records)
def test_bitmaps_hold_exactly_the_items_of_the_lists(lists: list[list[str]]) -> None:
    data = ItemSets.of(lists)
    packed = bitmaps(data.sets())
    for number in range(data.records):
        bits = int.from_bytes(packed[number].tobytes(), "little")
        held = data.items[data.starts[number] : data.starts[number + 1]]
        assert bits == sum(1 << int(item) for item in held)


@given(records, st.data())
def test_taking_records_keeps_their_items(lists: list[list[str]], data: st.DataObject) -> None:
    sets = ItemSets.of(lists).sets()
    rows = np.array(data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=10)), np.int64)
    taken = sets.take(rows)
    for place, row in enumerate(rows):
        expected = sets.items[sets.starts[row] : sets.starts[row + 1]]
        assert np.array_equal(taken.items[taken.starts[place] : taken.starts[place + 1]], expected)


def test_whole_numbers_are_ordered_by_number_and_other_items_by_text() -> None:
    assert ItemSets.of([["10", "9"], ["2"]]).names.to_pylist() == ["2", "9", "10"]
    assert ItemSets.of([["10", "9"], ["x"]]).names.to_pylist() == ["10", "9", "x"]
    assert ItemSets.of([["010", "9"]]).names.to_pylist() == ["010", "9"]


def test_odd_characters_are_kept_as_text() -> None:
    odd = ["a b", "", " ", "ä\u0301", "🙂", '"', "{|}", "\\", "\n", "\u202e"]
    assert set(ItemSets.of([odd]).record(0)) == set(odd)


def test_merged_and_missing_items_are_noted_without_naming_them() -> None:
    assert ItemSets.of([["secret", "secret", "secret"]]).notes == (
        "2 repeated items of a record were merged.",
    )
    pairs = ItemSets.of_pairs(2, np.array([0, 1]), pa.array(["a", None]))
    assert pairs.notes == ("1 missing item was left out.",)
    assert pairs.sizes.tolist() == [1, 0]


def test_dense_records_get_bitmaps_and_sparse_ones_do_not() -> None:
    dense = ItemSets.of([[str(item) for item in range(50)]] * 3)
    sparse = ItemSets.of([[str(record)] for record in range(3000)])
    assert dense.sets().words.shape == (3, 1)
    assert sparse.sets().words.shape == (0, 0)


def test_nothing_but_empty_sets_is_data_too() -> None:
    data = ItemSets.of([[], []])
    assert (data.records, data.universe, data.sets().sizes.tolist()) == (2, 0, [0, 0])


def test_no_records_and_wrong_labels_are_refused() -> None:
    with pytest.raises(DataError, match="no records"):
        ItemSets.of([])
    with pytest.raises(DataError, match="2 labels for 1 records"):
        ItemSets.of([["a"]], labels=["x", "y"])
    with pytest.raises(DataError, match=r"list<.*cannot hold"):
        ItemSets.of([["a"]], labels=[["x"]])
