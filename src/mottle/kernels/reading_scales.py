"""Objectives as arrays: how much each column counts, and what frequencies say about its values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mottle.encoding.domain import Codes, Domain
from mottle.kernels.reading_growth import BRIER, LOGARITHM, NCP, Reading
from mottle.kinds.forms.base import Form, TreeGrowth
from mottle.schema.columns import Objective
from mottle.typing import Float64Array, Int64Array

RANGE_WEIGHT = 4.0  # how much ranges count beside sets and nodes; measured, see docs/measures.md
LEAST_SPREAD = 0.01  # a column that hardly varies counts as if it varied so much
_SCORES = {Objective.NCP: NCP, Objective.READING: BRIER, Objective.ENTROPY: LOGARITHM}


def importance_of(codes: Codes, objective: Objective | None) -> Float64Array:
    """[d]: how much the loss of each column counts, as shares of all.

    That is the importance that the schema gives it. Where readers are scored, a column counts more
    the more it varies, by the square root of what a reader loses who knows frequencies alone.
    """
    weights = []
    for column, domain in enumerate(codes.domains):
        weight = domain.column.importance
        if _score(domain, objective) != NCP and domain.form.has_intervals:
            weight *= RANGE_WEIGHT
        elif _score(domain, objective) != NCP and _is_scored(domain):
            weight *= spread_of(shares_of(codes, column), logarithm=False) ** 0.5
        weights.append(weight)
    return np.array(weights) / sum(weights)


def reading_of(
    codes: Codes,
    objective: Objective | None,
    weights: Float64Array,
    offset: Int64Array,
    places: int,
    trees: Sequence[TreeGrowth],
) -> Reading | None:
    """What readers know about sets and nodes; None if NCP is the loss of all of them.

    ``offset`` and ``places`` are those of `Scales`; ``trees`` are those of the columns of nodes.
    """
    columns = len(codes.domains)
    score, rate = np.zeros(columns, np.int8), np.zeros(columns)
    share, term = np.zeros(places), np.zeros(places)
    nodes = np.cumsum([0, *[len(tree.parent) for tree in trees]])
    mass, squares = np.zeros(max(nodes[-1], 1)), np.zeros(max(nodes[-1], 1))
    with_tree = 0
    for column, domain in enumerate(codes.domains):
        chosen = _score(domain, objective)
        if chosen != NCP and _is_scored(domain):
            shares = shares_of(codes, column)
            here = slice(offset[column], offset[column] + domain.size)
            score[column], share[here] = chosen, shares
            term[here] = shares if chosen == BRIER else np.log(shares)
            rate[column] = weights[column] / spread_of(shares, logarithm=chosen == LOGARITHM)
            if domain.form.has_tree:
                below = slice(nodes[with_tree], nodes[with_tree + 1])
                mass[below] = _sums_below(trees[with_tree], shares)
                squares[below] = _sums_below(trees[with_tree], shares**2)
        with_tree += domain.form.has_tree
    return Reading(score, rate, share, term, mass, squares) if score.any() else None


def shares_of(codes: Codes, column: int) -> Float64Array:
    """How often each value of a column occurs: in the whole table if known, else in the records."""
    domain = codes.domains[column]
    counts = domain.counts
    if counts is None:
        counts = np.bincount(codes.matrix[:, column], minlength=domain.size)
    counts = np.maximum(counts, 1)  # a value of the domain may be absent from these records
    return np.asarray(counts / counts.sum())


def spread_of(shares: Float64Array, *, logarithm: bool) -> float:
    """What a reader loses who knows the frequencies alone: the unit of a column's loss."""
    lost = -shares @ np.log(shares) if logarithm else 1 - shares @ shares
    return max(float(lost), LEAST_SPREAD)


def _is_scored(domain: Domain) -> bool:
    """Whether readers guess at single values: of a set, or below a node."""
    return domain.form.has_tree or domain.form is Form.SET


def _score(domain: Domain, objective: Objective | None) -> int:
    """How the loss of a column is computed."""
    if objective is None:
        return NCP
    return _SCORES[Objective(domain.column.objective or objective)]


def _sums_below(tree: TreeGrowth, terms: Float64Array) -> Float64Array:
    """By node: the sum over the leaves below it."""
    before = np.concatenate([[0.0], np.cumsum(terms)])
    return np.asarray(before[tree.last_leaf + 1] - before[tree.first_leaf])
