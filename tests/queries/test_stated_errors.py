"""Stated intervals hold the truth, and what totals say is exact."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import DataError, Hierarchy, KAnonymity, Release, Schema
from mottle.evaluation.workloads import random_counts
from mottle.queries import Queries
from mottle.queries.calibration import AnswerKind, Calibration
from mottle.release.certificate import Certificate
from mottle.release.validation import check_certificate

KNOWN = ["age", "sex", "origin", "workclass", "education"]


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return mottle.datasets.population(3000, seed=5).select([*KNOWN, "diagnosis", "income"])


@pytest.fixture(scope="module")
def release(people: pa.Table) -> Release:
    schema = Schema.of(quasi_identifying=KNOWN, sensitive=["diagnosis"], insensitive=["income"])
    return mottle.anonymize(people, schema, KAnonymity(10), method="nh", seed=1)


@pytest.mark.parametrize("conditions", [1, 2, 3])
@pytest.mark.parametrize("sensitive", [None, "diagnosis"])
def test_intervals_hold_the_truth_as_often_as_they_say(
    people: pa.Table, release: Release, conditions: int, sensitive: str | None
) -> None:
    drawn = [
        where
        for share in (0.05, 0.15, 0.3)
        for where in random_counts(
            people, KNOWN, sensitive, conditions=conditions, number=100, seed=99, selectivity=share
        )
    ]
    wheres = list({str(where): where for where in drawn}.values())
    true = Queries.of(people).counts(wheres).expected
    answers = release.queries().counts(wheres)
    held = 0
    for place, exact in enumerate(true):
        low, high = answers[place].interval()
        assert answers.certain[place] <= low + 1e-9 <= high + 2e-9
        assert high <= answers.possible[place] + 1e-9
        held += low - 1e-6 <= exact <= high + 1e-6
    assert held / len(true) >= 0.9  # of a table with few columns; real ones: benchmarks


def test_counts_that_totals_determine_are_exact(people: pa.Table, release: Release) -> None:
    truth = Queries.of(people)
    for where in ({"sex": "female"}, {"origin": ["Italy", "Germany"]}, {"education": None}):
        answer = release.count(where)
        if answer.error == 0.0:
            assert answer.expected == truth.count(where).expected
            assert answer.reliable
    assert release.count({"sex": "female"}).error == 0.0
    groups = release.group_by(["workclass"]).to_pylist()
    exact = {row["workclass"]: row["expected"] for row in truth.group_by(["workclass"]).to_pylist()}
    stated = [row for row in groups if row["error"] == 0.0]
    assert len(stated) >= len(groups) - 2  # rare values are counted together
    assert all(row["expected"] == exact[row["workclass"]] for row in stated)


def test_nodes_and_or_of_values_are_exact() -> None:
    table = mottle.datasets.population(1500, seed=2).select(["age", "origin", "sex"])
    values = sorted(set(table.column("origin").to_pylist()))
    tree = Hierarchy.from_rows([(one, "first" if one < "J" else "second", "*") for one in values])
    schema = Schema.of(quasi_identifying=["age", "origin", "sex"], hierarchies={"origin": tree})
    release = mottle.anonymize(table, schema, KAnonymity(8), method="nh", seed=1)
    truth = Queries.of(table)
    first = [one for one in values if one < "J"]
    answer = release.count({"origin": "first"})
    assert answer.expected == pytest.approx(truth.count({"origin": first}).expected, abs=1e-9)
    assert answer.error == 0.0
    row = release.query(
        "SELECT count(*) AS n FROM release WHERE sex = 'male' OR sex = 'female'"
    ).to_pylist()[0]
    assert row["n"] == 1500
    assert row["n_error"] == 0.0
    assert row["n_reliable"] is True
    common = [
        row["origin"]
        for row in release.group_by(["origin"]).to_pylist()
        if row["error"] == 0.0 and row["expected"] > 5
    ][:2]
    sql = (
        f"SELECT count(*) AS n FROM release WHERE origin = '{common[0]}' OR origin = '{common[1]}'"
    )
    row = release.query(sql).to_pylist()[0]
    assert (row["n"], row["n_error"]) == (truth.count({"origin": common}).expected, 0.0)


def test_unreliable_answers_say_why(release: Release) -> None:
    groups = release.group_by(["origin", "education"]).to_pylist()
    where = next(row for row in groups if not row["reliable"])
    rare = release.count({name: where[name] for name in ("origin", "education")})
    assert not rare.reliable
    assert "third" in rare.doubt
    assert "unreliable" in str(rare)
    uniform = release.count({"age": (30, 40), "sex": "male"}, fit="uniform")
    assert "does not state" in uniform.doubt
    shown = release.group_by(["age", "sex"], breaks={"age": [30, 60]})
    assert shown.column("reliable").type == pa.bool_()
    assert release.query("SELECT avg(age) AS a FROM release WHERE sex = 'male'").column_names == [
        "a",
        "a_low",
        "a_high",
        "a_error",
        "a_reliable",
    ]


def test_sums_and_averages_have_calibrated_errors(people: pa.Table, release: Release) -> None:
    truth, queries = Queries.of(people), release.queries()
    plain = replace(queries, calibration=None)
    held = 0
    wheres = random_counts(
        people, KNOWN[1:], None, conditions=2, number=60, seed=4, selectivity=0.3
    )
    for where in wheres:
        for name in ("age", "income"):
            answer, exact = queries.average(name, where), truth.average(name, where).expected
            low, high = answer.interval()
            if np.isnan(exact):
                held += 1
                continue
            held += low - 1e-6 <= exact <= high + 1e-6
    assert held / (2 * len(wheres)) >= 0.9
    assert queries.total("age", wheres[0]).error != plain.total("age", wheres[0]).error


def test_sums_of_unchanged_columns_are_counts_times_averages(
    people: pa.Table, release: Release
) -> None:
    truth, queries = Queries.of(people), release.queries()
    wheres = random_counts(people, KNOWN, None, conditions=2, number=100, seed=8, selectivity=0.3)
    held = 0
    for where in wheres:
        total, count, average = (
            queries.total("income", where),
            queries.count(where),
            queries.average("income", where),
        )
        if total.certain < total.possible:
            wanted = np.hypot(count.expected * average.error, average.expected * count.error)
            furthest = max(total.expected - total.certain, total.possible - total.expected)
            assert total.error == pytest.approx(min(wanted, furthest))
            assert total.reliable == (total.error <= total.expected / 3)
        low, high = total.interval()
        held += low - 1e-6 <= truth.total("income", where).expected <= high + 1e-6
    assert held / len(wheres) >= 0.9
    assert queries.total("income").error == 0.0
    known = "SELECT sum(income) AS s FROM release WHERE age < 40"
    assert release.query(known).column("s_error")[0].as_py() == pytest.approx(
        queries.total("income", {"age": (None, 39)}).error
    )
    assert "does not state" in release.total("income", {"age": (30, 40)}, fit="uniform").doubt


def test_values_go_with_conditions_inside_cells_as_between_them(
    people: pa.Table, release: Release
) -> None:
    queries = release.queries()
    assert queries.fitted_to == {"diagnosis"}  # nothing was fitted to the income
    where = {"age": (20, 60), "sex": "female"}
    fitted = replace(queries, fitted_to=frozenset({"diagnosis", "income"}))
    answer, without = queries.average("income", where), fitted.average("income", where)
    likely = np.maximum(queries.likelihoods(queries.parse_where(where)), 0.0)
    numbers = np.asarray(release.table.column("income").to_numpy(), np.float64)
    likely, income = likely[np.isfinite(numbers)], numbers[np.isfinite(numbers)]
    inside = np.average(income, weights=likely)
    others = np.average(income, weights=1 - likely)
    moved = likely @ (1 - likely) * abs(inside - others) / likely.sum()
    assert moved > 0
    assert answer.expected == without.expected
    assert answer.error == pytest.approx(np.hypot(without.error, moved / 2))


def test_averages_of_unchanged_columns_are_off_by_more_than_the_draw(release: Release) -> None:
    facts = release.certificate.calibration
    assert facts is not None
    careless = Calibration(facts.model_copy(update={"averages": (0.1,)}))
    errors = careless.errors(AnswerKind.AVERAGE, np.array([2.0]), 1, 1.0, np.array([0.0]))
    assert errors == pytest.approx([1.1 * 1.5 * 2.0])
    known = careless.errors(AnswerKind.AVERAGE, np.array([2.0]), 1, 1.0, None)
    assert known == pytest.approx([0.1 * 2.0])


def test_counts_are_off_by_more_where_sensitive_values_are_protected(
    people: pa.Table, release: Release
) -> None:
    facts = release.certificate.calibration
    assert facts is not None
    assert release.queries().calibration == Calibration(facts)
    one, nothing = np.array([1.0]), np.array([0.0])
    for columns, wider in ((1, 1.75), (2, np.sqrt((1 + 2 * 1.75**2) / 3))):
        plain, wide = (
            Calibration(facts, protects).errors(AnswerKind.COUNT, one, columns, 5.0, nothing)
            for protects in (False, True)
        )
        assert (wide - 0.25) / (plain - 0.25) == pytest.approx([wider / 1.1])
    schema = Schema.of(quasi_identifying=KNOWN, sensitive=["diagnosis"], rest="insensitive")
    diverse = mottle.anonymize(
        people, schema, mottle.LDiversity(2), method="buckets", options={"passes": 1}, seed=1
    )
    calibration = diverse.queries().calibration
    assert calibration is not None
    assert calibration.protects


def test_odd_factors_are_refused(release: Release) -> None:
    content = json.loads(release.certificate.to_json())
    assert check_certificate(Certificate.from_dict(content), "c").calibration is not None
    odd = [
        {"sums": []},
        {"averages": [1.0] * 100},
        {"counts": [[-1.0, 0.0]]},
        {"coefficients": 1e300},
        {"columns": {"nobody": 0.1}},
        {"pair_factors": {"nobody": {"age": 1.0}}},
        {"pair_factors": {"age": {"nobody": 1.0}}},
        {"pair_factors": {"age": {"sex": -1.0}}},
        {"records": 0},
    ]
    for change in odd:
        changed = {**content, "calibration": {**content["calibration"], **change}}
        with pytest.raises(DataError, match="calibration"):
            check_certificate(Certificate.from_dict(changed), "c")
    for change in ({"counts": [[1.0]]}, {"sums": "x"}, {"more": 1}):
        changed = {**content, "calibration": {**content["calibration"], **change}}
        with pytest.raises(DataError, match="calibration"):
            Certificate.from_dict(changed)
    nan = {**content, "calibration": {**content["calibration"], "sums": [float("nan")]}}
    with pytest.raises(DataError, match="calibration"):
        check_certificate(Certificate.from_dict(nan), "c")


def test_errors_follow_the_pairs_of_columns_in_question(release: Release) -> None:
    facts = release.certificate.calibration
    assert facts is not None
    names = sorted(facts.columns)
    changed = facts.model_copy(
        update={"pair_factors": {a: {b: 1.0 for b in names if b > a} for a in names}}
    )
    wide = changed.model_copy(update={"pair_factors": {"age": {"sex": 3.0}}})
    kinds = (AnswerKind.COUNT, AnswerKind.SUM, AnswerKind.AVERAGE)
    for kind in kinds:
        assert Calibration(changed).of_columns(kind, ["age", "sex"]) == 1.0
        assert Calibration(wide).of_columns(kind, ["sex", "age"]) == 3.0
        assert Calibration(wide).of_columns(kind, ["age"]) == 1.0
        both = Calibration(wide).of_columns(kind, ["age", "sex", "income"])
        assert both == pytest.approx(np.sqrt((9 + 1 + 1) / 3))


def test_factors_of_columns_in_earlier_releases_are_for_counts(release: Release) -> None:
    facts = release.certificate.calibration
    assert facts is not None
    earlier = facts.model_copy(
        update={"pair_factors": {}, "column_factors": {"age": 1.0, "sex": 7.0}}
    )
    assert Calibration(earlier).of_columns(AnswerKind.COUNT, ["age", "sex"]) == 5.0
    assert Calibration(earlier).of_columns(AnswerKind.SUM, ["age", "sex"]) == 1.0


def test_a_pair_with_a_column_that_is_not_calibrated_counts_as_others_do(release: Release) -> None:
    facts = release.certificate.calibration
    assert facts is not None
    stated = Calibration(
        facts.model_copy(update={"pair_factors": {"age": {"sex": 1.0, "income": 7.0}}})
    )
    average, count = AnswerKind.AVERAGE, AnswerKind.COUNT
    assert stated.of_columns(average, ["age"], with_unchanged=True) == 5.0
    assert stated.of_columns(count, ["age"], with_unchanged=True) == 1.0
    both = stated.of_columns(average, ["age", "sex"], with_unchanged=True)
    assert both == pytest.approx(np.sqrt((1 + 25 + 25) / 3))


def test_no_error_is_above_what_bounds_allow(release: Release) -> None:
    facts = release.certificate.calibration
    assert facts is not None
    far = facts.model_copy(update={"pair_factors": {"age": {"sex": 1e6}}})
    queries = replace(release.queries(), calibration=Calibration(far))
    wheres = [{"age": (20, 40), "sex": "female"}, {"age": (60, 70), "sex": "male"}]
    for where in wheres:
        for answer in (queries.count(where), queries.average("age", where)):
            furthest = max(answer.expected - answer.certain, answer.possible - answer.expected)
            assert answer.error == pytest.approx(furthest)
            assert answer.interval() == (answer.certain, answer.possible)
