"""Order: deterministic draws are caught, whatever the order of rows; random ones pass."""

from __future__ import annotations

import numpy as np
import pytest

import mottle
from mottle.graph.model import Graph


def order(table, release):
    return mottle.audit_release(table, release, adversaries=["order"]).findings


def same_layer(layer: int):
    """Every record stands for its preimage of one layer: the shift of a ring."""

    def draw(graph: Graph) -> np.ndarray:
        starts = np.repeat(graph.starts[:-1], graph.sizes)
        sizes = np.repeat(graph.sizes, graph.sizes)
        return starts + (np.arange(graph.records) - starts + layer) % sizes

    return draw


@pytest.mark.parametrize("layer", [0, 3])
def test_a_deterministic_assignment_is_caught(crowd, sound, with_draw, layer):
    *by_row, by_layer = order(crowd, with_draw(sound, same_layer(layer)))
    assert all(finding.passed for finding in by_row)
    assert (by_layer.achieved, by_layer.passed) == (1, False)
    assert by_layer.allowed == pytest.approx(1 / 5)


def in_table_order(release: mottle.Release) -> np.ndarray:
    """The rows sorted by their true originals."""
    return np.argsort(release.links.original_of_row)


def near_table_order(release: mottle.Release) -> np.ndarray:
    """The rows sorted by their true originals, with a jitter of 5 % of all rows."""
    jitter = np.random.default_rng(3).normal(0, 0.05 * release.num_rows, release.num_rows)
    return np.argsort(release.links.original_of_row + jitter)


def test_rows_in_the_order_of_the_table_are_caught(bucketed, with_rows):
    """Also where one block has most of the records, so that there are too few to count by block."""
    table, release = bucketed
    same, correlation, nearest, by_layer = order(table, with_rows(release, in_table_order(release)))
    assert (same.achieved, same.allowed, same.passed) == (release.num_rows, 6, False)
    assert (correlation.achieved, correlation.passed) == (pytest.approx(1), False)
    assert (nearest.achieved, nearest.passed) == (pytest.approx(1), False)
    assert by_layer.passed is not False


def test_rows_near_the_order_of_the_table_are_caught(bucketed, with_rows):
    table, release = bucketed
    _, correlation, nearest, _ = order(table, with_rows(release, near_table_order(release)))
    assert correlation.achieved > 0.9
    assert correlation.passed is False
    assert nearest.achieved > 0.6
    assert nearest.allowed == pytest.approx(1 / 3, abs=0.02)
    assert nearest.passed is False


def test_rows_in_the_reverse_order_are_caught(crowd, sound, with_rows):
    _, correlation, *_ = order(crowd, with_rows(sound, in_table_order(sound)[::-1]))
    assert (correlation.achieved, correlation.passed) == (pytest.approx(1), False)


def test_rows_in_random_order_pass_whatever_the_order(crowd, sound, with_rows):
    for seed in range(10):
        shuffled = np.random.default_rng(seed).permutation(sound.num_rows)
        assert all(found.passed for found in order(crowd, with_rows(sound, shuffled)))


def test_sound_draws_pass(crowd, sound, diverse, bucketed):
    for table, release in ((crowd, sound), (crowd, diverse), bucketed):
        assert all(finding.passed is not False for finding in order(table, release))


@pytest.mark.parametrize("seed", range(12))
def test_one_layer_drawn_per_block_is_not_a_deterministic_draw(crowd, sound, with_draw, seed):
    """Rotation is sound for each person; blocks that happen to agree are no proof against it."""

    def rotation(graph: Graph) -> np.ndarray:
        layers = np.random.default_rng(seed).integers(0, graph.degrees)
        starts = np.repeat(graph.starts[:-1], graph.sizes)
        sizes = np.repeat(graph.sizes, graph.sizes)
        shift = np.repeat(layers, graph.sizes)
        return starts + (np.arange(graph.records) - starts + shift) % sizes

    assert all(finding.passed for finding in order(crowd, with_draw(sound, rotation)))


def test_nothing_is_drawn_where_values_are_in_a_second_table(crowd):
    schema = mottle.Schema.of(
        quasi_identifying=["age", "sex"], sensitive=["diagnosis"], rest="insensitive"
    )
    release = mottle.anonymize(crowd, schema, mottle.LDiversity(3), method="anatomy", seed=1)
    by_row = order(crowd, release)
    assert len(by_row) == 3
    assert all(finding.passed for finding in by_row)


def test_without_links_it_is_not_played(crowd, sound, outside):
    (found,) = order(crowd, outside(sound))
    assert found.passed is None
    assert "private link file" in found.details["not_played"]
