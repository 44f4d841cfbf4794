"""How easily people are found, for the certificate: by quasi-identifiers and the graph alone.

The adversary of every guarantee knows both (docs/guarantees.md), so the figures tell him nothing.
For readers who know less, those of the original are rounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.audit.containment.compact import group_rows
from mottle.graph.model import Graph, is_complete, preimage
from mottle.itemsets.data import ItemSets
from mottle.release.evidence_facts import RiskFigures
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import kernel

__all__ = [
    "PersonShares",
    "figures",
    "risk_by_graph",
    "risk_of_rows",
    "risk_of_sets",
    "shares_along_edges",
]

_DECIMALS = 3  # of figures about the original


def risk_of_rows(codes: NDArray[np.integer], people: Int32Array | None = None) -> RiskFigures:
    """Measure how easily people are found in a table by their quasi-identifiers.

    Parameters
    ----------
    codes : integer array of shape (rows, columns)
        The quasi-identifiers; in columns that are made coarser, the bins.
    people : int32 array of shape (rows,), optional
        Whose row each row is; without it, every row is another person's.

    Returns
    -------
    RiskFigures
        The figures, rounded.

    Examples
    --------
    >>> found = risk_of_rows(np.array([[1, 0], [1, 0], [2, 1], [2, 1], [3, 1]]))
    >>> found.unique, found.prosecutor_highest, found.prosecutor_mean
    (0.2, 1.0, 0.6)
    """
    groups, _ = group_rows(np.asarray(codes))
    return _of_groups(groups, people)


def risk_of_sets(data: ItemSets) -> RiskFigures:
    """Measure how easily people are found by all their items.

    Parameters
    ----------
    data : ItemSets
        One set for each person.

    Returns
    -------
    RiskFigures
        The figures, rounded.
    """
    numbers: dict[bytes, int] = {}
    groups = np.empty(data.records, np.int64)
    items = np.ascontiguousarray(data.items)
    for record, (start, end) in enumerate(zip(data.starts[:-1], data.starts[1:], strict=True)):
        groups[record] = numbers.setdefault(items[start:end].tobytes(), len(numbers))
    return _of_groups(groups, None)


def _of_groups(groups: Int64Array, people: Int32Array | None) -> RiskFigures:
    """The figures of rows that are alike in groups."""
    sizes = np.bincount(groups)
    if people is None:
        own = 1 / sizes[groups]  # by row, which is a person
        guessed = own
    else:
        everybody = int(people.max(initial=0)) + 1
        pairs, rows = np.unique(groups * everybody + people, return_counts=True)
        group, person = pairs // everybody, pairs % everybody
        share = rows / sizes[group]  # of a person among the rows of a group
        own = np.zeros(everybody)
        np.maximum.at(own, person, share)
        own = own[np.bincount(people, minlength=everybody) > 0]
        best = np.zeros(len(sizes))
        np.maximum.at(best, group, share)
        guessed = best[groups]
    return _of_shares(own, float(guessed.mean()), _DECIMALS)


def _of_shares(own: Float64Array, marketer: float, decimals: int) -> RiskFigures:
    unique = float((own >= 1).mean())
    return figures(float(own.max()), float(own.mean()), unique, marketer, decimals)


def figures(
    highest: float, mean: float, unique: float, marketer: float, decimals: int = _DECIMALS
) -> RiskFigures:
    """Round figures for the certificate.

    Parameters
    ----------
    highest : float
        The highest chance that somebody known to be in the table is found.
    mean : float
        The mean of these chances over all people.
    unique : float
        The share of people who are found for certain.
    marketer : float
        The expected share of records that are attributed rightly.
    decimals : int
        How many to keep; by default as many as of figures about the original.

    Returns
    -------
    RiskFigures
        The figures, rounded.
    """
    return RiskFigures(
        unique=round(unique, decimals),
        prosecutor_highest=round(highest, decimals),
        prosecutor_mean=round(mean, decimals),
        journalist_at_most=round(highest, decimals),
        marketer=round(marketer, decimals),
    )


class PersonShares(NamedTuple):
    """What people have of the preimages of records."""

    own: Float64Array  # [people]: the largest share of a person among the preimages of a record
    best_guess: float  # mean over records: the largest share of anybody among its preimages


def shares_along_edges(graph: Graph, people: Int32Array) -> PersonShares:
    """Measure the shares of people among the preimages of records.

    Parameters
    ----------
    graph : Graph
        The graph, which is regular.
    people : int32 array of shape (records,)
        Whose row each original is.

    Returns
    -------
    PersonShares
        The shares.
    """
    own, total = _shares(graph, people)
    return PersonShares(own, total / graph.records)


def risk_by_graph(
    rows: int,
    degrees: dict[int, int],
    largest_share: float | None = None,
    shares: PersonShares | None = None,
) -> RiskFigures:
    """Return how easily people are found by whoever knows the graph.

    Parameters
    ----------
    rows : int
        The number of records.
    degrees : dict of int to int
        By number of preimages: records that have as many.
    largest_share : float, optional
        The largest share of a person among the preimages of a record, where people have several
        rows; without it, every row is another person's.
    shares : PersonShares, optional
        The shares of all people, where they were measured.

    Returns
    -------
    RiskFigures
        The figures.

    Examples
    --------
    >>> found = risk_by_graph(30, {5: 20, 10: 10})
    >>> found.prosecutor_highest, round(found.prosecutor_mean, 4), found.unique
    (0.2, 0.1667, 0.0)
    """
    if shares is not None:
        return _of_shares(shares.own, shares.best_guess, 6)
    if largest_share is not None:
        return RiskFigures(
            unique=0.0, prosecutor_highest=largest_share, journalist_at_most=largest_share
        )
    mean = sum(records / degree for degree, records in degrees.items()) / rows
    highest = 1 / min(degrees)
    return RiskFigures(
        unique=degrees.get(1, 0) / rows,
        prosecutor_highest=highest,
        prosecutor_mean=mean,
        journalist_at_most=highest,
        marketer=mean,
    )


@kernel
def _shares(graph: Graph, people: Int32Array) -> tuple[Float64Array, float]:
    """[people]: the largest share among the preimages of a record; sum of the largest of each."""
    own = np.zeros(people.max() + 1)
    times = np.zeros(people.max() + 1, np.int32)
    total = 0.0
    for block in range(len(graph.degrees)):
        start, end = graph.starts[block], graph.starts[block + 1]
        degree = graph.degrees[block]
        complete = is_complete(graph, block)
        for place in range(1 if complete else end - start):
            most = 0
            for layer in range(degree):
                person = people[graph.members[start + preimage(graph, block, place, layer)]]
                times[person] += 1
                most = max(most, times[person])
                own[person] = max(own[person], times[person] / degree)
            for layer in range(degree):
                times[people[graph.members[start + preimage(graph, block, place, layer)]]] = 0
            total += most / degree * (end - start if complete else 1)
    return own, total
