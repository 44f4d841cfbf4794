"""Kernels that measure what mixtures of sensitive values reveal.

A *mixture* says how often each value occurs among some records. It is compared with the shares of
the values in the whole table, see `measure_mixture`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mottle.audit.containment.coded_columns import offsets_of
from mottle.audit.containment.index import ContainmentIndex, Tree
from mottle.audit.links.edges import Edges
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

if TYPE_CHECKING:
    Mixtures = csr_array[np.float64, tuple[int, int]]

SHARE = 0  # the highest share of a value
RATIO = 1  # the highest ratio of a share to the value's cap
DISTINCT = 2  # the number of distinct values
ENTROPY = 3  # the entropy, in nats
GAIN = 4  # the highest ratio of a share to the value's share in the whole table
ENHANCED = 5  # the smallest β of enhanced β-likeness; infinite if no β suffices
DISTANCE = 6  # earth mover's distance from the shares in the whole table
LOG_RATIO = 7  # the largest |ln(share / share in the whole table)| of a value that occurs
MARGIN = 8  # how many more records the likeliest value has than the next one
MEASURES = 9  # the number of measures

LIKELIEST, MOST_GAINED = 0, 1  # guesses: the value of SHARE and that of RATIO

_DUST = 1e-6  # below any record's part, above what rounding may leave after adding and subtracting


class ReferenceDistribution(NamedTuple):
    """What mixtures of a sensitive attribute are compared with."""

    overall: Float64Array  # [values]: share in the whole table
    caps: Float64Array  # [values]: the highest share the guarantee allows
    cumulative: Float64Array  # [values + 1]: sums of the cumulative shares, for ordered values
    ordered: bool  # whether EMD follows the order of the values (numbers) or distances are equal


def reference_distribution(
    counts: Int64Array, caps: Float64Array, ordered: bool
) -> ReferenceDistribution:
    """The reference distribution of values that occur ``counts`` times in the whole table."""
    overall = counts / max(counts.sum(), 1)
    return ReferenceDistribution(
        overall, caps, np.concatenate([[0.0], np.cumsum(np.cumsum(overall))]), ordered
    )


@inner_kernel
def measure_mixture(
    reference: ReferenceDistribution,
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
        share, usual = counts[kind] / total, reference.overall[value]
        if share > measured[SHARE]:
            measured[SHARE] = share
            guesses[LIKELIEST] = value
        if share / reference.caps[value] > measured[RATIO]:
            measured[RATIO] = share / reference.caps[value]
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
    if reference.ordered and kinds > 0:
        measured[DISTANCE] = _ordered_distance(reference, present, counts, kinds, total)


@inner_kernel
def _ordered_distance(
    reference: ReferenceDistribution,
    present: Int64Array,
    counts: Float64Array,
    kinds: int,
    total: float,
) -> float:
    """Mean over the steps of the order of |cumulative share here - in the whole table|."""
    steps = reference.overall.size - 1
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
            if _cumulative(reference, middle) < share:
                low = middle + 1
            else:
                high = middle
        above = max(end, begin)
        distance += share * (low - begin) - (
            reference.cumulative[low] - reference.cumulative[begin]
        )
        distance += (reference.cumulative[above] - reference.cumulative[low]) - share * (
            above - low
        )
        begin = above
        if kind < kinds:
            so_far += counts[kind]
    return distance / steps


@inner_kernel
def _cumulative(reference: ReferenceDistribution, value: int) -> float:
    """The share in the whole table of all values up to and including this one."""
    return float(reference.cumulative[value + 1] - reference.cumulative[value])


# --------------------------------------------------------------------------------- along the edges


def measure_along_edges(
    edges: Edges, codes: Int32Array, reference: ReferenceDistribution
) -> tuple[Float64Array, Int32Array]:
    """Measure, for each original, the mixture published on its matches; measures and guesses.

    ``codes`` are the values published on each record, -1 for one that the table does not have.
    """
    starts, records = edges.matches
    measured = np.empty((edges.records, MEASURES))
    guesses = np.empty((edges.records, 2), np.int32)
    parallel.over_rows(
        lambda first, last: _measure_runs(
            reference, starts, records, codes, measured, guesses, first, last
        ),
        edges.records,
    )
    return measured, guesses


def measure_groups(
    groups: Int64Array, codes: Int32Array, reference: ReferenceDistribution
) -> Float64Array:
    """Measure the mixture in every group of records."""
    order = np.argsort(groups, kind="stable").astype(np.int32)
    starts = offsets_of(np.bincount(groups))
    measured = np.empty((len(starts) - 1, MEASURES))
    guesses = np.empty((len(starts) - 1, 2), np.int32)
    parallel.over_rows(
        lambda first, last: _measure_runs(
            reference, starts, order, codes, measured, guesses, first, last
        ),
        len(starts) - 1,
    )
    return measured


@kernel
def _measure_runs(
    reference: ReferenceDistribution,
    starts: Int64Array,
    records: Int32Array,
    codes: Int32Array,
    measured: Float64Array,
    guesses: Int32Array,
    first: int,
    last: int,
) -> None:
    """Measure the mixtures of the records ``records[starts[i]:starts[i + 1]]``."""
    tally = np.zeros(reference.overall.size, np.int64)
    present = np.empty(reference.overall.size, np.int64)
    counts = np.empty(reference.overall.size)
    for person in range(first, last):
        kinds = 0
        for match in range(starts[person], starts[person + 1]):
            code = codes[records[match]]
            if code >= 0:
                if tally[code] == 0:
                    present[kinds] = code
                    kinds += 1
                tally[code] += 1
        present[:kinds].sort()
        for kind in range(kinds):
            counts[kind] = tally[present[kind]]
            tally[present[kind]] = 0
        measure_mixture(reference, present, counts, kinds, measured[person], guesses[person])


# ---------------------------------------------------------------------------------- by containment


def measure_by_containment(
    index: ContainmentIndex, mixtures: Mixtures, reference: ReferenceDistribution
) -> tuple[Float64Array, Int32Array]:
    """Measure, for each point of the index, the mixture on all records that contain it.

    ``mixtures`` [records, values] says what is published about each record's sensitive value.
    Returns measures and guesses.
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
            reference,
            branches[first:last],
            measured,
            guesses,
        ),
        len(branches),
    )
    return measured, guesses


@kernel
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
    """Add the values of all boxes that contain the branch at ``node``, or subtract them again."""
    for piece in range(piece_starts[node], piece_starts[node + 1]):
        box = piece_boxes[piece]
        for entry in range(entry_starts[box], entry_starts[box + 1]):
            tally[entries[entry]] += sign * counts[entry]


@kernel
def _measure_branches(
    tree: Tree,
    piece_starts: Int64Array,
    piece_boxes: Int64Array,
    entry_starts: Int64Array,
    entries: Int64Array,
    counts: Float64Array,
    reference: ReferenceDistribution,
    branches: Int64Array,
    measured: Float64Array,
    guesses: Int32Array,
) -> None:
    """Measure all points below the branches, with one tally that follows the walk down the tree."""
    tally = np.zeros(reference.overall.size)
    present = np.empty(reference.overall.size, np.int64)
    amounts = np.empty(reference.overall.size)
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
            if node < 0:  # all points below have been measured
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
            measure_mixture(reference, present, amounts, kinds, measured[point], guesses[point])
        tally[:] = 0
