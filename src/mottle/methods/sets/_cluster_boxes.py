"""Boxes from memberships: every record in as many boxes as it has matches, every box full.

The members of a cluster, in order, are cut into *rounds*: runs whose members have k · m matches in
total, none of them more than m. A round fills m boxes; each member takes as many boxes in turn as
it has matches, starting where the one before it ended. So no box gets a member twice, and each gets
k members.
"""

from __future__ import annotations

import numpy as np

from mottle.methods.sets._clusters import Memberships
from mottle.typing import Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel


def boxes(given: Memberships, records: int, degree: int) -> Int32Array:
    """Preimages [records, degree]: matches given to clusters, and the rest along the order.

    Records are numbered along an order that keeps similar ones together. If the remaining matches
    do not fill boxes, clusters are dropped, the last ones first, until they do.
    """
    preimages = np.empty((records, degree), np.int32)
    clusters = len(given.starts) - 1
    filled = _deal(given.starts, given.members, given.matches, degree, preimages, 0)
    ends = np.cumsum(np.add.reduceat(given.matches, given.starts[:-1])) // degree
    while True:
        last = given.starts[clusters]
        used = np.bincount(given.members[:last], given.matches[:last], minlength=records)
        left = degree - used.astype(np.int32)
        if left.max() * degree <= left.sum():
            break
        clusters -= 1
    filled = int(ends[clusters - 1]) if clusters else 0
    rest = np.flatnonzero(left).astype(np.int32)
    whole = np.array([0, len(rest)], np.int64)
    _deal(whole, rest, left[rest], degree, preimages, filled)
    return preimages


@kernel
def _deal(
    starts: Int64Array,
    members: Int32Array,
    matches: Int32Array,
    degree: int,
    preimages: Int32Array,
    filled: int,
) -> int:
    """Fill boxes from number ``filled`` on, cluster by cluster; return the number of full ones."""
    full = np.zeros(len(preimages), np.int32)
    for cluster in range(starts.size - 1):
        first, last = starts[cluster], starts[cluster + 1]
        cuts, over, rounds = _rounds(matches[first:last], degree)
        for number in range(rounds):
            together = 0
            for at in range(cuts[number], cuts[number + 1] + 1):
                together += _part(matches[first:last], cuts, over, number, at)
            size = together // degree
            box = 0
            for at in range(cuts[number], cuts[number + 1] + 1):
                for _ in range(_part(matches[first:last], cuts, over, number, at)):
                    target = filled + box
                    preimages[target, full[target]] = members[first + at]
                    full[target] += 1
                    box = box + 1 if box + 1 < size else 0
            filled += size
    return filled


@kernel
def _part(matches: Int32Array, cuts: Int64Array, over: Int64Array, number: int, at: int) -> int:
    """Matches of member ``at`` in round ``number``; the cut may divide its matches."""
    if at == cuts[number + 1]:
        return int(over[number + 1])
    return int(matches[at] - (over[number] if at == cuts[number] else 0))


@inner_kernel
def _rounds(matches: Int32Array, degree: int) -> tuple[Int64Array, Int64Array, int]:
    """Cuts between rounds: round r ends at member ``cuts[r + 1]``, of which it has ``over[r + 1]``.

    Rounds are as short as possible; a last one that is too short is merged with those before it.
    """
    cuts, over = np.zeros(matches.size + 1, np.int64), np.zeros(matches.size + 1, np.int64)
    most = np.zeros(matches.size + 1, np.int64)  # by round: the most matches of a member
    sizes = np.zeros(matches.size + 1, np.int64)  # by round: its number of boxes
    rounds, together, largest = 0, 0, 0
    for at in range(matches.size):
        together += matches[at]
        largest = max(largest, matches[at])
        if together >= degree * largest:
            surplus = together % degree
            most[rounds], sizes[rounds] = largest, together // degree
            rounds += 1
            cuts[rounds], over[rounds] = at, matches[at] - surplus
            if surplus == 0:
                cuts[rounds], over[rounds] = at + 1, 0
            together, largest = surplus, surplus
    if together > 0:
        most[rounds], sizes[rounds] = largest, together // degree
        rounds += 1
        while rounds > 1 and most[rounds - 1] > sizes[rounds - 1]:
            rounds -= 1
            most[rounds - 1] = max(most[rounds - 1], most[rounds])
            sizes[rounds - 1] += sizes[rounds]
            cut = cuts[rounds]
            if over[rounds] > 0:  # the member that the cut divided is whole again
                most[rounds - 1] = max(most[rounds - 1], matches[cut])
    cuts[rounds], over[rounds] = matches.size, 0
    return cuts, over, rounds
