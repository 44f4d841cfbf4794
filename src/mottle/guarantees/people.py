"""k counted in people: of a record's preimages, at most a k-th part is one person's."""

from __future__ import annotations

from typing import Any

import numpy as np

from mottle.errors import GuaranteeError, PrivacyError
from mottle.graph.model import Graph, is_complete, preimage
from mottle.guarantees.demand import Demand
from mottle.typing import Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel


def check_feasible(column: str, k: int, rows: int, most: int) -> None:
    """Check that nobody has more than a k-th part of a table.

    Parameters
    ----------
    column : str
        The column that says whose row it is.
    k : int
        The least number of people among whom everybody is to be hidden.
    rows : int
        The number of rows of the table.
    most : int
        The number of rows of the person who has most.

    Raises
    ------
    GuaranteeError
        Somebody has more rows than that; the message names the largest feasible k.
    """
    if most * k <= rows:
        return
    feasible = rows // most
    fewer = (
        "No k is feasible while one person has more than half of the rows"
        if feasible < 2
        else f"The largest feasible k is {feasible}"
    )
    raise GuaranteeError(
        f"k = {k} cannot be met: by column '{column}', one person has {most:,} of {rows:,} rows,"
        f" more than one in {k}.",
        f"{fewer}. Or make one row per person (--per-person aggregate), or leave out rows of"
        " those who have most.",
    )


class ChunkShareError(GuaranteeError):
    """One person has too large a part of the rows that are worked on at once."""

    def __init__(self) -> None:
        super().__init__(
            "Among the rows that are worked on at once, one person has more than one in k.",
            "Work on more rows at once (more --memory), anonymize in memory, choose a smaller k, or"
            " leave out rows of those who have most.",
        )


def people_of_keys(keys: Int64Array, k: int) -> Int32Array:
    """Number the people of some rows, which are a part of a table.

    Parameters
    ----------
    keys : Int64Array
        By row: a number of its person. Two people may have the same number; they are then counted
        as one, which is on the safe side.
    k : int
        The least number of people among whom everybody is to be hidden.

    Returns
    -------
    Int32Array
        By row: the person, from 0 on.

    Raises
    ------
    ChunkShareError
        Somebody has more than a k-th part of the rows.
    """
    _, people, times = np.unique(keys, return_inverse=True, return_counts=True)
    if int(times.max()) * k > len(keys):
        raise ChunkShareError
    numbered: Int32Array = people.ravel().astype(np.int32)
    return numbered


def check_shares(graph: Graph, demand: Demand) -> dict[str, Any]:
    """Check invariant 6: of every record's preimages, at most a k-th part is one person's.

    Parameters
    ----------
    graph : Graph
        The graph, which is regular.
    demand : Demand
        k, and whose row each row is.

    Returns
    -------
    dict
        What was measured; empty if people are not counted.

    Raises
    ------
    PrivacyError
        A record has more preimages of one person.
    """
    if demand.people is None:
        return {}
    people = demand.people
    if len(people) != graph.records:
        raise PrivacyError(
            "Invariant 6: the rows whose persons are known are not those of the table."
        )
    found = parallel.over_blocks(
        lambda first, last: _shares(graph, people, demand.degree, first, last), graph.starts
    )
    over = sum(records for records, _ in found)
    if over:
        raise PrivacyError(
            f"Invariant 6: more than one in {demand.degree} of the preimages of {over} records"
            " belong to one person."
        )
    return {"largest_share": max(share for _, share in found)}


@kernel
def _shares(graph: Graph, people: Int32Array, k: int, first: int, last: int) -> tuple[int, float]:
    """Count records with too many preimages of one person; the largest share of one person."""
    times = np.zeros(people.max() + 1, np.int32)
    over, highest = 0, 0.0
    for block in range(first, last):
        start, end = graph.starts[block], graph.starts[block + 1]
        degree = graph.degrees[block]
        complete = is_complete(graph, block)
        for place in range(1 if complete else end - start):
            most = 0
            for layer in range(degree):
                member = graph.members[start + preimage(graph, block, place, layer)]
                times[people[member]] += 1
                most = max(most, times[people[member]])
            for layer in range(degree):
                times[people[graph.members[start + preimage(graph, block, place, layer)]]] = 0
            if most * k > degree:
                over += end - start if complete else 1
            highest = max(highest, most / degree)
    return over, highest
