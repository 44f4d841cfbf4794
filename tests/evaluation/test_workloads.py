"""The papers' workloads: which queries, how errors are measured, the cube by its definition."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import Release, Schema
from mottle.errors import UsageError
from mottle.evaluation.workloads import cube_divergence, prefix_counts, query_error, random_counts
from mottle.queries import Queries

COLUMNS = ["age", "sex", "workclass"]


@pytest.fixture(scope="module")
def people() -> pa.Table:
    people = mottle.datasets.population(400, seed=5)
    return people.select([*COLUMNS, "diagnosis"])


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema.of(quasi_identifying=COLUMNS, sensitive=["diagnosis"])


@pytest.fixture(scope="module")
def release(people: pa.Table, schema: Schema) -> Release:
    return mottle.anonymize(people, schema, mottle.KAnonymity(5), method="nh", seed=1)


def test_ranges_cover_the_share_of_the_domain_that_the_selectivity_requires(
    people: pa.Table,
) -> None:
    table = pa.table({"x": list(range(100)), "y": list(range(100)), "s": list(range(100))})
    for where in random_counts(table, ["x", "y"], "s", conditions=2, selectivity=0.125, number=50):
        assert set(where) == {"x", "y", "s"}
        for low, high in where.values():
            assert high - low + 1 == 50  # 0.125 ** (1 / 3) of 100
            assert 0 <= low <= high <= 99
    begins = Counter(
        where["x"][0] for where in random_counts(table, ["x"], None, conditions=1, number=2000)
    )
    assert min(begins) == 0
    assert max(begins) == 90


def test_categories_are_queried_by_runs_of_values(people: pa.Table) -> None:
    values = sorted(set(people.column("workclass").to_pylist()))
    for where in random_counts(people, ["workclass"], None, conditions=1, selectivity=0.4):
        listed = where["workclass"]
        begin = values.index(listed[0])
        assert listed == values[begin : begin + round(0.4 * len(values))]


def test_a_seed_repeats_the_queries(people: pa.Table) -> None:
    asked = random_counts(people, COLUMNS, "diagnosis", number=5, seed=3)
    assert asked == random_counts(people, COLUMNS, "diagnosis", number=5, seed=3)
    assert asked != random_counts(people, COLUMNS, "diagnosis", number=5, seed=4)


@pytest.mark.parametrize("options", [{"conditions": 0}, {"conditions": 4}, {"selectivity": 0.0}])
def test_impossible_workloads_are_refused(people: pa.Table, options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        random_counts(people, COLUMNS, "diagnosis", **options)  # type: ignore[arg-type]


def test_prefixes_reach_from_the_lowest_value(people: pa.Table) -> None:
    for where in prefix_counts(people, "age", ["sex"], number=20):
        low, high = where["age"]
        assert low is None
        assert where["sex"] in ("female", "male")
        assert isinstance(high, int)


def test_relative_errors_leave_out_true_counts_of_zero() -> None:
    original = pa.table({"x": [1, 1, 2, 2]})
    guessed = pa.table({"x": [1, 1, 1, 2]})
    found = query_error(original, guessed, [{"x": 1}, {"x": 2}, {"x": 3}, {"x": (1, 2)}])
    assert sorted(found.errors.tolist()) == [0.0, 0.5, 0.5]
    assert (found.query_count, found.dropped, found.median) == (4, 1, 0.5)
    assert found.within_bounds == 2  # the guesses of a plain table have no slack


def test_a_cube_diverges_by_the_papers_formula(people: pa.Table, release: Release) -> None:
    queries = Queries.of(release)
    for level in (1, 2):
        divergences = []
        for chosen in combinations(COLUMNS, level):
            names = [*chosen, "diagnosis"]
            counts = Counter(zip(*(people.column(name).to_pylist() for name in names), strict=True))
            divergence = 0.0
            for values, count in counts.items():
                guess = queries.count(dict(zip(names, values, strict=True))).expected
                divergence += count / 400 * math.log(count / guess)
            divergences.append(divergence)
        found = cube_divergence(people, release, COLUMNS, "diagnosis", level)
        assert found == pytest.approx(np.mean(divergences))


def test_a_cube_of_two_tables_and_of_the_originals_themselves(
    people: pa.Table, schema: Schema
) -> None:
    anatomy = mottle.anonymize(people, schema, mottle.LDiversity(2), method="anatomy", seed=1)
    queries = Queries.of(anatomy)
    counts = Counter(
        zip(*(people.column(n).to_pylist() for n in ("sex", "diagnosis")), strict=True)
    )
    by_hand = sum(
        count / 400 * math.log(count / queries.count({"sex": s, "diagnosis": d}).expected)
        for (s, d), count in counts.items()
    )
    assert cube_divergence(people, anatomy, ["sex"], "diagnosis", 1) == pytest.approx(by_hand)
    assert cube_divergence(people, people, COLUMNS, "diagnosis", 3) == pytest.approx(0.0)


def test_a_cube_of_a_table_has_levels_of_any_number_of_cells(people: pa.Table) -> None:
    prepared = cube_divergence(Queries.of(people), people, COLUMNS, "diagnosis", 2)
    assert cube_divergence(people, people, COLUMNS, "diagnosis", 2) == pytest.approx(prepared)
    rows = 3_000  # 81 billion cells, of which at most 3,000 have records
    wide = pa.table({name: np.arange(rows) for name in ("a", "b")} | {"s": np.arange(rows)})
    assert cube_divergence(wide, wide, ["a", "b"], "s", 2) == pytest.approx(0.0)


def test_an_empty_cell_diverges_without_end_unless_it_is_filled() -> None:
    original = pa.table({"x": [1, 2], "s": ["a", "a"]})
    synthetic = pa.table({"x": [1, 1], "s": ["a", "a"]})
    assert math.isinf(cube_divergence(original, synthetic, ["x"], "s", 1))
    filled = cube_divergence(original, synthetic, ["x"], "s", 1, floor=0.5)
    assert filled == pytest.approx(0.5 * math.log(1 / 2) + 0.5 * math.log(1 / 0.5))
    with pytest.raises(UsageError, match="no level 2"):
        cube_divergence(original, synthetic, ["x"], "s", 2)


def test_whole_numbers_of_more_than_64_bits_are_queried() -> None:
    """The report counts over columns that reach from one end of a type to the other."""
    ends = [-(2**63), 2**63 - 1]
    for where in random_counts(pa.table({"x": ends}), ["x"], None, conditions=1, number=20):
        low, high = where["x"]
        assert ends[0] <= low <= high <= ends[1]
