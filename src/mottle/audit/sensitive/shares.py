"""Kernels: what a mixture of sensitive values gives away, and the mixtures that people see.

A *mixture* says how often each value occurs among some records. It is measured against the shares
of the values in the whole table, see `measure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_array

from mottle.audit.containment.coded_columns import offsets_of
from mottle.audit.containment.index import ContainmentIndex, Tree
from mottle.audit.links.edges import Edges
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel

if TYPE_CHECKING:
    Mixtures = csr_array[np.float64, tuple[int, int]]

SHARE = 0  # the highest share of a value
RATIO = 1  # the highest ratio of a share to the value's cap
DISTINCT = 2  # different values
ENTROPY = 3  # in nats
GAIN = 4  # the highest ratio of a share to the value's share in the whole table
ENHANCED = 5  # the smallest β of enhanced β-likeness; infinite when there is none
DISTANCE = 6  # earth mover's distance from the shares in the whole table
LOG_RATIO = 7  # the largest |ln(share / share in the whole table)| of a value that occurs
MARGIN = 8  # how many records the likeliest value has more than the next
MEASURES = 9

LIKELIEST, MOST_GAINED = 0, 1  # guesses: the value of SHARE and that of RATIO

_DUST = 1e-6  # less than any record's part, more than what adding and taking off may leave


class Values(NamedTuple):
    """What mixtures of one sensitive column (or of joint values) are measured against."""

    overall: Float64Array  # [values]: share in the whole table
    caps: Float64Array  # [values]: the highest share the guarantee allows
    cumulative: Float64Array  # [values + 1]: ordered columns: sums of the cumulative shares
    ordered: bool  # whether EMD goes along the order of the values (numbers) or all are equal


def values_of(counts: Int64Array, caps: Float64Array, ordered: bool) -> Values:
    """Values by how often they occur in the whole table."""
    overall = counts / max(counts.sum(), 1)
    return Values(overall, caps, np.concatenate([[0.0], np.cumsum(np.cumsum(overall))]), ordered)


@njit(cache=True, nogil=True)
def measure(
    values: Values,
    present: Int64Array,
    counts: Float64Array,
    kinds: int,
    measured: Float64Array,
    guesses: Int32Array,
) -> None:
    """Measure a mixture: ``counts[:kinds]`` records of the values ``present[:kinds]``, ascending.

    EMD with equal distances is half the sum of |share - overall|; with ordered distances it is the
    sum of the differences of cumulative shares, divided by the number of steps (Li et al. 2007).
    """
    total = counts[:kinds].sum()
    measured[:] = 0.0
    guesses[:] = -1
    measured[DISTINCT] = kinds
    absent = 1.0
    most, next_most = 0.0, 0.0
    for kind in range(kinds):
        value = present[kind]
        if counts[kind] > most:
            most, next_most = counts[kind], most
        else:
            next_most = max(next_most, counts[kind])
        share, usual = counts[kind] / total, values.overall[value]
        if share > measured[SHARE]:
            measured[SHARE] = share
            guesses[LIKELIEST] = value
        if share / values.caps[value] > measured[RATIO]:
            measured[RATIO] = share / values.caps[value]
            guesses[MOST_GAINED] = value
        measured[ENTROPY] -= share * np.log(share)
        gain = share / usual if usual > 0 else np.inf
        measured[GAIN] = max(measured[GAIN], gain)
        measured[LOG_RATIO] = max(measured[LOG_RATIO], abs(np.log(gain)))
        if gain > 1 + 1e-12:
            beta = gain - 1 if gain - 1 <= -np.log(usual) + 1e-12 else np.inf
            measured[ENHANCED] = max(measured[ENHANCED], beta)
        measured[DISTANCE] += abs(share - usual) / 2
        absent -= usual
    measured[DISTANCE] += max(absent, 0.0) / 2
    measured[MARGIN] = most - next_most
    if values.ordered and kinds > 0:
        measured[DISTANCE] = _ordered_distance(values, present, counts, kinds, total)


@njit(cache=True, nogil=True)
def _ordered_distance(
    values: Values, present: Int64Array, counts: Float64Array, kinds: int, total: float
) -> float:
    """Mean over the steps of the order of |cumulative share here - in the whole table|."""
    steps = values.overall.size - 1
    if steps == 0:
        return 0.0
    distance = 0.0
    so_far = 0.0
    begin = 0
    for kind in range(kinds + 1):
        end = present[kind] if kind < kinds else steps
        share = so_far / total
        # cumulative shares ascend, so they lie below ``share`` up to some place and above after
        low, high = begin, max(end, begin)
        while low < high:
            middle = (low + high) // 2
            if _cumulative(values, middle) < share:
                low = middle + 1
            else:
                high = middle
        above = max(end, begin)
        distance += share * (low - begin) - (values.cumulative[low] - values.cumulative[begin])
        distance += (values.cumulative[above] - values.cumulative[low]) - share * (above - low)
        begin = above
        if kind < kinds:
            so_far += counts[kind]
    return distance / steps


@njit(cache=True, nogil=True)
def _cumulative(values: Values, value: int) -> float:
    """The share in the whole table of all values up to and with this one."""
    return float(values.cumulative[value + 1] - values.cumulative[value])


# --------------------------------------------------------------------------------- along the edges


def along_edges(edges: Edges, marks: Int32Array, values: Values) -> tuple[Float64Array, Int32Array]:
    """By original: measures and guesses of the mixture published on its matches.

    ``marks`` are the values published on every record, -1 for one that the table does not have.
    """
    starts, records = edges.matches
    measured = np.empty((edges.records, MEASURES))
    guesses = np.empty((edges.records, 2), np.int32)
    parallel.over_rows(
        lambda first, last: _measure_runs(
            values, starts, records, marks, measured, guesses, first, last
        ),
        edges.records,
    )
    return measured, guesses


def by_group(groups: Int64Array, marks: Int32Array, values: Values) -> Float64Array:
    """Measures of the mixture in every group of records."""
    order = np.argsort(groups, kind="stable").astype(np.int32)
    starts = offsets_of(np.bincount(groups))
    measured = np.empty((len(starts) - 1, MEASURES))
    guesses = np.empty((len(starts) - 1, 2), np.int32)
    parallel.over_rows(
        lambda first, last: _measure_runs(
            values, starts, order, marks, measured, guesses, first, last
        ),
        len(starts) - 1,
    )
    return measured


@njit(cache=True, nogil=True)
def _measure_runs(
    values: Values,
    starts: Int64Array,
    records: Int32Array,
    marks: Int32Array,
    measured: Float64Array,
    guesses: Int32Array,
    first: int,
    last: int,
) -> None:
    """Measure the mixtures of the records ``records[starts[i]:starts[i + 1]]``."""
    tally = np.zeros(values.overall.size, np.int64)
    present = np.empty(values.overall.size, np.int64)
    counts = np.empty(values.overall.size)
    for person in range(first, last):
        kinds = 0
        for match in range(starts[person], starts[person + 1]):
            mark = marks[records[match]]
            if mark >= 0:
                if tally[mark] == 0:
                    present[kinds] = mark
                    kinds += 1
                tally[mark] += 1
        present[:kinds].sort()
        for kind in range(kinds):
            counts[kind] = tally[present[kind]]
            tally[present[kind]] = 0
        measure(values, present, counts, kinds, measured[person], guesses[person])


# ---------------------------------------------------------------------------------- by containment


def by_containment(
    index: ContainmentIndex, mixtures: Mixtures, values: Values
) -> tuple[Float64Array, Int32Array]:
    """By point of the index: measures and guesses of the mixture on all records that contain it.

    ``mixtures`` [records, values] says what is published of every record's sensitive value.
    """
    records = len(index.box_of)
    members = csr_array(
        (np.ones(records), (index.box_of, np.arange(records))),
        shape=(len(index.multiplicities), records),
    )
    published = (members @ mixtures).tocsr()
    piece_starts, piece_boxes = index.by_node()
    branches = index.branches()
    measured = np.empty((len(index.weights), MEASURES))
    guesses = np.empty((len(index.weights), 2), np.int32)
    parallel.over_rows(
        lambda first, last: _measure_branches(
            index.tree,
            piece_starts,
            piece_boxes,
            published.indptr.astype(np.int64),
            published.indices.astype(np.int64),
            published.data,
            values,
            branches[first:last],
            measured,
            guesses,
        ),
        len(branches),
    )
    return measured, guesses


@njit(cache=True, nogil=True)
def _add(
    node: int,
    sign: int,
    piece_starts: Int64Array,
    piece_boxes: Int64Array,
    entry_starts: Int64Array,
    entries: Int64Array,
    counts: Float64Array,
    tally: Float64Array,
) -> None:
    """Add the values of all boxes that contain the branch at ``node``, or take them off again."""
    for piece in range(piece_starts[node], piece_starts[node + 1]):
        box = piece_boxes[piece]
        for entry in range(entry_starts[box], entry_starts[box + 1]):
            tally[entries[entry]] += sign * counts[entry]


@njit(cache=True, nogil=True)
def _measure_branches(
    tree: Tree,
    piece_starts: Int64Array,
    piece_boxes: Int64Array,
    entry_starts: Int64Array,
    entries: Int64Array,
    counts: Float64Array,
    values: Values,
    branches: Int64Array,
    measured: Float64Array,
    guesses: Int32Array,
) -> None:
    """Measure all points below the branches, with one tally that follows the walk down the tree."""
    tally = np.zeros(values.overall.size)
    present = np.empty(values.overall.size, np.int64)
    amounts = np.empty(values.overall.size)
    stack = np.empty(tree.low.shape[1] * 64 + 4, np.int64)
    for branch in branches:
        above = tree.parent[branch]
        while above >= 0:
            _add(above, 1, piece_starts, piece_boxes, entry_starts, entries, counts, tally)
            above = tree.parent[above]
        top = 1
        stack[0] = branch
        while top > 0:
            top -= 1
            node = stack[top]
            if node < 0:  # all below has been measured
                _add(-1 - node, -1, piece_starts, piece_boxes, entry_starts, entries, counts, tally)
                continue
            _add(node, 1, piece_starts, piece_boxes, entry_starts, entries, counts, tally)
            stack[top] = -1 - node
            top += 1
            if tree.left[node] >= 0:
                stack[top] = tree.left[node]
                stack[top + 1] = tree.left[node] + 1
                top += 2
                continue
            kinds = 0
            for value in range(tally.size):
                if tally[value] > _DUST:
                    present[kinds] = value
                    amounts[kinds] = tally[value]
                    kinds += 1
            point = tree.first[node]
            measure(values, present, amounts, kinds, measured[point], guesses[point])
        tally[:] = 0
