"""Hungarian: every iteration as cheap as SciPy's assignment, and large tables refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from mottle import Hierarchy, KAnonymity, Schema, UsageError, anonymize, methods
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.kernels.ncp_growth import FORBIDDEN, add_growth
from mottle.kernels.scales import scales
from mottle.loss.ncp import measure
from mottle.methods.hka15 import hungarian as hungarian_file
from mottle.release.certificate import Degrees
from mottle.schema.model import Representation

HUNGARIAN = methods.get("hungarian")
PLACES = Hierarchy.from_rows(
    [("Rome", "South", "*"), ("Bari", "South", "*"), ("Oslo", "North", "*")]
)
ROW = st.tuples(
    st.none() | st.integers(0, 20),
    st.sampled_from(["f", "m", None]),
    st.sampled_from([*PLACES.leaves, None]),
)
SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "place"],
    kinds={"age": "number", "sex": "category"},
    hierarchies={"place": PLACES},
    weights={"age": 3.0},
)


@st.composite
def small_tables(draw) -> pa.Table:
    ages, sexes, places = zip(*draw(st.lists(ROW, min_size=2, max_size=16)), strict=True)
    return pa.table({"age": pa.array(ages, pa.int64()), "sex": sexes, "place": places})


def cost_matrix(codes: Codes, ordered: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Growth of every box by every original; used edges forbidden."""
    n, metric = len(ordered), scales(codes)
    cost = np.empty((n, n))
    marks = np.zeros(metric.domain_total, np.int32)
    candidates = np.ascontiguousarray(ordered.T)
    for box in range(n):
        row, count = np.ascontiguousarray(members[box]), members.shape[1]
        add_growth(metric, ordered, row, count, candidates, n, marks, box + 1, cost[box])
        cost[box, members[box]] = FORBIDDEN
    return cost


@given(small_tables(), st.sampled_from(Representation), st.data())
def test_each_iteration_is_as_cheap_as_scipys(table, representation, data):
    codes = encode(table, SCHEMA, representation)
    k = data.draw(st.integers(2, table.num_rows))
    losses: list[float] = []
    graph = HUNGARIAN.arrange(
        codes, Demand(k), methods.MethodContext(on_progress=losses.append)
    ).graph
    assert graph.check_regular(k) == (k, k)
    ordered = np.ascontiguousarray(codes.matrix[graph.members])
    members = graph.edges.reshape(-1, k)
    assert members[:, 0].tolist() == list(range(len(members)))
    for layer in range(1, k):
        cost = cost_matrix(codes, ordered, members[:, :layer])
        cheapest = cost[linear_sum_assignment(cost)].sum()
        assert cost[np.arange(len(cost)), members[:, layer]].sum() == pytest.approx(cheapest)
    assert len(losses) == k - 1
    assert losses[-1] == pytest.approx(measure(cover(graph, codes), codes).gcp)


@given(small_tables())
def test_k_of_all_rows_gives_the_complete_graph(table):
    k = table.num_rows
    release = anonymize(table, SCHEMA, KAnonymity(k), method="hungarian", seed=1)
    assert release.certificate.degree == Degrees(min=k, max=k, records=[(k, k)])


def test_iterations_are_as_cheap_as_scipys_on_hundreds_of_records():
    random = np.random.default_rng(5)
    table = pa.table({"a": random.integers(0, 50, 300), "b": random.choice(list("uvw"), 300)})
    codes = encode(table, Schema.of(quasi_identifying=["a", "b"]), Representation.RANGE)
    graph = HUNGARIAN.arrange(codes, Demand(4), methods.MethodContext()).graph
    ordered = np.ascontiguousarray(codes.matrix[graph.members])
    members = graph.edges.reshape(-1, 4)
    for layer in (1, 2, 3):
        cost = cost_matrix(codes, ordered, members[:, :layer])
        cheapest = cost[linear_sum_assignment(cost)].sum()
        assert cost[np.arange(300), members[:, layer]].sum() == pytest.approx(cheapest)


def test_more_records_than_the_matrix_may_have_are_refused_by_name():
    rows = hungarian_file.LIMIT + 1
    table = pa.table({"age": np.arange(rows)})
    with pytest.raises(UsageError, match=r"6,000.*6,001.*--method freeform or sortgreedy"):
        anonymize(
            table, Schema.of(quasi_identifying=["age"]), KAnonymity(2), method="hungarian", seed=1
        )
