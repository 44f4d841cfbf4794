"""The mean loss of all records of a graph, for any objective."""

from __future__ import annotations

from functools import partial

import numpy as np

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph, is_complete, preimage
from mottle.kernels.ncp_growth import Scales, box_loss
from mottle.kernels.reading_scales import importance_of
from mottle.kernels.scales import scales
from mottle.schema.columns import Objective
from mottle.typing import BoolArray, Int32Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel


def objective_loss(graph: Graph, codes: Codes, objective: Objective) -> float:
    """Measure the mean loss of the records by an objective. Cost O(n · degree · d)."""
    ordered = np.ascontiguousarray(codes.matrix[graph.members])
    votes = any(domain.sets is not None for domain in codes.domains)
    # What a wrong vote costs depends on the degree; nothing else does.
    degrees = np.unique(graph.degrees) if votes else graph.degrees[:1]
    # What cells do not decide: items are published as nodes.
    least = importance_of(codes, objective) @ [domain.least_loss for domain in codes.domains]
    total = 0.0
    for degree in degrees.tolist():
        chosen = graph.degrees == degree if votes else np.ones(len(graph.degrees), np.bool_)
        sums = partial(_sum_of_blocks, scales(codes, degree, objective), graph, ordered, chosen)
        total += sum(parallel.over_blocks(sums, graph.starts))
    found = max(total / graph.records, 0.0)  # rounding may leave less than 0 of exact cells
    return float(least) + found


@kernel
def _sum_of_blocks(
    scales: Scales, graph: Graph, ordered: Int32Array, chosen: BoolArray, first: int, last: int
) -> float:
    """Sum the losses of the records of the chosen ones among blocks ``first .. last - 1``."""
    marks = np.zeros(scales.position.size, np.int32)
    total, mark = 0.0, 0
    for block in range(first, last):
        if not chosen[block]:
            continue
        start, degree = graph.starts[block], int(np.int64(graph.degrees[block]))
        size = graph.starts[block + 1] - start
        box = np.empty(degree, np.int32)
        alike = size if is_complete(graph, block) else 1  # number of records with these preimages
        for place in range(0, size, alike):
            for layer in range(degree):
                box[layer] = start + preimage(graph, block, place, layer)
            mark += 1
            total += alike * box_loss(scales, ordered, box, degree, marks, mark)
    return total
