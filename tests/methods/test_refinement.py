"""Refinement of buckets: it ends at once where no exchange of a layer gains, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import mottle
from mottle import Schema
from mottle.encoding.encode import encode
from mottle.kernels.scales import scales
from mottle.methods import MethodContext
from mottle.methods.refinement import mean_loss, refine, table_orders
from mottle.schema.columns import Objective
from mottle.schema.model import Representation

SIZE, BUCKETS, TABLES = 12, 4, 2


@pytest.mark.parametrize("objective", [Objective.NCP, Objective.READING])
def test_buckets_are_refined_until_no_layer_can_gain(objective):
    people = mottle.datasets.population(SIZE * BUCKETS * TABLES, seed=4)
    names = ["age", "sex", "education", "workclass"]
    schema = Schema.of(quasi_identifying=names, rest="insensitive")
    codes = encode(people, schema.covering(people.column_names), Representation.RANGE)
    metric = scales(codes, BUCKETS, objective)
    ordered = np.ascontiguousarray(codes.matrix)
    random = np.random.default_rng(0)
    place = np.arange(len(ordered))
    first = place - place % (SIZE * BUCKETS)  # of the table
    preimages = np.stack(
        [
            np.concatenate(
                [
                    first[start] + layer * SIZE + random.permutation(SIZE)
                    for start in range(0, len(place), SIZE)
                ]
            )
            for layer in range(BUCKETS)
        ],
        axis=1,
    ).astype(np.int32)
    before = mean_loss(metric, ordered, preimages)
    starts = np.arange(0, len(place) + 1, SIZE)
    refined = refine(
        metric,
        ordered,
        table_orders(ordered, codes.sizes),
        preimages,
        MethodContext(seconds=3600),  # without a settled end it would go on for so long
        bucket_starts=starts,
    )
    assert refined.ended == "no more gain"
    assert mean_loss(metric, ordered, preimages) < before
    assert np.array_equal(
        preimages // SIZE - first[:, None] // SIZE, np.tile(range(BUCKETS), (96, 1))
    )
    for start in starts[:-1]:
        here = preimages[start : start + SIZE]
        assert all(len(set(layer)) == SIZE for layer in here.T)
        for layer in range(BUCKETS):
            cost = np.empty((SIZE, SIZE))
            for column in range(SIZE):
                tried = here.copy()
                tried[:, layer] = here[column, layer]
                cost[:, column] = [mean_loss(metric, ordered, box[None]) for box in tried]
            best = cost[linear_sum_assignment(cost)].sum()
            assert np.trace(cost) == pytest.approx(best, abs=1e-9)
