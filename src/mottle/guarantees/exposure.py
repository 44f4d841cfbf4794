"""What the published sensitive values say about each individual: shares among its matches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit

from mottle.errors import PrivacyError
from mottle.graph.model import Graph, is_complete, preimage
from mottle.guarantees.demand import Demand
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel


@dataclass(frozen=True)
class Exposure:
    """The shares of sensitive values along the graph's edges, compared with their caps."""

    violations: int  # individuals among whose matches some value exceeds its cap
    nearest: float  # the highest ratio of a share to its cap, over all individuals and values
    repeats: int  # individuals among whose matches some (joint) value occurs more than once


def exposure(graph: Graph, truth: Int32Array, demand: Demand) -> Exposure:
    """Measure for every individual which marks its matches are published with, and how often.

    Parameters
    ----------
    graph : Graph
        The edges between published and original records.
    truth : Int32Array
        By published record: the position of its true original.
    demand : Demand
        The marks of all records and their caps.

    Returns
    -------
    Exposure
        Violations, the highest share of a cap, and repeats, over all individuals.
    """
    marks = demand.sensitive_codes[
        graph.members[truth]
    ]  # [position, system]: what each record publishes
    degrees, which = np.unique(graph.degrees, return_inverse=True)
    allowed = np.stack([demand.allowed(int(degree)) for degree in degrees])
    found = parallel.over_blocks(
        lambda first, last: _measure(
            graph, marks, demand.caps, allowed, which.astype(np.int64), first, last
        ),
        graph.starts,
    )
    return Exposure(
        violations=sum(part[0] for part in found),
        nearest=max(part[1] for part in found),
        repeats=sum(part[2] for part in found),
    )


def check_within_caps(graph: Graph, truth: Int32Array, demand: Demand) -> dict[str, object]:
    """Check invariant 4: for every individual, every mark's share among its matches is in its cap.

    Parameters
    ----------
    graph, truth, demand
        As for `exposure`.

    Returns
    -------
    dict
        What was measured, for the certificate.

    Raises
    ------
    PrivacyError
        A mark exceeds its cap among somebody's matches, or they break the demand's condition.
    """
    if not demand.capped:
        return {"capped_values": 0}
    found = exposure(graph, truth, demand)
    if found.violations:
        raise PrivacyError(
            f"Invariant 4: a sensitive value exceeds its cap among the matches of"
            f" {found.violations} individuals."
        )
    if demand.condition is not None and (broken := _breaking(graph, truth, demand)):
        raise PrivacyError(
            f"Invariant 4: the matches of {broken} individuals break the condition of the"
            " guarantee."
        )
    return {
        "capped_values": len(demand.caps),
        "individuals": graph.records,
        "highest_share_of_cap": round(found.nearest, 6),
    }


def _breaking(graph: Graph, truth: Int32Array, demand: Demand) -> int:
    """How many individuals have matches that break the demand's condition.

    In Python, since conditions are: the time is that of one call per individual, and one per block
    where all individuals of the block share their matches.
    """
    assert demand.condition is not None
    marks = demand.sensitive_codes[graph.members[truth]]
    broken = 0
    for block, (start, end) in enumerate(pairwise(graph.starts.tolist())):
        if is_complete(graph, block):
            counts = np.bincount(marks[start:end].ravel(), minlength=len(demand.caps))
            broken += 0 if demand.condition(counts) else end - start
            continue
        counts = np.zeros((end - start, len(demand.caps)), np.int64)  # by original and mark
        for position in range(start, end):
            for original in graph.preimages(position):
                np.add.at(counts[original - start], marks[position], 1)
        broken += sum(not demand.condition(each) for each in counts)
    return broken


@njit(cache=True, nogil=True)
def _measure(
    graph: Graph,
    marks: Int32Array,
    caps: Float64Array,
    allowed: Int64Array,
    which: Int64Array,
    first: int,
    last: int,
) -> tuple[int, float, int]:
    """Violations, highest share of a cap and repeats among the individuals of some blocks."""
    violations, repeats = 0, 0
    nearest = 0.0
    systems = marks.shape[1]
    counts = np.zeros(caps.size, np.int64)
    for block in range(first, last):
        start, size = graph.starts[block], graph.starts[block + 1] - graph.starts[block]
        degree = graph.degrees[block]
        limit = allowed[which[block]]
        if is_complete(graph, block):  # all individuals have all records of the block as matches
            exceeded, ratio, repeated = _count(
                marks, systems, np.arange(start, start + size), counts, caps, limit
            )
            violations += size * exceeded
            repeats += size * repeated
            nearest = max(nearest, ratio)
            continue
        slots = np.empty((size, degree), np.int64)  # by original: the positions it may be at
        filled = np.zeros(size, np.int64)
        for place in range(size):
            for layer in range(degree):
                original = preimage(graph, block, place, layer)
                slots[original, filled[original]] = start + place
                filled[original] += 1
        for person in range(size):
            exceeded, ratio, repeated = _count(marks, systems, slots[person], counts, caps, limit)
            violations += exceeded
            repeats += repeated
            nearest = max(nearest, ratio)
    return violations, nearest, repeats


@njit(cache=True, nogil=True)
def _count(
    marks: Int32Array,
    systems: int,
    positions: Int64Array,
    counts: Int64Array,
    caps: Float64Array,
    limit: Int64Array,
) -> tuple[int, float, int]:
    """Whether a cap is exceeded on these positions, the highest share of a cap, any repeat."""
    exceeded, repeated = 0, 0
    ratio = 0.0
    for position in positions:
        for system in range(systems):
            mark = marks[position, system]
            counts[mark] += 1
            if counts[mark] > limit[mark]:
                exceeded = 1
            if system == 0 and counts[mark] > 1:
                repeated = 1
            ratio = max(ratio, counts[mark] / (caps[mark] * positions.size))
    for position in positions:
        for system in range(systems):
            counts[marks[position, system]] = 0
    return exceeded, ratio, repeated
