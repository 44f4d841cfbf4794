"""TopDown's clusters have k to 2k - 1 records and keep what lies together together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import Hierarchy, Schema, UsageError, methods
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.kernels.scales import scales
from mottle.loss.ncp import measure
from mottle.methods import topdown
from mottle.schema.model import Representation

TREE = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])


@st.composite
def coded_tables(draw) -> Codes:
    rows = draw(st.integers(2, 60))
    numbers = st.one_of(st.none(), st.integers(0, draw(st.integers(0, 20))))
    leaves = st.sampled_from([*"abcd", None])
    table = pa.table(
        {
            "number": pa.array(draw(st.lists(numbers, min_size=rows, max_size=rows)), pa.int64()),
            "category": draw(st.lists(st.sampled_from("pqr"), min_size=rows, max_size=rows)),
            "leaf": pa.array(draw(st.lists(leaves, min_size=rows, max_size=rows)), pa.string()),
        }
    )
    schema = Schema.of(
        quasi_identifying=table.column_names, hierarchies={"leaf": TREE}, weights={"leaf": 0.7}
    )
    return encode(table, schema, draw(st.sampled_from(Representation)))


def arrange(codes: Codes, k: int, seed: int = 0) -> Graph:
    return topdown.topdown(codes, Demand(k), methods.MethodContext(seed=seed)).graph


@given(coded_tables(), st.integers(2, 9), st.integers(0, 99))
def test_groups_have_k_to_2k_minus_1_records(codes: Codes, k: int, seed: int):
    k = min(k, codes.records)
    graph = arrange(codes, k, seed)
    assert sorted(graph.members.tolist()) == list(range(codes.records))
    assert graph.sizes.min() >= k
    assert graph.sizes.max() < 2 * k
    assert graph.degrees.tolist() == graph.sizes.tolist()


@given(coded_tables(), st.integers(0, 99))
def test_growing_box_loses_what_its_records_lose(codes: Codes, seed: int):
    prices = scales(codes)
    order = np.random.default_rng(seed).permutation(codes.records).astype(np.int32)
    boxes = topdown._new_boxes(prices)
    topdown._open(prices, boxes, 1, codes.matrix[order[0]])
    loss = 0.0
    for place, row in enumerate(order):
        loss += topdown._growth(prices, boxes, 1, codes.matrix[row])
        topdown._take_in(prices, boxes, 1, codes.matrix[row])
        so_far = replace(codes, matrix=codes.matrix[order[: place + 1]])
        group = Graph.rings(np.arange(place + 1), np.array([0, place + 1]), np.array([place + 1]))
        assert loss == pytest.approx(measure(cover(group, so_far), so_far).gcp, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_of_equal_records_lose_nothing(seed: int):
    values = np.repeat([0, 3, 40, 47, 90, 100], 7)
    table = pa.table({"a": values, "b": values % 5})
    codes = encode(table, Schema.of(quasi_identifying=["a", "b"]), Representation.RANGE)
    graph = arrange(codes, 7, seed)
    assert measure(cover(graph, codes), codes).gcp == 0


def test_lonely_outliers_find_company():
    table = pa.table({"a": [*range(20), 500, 1000]})
    codes = encode(table, Schema.of(quasi_identifying=["a"]), Representation.RANGE)
    graph = arrange(codes, 3)
    block_of = np.repeat(np.arange(len(graph.sizes)), graph.sizes)[np.argsort(graph.members)]
    assert block_of[20] == block_of[21]  # borrowing for two groups would cost more than for one
    assert measure(cover(graph, codes), codes).gcp < 0.2


def test_random_choices_come_from_the_seed():
    random = np.random.default_rng(0)
    table = pa.table({name: random.integers(0, 50, 300) for name in "abc"})
    codes = encode(table, Schema.of(quasi_identifying=list("abc")), Representation.RANGE)
    first, again, other = (arrange(codes, 5, seed) for seed in (1, 1, 2))
    assert first.members.tolist() == again.members.tolist()
    assert first.members.tolist() != other.members.tolist()


def test_too_many_rows_are_refused_with_an_alternative():
    table = pa.table({"a": np.zeros(topdown.MOST_RECORDS + 1, np.int64)})
    codes = encode(table, Schema.of(quasi_identifying=["a"]), Representation.RANGE)
    with pytest.raises(UsageError, match=r"100,001 rows.*'hilbert'"):
        arrange(codes, 5)
