"""How many published records have how many originals behind them: the degrees of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mottle.graph.model import Graph

MOST_LISTED = 64  # different degrees on a certificate


def records_by_degree(graph: Graph) -> dict[int, int]:
    """For every degree that occurs, ascending, how many published records have it."""
    degrees, place_of = np.unique(graph.degrees, return_inverse=True)
    records = np.zeros(len(degrees), np.int64)
    np.add.at(records, place_of, graph.sizes)
    return dict(zip(degrees.tolist(), records.tolist(), strict=True))


def describe_degrees(records: Mapping[int, int]) -> dict[str, Any]:
    """For the certificate: lowest, highest, and how many records have each, or one up to it.

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
    """At most so many degrees, ascending: records count as of a higher degree than they have.

    That is the safe side, since what occurs behind a record of degree m has at least the chance
    1/m. Neighbours are merged one after the other where this gives away least of these chances.

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
