"""The worked examples of HET: buckets, assignments without repeats, and the β they attain."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mottle import Schema
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.kernels.scales import scales
from mottle.methods.buckets.bucketization import (
    attainable_beta,
    diverse_fill,
    diversity_for_likeness,
    largest_bucket_size,
    likeness_fill,
)
from mottle.methods.het.matching import GREEDY, HUNGARIAN, SORTGREEDY, BucketBlocks, match_buckets
from mottle.schema.model import Representation

FIFTEEN = np.array([3, 3, 3, 2, 2, 2])  # aaa bbb ccc dd ee ff
SUPPORTS = np.array([6, 7, 12])  # a, b, d of §4.4

every_rule = pytest.mark.parametrize("rule", [GREEDY, SORTGREEDY, HUNGARIAN])


def buckets(fill: np.ndarray, letters: str) -> list[str]:
    return ["".join(map(str.__mul__, letters, column)) for column in fill.T.tolist()]


def test_table_4_fifteen_tuples_in_five_buckets():
    assert buckets(diverse_fill(FIFTEEN, 5), "abcdef") == ["aaa", "bbb", "ccc", "ddf", "eef"]


@every_rule
@pytest.mark.parametrize("seed", range(30))
def test_table_6_five_assignments_repeat_no_value(rule: int, seed: int):
    """Theorem 2: f is split over two buckets, and still no tuple is matched with it twice."""
    values = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 5, 4, 4, 5], np.int32)  # aaa … ddf eef
    random = np.random.default_rng(seed)
    table = pa.table({"age": random.integers(20, 60, 15), "pay": random.integers(20, 60, 15)})
    codes = encode(table, Schema.of(quasi_identifying=["age", "pay"]), Representation.RANGE)
    starts, degrees = np.array([0, 15]), np.array([5], np.int32)
    blocks = BucketBlocks.of(starts, degrees)
    edges, _ = match_buckets(scales(codes), codes.matrix, values, blocks, rule)
    matches = edges.reshape(15, 5)
    assert Graph.explicit(np.arange(15), starts, degrees, edges).check_regular(5) == (5, 5)
    for record in range(15):
        assert (matches[record] // 3).tolist() == [0, 1, 2, 3, 4]  # one of every bucket
        assert len(set(values[matches[record]].tolist())) == 5
        assert record in matches[record]


@pytest.mark.parametrize(
    ("size", "filled", "beta"),
    [
        (4, ["dddd", "dddd", "dddd", "aaaa", "aabb", "bbbb", "b"], 12 / 7 - 1),  # Table 7
        (5, ["aaaaa", "abbbb", "bbbdd", "ddddd", "ddddd"], 5 / 3 - 1),  # Table 8
        (6, ["aaaaaa", "dddddd", "dddddd", "bbbbbb", "b"], 12 / 7 - 1),  # Table 9
    ],
)
def test_tables_7_to_9_buckets_and_the_beta_they_attain(size: int, filled: list[str], beta: float):
    assert buckets(likeness_fill(SUPPORTS, size), "abd") == filled
    assert attainable_beta(SUPPORTS, size).max() == pytest.approx(beta)


def test_attainable_beta_does_not_worsen_steadily_with_the_size():
    four, five, six = (attainable_beta(SUPPORTS, size).max() for size in (4, 5, 6))
    assert five < four == pytest.approx(six)


def test_zero_likeness_takes_the_greatest_common_divisor():
    assert largest_bucket_size(SUPPORTS, 0) == 1
    assert largest_bucket_size(np.array([6, 9, 12]), 0) == 3


def test_search_starts_from_the_highest_support():
    assert largest_bucket_size(SUPPORTS, 12 / 7 - 1) == 6
    assert largest_bucket_size(SUPPORTS, 0.7) == 5
    assert largest_bucket_size(SUPPORTS, 2.5) == 12


def test_theorem_4_for_beta_beyond_the_ratio_of_frequencies():
    assert diversity_for_likeness(np.array([20, 25, 25, 30]), 30 / 20 - 1) is None  # ⌈3.33⌉ = 4
    assert diversity_for_likeness(np.array([20, 25, 25, 30]), 2 / 3) == 3
    assert diversity_for_likeness(SUPPORTS, 0.5) is None
