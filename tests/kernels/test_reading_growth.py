"""What readers lose, its growth and its savings, against the scores by their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from coded_tables import coded_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mottle.encoding.domain import Codes, Domain
from mottle.kernels.box_growths import add_growths, make_candidates, prepare
from mottle.kernels.ncp_growth import Scales, add_savings, box_loss
from mottle.kernels.reading_scales import importance_of, shares_of, spread_of
from mottle.kernels.scales import scales
from mottle.schema.model import Objective

READERS = st.sampled_from([Objective.READING, Objective.ENTROPY])


def chances_of(
    domain: Domain, values: NDArray[np.int32], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The chance that a reader of frequencies gives every code, from what a node or set says."""
    cell = np.zeros(domain.size, bool)
    cell[values] = True
    if domain.form.has_tree and cell.sum() > 1:
        present = np.flatnonzero(cell)
        node = domain.tree.root
        if not cell[domain.missing] or domain.missing < 0:
            (node,) = domain.tree.common_ancestors(present[:1], present[-1:])
        first, last = domain.tree.extents
        cell[first[node] : last[node] + 1] = True
        if node == domain.tree.root:
            cell[:] = True
    return np.asarray(cell * shares / (cell * shares).sum())


def loss_by_definition(
    codes: Codes, objective: Objective, box: NDArray[np.int32], column: int
) -> float:
    """Mean over the members of a box of what the guess at their values loses, unweighted."""
    domain, shares = codes.domains[column], shares_of(codes, column)
    values = codes.matrix[box, column]
    chances = chances_of(domain, values, shares)
    if objective is Objective.ENTROPY:
        spread = spread_of(shares, logarithm=True)
        return float(-np.log(chances[values]).mean()) / spread
    if not domain.form.has_tree:
        listed = np.unique(values)
        chances *= 1 - len(listed) / len(box)
        chances[listed] += 1 / len(box)
    truth = np.eye(domain.size)[values]
    spread = spread_of(shares, logarithm=False)
    return float(((chances - truth) ** 2).sum(axis=1).mean()) / spread


def loss_of(metric: Scales, codes: Codes, box: NDArray[np.int32]) -> float:
    marks = np.zeros(metric.domain_total, np.int32)
    return box_loss(metric, codes.matrix, box, len(box), marks, 1)


@settings(deadline=None, max_examples=200)
@given(coded_tables(), READERS)
def test_loss_is_the_score_of_the_reader_who_knows_frequencies(
    codes: Codes, objective: Objective
) -> None:
    box = np.arange(codes.records, dtype=np.int32)
    weights = importance_of(codes, objective)
    expected = 0.0
    for column, domain in enumerate(codes.domains):
        if domain.form.has_intervals:
            alone = Codes((domain,), np.ascontiguousarray(codes.matrix[:, [column]]))
            expected += weights[column] * loss_of(scales(alone), alone, box)
        else:
            expected += weights[column] * loss_by_definition(codes, objective, box, column)
    assert loss_of(scales(codes, 1, objective), codes, box) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=150)
@given(coded_tables(least=3), READERS, st.booleans())
def test_growth_and_savings_are_differences_of_losses(
    codes: Codes, objective: Objective, whole_table_is_larger: bool
) -> None:
    if whole_table_is_larger:  # frequencies of a table of which these records are a part
        domains = tuple(
            replace(domain, counts=np.arange(1, domain.size + 1) ** 2) for domain in codes.domains
        )
        codes = replace(codes, domains=domains)
    metric = scales(codes, 1, objective)
    records = codes.records
    marks, counts = (np.zeros(metric.domain_total, np.int32) for _ in range(2))
    cost, saved, stale = np.empty((records, records)), np.empty(records), np.ones(records, bool)
    mark = 0
    for members in range(1, records):
        boxes = (np.arange(records)[:, None] + np.arange(members)).astype(np.int32) % records
        for size in (records, 2):  # more values than candidates, and fewer
            candidates = make_candidates(metric, size)
            candidates.codes[:] = codes.matrix[:size].T
            mark = prepare(metric, candidates, size, marks, mark)
            add_growths(
                metric, codes.matrix, boxes, members, candidates, size, stale, marks, counts, cost
            )
            for place in range(size):
                before = loss_of(metric, codes, boxes[place])
                for new in range(size):
                    after = loss_of(metric, codes, np.append(boxes[place], np.int32(new)))
                    assert cost[place, new] == pytest.approx(after - before, abs=1e-11)
        add_savings(metric, codes.matrix, boxes[0], members, counts, saved)
        assert not counts.any()
        for member in range(members if members > 1 else 0):
            without = loss_of(metric, codes, np.delete(boxes[0], member))
            assert saved[member] == pytest.approx(
                loss_of(metric, codes, boxes[0]) - without, abs=1e-11
            )
