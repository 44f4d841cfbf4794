"""Growth of many boxes at once, against that of one box at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from coded_tables import coded_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.kernels.box_growths import add_growths, make_candidates, prepare
from mottle.kernels.ncp_growth import Scales, add_growth
from mottle.kernels.scales import scales
from mottle.schema.model import Representation, Schema


def growths(
    metric: Scales,
    codes: Codes,
    boxes: NDArray[np.int32],
    candidates: NDArray[np.int32],
    *,
    stale: NDArray[np.bool_] | None = None,
    marked: int = 0,
) -> NDArray[np.float64]:
    """By box and candidate: the growth; rows that are not stale are 7."""
    size = len(boxes)
    marks, counts = (np.zeros(metric.domain_total, np.int32) for _ in range(2))
    marks[: metric.offset[-1]] = marked
    prepared = make_candidates(metric, size + 1)
    prepared.codes[:, :size] = codes.matrix[candidates].T
    used = prepare(metric, prepared, size, marks, marked)
    assert marks.max() <= used
    cost = np.full((size + 1, size + 1), 7.0)
    every = np.ones(size, np.bool_) if stale is None else stale
    add_growths(
        metric, codes.matrix, boxes, boxes.shape[1], prepared, size, every, marks, counts, cost
    )
    assert not counts.any()
    return cost[:size, :size]


def one_by_one(
    metric: Scales, codes: Codes, boxes: NDArray[np.int32], candidates: NDArray[np.int32]
) -> NDArray[np.float64]:
    size = len(boxes)
    marks = np.zeros(metric.domain_total, np.int32)
    shown = np.ascontiguousarray(codes.matrix[candidates].T)
    cost = np.empty((size, size))
    for row, box in enumerate(boxes):
        add_growth(metric, codes.matrix, box, len(box), shown, size, marks, row + 1, cost[row])
    return cost


@settings(deadline=None, max_examples=200)
@given(coded_tables(least=3), st.integers(0, 2**32 - 1), st.sampled_from([0, 50, 2**31 - 2]))
def test_all_pairs_have_the_growth_of_one_box(codes: Codes, seed: int, marked: int) -> None:
    random = np.random.default_rng(seed)
    metric = scales(codes)
    size = int(random.integers(1, codes.records + 1))
    members = int(random.integers(1, codes.records))
    boxes = random.integers(0, codes.records, (size, members)).astype(np.int32)
    candidates = random.integers(0, codes.records, size).astype(np.int32)
    expected = one_by_one(metric, codes, boxes, candidates)
    found = growths(metric, codes, boxes, candidates, marked=marked)
    assert np.array_equal(found, expected)  # to the last bit: sums are taken in the same order
    stale = random.random(size) < 0.5
    found = growths(metric, codes, boxes, candidates, stale=stale)
    assert np.array_equal(found[stale], expected[stale])
    assert np.all(found[~stale] == 7.0)


@pytest.mark.parametrize("values", [63, 64, 65, 200])
def test_columns_may_have_more_values_than_a_word_has_bits(values: int) -> None:
    random = np.random.default_rng(values)
    numbers = random.permutation(values)
    table = pa.table({"text": numbers.astype(str), "other": (numbers % 70).astype(str)})
    codes = encode(table, Schema.of(quasi_identifying=["text", "other"]), Representation.RANGE)
    metric = scales(codes)
    boxes = random.integers(0, values, (values, 3)).astype(np.int32)
    candidates = random.permutation(values).astype(np.int32)
    expected = one_by_one(metric, codes, boxes, candidates)
    assert np.array_equal(growths(metric, codes, boxes, candidates), expected)
