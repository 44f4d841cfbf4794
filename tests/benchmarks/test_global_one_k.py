"""The rival (1, k)-anonymity: it keeps its own promise, and links with more than 1/k."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import permutations

import numpy as np
import pyarrow as pa
from paths import ROOT

from mottle import Schema
from mottle.encoding.encode import encode
from mottle.schema.model import Representation

sys.path.insert(0, str(ROOT / "benchmarks"))  # as its scripts are run

from _global_one_k import as_graph, global_one_k, highest_probability, matches

SCHEMA = Schema.of(quasi_identifying=["age", "sex"], kinds={"sex": "category"})


def codes_of(ages, sexes):
    table = pa.table({"age": ages, "sex": list(sexes)})
    return encode(table, SCHEMA, Representation.RANGE)


def assignments(covers):
    """All one-to-one assignments that fit, by trying every permutation."""
    n = len(covers)
    return [p for p in permutations(range(n)) if all(covers[row, p[row]] for row in range(n))]


def test_everybody_has_k_matches_and_boxes_hold_what_they_cover() -> None:
    random = np.random.default_rng(3)
    for k in (2, 3):
        codes = codes_of(random.integers(20, 60, 7), random.choice(["f", "m"], 7))
        covers = global_one_k(codes, k)
        found = assignments(covers)
        counted = np.zeros_like(covers)
        for each in found:
            counted[np.arange(7), list(each)] = True
        assert np.array_equal(counted, matches(covers))
        assert counted.sum(axis=0).min() >= k
        graph = as_graph(covers)
        for row, preimages in enumerate(graph.edges.reshape(7, -1)):
            assert set(preimages.tolist()) == set(np.flatnonzero(covers[row]).tolist())


def test_probabilities_are_those_of_all_assignments() -> None:
    codes = codes_of([20, 21, 30, 31, 32, 50], "ffmmfm")
    covers = global_one_k(codes, 2)
    found = assignments(covers)
    counts = np.zeros((6, 6), int)
    for each in found:
        counts[np.arange(6), list(each)] += 1
    assert highest_probability(covers) == Fraction(int(counts.max()), len(found))


def test_it_links_people_with_more_than_one_over_k() -> None:
    codes = codes_of([20, 21, 30, 31, 32, 50], "ffmmfm")
    assert highest_probability(global_one_k(codes, 2)) > Fraction(1, 2)
