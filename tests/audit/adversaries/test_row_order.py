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
    by_row, by_layer = order(crowd, with_draw(sound, same_layer(layer)))
    assert by_row.passed
    assert (by_layer.achieved, by_layer.passed) == (1, False)
    assert by_layer.allowed == pytest.approx(1 / 5)


def test_rows_in_the_order_of_the_table_are_caught(crowd, with_draw, outside):
    schema = mottle.Schema.of(quasi_identifying=["age"], rest="insensitive")
    table = crowd.sort_by("age")
    release = mottle.anonymize(table, schema, mottle.KAnonymity(5), method="nh", seed=1)
    links = release.links
    in_order = np.argsort(links.original_of_row)
    shifted = mottle.Release(
        release.table.take(in_order),
        release.columns,
        release.certificate,
        type(links)(links.graph, links.position_of_row[in_order], links.truth),
    )
    by_row, by_layer = order(table, shifted)
    assert (by_row.achieved, by_row.passed) == (1, False)
    assert by_layer.passed


def test_sound_draws_pass(crowd, sound, diverse):
    for release in (sound, diverse):
        assert all(finding.passed is not False for finding in order(crowd, release))


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
    (by_row,) = order(crowd, release)
    assert by_row.passed


def test_without_links_it_is_not_played(crowd, sound, outside):
    (found,) = order(crowd, outside(sound))
    assert found.passed is None
    assert "private link file" in found.details["not_played"]
