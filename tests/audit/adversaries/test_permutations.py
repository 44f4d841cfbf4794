"""Permutations: draws that never move, or always move alike, are caught; uniform ones pass."""

from __future__ import annotations

from itertools import permutations as all_permutations
from pathlib import Path

import numpy as np
import pytest

import mottle
from mottle.assignment import assign
from mottle.audit.adversaries.permutations import _fixed_points, _tail
from mottle.graph.model import Graph
from mottle.utils.csprng import Secret


def played(table, release, **options):
    return mottle.audit_release(table, release, adversaries=["permutations"], **options).findings


def moved(shift: int):
    """Every bucket, record of a complete block or ring moves by the same number of places."""

    def draw(graph: Graph) -> np.ndarray:
        truth = np.empty(graph.records, np.int64)
        for block, (start, end) in enumerate(zip(graph.starts, graph.starts[1:], strict=False)):
            degree = int(graph.degrees[block])
            for position in range(start, end):
                preimages = graph.preimages(position)
                own = int(np.flatnonzero(preimages == position)[0])
                truth[position] = preimages[(own + shift) % degree]
        return truth

    return draw


@pytest.mark.parametrize("shift", [0, 1])
def test_buckets_that_always_move_alike_are_caught(bucketed, with_draw, shift):
    table, release = bucketed
    planted = with_draw(release, moved(shift), original=table)
    by_shift, by_permutation = played(table, planted)
    assert by_shift.passed is False
    assert by_shift.achieved == by_shift.details["units"]
    assert by_shift.details["shift"] == shift
    assert by_permutation.passed is False


@pytest.mark.parametrize("shift", [0, 1])
def test_rings_that_always_move_alike_are_caught(rotated, with_draw, shift):
    table, release = rotated
    by_shift, *_ = played(table, with_draw(release, moved(shift), original=table))
    assert by_shift.passed is False
    assert by_shift.details["shift"] == shift


def test_groups_that_are_published_in_place_are_caught(crowd, diverse, with_draw):
    by_shift, *_ = played(crowd, with_draw(diverse, moved(0)))
    assert by_shift.passed is False
    assert by_shift.achieved == crowd.num_rows


def test_two_buckets_that_always_change_places_are_caught(bucketed, with_draw):
    """No shift, and no more buckets in place than chance leaves: found as one permutation."""

    def draw(graph: Graph) -> np.ndarray:
        truth = np.empty(graph.records, np.int64)
        for start, end, degree in zip(
            graph.starts[:-1], graph.starts[1:], graph.degrees, strict=True
        ):
            order = np.array([1, 0, *range(2, degree)])
            size = (end - start) // degree
            for position in range(start, end):
                truth[position] = graph.preimages(position)[order[(position - start) // size]]
        return truth

    table, release = bucketed
    _, by_permutation = played(table, with_draw(release, draw, original=table))
    assert by_permutation.passed is False


def test_uniform_draws_pass(crowd, diverse, bucketed, rotated):
    for table, release in ((crowd, diverse), bucketed, rotated):
        findings = played(table, release)
        assert findings
        assert all(finding.passed is not False for finding in findings)


def test_uniform_draws_pass_whatever_is_drawn(bucketed, with_draw):
    table, release = bucketed
    for seed in range(10):
        drawn = with_draw(
            release,
            lambda graph, seed=seed: assign(graph, Secret.draw(seed=seed), "buckets"),
            original=table,
        )
        assert all(finding.passed for finding in played(table, drawn))


def test_one_permutation_alone_proves_nothing(crowd, with_draw):
    """A single table of three buckets is in place in one of six draws."""
    table = crowd.slice(0, 12)
    schema = mottle.Schema.of(
        quasi_identifying=["age"], sensitive=["diagnosis"], rest="insensitive"
    )
    release = mottle.anonymize(
        table, schema, mottle.LDiversity(2), method="buckets", effort=0, seed=3
    )
    by_shift, *_ = played(table, release)
    assert by_shift.passed is None
    assert by_shift.details["independent_permutations"] <= 6


def test_the_link_file_says_around_whom_records_are_generalized(
    crowd, guarded, with_draw, tmp_path: Path
):
    planted = with_draw(guarded, moved(0))
    planted.save(tmp_path / "out", private=tmp_path / "links.parquet", report=False)
    found = played(crowd, tmp_path / "out", private=tmp_path / "links.parquet")
    assert found[0].passed is False
    assert found[0].achieved == played(crowd, planted)[0].achieved


def test_without_links_it_is_not_played(crowd, diverse, outside):
    (found,) = played(crowd, outside(diverse))
    assert "private link file" in found.details["not_played"]


def test_the_distribution_of_fixed_points_is_that_of_all_permutations():
    for size in range(1, 7):
        counts = np.zeros(size + 1)
        for order in all_permutations(range(size)):
            counts[sum(place == moved for place, moved in enumerate(order))] += 1
        assert _fixed_points(size) == pytest.approx(counts / counts.sum())


def test_sums_over_blocks_are_exact():
    """Two blocks of two buckets and a ring of degree three: all sixteen cases."""
    tail = _tail(np.array([2, 2, 3]), np.array([False, False, True]))
    chance = {0: 1 / 4 * 2 / 3, 1: 1 / 4 / 3, 2: 1 / 2 * 2 / 3, 3: 1 / 2 / 3}
    chance |= {4: 1 / 4 * 2 / 3, 5: 1 / 4 / 3}
    for least in range(6):
        expected = sum(share for count, share in chance.items() if count >= least)
        assert tail[least] == pytest.approx(expected)
