"""HET's threshold mode (§5): buckets of distant records, because these are never matched.

It looks at quasi-identifiers and sensitive values together, which an adversary who knows the method
can exploit (minimality attack); the paper includes it to show what that would gain.
"""

from __future__ import annotations

import numpy as np

from mottle.encoding.domain import Codes
from mottle.errors import UsageError
from mottle.kernels.ncp_growth import Scales, add_growth
from mottle.kernels.scales import scales
from mottle.methods.het.layout import SensitiveRecords, by_tiebreak
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import kernel

VALUES = 1000  # most different sensitive values whose distances are compared
_SAMPLE = 2000  # records by which values are compared
_NEIGHBOURS = 32  # records by which a record is compared with a bucket


class RecordDistances:
    """Distances between records: the loss of a box of the two."""

    def __init__(self, codes: Codes, records: SensitiveRecords, method: str) -> None:
        if len(records.caps) > VALUES:
            raise UsageError(
                f"Method '{method}' compares all sensitive values and takes at most {VALUES:,} of"
                f" them, not {len(records.caps):,}.",
                "Use the method without -threshold.",
            )
        self._metric: Scales = scales(codes)
        self._matrix = codes.matrix
        self._records = records

    def of_values(self) -> Float64Array:
        """Mean distance between the records of any two values, from a sample of each."""
        records, values = self._records, len(self._records.caps)
        each = max(_SAMPLE // values, 1)
        in_turn = by_tiebreak(records, np.arange(len(records.values)), np.empty(0, np.int64))
        ends = np.cumsum(np.bincount(records.values, minlength=values))
        sample = [rows[:each] for rows in np.split(in_turn, ends[:-1])]
        between = np.zeros((values, values))
        everybody = np.concatenate(sample)
        of = np.repeat(np.arange(values), [len(rows) for rows in sample])
        for value, rows in enumerate(sample):
            if len(rows):
                total = np.bincount(of, self.from_rows(everybody, rows), minlength=values)
                between[value] = total / np.maximum(np.bincount(of, minlength=values), 1)
        return between

    def from_rows(self, rows: Int64Array, others: Int64Array) -> Float64Array:
        """Mean distance of each of ``rows`` from ``others``."""
        candidates = np.ascontiguousarray(self._matrix[rows].T)
        return _mean_growth(self._metric, self._matrix, candidates, others.astype(np.int32))

    def most_distant_first(
        self, records: SensitiveRecords, rows: Int64Array, table: Int64Array
    ) -> Int64Array:
        """Rows by value; those farthest from a bucket's other records go to that bucket.

        An order for `lay_out`: a value that several buckets share gives each of them, in turn, the
        records most distant from it; the last bucket takes what is left.
        """
        taken = by_tiebreak(records, rows, table)
        ends = np.cumsum(table.sum(axis=1))
        of_value = np.split(taken, ends[:-1])
        return np.concatenate(
            [self._shared_out(of_value, table, value) for value in range(len(table))]
        )

    def _shared_out(self, of_value: list[Int64Array], table: Int64Array, value: int) -> Int64Array:
        left = of_value[value]
        shared = []
        for bucket in np.flatnonzero(table[value])[:-1]:
            others = [
                rows[: max(_NEIGHBOURS * int(count) // int(table[:, bucket].sum()), 1)]
                for other, (rows, count) in enumerate(zip(of_value, table[:, bucket], strict=True))
                if count and other != value
            ]
            farthest = np.arange(len(left))
            if others:
                farthest = np.argsort(-self.from_rows(left, np.concatenate(others)), kind="stable")
            count = int(table[value, bucket])
            shared.append(left[farthest[:count]])
            left = left[np.sort(farthest[count:])]
        return np.concatenate([*shared, left])


@kernel
def _mean_growth(
    metric: Scales, matrix: Int32Array, candidates: Int32Array, boxes: Int32Array
) -> Float64Array:
    """Mean growth of boxes of one record by each candidate."""
    count = candidates.shape[1]
    total, growth = np.zeros(count), np.empty(count)
    marks = np.zeros(metric.position.size, np.int32)
    for number in range(boxes.size):
        box = boxes[number : number + 1]
        add_growth(metric, matrix, box, 1, candidates, count, marks, number + 1, growth)
        total += growth
    return total / max(boxes.size, 1)
