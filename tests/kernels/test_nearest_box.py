"""The index of boxes: growth to the last bit, bounds that hold, searches that miss nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mottle import Hierarchy, Schema
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.kernels.ncp_growth import add_growth
from mottle.kernels.nearest_box import BoxIndex, absorb, build, growth, holds, search, take
from mottle.schema.model import Representation

PLACES = Hierarchy.from_rows(
    [("Rome", "South", "*"), ("Bari", "South", "*"), ("Turin", "North", "*"), ("Oslo", "Oslo", "*")]
)


def codes_of(rows: int, seed: int) -> Codes:
    """Ranges, sets of few and of many values, nodes; missing values in all of them."""
    random = np.random.default_rng(seed)
    missing = random.random((4, rows)) < 0.15
    table = pa.table(
        {
            "age": pa.array(random.integers(0, 30, rows), mask=missing[0]),
            "sex": pa.array(random.choice(["f", "m"], rows), mask=missing[1]),
            "job": pa.array([str(job) for job in random.integers(0, 90, rows)], mask=missing[2]),
            "place": pa.array(random.choice(PLACES.leaves, rows), mask=missing[3]),
        }
    )
    schema = Schema.of(quasi_identifying=table.column_names, hierarchies={"place": PLACES})
    return encode(table, schema, Representation.RANGE)


@pytest.fixture(params=[1, 7, 8, 9, 64, 300])
def index(request) -> BoxIndex:
    """Boxes of three members each, a third of them taken."""
    rows = request.param
    random = np.random.default_rng(rows)
    codes = codes_of(rows, rows)
    index = build(codes, codes.matrix, 4)
    for layer in (1, 2):
        absorb(index, random.permutation(rows).astype(np.int32), layer)
    for box in random.choice(rows, rows // 3, replace=False):
        take(index, box)
    return index


def available(index: BoxIndex) -> list[int]:
    return [box for box in range(len(index.ordered)) if index.first[index.entry_of[box]] == box]


def all_growth(index: BoxIndex) -> np.ndarray:
    """[box, original] by the kernel that other methods use."""
    n = len(index.ordered)
    found = np.empty((n, n))
    marks = np.zeros(index.scales.domain_total, np.int32)
    candidates = np.ascontiguousarray(index.ordered.T)
    for box in range(n):
        add_growth(
            index.scales,
            index.ordered,
            index.members[box],
            3,
            candidates,
            n,
            marks,
            box + 1,
            found[box],
        )
    return found


def test_growth_of_a_box_is_that_of_add_growth_to_the_last_bit(index: BoxIndex):
    expected = all_growth(index)
    for box in available(index):
        for original in range(len(expected)):
            found = growth(index, original, index.entry_of[box], np.inf)
            assert found == expected[box, original]


def test_bound_of_a_node_is_never_above_a_box_below_it(index: BoxIndex):
    expected = all_growth(index)
    for box in available(index):
        node = 1
        path = []
        place = index.entry_of[box] - 2 * index.leaves
        begin, end = 0, index.leaves
        while True:  # from the root down, halving the leaves
            path.append(node)
            if node >= index.leaves:
                break
            middle = (begin + end) // 2
            if place < middle * len(expected) // index.leaves:
                node, end = 2 * node, middle
            else:
                node, begin = 2 * node + 1, middle
        for entry in path:
            assert index.first[entry] <= box
            for original in range(len(expected)):
                assert growth(index, original, entry, np.inf) <= expected[box, original]


@pytest.mark.parametrize("room", [1, 5])
@pytest.mark.parametrize("unused_only", [False, True])
def test_search_finds_the_nearest_available_boxes_in_order(
    index: BoxIndex, room: int, unused_only: bool
):
    expected = all_growth(index)
    weights, boxes = np.empty(room), np.empty(room, np.int32)
    for original in range(len(expected)):
        candidates = sorted(
            (expected[box, original], box)
            for box in available(index)
            if not (unused_only and original in index.members[box])
        )[:room]
        found = search(index, original, original if unused_only else -1, weights, boxes)
        nearest = zip(weights[:found].tolist(), boxes[:found].tolist(), strict=True)
        assert list(nearest) == candidates


def test_box_holds_its_members_and_nobody_else(index: BoxIndex):
    for box, members in enumerate(index.members[:, :3].tolist()):
        held = [original for original in range(len(index.ordered)) if holds(index, box, original)]
        assert held == sorted(set(members))


def test_absorbing_makes_boxes_available_and_returns_the_growth_of_all():
    codes = codes_of(50, 2)
    index = build(codes, codes.matrix, 3)
    for box in range(50):
        take(index, box)
    assert search(index, 0, -1, np.empty(1), np.empty(1, np.int32)) == 0
    box_of = np.roll(np.arange(50), 1).astype(np.int32)
    grown = absorb(index, box_of, 1)
    assert available(index) == list(range(50))
    assert 0.0 < grown <= 50.0


def test_memory_does_not_grow_with_the_domain():
    rows = 4000
    table = pa.table({"postcode": [str(row) for row in range(rows)]})
    schema = Schema.of(quasi_identifying=["postcode"])
    codes = encode(table, schema, Representation.RANGE)
    index = build(codes, codes.matrix, 2)
    arrays = (index.low, index.high, index.mask, index.first, index.members, index.entry_of)
    assert sum(array.nbytes for array in arrays) < 100 * rows
