"""Orders and groups are those of NumPy's stable sort, with and without room for places in keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.utils.sorting import grouped, stable_order

LARGEST = (0, 1, 300, (1 << 58) - 1, (1 << 63) - 1)


@given(st.data(), st.sampled_from(LARGEST))
def test_equal_keys_keep_their_order_however_large_keys_are(
    data: st.DataObject, largest: int
) -> None:
    some = st.integers(0, largest) | st.sampled_from([0, largest // 2, largest])
    keys = np.array(data.draw(st.lists(some, max_size=70)), np.int64)
    assert stable_order(keys, largest).tolist() == np.argsort(keys, kind="stable").tolist()


@given(st.data(), st.sampled_from(LARGEST))
def test_groups_are_numbered_by_their_keys_and_begin_where_these_occur_first(
    data: st.DataObject, largest: int
) -> None:
    some = st.integers(0, largest) | st.sampled_from([0, largest // 2, largest])
    keys = np.array(data.draw(st.lists(some, max_size=70)), np.int64)
    _, places, of_key = np.unique(keys, return_index=True, return_inverse=True)
    first, groups = grouped(keys, largest)
    assert first.tolist() == places.tolist()
    assert groups.tolist() == of_key.tolist()


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_with_at_most_one_row_has_an_order(rows: int) -> None:
    assert stable_order(np.zeros(rows, np.int64), 0).tolist() == list(range(rows))
