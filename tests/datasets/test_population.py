"""The generated population: shape, reproducibility and the dependencies it promises."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import chisquare

from mottle.datasets import EDUCATION, origin_hierarchy, population
from mottle.datasets import _population_tables as tables
from mottle.datasets.population import CHUNK, SCHEMA, Conditional
from mottle.errors import UsageError

IN_WORK = ["private employee", "public employee", "self-employed"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return population(200_000, seed=1)


def column(table: pa.Table, name: str) -> NDArray[np.object_]:
    return np.asarray(table[name].to_numpy())


def mean_income(table: pa.Table, rows: NDArray[np.bool_]) -> float:
    return float(pc.mean(table["income"].filter(pa.array(rows))).as_py())


# ------------------------------------------------------------------------------------- contract


@pytest.mark.parametrize("n", [0, 1, 2, 999])
def test_any_size_has_n_rows_and_the_same_types(n: int) -> None:
    table = population(n)
    assert table.num_rows == n
    assert table.schema.equals(SCHEMA)
    table.validate(full=True)


def test_the_same_seed_gives_the_same_people() -> None:
    assert population(5_000, seed=3).equals(population(5_000, seed=3))


def test_another_seed_gives_other_people_in_every_column() -> None:
    one, other = population(5_000, seed=3), population(5_000, seed=4)
    assert not [name for name in SCHEMA.names if one[name].equals(other[name])]


def test_the_global_random_state_is_left_alone() -> None:
    before = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    population(100)
    after = np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
    assert np.array_equal(before, after)


def test_a_negative_size_or_seed_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="-1 people"):
        population(-1)
    with pytest.raises(UsageError, match="seed -5"):
        population(1, seed=-5)


def test_a_whole_chunk_stays_the_same_when_more_people_follow() -> None:
    larger = population(CHUNK + 5)
    assert larger.slice(0, CHUNK).equals(population(CHUNK))
    assert pc.count_distinct(larger["person_id"]).as_py() == CHUNK + 5
    assert larger["age"].num_chunks == 2


def test_only_income_has_missing_values_about_one_and_a_half_percent(table: pa.Table) -> None:
    missing = {name: table[name].null_count / table.num_rows for name in table.column_names}
    assert missing.pop("income") == pytest.approx(0.015, abs=0.003)
    assert set(missing.values()) == {0}


def test_income_is_missing_more_often_for_the_self_employed(table: pa.Table) -> None:
    missing = table["income"].is_null().to_numpy()
    own = column(table, "workclass") == "self-employed"
    assert missing[own].mean() > 2 * missing[~own].mean()


# -------------------------------------------------------------------------------------- persons


def test_person_ids_are_distinct_and_formatted(table: pa.Table) -> None:
    assert pc.count_distinct(table["person_id"]).as_py() == table.num_rows
    assert pc.all(pc.match_substring_regex(table["person_id"], r"^P\d{7}$")).as_py()


def test_person_ids_follow_neither_the_rows_nor_age(table: pa.Table) -> None:
    number = pc.cast(pc.utf8_slice_codeunits(table["person_id"], 1), pa.int64()).to_numpy()
    by_row = np.corrcoef(number, np.arange(table.num_rows))[0, 1]
    by_age = np.corrcoef(number, column(table, "age"))[0, 1]
    assert max(abs(by_row), abs(by_age)) < 0.01


def test_every_label_occurs_and_no_other(table: pa.Table) -> None:
    expected = {
        "sex": tables.SEX,
        "education": tables.EDUCATION,
        "marital_status": tables.MARITAL_STATUS,
        "origin": tables.COUNTRIES,
        "workclass": [each.label for each in tables.WORKCLASSES],
        "occupation": [
            *(each.label for each in tables.OCCUPATIONS),
            tables.NOT_IN_WORK,
        ],
        "diagnosis": [
            *(each.label for each in tables.DIAGNOSES),
            tables.HEALTHY,
        ],
    }
    for name, labels in expected.items():
        assert sorted(table[name].unique().to_pylist()) == sorted(labels), name


# --------------------------------------------------------------------------------- dependencies


def test_ages_form_a_census_pyramid(table: pa.Table) -> None:
    age = column(table, "age")
    assert (age.min(), age.max()) == (0, 99)
    assert age.mean() == pytest.approx(42, abs=1.5)
    assert (age >= 90).mean() < 0.02
    women = column(table, "sex") == "female"
    assert women.mean() == pytest.approx(0.505, abs=0.01)
    assert women[age >= 85].mean() > 0.6


def test_about_four_in_five_are_from_the_home_country(table: pa.Table) -> None:
    assert (column(table, "origin") == tables.HOME).mean() == pytest.approx(0.8, abs=0.02)


def test_nobody_under_age_is_or_was_married_and_widows_are_old_women(table: pa.Table) -> None:
    age, status = column(table, "age"), column(table, "marital_status")
    assert set(status[age < 18]) == {"never married"}
    widowed = status == "widowed"
    assert age[widowed].mean() > 70
    assert (column(table, "sex")[widowed] == "female").mean() > 0.65


@pytest.mark.parametrize(
    ("highest", "below_age"),
    [
        ("no schooling", 6),
        ("primary school", 11),
        ("lower secondary school", 15),
        ("upper secondary school", 16),
        ("vocational training", 18),
        ("bachelor's degree", 22),
        ("master's degree", 27),
    ],
)
def test_the_young_have_only_the_education_their_age_allows(
    table: pa.Table, highest: str, below_age: int
) -> None:
    young = column(table, "education")[column(table, "age") < below_age]
    assert max(map(EDUCATION.index, set(young))) == EDUCATION.index(highest)


def test_children_have_no_work_and_no_income(table: pa.Table) -> None:
    child = column(table, "age") < 16
    assert set(column(table, "workclass")[child]) == {"child"}
    assert set(column(table, "occupation")[child]) == {tables.NOT_IN_WORK}
    assert mean_income(table, child) == 0
    assert "child" not in column(table, "workclass")[~child]


def test_the_old_are_retired(table: pa.Table) -> None:
    old = column(table, "age") >= 70
    assert (column(table, "workclass")[old] == "retired").mean() > 0.95


def test_exactly_those_in_work_have_an_occupation(table: pa.Table) -> None:
    in_work = np.isin(column(table, "workclass"), IN_WORK)
    assert np.array_equal(in_work, column(table, "occupation") != tables.NOT_IN_WORK)


@pytest.mark.parametrize("job", tables.OCCUPATIONS, ids=lambda job: job.label)
def test_an_occupation_keeps_to_its_age_and_education(
    table: pa.Table, job: tables.Occupation
) -> None:
    holds = column(table, "occupation") == job.label
    assert column(table, "age")[holds].min() >= job.from_age
    assert min(map(EDUCATION.index, set(column(table, "education")[holds]))) >= job.lowest


def test_income_rises_with_every_level_of_education(table: pa.Table) -> None:
    grown = column(table, "age") >= 27
    education = column(table, "education")
    means = [mean_income(table, grown & (education == level)) for level in EDUCATION]
    assert means == sorted(means)
    assert means[-1] > 3 * means[0]


def test_income_is_rounded_never_negative_and_lower_for_women(table: pa.Table) -> None:
    income = table["income"].drop_null().to_numpy()
    assert income.min() == 0
    assert not (income % 100).any()
    working = np.isin(column(table, "workclass"), IN_WORK)
    women = column(table, "sex") == "female"
    assert 0.6 < mean_income(table, working & women) / mean_income(table, working & ~women) < 0.95


def test_diagnoses_keep_to_the_sex_and_age_that_can_have_them(table: pa.Table) -> None:
    age, sex, diagnosis = (column(table, name) for name in ("age", "sex", "diagnosis"))
    pregnant = diagnosis == "pregnancy complication"
    assert set(sex[pregnant]) == {"female"}
    assert age[pregnant].min() >= 16
    assert age[pregnant].max() <= 45
    assert set(sex[diagnosis == "prostate disease"]) == {"male"}
    assert age[diagnosis == "dementia"].min() >= 60
    assert age[diagnosis == "asthma"].mean() < age.mean()


def test_most_diagnoses_are_none_and_hiv_is_rare(table: pa.Table) -> None:
    share = {
        each["values"]: each["counts"] / table.num_rows
        for each in table["diagnosis"].value_counts().to_pylist()
    }
    assert max(share, key=lambda label: share[label]) == "none"
    assert share["none"] == pytest.approx(0.45, abs=0.02)
    assert share["HIV infection"] == pytest.approx(0.003, abs=0.0006)


# ------------------------------------------------------------------------------------ hierarchy


def test_the_hierarchy_has_one_row_for_every_origin_in_the_data(table: pa.Table) -> None:
    leaves = [row[0] for row in origin_hierarchy()]
    assert len(set(leaves)) == len(leaves)
    assert set(column(table, "origin")) <= set(leaves)


def test_the_hierarchy_is_a_tree_with_distinct_labels_on_each_level() -> None:
    rows = origin_hierarchy()
    assert {len(row) for row in rows} == {4}
    assert {row[-1] for row in rows} == {"*"}
    for level in range(3):
        parents = {(row[level], row[level + 1]) for row in rows}
        assert len(parents) == len({row[level] for row in rows})
    levels = [{row[level] for row in rows} for level in range(4)]
    assert sum(map(len, levels)) == len(set.union(*levels))
    assert [len(level) for level in levels] == [41, 13, 5, 1]


# -------------------------------------------------------------------------------------- drawing


@given(
    shares=arrays(np.float64, (3, 2, 4), elements=st.sampled_from([0.0, 1e-3, 0.5, 1.0, 70.0])),
    certain=arrays(np.int16, (3, 2), elements=st.integers(0, 3)),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_value_of_share_zero_is_never_drawn(
    shares: NDArray[np.float64], certain: NDArray[np.int16], seed: int
) -> None:
    np.put_along_axis(shares, certain[..., None], 1.0, axis=-1)  # no group may be empty
    random = np.random.default_rng(seed)
    first, second = random.integers(0, 3, 200), random.integers(0, 2, 200)
    drawn = Conditional.of(shares).draw(random, first.astype(np.int16), second.astype(np.int16))
    assert (shares[first, second, drawn] > 0).all()


def test_values_are_drawn_with_the_shares_of_their_group() -> None:
    shares = np.array([[1.0, 2, 3, 4], [10, 1, 0, 9], [0, 0, 5, 5]])
    group = np.repeat(np.arange(3, dtype=np.int16), 50_000)
    drawn = Conditional.of(shares).draw(np.random.default_rng(0), group)
    for each, row in enumerate(shares):
        counts = np.bincount(drawn[group == each], minlength=4)
        assert chisquare(counts[row > 0], 50_000 * row[row > 0] / row.sum()).pvalue > 1e-3
