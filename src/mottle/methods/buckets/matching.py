"""Match buckets with buckets by quasi-identifiers (HET Algorithm 2), section by section."""

from __future__ import annotations

import numpy as np

from mottle.kernels.box_growths import add_growths, make_candidates, prepare
from mottle.kernels.growing_boxes import make_boxes, open_box, set_growths, widen
from mottle.kernels.linear_assignment import match_rows
from mottle.kernels.ncp_growth import Scales
from mottle.kernels.vote_growth import ItemLists
from mottle.methods.buckets.filling import BucketLayout
from mottle.typing import Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel


def match_layout(metric: Scales, ordered: Int32Array, layout: BucketLayout) -> Int32Array:
    """Preimages [records in buckets, buckets]: layer b is a record of bucket b."""
    bucket_starts, count = layout.bucket_starts, layout.buckets
    preimages = np.empty((layout.in_buckets, count), np.int32)
    parallel.over_blocks(
        lambda first, last: _match(
            metric,
            metric.lists,
            ordered,
            bucket_starts,
            layout.sections,
            layout.section_starts,
            count,
            first,
            last,
            preimages,
        ),
        bucket_starts,
    )
    return preimages


@kernel
def _match(
    metric: Scales,
    lists: ItemLists | None,
    ordered: Int32Array,
    bucket_starts: Int64Array,
    sections: Int64Array,
    section_starts: Int64Array,
    count: int,
    first: int,
    last: int,
    preimages: Int32Array,
) -> None:
    """Match the buckets ``first .. last - 1`` with all buckets of their tables.

    Each bucket is matched with the next one, the one after that, and so on around, always by the
    cheapest assignment of the records of a section to the same section of the other bucket.

    ``lists`` are those of the metric, passed separately because only the type of an argument makes
    Numba compile either boxes or votes.
    """
    columns = ordered.shape[1]
    largest = int(np.int64(1))  # a literal 1 would make Numba compile `make_boxes` a second time
    end = section_starts[(last - 1) // count + 1] - 1
    for number in range(section_starts[first // count], end):
        largest = max(largest, sections[number + 1] - sections[number])
    cost = np.empty((largest, largest))
    if lists is None:
        codes = np.empty((columns, largest), np.int32)
        boxes = make_boxes(metric, largest)
    else:
        candidates = make_candidates(metric, largest)
        codes = candidates.codes
        members, stale = np.empty((largest, count), np.int32), np.ones(largest, np.bool_)
        marks, mark = np.zeros(metric.position.size, np.int32), int(np.int64(0))
        counts = np.zeros(metric.position.size, np.int32)
    column_of = np.empty(largest, np.int32)
    work, prices = np.empty((5, largest), np.int32), np.empty((2, largest))
    for numbered in range(first, last):
        table, bucket = numbered // count, numbered % count
        for number in range(section_starts[table], section_starts[table + 1] - 1):
            begin, size = sections[number], sections[number + 1] - sections[number]
            start = bucket_starts[numbered] + begin
            for place in range(size):
                if lists is None:
                    open_box(metric, boxes, place, ordered[start + place])
                else:
                    members[place, 0] = start + place
                preimages[start + place, bucket] = start + place
            for step in range(1, count):
                layer = (bucket + step) % count
                other = bucket_starts[table * count + layer] + begin
                for place in range(size):
                    for column in range(columns):
                        codes[column, place] = ordered[other + place, column]
                if lists is None:
                    set_growths(metric, boxes, codes, size, cost)
                else:
                    mark = prepare(metric, candidates, size, marks, mark)
                    add_growths(
                        metric,
                        ordered,
                        members,
                        step,
                        candidates,
                        size,
                        stale,
                        marks,
                        counts,
                        cost,
                    )
                match_rows(cost, size, column_of, work, prices)
                for place in range(size):
                    match = other + column_of[place]
                    preimages[start + place, layer] = match
                    if lists is not None:
                        members[place, step] = match
                    elif cost[place, column_of[place]] > 0.0:
                        widen(metric, boxes, place, ordered[match])
