"""Sampled tables lie inside the cells, have the right frequencies, and are pooled correctly."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from certificates import certificate

import mottle
from mottle import Form, Kind, Release, Role, Schema
from mottle.errors import UsageError
from mottle.queries import Queries, combine
from mottle.release.column import PublishedColumn


def holds(release: Release, table: pa.Table) -> bool:
    """Whether every drawn value lies in its published cell."""
    for column in release.columns:
        cells = release.table.column(column.name).to_pylist()
        values = table.column(column.name).to_pylist()
        for cell, value in zip(cells, values, strict=True):
            match column.form:
                case None:
                    inside = cell == value
                case Form.SET:
                    inside = value in cell
                case Form.NODE:
                    assert column.hierarchy is not None
                    inside = (
                        cell in (None, "*")
                        if value is None
                        else cell is not None and value in column.hierarchy.leaves_under(cell)
                    )
                case Form.RANGE if value is None:
                    inside = cell["missing"]
                case _ if column.order is not None:
                    low, high, at = (column.order.index(v) for v in (cell["lo"], cell["hi"], value))
                    inside = low <= at <= high
                case _:
                    inside = cell["lo"] is not None and cell["lo"] <= value <= cell["hi"]
            if not inside:
                return False
    return True


@pytest.mark.parametrize("fit", ["uniform", "fitted"])
def test_every_drawn_value_lies_in_its_cell(release: Release, fit: str) -> None:
    for table in release.sample(20, seed=1, fit=fit):
        assert table.column_names == release.table.column_names
        assert holds(release, table)


def test_samples_have_the_types_of_the_originals(
    people: tuple[pa.Table, Schema], release: Release, tmp_path: Path
) -> None:
    release.save(tmp_path)
    (table,) = mottle.read_release(tmp_path).sample(1, seed=1)
    original = people[0].drop_columns(["name"])
    assert table.schema.types == original.schema.types


def test_a_seed_repeats_the_draw_and_the_tables_of_a_draw_differ(release: Release) -> None:
    first, second = release.sample(2, seed=5)
    assert first.equals(release.sample(1, seed=5)[0])
    assert not first.equals(second)


@pytest.mark.parametrize("fit", ["uniform", "fitted"])
def test_samples_have_the_expected_counts(release: Release, fit: str) -> None:
    tables = [Queries.of(table) for table in release.sample(100, seed=2, fit=fit)]
    for where in (
        {"age": (30, 45)},
        {"sex": "f"},
        {"sex": None},
        {"size": "M"},
        {"place": ["Italy", "Spain"]},
        {"age": (20, 50), "sex": ["m", None], "place": ["Italy", "US"]},
    ):
        found = replace(release.queries(fit), totals={}).count(where)  # by cells alone
        drawn = [table.count(where).expected for table in tables]
        chance = 4.5 * np.std(drawn) / 10 + 1e-9
        if fit == "fitted":  # a count that is stated has no error; pairs of columns go together
            assert np.mean(drawn) == pytest.approx(found.expected, abs=chance + 0.5)
            continue
        assert np.mean(drawn) == pytest.approx(found.expected, abs=chance)
        assert np.std(drawn) == pytest.approx(found.error, rel=0.35, abs=1e-9)


def numbers(*cells: tuple[float, float, bool], degree: int = 0) -> Release:
    column = PublishedColumn("x", Role.QUASI_IDENTIFYING, Kind.NUMBER, Form.RANGE, pa.float64())
    array = pa.array(
        [dict(zip(("lo", "hi", "missing"), cell, strict=True)) for cell in cells],
        column.field().type,
    )
    table = pa.table([array], schema=pa.schema([column.field()]))
    return Release(
        table, (column,), certificate(degree={"min": degree, "max": degree}) if degree else None
    )


def test_numbers_that_are_not_whole_are_drawn_from_their_whole_range() -> None:
    release = numbers((0.5, 2.5, False), (1.25, 1.25, False), (0.5, 2.5, True))
    drawn = [table.column("x").to_pylist() for table in release.sample(2000, seed=3, fit="uniform")]
    wide, single, missing = zip(*drawn, strict=True)
    assert min(wide) >= 0.5
    assert max(wide) <= 2.5
    assert np.mean(wide) == pytest.approx(1.5, abs=0.06)
    assert len(set(wide)) == 2000
    assert set(single) == {1.25}
    assert missing.count(None) / 2000 == pytest.approx(1 / 3, abs=0.05)


def test_values_that_made_a_cell_large_have_their_share_of_the_originals() -> None:
    """Of 4 originals behind 1..9, one is 1 and one is 9; the others follow the column."""
    cells = [(1.0, 9.0, False)] + [(5.0, 5.0, False)] * 50
    release = numbers(*cells, degree=4)
    ends = release.count({"x": [1, 9]}, fit="fitted")
    middle = release.count({"x": 5}, fit="fitted")
    assert ends.expected == pytest.approx(0.5, abs=0.05)
    assert middle.expected == pytest.approx(50.5, abs=0.05)
    uniform = release.count({"x": 5}, fit="uniform")
    assert uniform.expected == pytest.approx(50 + 1 / 9)


def test_fitted_marginals_find_the_frequent_value() -> None:
    column = PublishedColumn("c", Role.QUASI_IDENTIFYING, Kind.CATEGORY, Form.SET, pa.string())
    cells = [["a"]] * 80 + [["b"]] * 20 + [["a", "b"]] * 100
    table = pa.table([pa.array(cells, column.field().type)], schema=pa.schema([column.field()]))
    release = Release(table, (column,), None)
    assert release.count({"c": "a"}, fit="uniform").expected == pytest.approx(130)
    assert release.count({"c": "a"}, fit="fitted").expected == pytest.approx(160, abs=4)
    drawn = Counter(release.sample(1, seed=1, fit="fitted")[0].column("c").to_pylist())
    assert drawn["a"] == pytest.approx(160, abs=16)


def test_rubins_rules_agree_with_a_calculation_by_hand() -> None:
    pooled = combine([10.0, 12.0, 14.0], [4.0, 5.0, 6.0])
    assert pooled.estimate == 12
    assert pooled.within == 5
    assert pooled.between == 4
    assert pooled.error == pytest.approx(math.sqrt(5 + 4 * 4 / 3))
    assert pooled.degrees_of_freedom == pytest.approx(2 * (1 + 5 / (16 / 3)) ** 2)
    low, high = pooled.interval(0.95)
    assert (low + high) / 2 == pytest.approx(12)
    assert high - 12 == pytest.approx(2.3326 * pooled.error, rel=1e-3)  # t(0.975; 7.51)


def test_rubins_rules_on_tables_with_equal_estimates() -> None:
    pooled = combine([3.0, 3.0], [1.0, 1.0])
    assert math.isinf(pooled.degrees_of_freedom)
    assert pooled.interval() == pytest.approx((3 - 1.959964, 3 + 1.959964))


@pytest.mark.parametrize(
    ("estimates", "variances"),
    [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, math.nan], [1.0, 1.0]), ([1.0, 2.0], [1.0, -1.0])],
)
def test_rubins_rules_refuse_invalid_input(estimates: list[float], variances: list[float]) -> None:
    with pytest.raises(UsageError):
        combine(estimates, variances)


def test_the_number_of_tables_has_to_be_a_positive_integer(release: Release) -> None:
    for number in (0, -1, 2.5, True):
        with pytest.raises(UsageError, match="at least one"):
            release.sample(number)  # type: ignore[arg-type]
