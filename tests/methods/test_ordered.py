"""Any order with any one-dimensional method, and rings over any partitioning (NH10, Lemma 2)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import KAnonymity, LDiversity, Schema, UsageError, anonymize, methods
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.loss.ncp import measure
from mottle.methods import MethodContext
from mottle.methods.orders import ORDERS
from mottle.schema.model import Representation

HOMOGENEOUS = ("hilbert", "idistance", "mondrian", "topdown", "ordered")
DIVERSE = ("hilbert", "idistance", "mondrian", "ordered")


@st.composite
def tables(draw) -> pa.Table:
    random = np.random.default_rng(draw(st.integers(0, 9999)))
    rows = draw(st.integers(8, 60))
    return pa.table(
        {
            "age": random.integers(0, draw(st.integers(1, 40)), rows),
            "place": random.integers(0, 5, rows).astype(str),
            "s": random.permutation(np.resize(list("abcde"), rows)),
        }
    )


def coded(table: pa.Table, representation: Representation = Representation.RANGE) -> Codes:
    return encode(
        table.select(["age", "place"]),
        Schema.of(quasi_identifying=["age", "place"]),
        representation,
    )


def blocks(graph: Graph) -> list[list[int]]:
    return sorted(sorted(part.tolist()) for part in np.split(graph.members, graph.starts[1:-1]))


def loss(graph: Graph, codes: Codes) -> float:
    return measure(cover(graph, codes), codes).gcp


@pytest.mark.parametrize("name", HOMOGENEOUS)
@settings(max_examples=25)
@given(tables(), st.integers(2, 5), st.sampled_from([*ORDERS, "as-grouped"]))
def test_rings_have_the_same_blocks_and_never_lose_more(name, table, k, ring):
    codes = coded(table, Representation.SET)
    context = MethodContext(seconds=0)
    groups = methods.get(name).arrange(codes, Demand(k), context).graph
    around = MethodContext(seconds=0, options={"ring": ring})
    rings = methods.get(f"{name}-ring").arrange(codes, Demand(k), around).graph
    rings.check_regular(k)
    assert set(rings.degrees.tolist()) == {k}
    assert blocks(rings) == blocks(groups)
    assert loss(rings, codes) <= loss(groups, codes) + 1e-12


@pytest.mark.parametrize("name", DIVERSE)
@settings(max_examples=15)
@given(tables(), st.integers(2, 3))
def test_diverse_rings_never_lose_more_than_diverse_groups(name, table, diversity):
    schema = Schema.of(quasi_identifying=["age", "place"], sensitive=["s"])
    guarantee = LDiversity(diversity)
    groups, rings = (
        anonymize(table, schema, guarantee, method=method, effort=0, seed=1)
        for method in (name, f"{name}-ring")
    )
    assert rings.certificate.checks[3].passed
    assert blocks(rings.links.graph) == blocks(groups.links.graph)
    assert rings.gcp <= groups.gcp + 1e-12


def test_four_tuples_of_the_paper_lose_six_instead_of_eight():
    """NH10 §5.3: two homogeneous pairs cost 8 / (|A| - 1) in total, one ring of four 6."""
    rows = [(1, 1, 1), (1, 1, 2), (2, 1, 2), (1, 2, 1)]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate("abc")})
    schema = Schema.of(quasi_identifying=list("abc"))
    codes = encode(table, schema, Representation.SET)
    ring = Graph.rings(np.array([2, 1, 0, 3]), np.array([0, 4]), np.array([2]))
    whole = Graph.rings(np.array([2, 1, 0, 3]), np.array([0, 4]), np.array([4]))
    assert round(loss(ring, codes) * 12) == 6
    assert loss(ring, codes) < loss(whole, codes)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_holds_every_record_once_and_groups_optimally(order: str):
    random = np.random.default_rng(2)
    table = pa.table(
        {"age": random.integers(0, 90, 120), "place": random.integers(0, 4, 120).astype(str)}
    )
    codes = coded(table)
    context = MethodContext(options={"order": order})
    rows = ORDERS[order](codes, context)
    assert sorted(rows.tolist()) == list(range(120))
    graph = methods.get("ordered").arrange(codes, Demand(3), context).graph
    assert graph.members.tolist() == rows.tolist()
    assert set(graph.sizes.tolist()) <= {3, 4, 5}
    if order in ("hilbert", "idistance"):
        same = methods.get(order).arrange(codes, Demand(3), MethodContext()).graph
        assert blocks(same) == blocks(graph)


def test_burel_and_nh_take_another_order():
    random = np.random.default_rng(2)
    table = pa.table(
        {"age": random.integers(0, 90, 120), "place": random.integers(0, 4, 120).astype(str)}
    )
    with_values = table.append_column("s", pa.array(np.resize(list("abcd"), 120)))
    schema = Schema.of(quasi_identifying=["age", "place"], sensitive=["s"])
    releases = [
        anonymize(with_values, schema, LDiversity(2), method="burel", options=options, seed=1)
        for options in ({}, {"order": "lexicographic"})
    ]
    assert releases[0].gcp != releases[1].gcp
    plain = Schema.of(quasi_identifying=["age", "place"])
    usual, along = (
        anonymize(table, plain, KAnonymity(3), method="nh", options=options, seed=1)
        for options in ({}, {"ring": "hilbert"})
    )
    assert blocks(usual.links.graph) == blocks(along.links.graph)
    assert usual.gcp != along.gcp


def test_an_order_that_does_not_exist_is_refused():
    table = pa.table({"age": [1, 2, 3, 4]})
    with pytest.raises(UsageError, match="'order' must be one of hilbert, idistance"):
        anonymize(
            table,
            Schema.of(quasi_identifying=["age"]),
            KAnonymity(2),
            method="ordered",
            options={"order": "zigzag"},
        )
