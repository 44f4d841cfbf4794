"""People with several rows: blocks and rings in which nobody has more than a k-th part.

With degree k, "at most a k-th part of every record's preimages is one person's" means that the
preimages are those of k different people. A block of s records can have such a graph if and only if
nobody has more than s/k of its records: each of a person's r records needs k matches, all of them
different, so r · k ≤ s; and if so, `ring_around` gives one.
"""

from __future__ import annotations

import numpy as np

from mottle.methods.nh.rings import Partitions, number_of_pieces, order_rings, split
from mottle.typing import Int32Array, Int64Array

# If a person has all of a k-th part of a block, matching layer by layer often reaches a dead end;
# with at most half of it, it rarely does (GCP .20 instead of .32 on `visits`, k = 11).
_SLACK = 2
_LARGEST = 3  # times the wanted size: blocks larger than this take too long to be matched


def blocks_of_people(people: Int32Array, size: int, k: int) -> Partitions | None:
    """Cut an order of records into blocks, of each of which nobody has more than a k-th part.

    Records leave their place along the order only where a block would have too many of a person.

    Parameters
    ----------
    people : Int32Array
        [n]: whose record it is, along the order.
    size : int
        The wanted number of records of a block.
    k : int
        The number of people behind every record.

    Returns
    -------
    Partitions or None
        Places of the order block after block; None if somebody has so many records that blocks
        would have to be much larger.

    Examples
    --------
    >>> blocks = blocks_of_people(np.array([0, 0, 0, 1, 2, 3, 4, 5], np.int32), 4, 2)
    >>> blocks.places.tolist(), blocks.starts.tolist()
    ([0, 1, 3, 4, 2, 5, 6, 7], [0, 4, 8])
    """
    records, most = len(people), int(np.bincount(people).max())
    wanted = max(-(-size // k) * k, k)  # of a multiple of k, nobody loses a part to rounding
    pieces = number_of_pieces(records, most, k, min(wanted, records))
    if records // pieces > _LARGEST * wanted:
        return None
    allowed = records // pieces // k
    times = max(-(-most // pieces), allowed // _SLACK, 1)
    return Partitions(*split(people, int(people.max()) + 1, pieces, times))


def ring_around(people: Int32Array, k: int) -> Int64Array:
    """Order the records of a block so that any k consecutive ones are of different people.

    Parameters
    ----------
    people : Int32Array
        [n]: whose record it is; nobody has more than n/k.
    k : int
        The number of people behind every record.

    Returns
    -------
    Int64Array
        [n]: places of the block, around the ring.

    Examples
    --------
    >>> ring_around(np.array([7, 7, 2, 3, 4], np.int32), 2).tolist()
    [0, 2, 4, 1, 3]
    """
    everything = Partitions(np.arange(len(people)), np.array([0, len(people)]))
    return order_rings(everything, people, np.arange(len(people)), k, k).places


def next_of_same(people: Int32Array, starts: Int64Array) -> Int64Array:
    """By place: the next place of the same person in the block, around; itself if there is none.

    Parameters
    ----------
    people : Int32Array
        [n]: whose record it is.
    starts : Int64Array
        [blocks + 1]: where blocks begin, and the end.

    Returns
    -------
    Int64Array
        [n]: places.

    Examples
    --------
    >>> next_of_same(np.array([1, 0, 1, 1, 0, 1]), np.array([0, 4, 6])).tolist()
    [2, 1, 3, 0, 4, 5]
    """
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((people, block))
    key_changes = np.flatnonzero((np.diff(people[order]) != 0) | (np.diff(block[order]) != 0))
    ends = np.append(key_changes, len(order) - 1)
    firsts = np.append(0, key_changes + 1)
    following = np.empty(len(order), np.int64)
    following[order[:-1]] = order[1:]
    following[order[ends]] = order[firsts]
    return following
