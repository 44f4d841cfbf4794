"""Fitted probabilities stay inside cells, sum to 1, match totals, and follow sensitive values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from certificates import certificate
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle import Form, KAnonymity, Kind, Release, Role, Schema
from mottle.evaluation import query_error, random_counts
from mottle.queries import Queries
from mottle.queries.cells.atoms import Values
from mottle.queries.cells.cells import CellDistribution
from mottle.queries.fitting.degrees import split_cells_by_degree
from mottle.queries.fitting.marginals import _Sets, sum_by_atom
from mottle.queries.fitting.sensitive_lift import sensitive_contexts
from mottle.release.column import PublishedColumn
from mottle.release.value_totals import Totals

VALUES = "abcd"


def released(
    cells: list[Any], totals: Totals | None, form: Form, degree: int, illness: list[str]
) -> Release:
    number = form is Form.RANGE
    column = PublishedColumn(
        "x",
        Role.QUASI_IDENTIFYING,
        Kind.NUMBER if number else Kind.CATEGORY,
        form,
        pa.int64() if number else pa.string(),
        totals=totals,
    )
    sensitive = PublishedColumn("illness", Role.SENSITIVE, None, None, pa.string())
    columns = (column, sensitive)
    schema = pa.schema([one.field() for one in columns])
    arrays = [pa.array(cells, schema.field("x").type), pa.array(illness)]
    table = pa.table(arrays, schema=schema)
    return Release(table, columns, certificate(degree={"min": degree, "max": degree}))


@st.composite
def boxes(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    """The originals behind every record, each behind three records: rings of degree three."""
    originals = draw(st.lists(st.sampled_from(VALUES), min_size=4, max_size=25))
    size = len(originals)
    behind = [[originals[(row + step) % size] for step in range(3)] for row in range(size)]
    return behind, [originals]


@given(boxes(), st.randoms(use_true_random=False))
def test_fitted_sets_match_the_totals_of_the_originals(
    drawn: tuple[list[list[str]], list[list[str]]], random: Any
) -> None:
    behind, (originals,) = drawn
    counts = [originals.count(value) for value in VALUES]
    totals = Totals(tuple(VALUES), (*counts, 0))
    illness = [random.choice("st") for _ in originals]
    release = released([sorted(set(cell)) for cell in behind], totals, Form.SET, 3, illness)
    found = {value: release.count({"x": value}) for value in VALUES}
    for value, count in zip(VALUES, counts, strict=True):
        assert found[value].certain <= found[value].expected <= found[value].possible
        assert found[value].expected == pytest.approx(count, abs=0.05 * len(originals) + 0.1)
    assert sum(one.expected for one in found.values()) == pytest.approx(len(originals))


@given(st.lists(st.integers(0, 12), min_size=6, max_size=30), st.data())
def test_fitted_ranges_match_totals_of_merged_values(values: list[int], data: Any) -> None:
    order = sorted(values)
    size = len(order)
    behind = [[order[(row + step) % size] for step in range(3)] for row in range(size)]
    cells = [{"lo": min(cell), "hi": max(cell), "missing": False} for cell in behind]
    cut = data.draw(st.integers(1, 12))
    below = sum(value < cut for value in values)
    totals = Totals(("0", str(cut)), (below, size - below))
    release = released(cells, totals, Form.RANGE, 3, ["same"] * size)
    found = release.count({"x": (None, cut - 1)})
    assert found.certain <= found.expected <= found.possible
    assert found.expected == pytest.approx(below, abs=0.05 * size + 0.1)
    assert release.count({"x": (cut, None)}).expected == pytest.approx(size - found.expected)


def test_missing_values_have_totals_too() -> None:
    cells = [["a", None]] * 6 + [["a"]] * 4
    totals = Totals(("a",), (8, 0, 2), missing=2)
    release = released(cells, totals, Form.SET, 6, ["same"] * 10)
    assert release.count({"x": None}).expected == pytest.approx(2, abs=0.01)
    assert release.count({"x": "a"}).expected == pytest.approx(8, abs=0.01)


def test_totals_of_other_records_are_not_used() -> None:
    cells = [["a", "b"]] * 4
    release = released(cells, Totals(("a", "b"), (300, 100, 0)), Form.SET, 4, ["same"] * 4)
    assert release.count({"x": "a"}).expected == pytest.approx(2)


def test_sensitive_values_change_the_probabilities_inside_cells() -> None:
    """Among records with a single value, those with flu have a, the others b."""
    cells = [["a"]] * 400 + [["b"]] * 400 + [["a", "b"]] * 200
    illness = ["flu"] * 400 + ["cold"] * 400 + ["flu", "cold"] * 100
    totals = Totals(("a", "b"), (500, 500, 0))
    release = released(cells, totals, Form.SET, 10, illness)
    assert release.count({"x": "a", "illness": "flu"}).expected > 480
    assert release.count({"x": "b", "illness": "flu"}).expected < 20
    assert release.count({"x": "a"}).expected == pytest.approx(500, abs=1)
    (table,) = release.sample(1, seed=1)
    both = table.filter(pa.compute.field("illness") == "flu").column("x").to_pylist()
    assert both.count("a") > 470
    without = replace(
        release, columns=(replace(release.columns[0], totals=None), *release.columns[1:])
    )
    assert without.count({"x": "a", "illness": "flu"}).expected == pytest.approx(450, abs=5)


def test_combinations_of_sensitive_values_are_limited() -> None:
    table = pa.table({"few": ["a", "b"] * 500, "many": [str(row) for row in range(1000)]})
    queries = Queries.of(table)
    contexts, used = sensitive_contexts([queries.column("few"), queries.column("many")], 1000)
    assert np.array_equal(contexts, queries.column("few").of_row)
    assert used == {"few"}


@pytest.mark.parametrize("method", ["nh", "mondrian"])
def test_fitted_answers_are_closer_to_the_truth(method: str) -> None:
    people = mottle.datasets.population(3000, seed=1)
    names = ["age", "sex", "origin", "workclass"]
    people = people.select([*names, "diagnosis"])
    schema = Schema.of(quasi_identifying=names, sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, KAnonymity(10), method=method, seed=1)
    wheres = random_counts(people, names, "diagnosis", number=300, seed=1)
    fitted, uniform = (query_error(people, release, wheres, fit) for fit in ("fitted", "uniform"))
    assert fitted.mean < uniform.mean
    assert fitted.within_bounds == uniform.within_bounds == 300


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=6, unique=True), min_size=1, max_size=20),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_sums_of_sets_are_those_of_runs_of_slots(
    sets: list[list[int]], degrees: int, random: Any
) -> None:
    missing = [not members or random.random() < 0.2 for members in sets]
    cells = cells_of_sets(sets, missing)
    cells, _ = split_cells_by_degree(cells, np.arange(len(sets)) % degrees + 1)
    sums = _Sets.of(cells)
    assert sums is not None
    weights = np.array([0.1 + random.random() for _ in range(7)])
    by_cell = np.array([0.1 + random.random() for _ in range(len(cells.first))])
    np.testing.assert_allclose(sums.sum_by_atom(by_cell), sum_by_atom(cells, by_cell), atol=1e-12)
    expected = cells.mass_of(weights[:-1], weights[-1])
    np.testing.assert_allclose(sums.mass_of(weights), expected, atol=1e-12)


def cells_of_sets(sets: list[list[int]], missing: list[bool]) -> CellDistribution:
    """Cells that are sets of six values, each of one record."""
    lengths = [len(members) for members in sets]
    last = np.cumsum(lengths)
    slots = np.array([member for members in sets for member in members], np.int64)
    return CellDistribution(
        name="x",
        atoms=Values("x", pa.array(list("abcdef"))),
        slots=slots,
        slot_weights=np.ones(len(slots)),
        first=last - lengths,
        last=last,
        missing=np.array(missing),
        missing_weights=np.where(missing, 1.0, 0.0),
        of_row=np.arange(len(sets), dtype=np.int32),
    )
