"""Clusters of records around the items they have in common; a record may be in several.

At least k records that all hold the same items may publish these. Every record is best placed in
the cluster of the largest set of items that it shares with k - 1 others, but most such clusters
would never get k members if every record joined only one. That is not necessary: because published
records need not form groups, a record may give some of its k matches to one cluster and the rest to
others. The only condition is that a cluster has at least k members for each of its *shares*: if
each member gives it at most a share u of its matches, together they must give it at least k · u.

Shares are found like prices on a market. Every record divides its matches among the largest sets it
holds, the rarer first among equally large ones, at most a share u to each. A cluster with enough
demand may raise its share, one without must lower it. Shares start low, so that at first every
record is in many clusters, and change by a few percent at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.itemsets.data import Sets
from mottle.methods.sets._closed_itemsets import ClosedSets, closed_sets
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel

HOLDERS = 150  # most holders of all closed sets, per record: bounds memory and time
_FIRST_SHARE = 0.01
_GROWTH = 1.05  # largest factor by which a share grows in a round
_DAMPING = 0.3  # exponent for falling shares: records need time to find another cluster
_GONE = 1e-4  # a cluster with a smaller share is dropped
_ROUNDS = 160


class Memberships(NamedTuple):
    """The number of matches that every cluster gets from each of its members."""

    starts: Int64Array  # [clusters + 1]: where the members of each begin
    members: Int32Array  # records, ascending within a cluster
    matches: Int32Array  # by member: the number of its matches


def memberships(sets: Sets, degree: int) -> Memberships | None:
    """Clusters of records for boxes of ``degree``; each gets a multiple of ``degree`` matches.

    None if records have so much in common that there are too many closed sets to choose from.
    """
    found = closed_sets(sets, degree, HOLDERS * sets.records)
    if found is None:
        return None
    wishes, ends = _wishes(found, sets.records)
    share = _shares(len(found.sizes), wishes, ends, degree)
    wishes, ends = _living(wishes, ends, share > 0.0)
    most = np.ceil(share * degree).astype(np.int32)
    while True:
        matches = _given(wishes, ends, most, degree)
        together = np.bincount(wishes, matches, minlength=len(most)).astype(np.int64)
        too_much = most > together // degree
        if not too_much.any():
            break
        most = np.where(too_much, together // degree, most).astype(np.int32)
    _take_back(wishes, ends, sets.sizes, together % degree, matches)
    records = np.repeat(np.arange(sets.records, dtype=np.int32), np.diff(ends))
    given = np.flatnonzero(matches)
    given = given[np.argsort(wishes[given], kind="stable")]
    counts = np.unique(wishes[given], return_counts=True)[1]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Memberships(starts, records[given], matches[given])


def _wishes(found: ClosedSets, records: int) -> tuple[Int32Array, Int64Array]:
    """The closed sets of every record, best first, and where those of each record begin."""
    by_preference = np.lexsort((np.diff(found.starts), -found.sizes))
    counts = np.bincount(found.holders, minlength=records)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    wishes = np.empty(len(found.holders), np.int32)
    _list_wishes(found.starts, found.holders, by_preference, ends[:-1].copy(), wishes)
    return wishes, ends


def _shares(clusters: int, wishes: Int32Array, ends: Int64Array, degree: int) -> Float64Array:
    """The largest share of its matches that a member may give to each cluster, after all rounds."""
    share = np.full(clusters, _FIRST_SHARE)
    for number in range(_ROUNDS):
        if number % 20 == 19:
            wishes, ends = _living(wishes, ends, share > 0.0)
        wanted = _wanted_by_all(wishes, ends, share)
        full = wanted / (degree * np.maximum(share, _GONE))
        grown = np.minimum(share * np.minimum(full, _GROWTH), 1.0)
        fallen = share * np.maximum(full, _GONE) ** _DAMPING
        share = np.where(full >= 1.0, grown, fallen)
        share[share < _GONE] = 0.0
    return share


def _living(
    wishes: Int32Array, ends: Int64Array, alive: BoolArray
) -> tuple[Int32Array, Int64Array]:
    """The wishes without those for dropped clusters."""
    kept = alive[wishes]
    before = np.concatenate([[0], np.cumsum(kept)])
    return wishes[kept], before[ends]


def _wanted_by_all(wishes: Int32Array, ends: Int64Array, share: Float64Array) -> Float64Array:
    """Total of the shares that records give to each cluster."""
    parts = parallel.over_rows(
        lambda first, last: _wanted(wishes, ends, share, first, last), len(ends) - 1
    )
    wanted: Float64Array = np.sum(parts, axis=0)
    return wanted


@kernel
def _list_wishes(
    starts: Int64Array,
    holders: Int32Array,
    by_preference: Int64Array,
    filled: Int64Array,
    wishes: Int32Array,
) -> None:
    for number in by_preference:
        for at in range(starts[number], starts[number + 1]):
            record = holders[at]
            wishes[filled[record]] = number
            filled[record] += 1


@kernel
def _wanted(
    wishes: Int32Array, ends: Int64Array, share: Float64Array, first: int, last: int
) -> Float64Array:
    wanted = np.zeros(share.size)
    for record in range(first, last):
        left = 1.0
        for at in range(ends[record], ends[record + 1]):
            joins = min(left, share[wishes[at]])
            wanted[wishes[at]] += joins
            left -= joins
            if left <= 0.0:
                break
    return wanted


@kernel
def _given(wishes: Int32Array, ends: Int64Array, most: Int32Array, degree: int) -> Int32Array:
    """By wish: the number of its ``degree`` matches that the record gives to the cluster."""
    matches = np.zeros(wishes.size, np.int32)
    for record in range(ends.size - 1):
        left = degree
        for at in range(ends[record], ends[record + 1]):
            matches[at] = min(left, most[wishes[at]])
            left -= matches[at]
            if left == 0:
                break
    return matches


@kernel
def _take_back(
    wishes: Int32Array,
    ends: Int64Array,
    sizes: Int64Array,
    surplus: Int64Array,
    matches: Int32Array,
) -> None:
    """Take back the matches above a multiple of the degree, from the largest members first.

    A correctly reported item reduces their loss least.
    """
    for record in np.argsort(-sizes):
        for at in range(ends[record], ends[record + 1]):
            back = min(surplus[wishes[at]], matches[at])
            if back > 0:
                matches[at] -= back
                surplus[wishes[at]] -= back
