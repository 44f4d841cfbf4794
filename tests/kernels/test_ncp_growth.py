"""Growth, savings and box losses against the loss measured on published cells."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from coded_tables import coded_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.kernels.box_growths import add_growths, make_candidates, prepare
from mottle.kernels.ncp_growth import (
    Scales,
    add_growth,
    add_pulls,
    add_savings,
    box_loss,
)
from mottle.kernels.scales import bit_scales, scales
from mottle.kernels.vote_growth import PULL
from mottle.loss.ncp import measure


def published_loss(codes: Codes, members: NDArray[np.int32]) -> float:
    """GCP of one complete block of the given records, by the ordinary way through the cover."""
    part = Codes(codes.domains, codes.matrix[members])
    size = len(members)
    block = Graph.rings(np.arange(size), np.array([0, size]), np.array([size]))
    return measure(cover(block, part), part).gcp


def loss_of(metric: Scales, codes: Codes, box: NDArray[np.int32]) -> float:
    marks = np.zeros(metric.domain_total, np.int32)
    return box_loss(metric, codes.matrix, box, len(box), marks, 1)


@settings(deadline=None, max_examples=200)
@given(coded_tables())
def test_box_loss_is_the_loss_of_the_published_cells(codes: Codes) -> None:
    box = np.arange(codes.records, dtype=np.int32)
    assert loss_of(scales(codes), codes, box) == pytest.approx(published_loss(codes, box))


@settings(deadline=None, max_examples=200)
@given(coded_tables(least=3))
def test_growth_is_the_difference_of_losses(codes: Codes) -> None:
    metric = scales(codes)
    candidates = np.ascontiguousarray(codes.matrix.T)
    growth = np.empty(codes.records)
    marks = np.zeros(metric.domain_total, np.int32)
    for members in range(1, codes.records):
        box = np.arange(members, dtype=np.int32)
        add_growth(
            metric, codes.matrix, box, members, candidates, codes.records, marks, members, growth
        )
        before = loss_of(metric, codes, box)
        for candidate in range(codes.records):
            after = loss_of(metric, codes, np.append(box, np.int32(candidate)))
            assert growth[candidate] == pytest.approx(after - before, abs=1e-12)


@settings(deadline=None, max_examples=200)
@given(coded_tables(least=3))
def test_savings_are_what_is_lost_less_without_a_member(codes: Codes) -> None:
    metric = scales(codes)
    box = np.arange(codes.records, dtype=np.int32)
    counts = np.zeros(metric.domain_total, np.int32)
    saved = np.empty(codes.records)
    add_savings(metric, codes.matrix, box, codes.records, counts, saved)
    assert not counts.any()
    for member in range(codes.records):
        without = loss_of(metric, codes, np.delete(box, member))
        assert saved[member] == pytest.approx(loss_of(metric, codes, box) - without, abs=1e-12)


def error_of_votes(rows: list[tuple[set[int], int]]) -> int:
    """By definition: vote on every item, then add up what wrong bits cost."""
    counts = Counter(item for row, _ in rows for item in row)
    base = {item for item, count in counts.items() if 2 * count > len(rows)}
    return sum(weight * len(row ^ base) for row, weight in rows)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.sets(st.integers(0, 5)), st.integers(1, 60)), min_size=2, max_size=7))
def test_loss_growth_and_savings_of_sets_are_errors_of_bit_voting(
    rows: list[tuple[set[int], int]],
) -> None:
    starts = np.concatenate([[0], np.cumsum([len(row) for row, _ in rows])])
    items = np.array([item for row, _ in rows for item in sorted(row)], np.int32)
    metric = bit_scales(starts, items, 6, np.array([weight for _, weight in rows]), step=0.5)
    count = len(rows)
    numbers = np.arange(count, dtype=np.int32)
    ordered, candidates = numbers[:, None].copy(), numbers[None, :].copy()
    scratch, counts = (np.zeros(metric.domain_total, np.int32) for _ in range(2))
    growth, growth_there, saved = np.empty(count), np.empty(count), np.empty(count)
    for members in range(1, count + 1):
        held = rows[:members]
        loss = box_loss(metric, ordered, numbers, members, scratch, members)
        assert loss == 0.5 * error_of_votes(held)
        add_growth(metric, ordered, numbers, members, candidates, count, scratch, members, growth)
        add_savings(metric, ordered, numbers, members, scratch, saved)
        assert not scratch.any()
        boxes = np.stack([np.roll(numbers, -place) for place in range(count)])
        costs = np.empty((count, count))
        all_stale = np.ones(count, np.bool_)
        prepared = make_candidates(metric, count)
        prepared.codes[:] = candidates
        assert prepare(metric, prepared, count, scratch, 0) == 0  # votes need no numbers
        add_growths(
            metric, ordered, boxes, members, prepared, count, all_stale, scratch, counts, costs
        )
        assert not scratch.any()
        assert np.array_equal(costs[0], growth)
        for place in range(count):
            add_growth(
                metric, ordered, boxes[place], members, candidates, count, scratch, 1, growth_there
            )
            assert np.array_equal(costs[place], growth_there)
        for candidate, row in enumerate(rows):
            assert growth[candidate] == 0.5 * error_of_votes([*held, row]) - loss
        for member in range(members):
            without = error_of_votes(held[:member] + held[member + 1 :])
            assert saved[member] == loss - 0.5 * without


@given(st.lists(st.sets(st.integers(0, 6), max_size=7), min_size=2, max_size=9), st.data())
def test_pull_is_what_the_sum_of_squares_grows_by(
    rows: list[set[int]], data: st.DataObject
) -> None:
    weights = np.array(
        data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    )
    bitmaps = np.array([[item in row for item in range(7)] for row in rows], float)
    starts = np.cumsum([0, *map(len, rows)])
    items = np.array([item for row in rows for item in sorted(row)], np.int32)
    metric = bit_scales(starts, items, 7, weights, 2.0)
    numbers = np.arange(len(rows), dtype=np.int32)
    boxes = np.stack([np.roll(numbers, -place) for place in range(len(rows))])
    scratch, cost = np.zeros(metric.domain_total, np.int32), np.zeros((len(rows), len(rows)))
    members = len(rows) - 1
    add_pulls(
        metric,
        numbers[:, None].copy(),
        boxes,
        members,
        numbers[None, :].copy(),
        len(rows),
        scratch,
        cost,
    )
    assert not scratch.any()

    def squares(voters: list[int]) -> float:
        mean = np.average(bitmaps[voters], axis=0, weights=weights[voters])
        return float((weights[voters, None] * (bitmaps[voters] - mean) ** 2).sum())

    for place in range(len(rows)):
        box = boxes[place, :members].tolist()
        for candidate in range(len(rows)):
            grown = squares([*box, candidate]) - squares(box)
            assert cost[place, candidate] == pytest.approx(2.0 * PULL * grown, abs=1e-9)
