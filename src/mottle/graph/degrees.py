"""The degrees of a release: how many originals each published record may stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mottle.graph.model import Graph

MOST_LISTED = 64  # at most this many different degrees are listed on a certificate


def records_by_degree(graph: Graph) -> dict[int, int]:
    """Number of published records by degree, in ascending order of degree."""
    degrees, place_of = np.unique(graph.degrees, return_inverse=True)
    records = np.zeros(len(degrees), np.int64)
    np.add.at(records, place_of, graph.sizes)
    return dict(zip(degrees.tolist(), records.tolist(), strict=True))


def describe_degrees(records: Mapping[int, int]) -> dict[str, Any]:
    """Lowest and highest degree and the number of records by (coarsened) degree, as certified.

    >>> describe_degrees({4: 120, 7: 60, 84: 3})
    {'min': 4, 'max': 84, 'records': [[4, 120], [7, 60], [84, 3]]}
    """
    listed = coarsen_degrees(records, MOST_LISTED)
    return {
        "min": min(records),
        "max": max(records),
        "records": [[degree, count] for degree, count in listed.items()],
    }


def coarsen_degrees(records: Mapping[int, int], most: int) -> dict[int, int]:
    """Reduce to at most ``most`` degrees, ascending, by counting records under a higher degree.

    That is the safe side, because a value that occurs among the preimages of a record of degree m
    has at least the chance 1/m. Neighbouring degrees are merged one pair at a time, each time the
    pair that understates these chances least.

    >>> coarsen_degrees({4: 120, 5: 2, 7: 60, 84: 3}, 3)
    {4: 120, 7: 62, 84: 3}
    """
    degrees = np.array(sorted(records), np.int64)
    counts = np.array([records[degree] for degree in degrees.tolist()], np.int64)
    while len(degrees) > most:
        place = int(np.argmin(counts[:-1] * -np.diff(1 / degrees)))
        counts[place + 1] += counts[place]
        degrees, counts = np.delete(degrees, place), np.delete(counts, place)
    return dict(zip(degrees.tolist(), counts.tolist(), strict=True))
