"""Unchanged columns: a birth year beside an age is caught; columns that say nothing pass."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Schema

KNOWN = ["age", "sex", "education", "marital_status", "origin", "workclass"]


@pytest.fixture(scope="module")
def people() -> pa.Table:
    table = mottle.datasets.population(1500, seed=3).select([*KNOWN, "income", "diagnosis"])
    random = np.random.default_rng(1)
    age = table["age"].to_numpy()
    return (
        table.append_column("birth_year", pa.array(2026 - age - random.integers(0, 2, 1500)))
        .append_column("birth_day", pa.array((2026 - age) * 365 - random.integers(0, 365, 1500)))
        .append_column("noise", pa.array(random.random(1500)))
    )


def released(table: pa.Table, *insensitive: str, guarantee=KAnonymity(5), **options):  # noqa: B008
    schema = Schema.of(
        quasi_identifying=KNOWN,
        sensitive=["diagnosis"],
        insensitive=list(insensitive),
        rest="identifying",
    )
    return mottle.anonymize(table, schema, guarantee, seed=1, **options)


def unchanged(table: pa.Table, release, **options):
    return mottle.audit_release(table, release, adversaries=["unchanged"], **options)


@pytest.mark.parametrize("method", ["auto", "nh", "mondrian"])
@pytest.mark.parametrize("column", ["birth_year", "birth_day"])
def test_column_that_tells_the_age_is_caught(people: pa.Table, column: str, method: str) -> None:
    report = unchanged(people, released(people, column, method=method))
    insensitive, sensitive = report.findings
    assert insensitive.passed is False
    assert insensitive.achieved > 2 * insensitive.allowed
    assert insensitive.details["for_owner"]["used"] == {column: "age"}
    assert sensitive.passed is None
    assert any(f"'{column}' largely determines 'age'" in note for note in report.notes)


@pytest.mark.parametrize("guarantee", [KAnonymity(5), LDiversity(2)])
def test_column_that_says_nothing_passes(people: pa.Table, guarantee) -> None:
    insensitive = unchanged(people, released(people, "noise", guarantee=guarantee)).findings[0]
    assert insensitive.passed
    assert insensitive.achieved == pytest.approx(insensitive.allowed, abs=0.07)
    assert insensitive.details["for_owner"]["used"] == {}


def test_ordinary_relations_help_guesses_and_break_nothing(people: pa.Table) -> None:
    """Income says something about the class of worker, but less than half of what is unknown."""
    guarantee = KAnonymity(5) & LDiversity(2)
    insensitive = unchanged(people, released(people, "income", guarantee=guarantee)).findings[0]
    assert insensitive.achieved > insensitive.allowed + 3 * insensitive.details["sigma"]
    assert insensitive.passed


def test_values_that_were_shuffled_give_nothing_away(people: pa.Table) -> None:
    order = np.random.default_rng(4).permutation(1500)
    place = people.column_names.index("birth_year")
    shuffled = people.set_column(place, "birth_year", people["birth_year"].take(pa.array(order)))
    (insensitive, _) = unchanged(shuffled, released(shuffled, "birth_year")).findings
    assert insensitive.passed
    assert insensitive.achieved == pytest.approx(0.2, abs=0.05)


def test_without_links_columns_are_measured_and_guesses_not_played(
    people: pa.Table, tmp_path
) -> None:
    released(people, "birth_year", method="nh").save(tmp_path / "out", report=False)
    report = unchanged(people, tmp_path / "out")
    assert report.passed
    first = report.findings[0]
    assert first.details["not_played"] == "needs the private link file"
    told = first.details["for_owner"]["columns"]["birth_year"]["determines"]["age"]
    assert told["information"] > 0.7
    assert any("'birth_year' largely determines 'age'" in note for note in report.notes)


def test_releases_without_such_columns_have_nothing_to_narrow(people: pa.Table) -> None:
    table = people.select(KNOWN)
    schema = Schema.of(quasi_identifying=KNOWN)
    release = mottle.anonymize(table, schema, KAnonymity(5), method="nh", seed=1)
    (finding,) = unchanged(table, release).findings
    assert finding.details == {"does_not_apply": "no column is published as it is"}


def test_large_tables_are_sampled(people: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mottle.audit.adversaries.unchanged.MOST_ROWS", 300)
    release = released(people, "birth_year", method="nh")
    insensitive = unchanged(people, release).findings[0]
    assert insensitive.details["guesses"] == 300
    assert insensitive.passed is False
