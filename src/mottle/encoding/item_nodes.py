"""Columns of sets of items, coded as sets of the nodes of a hierarchy that stand for the items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from mottle.encoding.domain import Codes, Domain
from mottle.itemsets.nodes import ItemNodes
from mottle.typing import Int64Array

# What items of a column are published as, given how many records have each code; None: themselves.
Choice = Callable[[Domain, Int64Array], ItemNodes | None]


def codes_of_nodes(codes: Codes, choose: Choice) -> Codes:
    """Return the codes of a table, its columns of sets as sets of nodes.

    Parameters
    ----------
    codes : Codes
        The quasi-identifiers.
    choose : callable
        Chooses the nodes of a column of sets.

    Returns
    -------
    Codes
        The same codes if no column has nodes; otherwise see `domain_of_nodes`.
    """
    domains, matrix = list(codes.domains), codes.matrix.copy()
    for place, domain in enumerate(codes.domains):
        if domain.sets is None:
            continue
        times = np.bincount(matrix[:, place], minlength=domain.size).astype(np.int64)
        nodes = choose(domain, times)
        if nodes is not None:
            domains[place], order = domain_of_nodes(domain, nodes, times)
            number = np.empty(domain.size, np.int32)
            number[order] = np.arange(domain.size, dtype=np.int32)
            matrix[:, place] = number[matrix[:, place]]
    if all(new is old for new, old in zip(domains, codes.domains, strict=True)):
        return codes
    return replace(codes, domains=tuple(domains), matrix=matrix)


def domain_of_nodes(
    domain: Domain, nodes: ItemNodes, times: Int64Array
) -> tuple[Domain, Int64Array]:
    """Return the domain of a column of sets as sets of nodes.

    Sets of items that are the same set of nodes keep a code each: records with the same code are
    those with the same items. Codes are in the Gray order of the sets of nodes, the most frequent
    nodes first; the missing value stays the last.

    Parameters
    ----------
    domain : Domain
        The sets of items.
    nodes : ItemNodes
        What items are published as.
    times : int64[size]
        How many records have each code.

    Returns
    -------
    domain : Domain
        The sets of nodes.
    order : int64[size]
        The code that each of the new codes was.
    """
    shown = domain.items.as_nodes(nodes, times)
    known = domain.size if domain.missing < 0 else domain.missing
    order = np.arange(domain.size)
    order[:known] = shown.take(order[:known]).in_gray_order(times[:known])
    counts = None if domain.counts is None else domain.counts[order]
    values = domain.values.take(pa.array(order))
    return replace(domain, values=values, counts=counts, sets=shown.take(order)), order
