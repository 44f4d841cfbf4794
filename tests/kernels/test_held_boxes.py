"""Boxes whose members are counted have the growths of boxes whose members are read."""

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
from mottle.kernels.held_boxes import deal, hold, make_held, scores_of, set_growths_without
from mottle.kernels.ncp_growth import Scales
from mottle.kernels.scales import scales
from mottle.schema.model import Objective, Representation, Schema


def check_layers(metric: Scales, codes: Codes, preimages: NDArray[np.int32], seed: int) -> None:
    """Deal layers at random and compare growths with those of boxes that are read anew."""
    random = np.random.default_rng(seed)
    ordered = codes.matrix
    size, degree = preimages.shape
    records = random.permutation(size).astype(np.int32)
    scratch = np.zeros(metric.domain_total, np.int32)
    marks, mark = np.zeros(metric.domain_total, np.int32), 0
    scores = scores_of(metric.reading, len(codes.domains))
    held, candidates = make_held(metric, size), make_candidates(metric, size)
    hold(metric, scores, ordered, preimages, records, held)
    for layer in random.integers(0, degree, 6).tolist():
        dealt = preimages[records, layer].copy()
        candidates.codes[:] = ordered[dealt].T
        mark = prepare(metric, candidates, size, marks, mark)
        found, expected = np.full((size, size), 7.0), np.empty((size, size))
        set_growths_without(
            metric, scores, ordered, preimages, records, layer, candidates, held, scratch, found
        )
        others = np.ascontiguousarray(np.delete(preimages[records], layer, axis=1))
        every = np.ones(size, np.bool_)
        add_growths(
            metric, ordered, others, degree - 1, candidates, size, every, marks, scratch, expected
        )
        assert not scratch.any()
        if metric.reading is None:
            assert np.array_equal(found, expected)  # sums are taken in the same order
        # What all candidates of a box add alike may be left out.
        relative, wanted = found - found[:, :1], expected - expected[:, :1]
        assert relative == pytest.approx(wanted, abs=1e-11)
        column_of = random.permutation(size).astype(np.int32)
        preimages[records, layer] = dealt[column_of]
        deal(metric, scores, ordered, preimages, records, layer, column_of, candidates, held)


@settings(deadline=None, max_examples=150)
@given(coded_tables(least=3), st.integers(0, 2**32 - 1), st.sampled_from([None, *Objective]))
def test_growths_are_those_of_boxes_that_are_read(
    codes: Codes, seed: int, objective: Objective | None
) -> None:
    random = np.random.default_rng(seed)
    size, degree = int(random.integers(1, codes.records + 1)), int(random.integers(2, 7))
    preimages = random.integers(0, codes.records, (size, degree)).astype(np.int32)
    check_layers(scales(codes, degree, objective), codes, preimages, seed)


@pytest.mark.parametrize("objective", [Objective.NCP, Objective.READING])
@pytest.mark.parametrize("values", [64, 65, 512, 513, 700])
def test_sets_may_have_many_values(values: int, objective: Objective) -> None:
    random = np.random.default_rng(values)
    numbers = np.concatenate([random.permutation(values), random.integers(0, 5, 300)])
    table = pa.table({"text": numbers.astype(str), "other": (numbers % 70).astype(str)})
    codes = encode(table, Schema.of(quasi_identifying=["text", "other"]), Representation.RANGE)
    preimages = random.permutation(len(numbers))[:360].reshape(90, 4).astype(np.int32)
    check_layers(scales(codes, 4, objective), codes, preimages, values)
