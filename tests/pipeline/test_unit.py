"""What one row is taken for: stated everywhere, and refused where nobody said it."""

from __future__ import annotations

import html
import logging
import re

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import BetaLikeness, KAnonymity, LDiversity, Schema, UsageError
from mottle.encoding.people import People, person_keys
from mottle.pipeline.unit import Repeats, columns_to_count, looks_like_a_name, recognizable
from mottle.report.render import report_html
from mottle.report.reproduce import schema_of as reproduced

ABOUT_PEOPLE = re.compile(r"\b(person|persons|people|everybody|everyone)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def hospital() -> pa.Table:
    names = ["patient", "age", "sex", "region", "ward", "days", "diagnosis"]
    return mottle.datasets.visits(200, seed=1).select(names)


@pytest.fixture(scope="module")
def constant(hospital: pa.Table) -> pa.Table:
    """The same with one ward, number of days and diagnosis for every patient."""
    numbers = [int(name[1:]) for name in hospital.column("patient").to_pylist()]
    for name in ("ward", "days", "diagnosis"):
        place = hospital.column_names.index(name)
        values = [number % 7 if name == "days" else f"{name} {number % 7}" for number in numbers]
        hospital = hospital.set_column(place, name, pa.array(values))
    return hospital


def schema_of(**given) -> Schema:
    return Schema.of(
        quasi_identifying=["age", "sex", "region"],
        insensitive=["ward", "days"],
        sensitive=["diagnosis"],
        **given,
    )


def text_of(page: str) -> str:
    page = re.sub(r"<style.*?</style>|<script.*?</script>|<svg.*?</svg>", "", page, flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


# --------------------------------------------------------------------------- columns that repeat


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        (list(range(100)), False),  # nothing repeats
        ([row // 2 for row in range(100)], True),
        ([row // 50 for row in range(100)], False),  # two values: a code
        ([f"n{row % 19}" for row in range(100)], False),
        ([f"n{row % 20}" for row in range(100)], True),
        ([None] * 60 + list(range(40)), False),  # empty cells do not count
        ([row / 3 // 1 for row in range(100)], False),  # measured, not a name
        (["one"] * 100, False),
    ],
)
def test_a_name_that_repeats_is_refused(values: list, refused: bool) -> None:
    table = pa.table({"patient_nr": values, "age": [row % 10 for row in range(100)]})
    schema = Schema.of(quasi_identifying=["age"], identifying=["patient_nr"])
    if not refused:
        unit = mottle.anonymize(table, schema, KAnonymity(2), effort=0).certificate.unit
        assert (unit.protects, unit.column) == ("person", None)
        return
    with pytest.raises(UsageError, match=r"'patient_nr' repeats: \d+ values in 100 rows\.") as no:
        mottle.anonymize(table, schema, KAnonymity(2), effort=0)
    remedy = "If it names people say --person patient_nr; if not, say --unit row."
    assert no.value.remedy == remedy
    assert no.value.exit_code == 2
    for said in ("row", "person"):
        stated = schema.with_unit(said)
        release = mottle.anonymize(table, stated, KAnonymity(2), effort=0)
        assert release.certificate.unit.protects == said


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([row // 2 for row in range(100)], False),  # numbers that are not called a name
        ([f"n{row // 2}" for row in range(100)], True),  # text with many values
        ([f"job {row % 24}" for row in range(100)], False),  # fewer than one for four rows
    ],
)
def test_a_column_that_is_not_called_a_name_is_judged_by_its_values(values, refused) -> None:
    table = pa.table({"occupation": values, "age": [row % 10 for row in range(100)]})
    schema = Schema.of(quasi_identifying=["age"], identifying=["occupation"])
    if refused:
        with pytest.raises(UsageError, match="'occupation' repeats"):
            mottle.anonymize(table, schema, KAnonymity(2), effort=0)
    else:
        mottle.anonymize(table, schema, KAnonymity(2), effort=0)


def test_few_rows_with_a_name_twice_are_refused() -> None:
    table = pa.table({"name": ["ann", "bob", "ann", "eve"], "age": [1, 2, 1, 3]})
    schema = Schema.of(quasi_identifying=["age"], identifying=["name"])
    with pytest.raises(UsageError, match="'name' repeats: 3 values in 4 rows"):
        mottle.anonymize(table, schema, KAnonymity(2))


def test_equal_rows_without_a_name_are_normal() -> None:
    table = pa.table({"age": [30] * 50, "sex": ["f"] * 50})
    release = mottle.anonymize(table, Schema.of(quasi_identifying=["age", "sex"]), KAnonymity(5))
    assert "Every row is taken for a person" in release.certificate.unit.statement


def test_what_is_left_over_is_counted_by_its_name() -> None:
    types = pa.schema({"age": pa.int64(), "patientNr": pa.int64(), "income": pa.int64()})
    rest = Schema.of(quasi_identifying=["age"], rest="identifying")
    assert columns_to_count(rest, types) == ["patientNr"]
    named = Schema.of(quasi_identifying=["age"], identifying=["patientNr"], rest="insensitive")
    assert columns_to_count(named, types) == ["patientNr"]
    assert columns_to_count(named.with_unit("row"), types) == []
    assert looks_like_a_name("Kundennummer")
    assert not looks_like_a_name("note")


def test_a_code_is_said_to_be_taken_for_one(caplog: pytest.LogCaptureFixture) -> None:
    table = pa.table({"clinic_id": [row % 3 for row in range(60)], "age": list(range(60))})
    schema = Schema.of(quasi_identifying=["age"], identifying=["clinic_id"])
    with caplog.at_level(logging.WARNING, "mottle"):
        mottle.anonymize(table, schema, KAnonymity(2), effort=0)
    assert "'clinic_id' has 3 values in 60 rows and is taken for a code" in caplog.text


def test_repeats_count_values() -> None:
    table = pa.table({"who": pa.array(["a", "b", "a", None]).dictionary_encode()})
    assert Repeats.of(table, "who") == Repeats("who", 3, 2, 2)


# ------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize("guarantee", [KAnonymity(5), BetaLikeness(3)])
def test_a_release_of_rows_never_says_person(hospital: pa.Table, guarantee) -> None:
    schema = schema_of(identifying=["patient"], unit="row")
    release = mottle.anonymize(hospital, schema, guarantee, effort=0, seed=1)
    certificate = release.certificate
    assert "rows are protected" in certificate.unit.statement
    sentences = [certificate.guarantee.statement, certificate.unit.statement, *certificate.notes]
    for finding in certificate.audit.findings:
        sentences += [finding.title, finding.assumes, finding.measure]
    audited = release.audit(hospital, adversaries=["linkage", "assignments", "people"])
    assert audited.subject == "rows"
    for finding in audited.findings:
        sentences += [finding.title, finding.assumes, finding.measure]
    sentences.append(text_of(report_html(release)))
    for sentence in sentences:
        assert not ABOUT_PEOPLE.search(sentence), ABOUT_PEOPLE.search(sentence)
    assert certificate.unit.statement in html.unescape(report_html(release))


@pytest.mark.parametrize("guarantee", [KAnonymity(5), BetaLikeness(3)])
def test_a_release_of_households_never_says_person(hospital: pa.Table, guarantee) -> None:
    schema = schema_of(identifying=["patient"], unit="household")
    release = mottle.anonymize(hospital, schema, guarantee, effort=0, seed=1)
    certificate = release.certificate
    assert certificate.risk.counts == "household"
    sentences = [certificate.guarantee.statement, certificate.unit.statement, *certificate.notes]
    sentences += [limit.statement for limit in certificate.limits]
    for finding in certificate.audit.findings:
        sentences += [finding.title, finding.assumes, finding.measure]
    audited = release.audit(hospital, adversaries=["linkage", "assignments"])
    assert audited.subject == "households"
    for finding in audited.findings:
        sentences += [finding.title, finding.assumes, finding.measure]
    page = text_of(report_html(release))
    for sentence in [*sentences, page]:
        found = re.search(r"\b(person|people|persons)\b", sentence, re.IGNORECASE)
        assert not found, sentence[max(found.start() - 80, 0) : found.end() + 40]
    assert "may belong to any one household" in page
    assert "households that no other equals" in page


def test_a_release_of_people_says_so(hospital: pa.Table) -> None:
    release = mottle.anonymize(hospital, schema_of(person="patient"), KAnonymity(5), effort=0)
    page = text_of(report_html(release))
    assert "column 'patient' says whose row it is. 200 people" in page
    assert "patient, which says whose row it is" in page
    assert "People are counted, not rows" in page
    assert "no more are one person's than promised" in page
    assert "can be recognized as one person's" in page


def test_old_certificates_say_nothing_about_the_unit(hospital: pa.Table) -> None:
    release = mottle.anonymize(hospital, schema_of(person="patient"), KAnonymity(5), effort=0)
    content = release.certificate.to_dict()
    del content["unit"]
    old = mottle.Certificate.from_dict(content)
    assert old.unit is None
    assert not old.of_rows
    assert "What one row is" not in report_html(release, old)


# ----------------------------------------------------------------------------------- people


def test_methods_that_count_rows_are_refused(hospital: pa.Table) -> None:
    with pytest.raises(UsageError, match="Methods that count people: auto, freeform, nh"):
        mottle.anonymize(hospital, schema_of(person="patient"), KAnonymity(5), method="hilbert")
    once = hospital.take(np.unique(hospital["patient"].to_numpy(), return_index=True)[1])
    release = mottle.anonymize(once, schema_of(person="patient"), KAnonymity(5), method="hilbert")
    assert release.certificate.unit.most_rows == 1


def test_numbers_of_people_are_the_same_wherever_they_occur() -> None:
    texts = pa.chunked_array([["x", "y"], ["y", "z", "x"]])
    keys = person_keys(texts)
    assert keys.tolist() == [*person_keys(texts.slice(0, 2)), *person_keys(texts.slice(2))]
    assert len(set(keys.tolist())) == 3
    assert person_keys(pa.chunked_array([[7, 7, -8]])).tolist() == [7, 7, -8]


def test_recognizable_rows_are_counted_and_warned_of(caplog) -> None:
    rows = 120
    who = [row // 3 for row in range(rows)]
    table = pa.table({"who": who, "age": [row % 40 for row in range(rows)], "device": who})
    assert recognizable(table, ["device"], People.of(table, "who")) == rows
    schema = Schema.of(quasi_identifying=["age"], insensitive=["device"], person="who")
    with caplog.at_level(logging.WARNING, "mottle"):
        mottle.anonymize(table, schema, KAnonymity(4), effort=0)
    assert "120 rows have the same unchanged values of column 'device'" in caplog.text


# ------------------------------------------------------------------------- one row per person


def test_one_row_per_person_is_released_and_audited(constant: pa.Table) -> None:
    schema = schema_of(person="patient", per_person="aggregate")
    release = mottle.anonymize(constant, schema, KAnonymity(5), effort=0, seed=1)
    unit = release.certificate.unit
    assert (release.num_rows, unit.people, unit.original_rows) == (200, 200, constant.num_rows)
    assert unit.per_person == "aggregate"
    assert {"age_min", "age_max"} <= set(release.table.column_names)
    report = release.audit(constant)
    assert report.passed, report.failed


def test_values_that_vary_are_refused(hospital: pa.Table, constant: pa.Table) -> None:
    schema = schema_of(person="patient", per_person="aggregate")
    with pytest.raises(UsageError, match="is published as it is and differs between rows"):
        mottle.anonymize(hospital, schema, LDiversity(2))
    release = mottle.anonymize(constant, schema, LDiversity(2), effort=0, seed=2)
    assert release.num_rows == 200
    assert release.certificate.unit.per_person == "aggregate"
    assert release.audit(constant, adversaries=["sensitive", "linkage"]).passed


@pytest.mark.parametrize(
    "given",
    [
        {"person": "patient"},
        {"identifying": ["patient"], "unit": "row"},
        {"person": "patient", "per_person": "aggregate"},
    ],
)
def test_the_schema_in_the_report_repeats_the_release(constant: pa.Table, given) -> None:
    schema = schema_of(**given)
    release = mottle.anonymize(constant, schema, KAnonymity(5), effort=0, seed=1, method="nh")
    again = mottle.anonymize(
        constant, reproduced(release), KAnonymity(5), effort=0, seed=1, method="nh"
    )
    assert again.table.equals(release.table)
    assert again.certificate.unit == release.certificate.unit
