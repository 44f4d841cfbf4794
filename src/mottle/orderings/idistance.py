"""Order by iDistance: cluster after cluster, and outwards within a cluster (FAST07 §5).

Yu, Ooi, Tan, Jagadish: Indexing the Distance (VLDB 2001) give a point the key i·c + distance, with
i the number of its nearest centre and c a constant large enough to keep the clusters disjoint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.orderings.hilbert import BITS, hilbert
from mottle.typing import Float64Array
from mottle.utils import parallel
from mottle.utils.lazy import lazy_module

clustering = lazy_module("scipy.cluster.vq")

CENTRES = 512  # cluster centres (FAST07 §5)
SAMPLE = 0.1  # share of the points that the centres are computed from
ROUNDS = 10  # iterations of k-means


class IDistanceMapping(NamedTuple):
    """The one-dimensional mapping of a table."""

    order: NDArray[np.int64]  # [n]: rows by ascending key
    keys: Float64Array  # [n]: the key of every row


def idistance(
    points: Float64Array,
    seed: int,
    centres: int = CENTRES,
    *,
    sample: float = SAMPLE,
    rounds: int = ROUNDS,
    bits: int = BITS,
) -> IDistanceMapping:
    """Map ``points`` [n, d] (coordinates from 0 to 1) to one dimension.

    The centres of a share of the points (at least ``centres`` of them) are put in Hilbert order;
    each point belongs to its nearest centre. Points with equal keys are in Hilbert order. Cost
    O(n·c·d) for c centres.

    >>> points = np.array([[0.1], [0.9], [0.2], [1.0]])
    >>> idistance(points, seed=0).order
    array([0, 2, 1, 3])
    """
    if points.shape[1] == 0:
        return IDistanceMapping(np.arange(len(points)), np.zeros(len(points)))
    random = np.random.default_rng(seed)
    size = min(max(int(sample * len(points)), centres), len(points))
    chosen = points[random.choice(len(points), size, replace=False)]
    middle = _centres(chosen, centres, rounds, random)
    middle = middle[hilbert(middle, bits)]
    nearest, distance = _nearest(points, middle)
    separation = 1.001 * distance.max() or 1.0
    keys = nearest * separation + distance
    along_curve = hilbert(points, bits)
    by_cluster = np.lexsort((distance[along_curve], nearest[along_curve]))
    return IDistanceMapping(along_curve[by_cluster], keys)


def _centres(
    sample: Float64Array, count: int, rounds: int, random: np.random.Generator
) -> Float64Array:
    """At most ``count`` cluster centres of a sample of the points (k-means, Lloyd's algorithm)."""
    distinct = np.unique(sample, axis=0)
    if len(distinct) <= count:
        return distinct
    middle = distinct[random.choice(len(distinct), count, replace=False)]
    for _ in range(rounds):
        nearest, _ = _nearest(sample, middle)
        members = np.bincount(nearest, minlength=count)
        sums = [np.bincount(nearest, column, minlength=count) for column in sample.T]
        means = np.column_stack(sums) / np.maximum(members, 1)[:, None]
        middle = np.where(members[:, None] > 0, means, middle)
    return middle


def _nearest(points: Float64Array, middle: Float64Array) -> tuple[NDArray[np.int64], Float64Array]:
    """The nearest centre of every point and the distance to it."""
    parts = parallel.over_rows(
        lambda first, last: clustering.vq(points[first:last], middle), len(points)
    )
    nearest = np.concatenate([part for part, _ in parts]).astype(np.int64)
    return nearest, np.concatenate([part for _, part in parts])
