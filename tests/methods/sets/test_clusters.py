"""Closed sets are all and only those, clusters keep their promise, and dealing fills every box."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import mottle
from mottle.itemsets.data import ItemSets
from mottle.methods.sets._closed_itemsets import closed_sets
from mottle.methods.sets._cluster_boxes import boxes
from mottle.methods.sets._clusters import Memberships, memberships

records = st.lists(st.sets(st.sampled_from("abcdef")), min_size=1, max_size=14)


def closed_by_definition(lists: list[set[str]], support: int) -> set[tuple[int, frozenset[int]]]:
    found = set()
    for count in range(support, len(lists) + 1):
        for rows in combinations(range(len(lists)), count):
            common = set.intersection(*(lists[row] for row in rows))
            holders = frozenset(row for row, held in enumerate(lists) if common <= held)
            if common and len(holders) == count:
                found.add((len(common), holders))
    return found


@given(st.lists(st.sets(st.sampled_from("abcde")), min_size=1, max_size=8), st.integers(1, 4))
def test_closed_sets_are_those_of_the_definition(lists: list[set[str]], support: int) -> None:
    found = closed_sets(ItemSets.of(lists).sets(), support, 10_000)
    assert found is not None
    found_sets = [
        (int(size), frozenset(found.holders[first:last].tolist()))
        for size, first, last in zip(found.sizes, found.starts[:-1], found.starts[1:], strict=True)
    ]
    assert len(found_sets) == len(set(found_sets))
    assert set(found_sets) == closed_by_definition(lists, support)


def test_more_holders_than_allowed_are_refused() -> None:
    sets = mottle.datasets.baskets(400, items=50, size=8, seed=1).sets()
    everything = closed_sets(sets, 3, 10**9)
    assert everything is not None
    assert closed_sets(sets, 3, len(everything.holders)) is not None
    assert closed_sets(sets, 3, len(everything.holders) - 1) is None


def test_no_item_with_enough_holders_gives_nothing() -> None:
    found = closed_sets(ItemSets.of(["a", "b", ""]).sets(), 2, 100)
    assert found is not None
    assert len(found.sizes) == 0


@given(records, st.integers(2, 5))
def test_clusters_get_full_boxes_and_nobody_gives_more_than_it_has(
    lists: list[set[str]], degree: int
) -> None:
    given_ = memberships(ItemSets.of(lists).sets(), degree)
    assume(given_ is not None)
    assert given_ is not None
    for first, last in zip(given_.starts[:-1], given_.starts[1:], strict=True):
        matches = given_.matches[first:last]
        assert matches.sum() % degree == 0
        assert matches.max() * degree <= matches.sum()
    assert np.bincount(given_.members, given_.matches, minlength=1).max(initial=0) <= degree


def test_members_of_a_cluster_have_something_in_common() -> None:
    data = mottle.datasets.baskets(600, items=80, size=6, seed=3)
    given_ = memberships(data.sets(), 5)
    assert given_ is not None
    assert len(given_.starts) > 20
    for first, last in zip(given_.starts[:-1], given_.starts[1:], strict=True):
        assert set.intersection(*(set(data.record(row)) for row in given_.members[first:last]))


@pytest.mark.parametrize("degree", [2, 3, 7])
@given(st.data())
def test_dealing_fills_every_box_with_different_records(degree: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(degree, 30))
    left = np.full(count, degree)
    members: list[int] = []
    matches: list[int] = []
    starts = [0]
    for _ in range(data.draw(st.integers(0, 4))):
        most = data.draw(st.integers(1, degree))
        shares = np.minimum(left, most)
        rows = np.flatnonzero(shares)
        while len(rows) and shares[rows].sum() % degree:
            last = rows[shares[rows].argmax()]
            shares[last] -= 1
            rows = np.flatnonzero(shares)
        if not len(rows) or shares.max() * degree > shares.sum():
            continue
        members += rows.tolist()
        matches += shares[rows].tolist()
        starts.append(len(members))
        left -= shares
    given_ = Memberships(
        np.array(starts, np.int64), np.array(members, np.int32), np.array(matches, np.int32)
    )
    preimages = boxes(given_, count, degree)
    assert (np.bincount(preimages.ravel(), minlength=count) == degree).all()
    assert all(len(set(box)) == degree for box in preimages.tolist())
