"""The first wave: records drawn by lot and published uncut, from which cuts are predicted.

How large it is follows from how often values occur in the table and from the caps; which records
belong to it is drawn by lot, with the same share of every value. Tables that are too small for a
wave are not cut.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand, allowed
from mottle.methods.buckets.association import PublishedTable
from mottle.methods.buckets.plan import SensitiveValues, counts_by_code, values_of
from mottle.typing import Int32Array, Int64Array

_RECORDS = 100.0  # of the riskiest value, over the third power of the logarithm of its slack
_SMALLEST_SHARE, _LARGEST_SHARE = 0.02, 0.1
_FEWEST = 300  # records: fewer would show nothing
_FEWEST_PER_BUCKET = 30  # records: fewer could not be matched well


def wave_counts(
    demand: Demand, counts: Int64Array, buckets: int, most: int | None = None
) -> Int64Array:
    """Number of records of each value in the first wave; all zero if the table is not cut.

    ``counts``: number of records of each value; ``most``: limit on the records of the wave.
    """
    values = values_of(demand)
    records, fewest = int(counts.sum()), max(_FEWEST, _FEWEST_PER_BUCKET * buckets)
    share = float(np.clip(_needed_share(counts, values), _SMALLEST_SHARE, _LARGEST_SHARE))
    enough = (fewest + np.count_nonzero(counts)) / records  # rounding takes one of every value
    if enough <= _LARGEST_SHARE:
        share = max(share, enough)
    if most is not None:
        share = min(share, most / records)
    taken: Int64Array = np.floor(counts * share).astype(np.int64)
    for part in (taken, counts - taken):
        if np.any(counts_by_code(part, values) > allowed(demand.caps, int(part.sum()))):
            return np.zeros(len(counts), np.int64)
    if taken.sum() < fewest:
        return np.zeros(len(counts), np.int64)
    return taken


def _needed_share(counts: Int64Array, values: SensitiveValues) -> float:
    """The share of the records that predicts the code nearest to its cap well enough.

    ``counts``: number of records of each value.
    """
    totals, records = counts_by_code(counts, values), int(counts.sum())
    slack = np.log(values.caps * records / np.maximum(totals, 1))
    slack[totals == 0] = np.inf
    riskiest = np.lexsort((-totals, np.round(slack, 2)))[0]
    return float(_RECORDS / (totals[riskiest] * max(slack[riskiest], 1e-3) ** 3))


def random_rank(values: Int32Array, tiebreak: Int64Array) -> Int64Array:
    """The rank of every row among those with its value, in the random order ``tiebreak``.

    >>> random_rank(np.array([7, 3, 7, 7]), np.array([3, 1, 0, 2]))
    array([1, 0, 2, 0])
    """
    by_value = tiebreak[np.argsort(values[tiebreak], kind="stable")]
    counts = np.bincount(values)
    rank = np.empty(len(tiebreak), np.int64)
    rank[by_value] = np.arange(len(tiebreak)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank


def published_tables(
    graph: Graph, truth: Int32Array, values: Int32Array
) -> Iterator[PublishedTable]:
    """The tables of a wave as released: which values lie on whose matches.

    ``values``: the sensitive value of every record of the table.
    """
    for block, degree in enumerate(graph.degrees.tolist()):
        start, end = int(graph.starts[block]), int(graph.starts[block + 1])
        first = int(graph.edge_starts[block])
        edges = graph.edges[first : first + (end - start) * degree].reshape(-1, degree)
        size = (end - start) // degree
        shown = np.empty((end - start, degree), np.int32)
        published = values[graph.members[truth[start:end]]]
        for layer in range(degree):
            shown[edges[:, layer], np.arange(end - start) // size] = published
        yield PublishedTable(graph.members[start:end].astype(np.int64), degree, shown)
