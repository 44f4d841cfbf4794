"""Shares of the published sensitive values among the matches of each individual."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mottle.errors import PrivacyError
from mottle.graph.model import Graph, is_complete, preimage
from mottle.guarantees.demand import Demand
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel


@dataclass(frozen=True)
class Exposure:
    """The shares of sensitive values along the graph's edges, compared with their caps."""

    violations: int  # individuals among whose matches some value exceeds its cap
    nearest: float  # the highest ratio of a share to its cap, over all individuals and values
    repeats: int  # individuals among whose matches some (joint) value occurs more than once


def exposure(graph: Graph, truth: Int32Array, demand: Demand) -> Exposure:
    """Count for every individual the sensitive codes with which its matches are published.

    Parameters
    ----------
    graph : Graph
        The edges between published and original records.
    truth : Int32Array
        By published record: the position of its true original.
    demand : Demand
        The sensitive codes of all records and their caps.

    Returns
    -------
    Exposure
        Violations, the highest share of a cap, and repeats, over all individuals.
    """
    # [position, attribute]: what each record publishes
    published = demand.sensitive_codes[graph.members[truth]]
    degrees, which = np.unique(graph.degrees, return_inverse=True)
    allowed = np.stack([demand.allowed(int(degree)) for degree in degrees])
    found = parallel.over_blocks(
        lambda first, last: _measure(
            graph, published, demand.caps, allowed, which.astype(np.int64), first, last
        ),
        graph.starts,
    )
    return Exposure(
        violations=sum(part[0] for part in found),
        nearest=max(part[1] for part in found),
        repeats=sum(part[2] for part in found),
    )


def check_within_caps(graph: Graph, truth: Int32Array, demand: Demand) -> dict[str, object]:
    """Check invariant 4: no sensitive code exceeds its cap among the matches of any individual.

    Parameters
    ----------
    graph : Graph
        As for `exposure`.
    truth : Int32Array
        As for `exposure`.
    demand : Demand
        As for `exposure`; also its condition.

    Returns
    -------
    dict
        What was measured, for the certificate.

    Raises
    ------
    PrivacyError
        A sensitive code exceeds its cap among the matches of an individual, or the matches break
        the demand's condition.
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
    """Count the individuals whose matches break the demand's condition.

    This is not compiled, because conditions are Python functions. The time is that of one call per
    individual, or of one per block where all individuals of the block have the same matches.
    """
    assert demand.condition is not None
    published = demand.sensitive_codes[graph.members[truth]]
    broken = 0
    for block, (start, end) in enumerate(pairwise(graph.starts.tolist())):
        if is_complete(graph, block):
            counts = np.bincount(published[start:end].ravel(), minlength=len(demand.caps))
            broken += 0 if demand.condition(counts) else end - start
            continue
        counts = np.zeros((end - start, len(demand.caps)), np.int64)  # by original and code
        for position in range(start, end):
            for original in graph.preimages(position):
                np.add.at(counts[original - start], published[position], 1)
        broken += sum(not demand.condition(each) for each in counts)
    return broken


@kernel
def _measure(
    graph: Graph,
    published: Int32Array,
    caps: Float64Array,
    allowed: Int64Array,
    which: Int64Array,
    first: int,
    last: int,
) -> tuple[int, float, int]:
    """Violations, highest share of a cap and repeats among the individuals of some blocks."""
    violations, repeats = 0, 0
    nearest = 0.0
    attributes = published.shape[1]
    counts = np.zeros(caps.size, np.int64)
    for block in range(first, last):
        start, size = graph.starts[block], graph.starts[block + 1] - graph.starts[block]
        degree = np.int64(graph.degrees[block])
        limit = allowed[which[block]]
        if is_complete(graph, block):  # all individuals have all records of the block as matches
            exceeded, ratio, repeated = _count(
                published, attributes, np.arange(start, start + size), counts, caps, limit
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
            exceeded, ratio, repeated = _count(
                published, attributes, slots[person], counts, caps, limit
            )
            violations += exceeded
            repeats += repeated
            nearest = max(nearest, ratio)
    return violations, nearest, repeats


@kernel
def _count(
    published: Int32Array,
    attributes: int,
    positions: Int64Array,
    counts: Int64Array,
    caps: Float64Array,
    limit: Int64Array,
) -> tuple[int, float, int]:
    """Whether a cap is exceeded on these positions, the highest share of a cap, any repeat."""
    exceeded, repeated = 0, 0
    ratio = 0.0
    for position in positions:
        for attribute in range(attributes):
            code = published[position, attribute]
            counts[code] += 1
            if counts[code] > limit[code]:
                exceeded = 1
            if attribute == 0 and counts[code] > 1:
                repeated = 1
            ratio = max(ratio, counts[code] / (caps[code] * positions.size))
    for position in positions:
        for attribute in range(attributes):
            counts[published[position, attribute]] = 0
    return exceeded, ratio, repeated
