"""Boxes kept as their cells, against boxes kept as lists of members."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mottle.encoding.encode import encode
from mottle.hierarchy.tree import Hierarchy
from mottle.kernels.growing_boxes import make_boxes, open_box, set_growths, widen
from mottle.kernels.ncp_growth import add_growth
from mottle.kernels.scales import scales
from mottle.schema.model import Representation, Schema

ROWS = 150


@pytest.mark.parametrize("representation", list(Representation))
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("values", [2, 64, 65, 140])
def test_growth_is_that_of_the_list_of_members(
    representation: Representation, missing: float, values: int
) -> None:
    random = np.random.default_rng(values)

    def column(drawn: list[object]) -> list[object]:
        return [None if random.random() < missing else value for value in drawn]

    leaves = [f"l{number}" for number in range(values)]
    table = pa.table(
        {
            "number": column(random.integers(0, 1000, ROWS).tolist()),
            "category": column([f"c{v}" for v in random.integers(0, values, ROWS)]),
            "tree": column([leaves[v] for v in random.integers(0, values, ROWS)]),
            "small": column([f"s{v}" for v in random.integers(0, 3, ROWS)]),
        }
    )
    tree = Hierarchy.from_rows([(leaf, f"m{len(leaf)}", "*") for leaf in leaves])
    schema = Schema.of(quasi_identifying=table.column_names, hierarchies={"tree": tree})
    codes = encode(table, schema, representation)
    metric = scales(codes)
    candidates = np.ascontiguousarray(codes.matrix.T)
    marks = np.zeros(metric.domain_total, np.int32)
    expected, costs = np.empty(ROWS), np.empty((ROWS, ROWS))
    boxes = make_boxes(metric, ROWS)
    for place in range(ROWS):
        open_box(metric, boxes, place, codes.matrix[7])  # what was there before is forgotten
        open_box(metric, boxes, place, codes.matrix[place])
    for members in range(1, 20):
        set_growths(metric, boxes, candidates, ROWS, costs)
        for place in (0, 1, ROWS - 1):
            box = ((place + np.arange(members)) % ROWS).astype(np.int32)
            add_growth(
                metric,
                codes.matrix,
                box,
                members,
                candidates,
                ROWS,
                marks,
                ROWS * members + place,
                expected,
            )
            assert np.array_equal(costs[place], expected)
        for place in range(ROWS):
            widen(metric, boxes, place, codes.matrix[(place + members) % ROWS])
