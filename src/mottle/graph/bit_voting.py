"""Bit voting: what is published for a record that may stand for several sets (SET12 §4).

An item is in the *base* set if more than half of the preimages hold it (a tie counts as absent),
and *uncertain* if some do and some do not. The *distance* is that of the preimage which differs
most from the base set. The record may then stand for every set that differs from the base in
uncertain items only, and in at most ``distance`` of them; all preimages are among these.

A preimage whose set is missing, as in a column of a table, does not vote.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.errors import PrivacyError
from mottle.graph.model import Graph, preimage, rows_of
from mottle.itemsets.data import Sets
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

_ALL_VOTE = np.empty(0, np.bool_)


class Votes(NamedTuple):
    """The outcome, stored once per *row*: all records of a complete block share one row."""

    row_of: Int32Array  # [n]: the row of every published record
    block_of: Int32Array  # [rows]: the block of the graph that the row belongs to
    place_of: Int32Array  # [rows]: the place in that block whose preimages voted
    base_starts: Int64Array  # [rows + 1]
    base: Int32Array  # items, ascending within a row
    uncertain_starts: Int64Array  # [rows + 1]
    uncertain: Int32Array  # items, ascending within a row
    distance: Int32Array  # [rows]
    voters: Int32Array  # [rows]: number of preimages that have a set
    # [rows]: number of misreported items over all preimages; "missing" counts as one more item
    wrong: Int64Array

    @property
    def multiplicity(self) -> Int64Array:
        """Number of published records that share each row."""
        return np.bincount(self.row_of, minlength=len(self.block_of))


def vote(graph: Graph, sets: Sets, present: BoolArray = _ALL_VOTE) -> Votes:
    """Let the preimages of every published record vote.

    ``present`` [n] marks the records that have a set; by default all do. Cost O(n · degree ·
    items), memory O(universe) per core in addition to the result.

    >>> from mottle.itemsets.data import ItemSets
    >>> data = ItemSets.of([{1, 2}, {1, 3, 4}, {2, 4}])  # 1100, 1011, 0101
    >>> together = Graph.rings(np.arange(3), np.array([0, 3]), np.array([3]))
    >>> votes = vote(together, data.sets())
    >>> data.names.take(votes.base).to_pylist(), votes.distance
    (['1', '2', '4'], array([2], dtype=int32))
    """
    row_of, block_of, place_of = rows_of(graph)
    rows = len(block_of)
    base_sizes, uncertain_sizes = np.empty(rows, np.int64), np.empty(rows, np.int64)
    parallel.over_rows(
        lambda first, last: _count(
            graph, sets, present, block_of, place_of, first, last, base_sizes, uncertain_sizes
        ),
        rows,
    )
    base_starts = np.concatenate([[0], np.cumsum(base_sizes)])
    uncertain_starts = np.concatenate([[0], np.cumsum(uncertain_sizes)])
    votes = Votes(
        row_of,
        block_of,
        place_of,
        base_starts,
        np.empty(base_starts[-1], np.int32),
        uncertain_starts,
        np.empty(uncertain_starts[-1], np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
    )
    parallel.over_rows(lambda first, last: _fill(graph, sets, present, votes, first, last), rows)
    return votes


def check_worlds(graph: Graph, sets: Sets, votes: Votes, present: BoolArray = _ALL_VOTE) -> int:
    """Check invariant 2: every preimage is a possible world of its published record.

    Returns the number of pairs that were checked, or raises `PrivacyError`.
    """
    stated = (votes.row_of, votes.block_of, votes.place_of)
    if not all(map(np.array_equal, rows_of(graph), stated)):
        raise PrivacyError("Invariant 2: the votes are not those of the graph.")
    outside = parallel.over_rows(
        lambda first, last: _outside(graph, sets, present, votes, first, last),
        len(votes.block_of),
    )
    if sum(outside):
        raise PrivacyError(
            f"Invariant 2: {sum(outside)} preimages are not a possible world of their record."
        )
    return int((graph.sizes * graph.degrees).sum())


@kernel
def _tally(
    graph: Graph,
    sets: Sets,
    present: BoolArray,
    block: int,
    place: int,
    counts: Int32Array,
    seen: Int32Array,
) -> tuple[int, int]:
    """Count the votes for every item; ``seen[:distinct]`` are the items with at least one vote.

    Returns ``distinct`` and the number of voters.
    """
    start = graph.starts[block]
    distinct, voters = 0, 0
    for layer in range(graph.degrees[block]):
        original = graph.members[start + preimage(graph, block, place, layer)]
        if present.size > 0 and not present[original]:
            continue
        voters += 1
        for at in range(sets.starts[original], sets.starts[original + 1]):
            item = sets.items[at]
            if counts[item] == 0:
                seen[distinct] = item
                distinct += 1
            counts[item] += 1
    return distinct, voters


@kernel
def _count(
    graph: Graph,
    sets: Sets,
    present: BoolArray,
    block_of: Int32Array,
    place_of: Int32Array,
    first: int,
    last: int,
    base_sizes: Int64Array,
    uncertain_sizes: Int64Array,
) -> None:
    counts, seen = np.zeros(sets.universe, np.int32), np.empty(sets.universe, np.int32)
    for row in range(first, last):
        block = block_of[row]
        base, uncertain = 0, 0
        distinct, voters = _tally(graph, sets, present, block, place_of[row], counts, seen)
        for number in range(distinct):
            votes = counts[seen[number]]
            base += 2 * votes > voters
            uncertain += votes < voters
            counts[seen[number]] = 0
        base_sizes[row], uncertain_sizes[row] = base, uncertain


@kernel
def _fill(
    graph: Graph, sets: Sets, present: BoolArray, votes: Votes, first: int, last: int
) -> None:
    counts, seen = np.zeros(sets.universe, np.int32), np.empty(sets.universe, np.int32)
    in_base = np.zeros(sets.universe, np.bool_)
    for row in range(first, last):
        block = votes.block_of[row]
        degree = graph.degrees[block]
        base, uncertain = votes.base_starts[row], votes.uncertain_starts[row]
        distinct, voters = _tally(graph, sets, present, block, votes.place_of[row], counts, seen)
        _sort(seen, distinct)
        wrong = min(voters, degree - voters)
        for number in range(distinct):
            item = seen[number]
            wrong += min(counts[item], degree - counts[item])
            if 2 * counts[item] > voters:
                in_base[item] = True
                votes.base[base] = item
                base += 1
            if counts[item] < voters:
                votes.uncertain[uncertain] = item
                uncertain += 1
            counts[item] = 0
        furthest = 0
        for layer in range(degree):
            place = preimage(graph, block, votes.place_of[row], layer)
            original = graph.members[graph.starts[block] + place]
            if present.size > 0 and not present[original]:
                continue
            shared = 0
            for at in range(sets.starts[original], sets.starts[original + 1]):
                shared += in_base[sets.items[at]]
            size = sets.starts[original + 1] - sets.starts[original]
            furthest = max(furthest, base - votes.base_starts[row] + size - 2 * shared)
        votes.distance[row] = furthest
        votes.voters[row], votes.wrong[row] = voters, wrong
        for at in range(votes.base_starts[row], base):
            in_base[votes.base[at]] = False


@inner_kernel
def _sort(numbers: Int32Array, size: int) -> None:
    """Sort ``numbers[:size]`` in place, ascending (Shell sort)."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, size):
            number = numbers[place]
            at = place
            while at >= gap and numbers[at - gap] > number:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = number
        gap //= 3


@kernel
def _outside(
    graph: Graph, sets: Sets, present: BoolArray, votes: Votes, first: int, last: int
) -> int:
    """Count preimages that differ from the base in a certain item, or in too many items."""
    uncertain_in = np.full(sets.universe, -1, np.int64)
    outside = 0
    for row in range(first, last):
        block = votes.block_of[row]
        for at in range(votes.uncertain_starts[row], votes.uncertain_starts[row + 1]):
            uncertain_in[votes.uncertain[at]] = row
        for layer in range(graph.degrees[block]):
            place = preimage(graph, block, votes.place_of[row], layer)
            original = graph.members[graph.starts[block] + place]
            if present.size > 0 and not present[original]:
                continue
            here, end = votes.base_starts[row], votes.base_starts[row + 1]
            there, finish = sets.starts[original], sets.starts[original + 1]
            flipped, possible = 0, True
            while here < end or there < finish:
                left = votes.base[here] if here < end else sets.universe
                right = sets.items[there] if there < finish else sets.universe
                if left != right:
                    flipped += 1
                    possible = possible and uncertain_in[min(left, right)] == row
                here += left <= right
                there += right <= left
            outside += not possible or flipped > votes.distance[row]
    return outside
