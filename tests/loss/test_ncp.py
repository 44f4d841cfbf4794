"""Loss is what the formulas say, computed again cell by cell, and never leaves 0..1."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import Column, Hierarchy, KAnonymity, Schema, anonymize
from mottle.encoding.cover import cover
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.loss.ncp import measure
from mottle.schema.model import Representation

FAST07 = Hierarchy.from_rows(
    [
        ("Italy", "Europe", "*"),
        ("Spain", "Europe", "*"),
        ("France", "Europe", "*"),
        ("US", "America", "*"),
        ("Canada", "America", "*"),
    ]
)


def gcp_of(table: pa.Table, schema: Schema, degree: int, representation="range") -> float:
    codes = encode(table, schema, Representation(representation))
    n = table.num_rows
    graph = Graph.rings(np.arange(n), np.array([0, n]), np.array([degree]))
    return measure(cover(graph, codes), codes).gcp


def naive_ncp(cell: object, values: list, column: Column, form: str) -> float:
    present = sorted({value for value in values if value is not None})
    missing = None in values
    size = len(present) + missing
    if form == "set":
        return (len(cell) - 1) / max(size - 1, 1)  # type: ignore[arg-type]
    if form == "node":
        assert column.hierarchy is not None
        leaves = [row for row in column.hierarchy.rows() if cell in row]
        if cell is None or len(leaves) == 1:
            return 0.0
        total = len(column.hierarchy.leaves) + missing
        return (len(leaves) + (missing and cell == "*")) / total
    low, high = cell["lo"], cell["hi"]  # type: ignore[index]
    if low is None:
        return 0.0
    extent = present[-1] - present[0]
    step = (extent / (len(present) - 1) if extent else 1.0) if missing else 0.0
    width = high - low + (step if cell["missing"] else 0.0)  # type: ignore[index]
    return width / ((extent + step) or 1.0)


@st.composite
def cases(draw) -> tuple[pa.Table, Schema, int, str]:
    n = draw(st.integers(2, 14))

    def column(values: st.SearchStrategy) -> list:
        cells = st.one_of(st.none(), values) if draw(st.booleans()) else values
        return draw(st.lists(cells, min_size=n, max_size=n))

    table = pa.table(
        {
            "number": pa.array(column(st.integers(-50, 50)), pa.int64()),
            "real": pa.array(column(st.floats(-1e6, 1e6, width=32)), pa.float64()),
            "word": pa.array(column(st.sampled_from("abcdef")), pa.string()),
            "place": pa.array(column(st.sampled_from(FAST07.leaves)), pa.string()),
        }
    )
    weights = draw(st.dictionaries(st.sampled_from(table.column_names), st.floats(0.01, 100)))
    schema = Schema.of(
        quasi_identifying=table.column_names, hierarchies={"place": FAST07}, weights=weights
    )
    return table, schema, draw(st.integers(1, n)), draw(st.sampled_from(["range", "set"]))


@given(cases())
def test_loss_is_that_of_the_formulas(case):
    table, schema, degree, representation = case
    codes = encode(table, schema, Representation(representation))
    n = table.num_rows
    graph = Graph.rings(np.arange(n), np.array([0, n]), np.array([degree]))
    published = cover(graph, codes)
    loss = measure(published, codes)
    for cells, domain in zip(published.cells, codes.domains, strict=True):
        values = table.column(domain.name).to_pylist()
        typed = cells.decode(domain).take(pa.array(published.row_of)).to_pylist()
        each = [naive_ncp(cell, values, domain.column, str(domain.form)) for cell in typed]
        assert loss.ncp[domain.name] == pytest.approx(sum(each) / n, abs=1e-9)
        assert -1e-12 <= loss.ncp[domain.name] <= 1 + 1e-9
    weights = {column.name: column.importance for column in schema.columns}
    expected = sum(weights[name] * ncp for name, ncp in loss.ncp.items()) / sum(weights.values())
    assert loss.gcp == pytest.approx(expected, abs=1e-9)


def test_golden_values_of_fast07_figure_11():
    schema = Schema.of(quasi_identifying=["place"], hierarchies={"place": FAST07})
    assert gcp_of(pa.table({"place": ["Italy", "France"]}), schema, 2) == pytest.approx(3 / 5)
    assert gcp_of(pa.table({"place": ["US", "Spain"]}), schema, 2) == 1


def test_nh10_example_of_section_5_3():
    """Two homogeneous pairs cost 8/(|A|-1), one ring of four costs 6/(|A|-1)."""
    table = pa.table({"a": [1, 1, 2, 1], "b": [1, 1, 1, 2], "c": [1, 2, 2, 1]})
    schema = Schema.of(quasi_identifying=["a", "b", "c"], kinds=dict.fromkeys("abc", "category"))
    codes = encode(table, schema, Representation.SET)
    members = np.arange(4)
    pairs = Graph.rings(np.array([0, 1, 2, 3]), np.array([0, 2, 4]), np.array([2, 2]))
    ring = Graph.rings(members, np.array([0, 4]), np.array([2]))
    cells = 4 * 3  # |A| = 2, so each formula's denominator is 1
    assert measure(cover(pairs, codes), codes).gcp * cells == pytest.approx(8)
    assert measure(cover(ring, codes), codes).gcp * cells == pytest.approx(6)


@pytest.mark.parametrize("degree", [1, 4])
def test_missing_value_next_to_whole_numbers_costs_as_in_a_set(degree: int):
    table = pa.table({"q": [1, 2, 3, None]})
    schema = Schema.of(quasi_identifying=["q"])
    assert gcp_of(table, schema, degree) == pytest.approx(gcp_of(table, schema, degree, "set"))


def test_range_with_a_possible_missing_value_adds_one_mean_step():
    codes_table = pa.table({"q": [0, 10, 40, None]})  # g = 20, so the scale is 60
    schema = Schema.of(quasi_identifying=["q"])
    # ring of degree 2: 0-10, 10-40, 40 or missing, missing or 0
    expected = (10 / 60 + 30 / 60 + 20 / 60 + 20 / 60) / 4
    assert gcp_of(codes_table, schema, 2) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[5, 5, 5], ["x", "x", "x"], [None, None, None]])
@pytest.mark.parametrize("representation", ["range", "set"])
def test_constant_columns_lose_nothing(values: list, representation: str):
    table = pa.table({"q": pa.array(values, pa.int64() if values[0] == 5 else pa.string())})
    assert gcp_of(table, Schema.of(quasi_identifying=["q"]), 3, representation) == 0


def test_one_value_or_missing_loses_everything():
    table = pa.table({"q": pa.array([5, None, 5])})
    assert gcp_of(table, Schema.of(quasi_identifying=["q"]), 3) == 1


def test_weights_move_the_mean():
    table = pa.table({"wide": [1, 2], "same": [7, 7]})
    plain = gcp_of(table, Schema.of(quasi_identifying=["wide", "same"]), 2)
    tilted = gcp_of(table, Schema.of(quasi_identifying=["wide", "same"], weights={"wide": 3.0}), 2)
    assert (plain, tilted) == (0.5, 0.75)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_widest_floats_do_not_make_the_loss_nan():
    table = pa.table({"q": [-1e150, 0.0, 1e150]})
    release = anonymize(table, Schema.of(quasi_identifying=["q"]), KAnonymity(2), seed=1)
    assert math.isfinite(release.certificate.gcp)


def test_neighbouring_large_integers_are_not_free():
    table = pa.table({"q": pa.array([2**63, 2**63 + 1], pa.uint64())})
    assert gcp_of(table, Schema.of(quasi_identifying=["q"]), 2) == 1


def test_gcp_never_exceeds_one():
    schema = Schema.of(quasi_identifying=["q"])
    assert max(gcp_of(pa.table({"q": [0, 1] * n}), schema, 2) for n in range(1, 200)) <= 1


def test_heaviest_weights_do_not_make_the_loss_nan():
    table = pa.table({"a": [1, 2], "b": [1, 1]})
    schema = Schema.of(quasi_identifying=["a", "b"], weights={"a": 1.7e308, "b": 1.7e308})
    assert gcp_of(table, schema, 2) == 0.5
