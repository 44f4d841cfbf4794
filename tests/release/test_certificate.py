"""The certificate is one typed model, has a schema, and older files are still read."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import jsonschema
import pytest
from certificates import certificate
from pydantic import ValidationError

import mottle
from mottle import BetaLikeness, Certificate, DataError, KAnonymity, LDiversity, Release, Schema
from mottle.release.certificate import FORMAT, ReleaseKind, certificate_schema


def people(rows: int = 120) -> tuple[object, Schema]:
    table = mottle.datasets.population(rows, seed=3).select(["age", "sex", "diagnosis"])
    return table, Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])


def of_table() -> Certificate:
    return mottle.anonymize(*people(), KAnonymity(3), seed=1).certificate


def of_values() -> Certificate:
    return mottle.anonymize(*people(), KAnonymity(2) & BetaLikeness(4), seed=1).certificate


def of_two_tables() -> Certificate:
    return mottle.anonymize(*people(), LDiversity(2), method="anatomy", seed=1).certificate


def with_full_audit() -> Certificate:
    return mottle.anonymize(*people(), KAnonymity(3), seed=1, audit="full").certificate


def of_sets() -> Certificate:
    baskets = [{"tea", "milk"}, {"tea"}, {"rum"}, {"milk"}, {"rum", "tea"}, set()]
    return mottle.anonymize_sets(baskets, KAnonymity(2), seed=1).certificate


ALL = [of_table, of_values, of_two_tables, with_full_audit, of_sets]


def test_the_schema_that_ships_is_that_of_the_model() -> None:
    shipped = certificate_schema()
    assert {key: value for key, value in shipped.items() if key != "$schema"} == (
        Certificate.model_json_schema()
    )


@pytest.mark.parametrize("make", ALL)
def test_every_kind_of_certificate_fits_the_schema(make) -> None:
    content = json.loads(make().to_json())
    jsonschema.Draft202012Validator.check_schema(certificate_schema())
    jsonschema.Draft202012Validator(certificate_schema()).validate(content)


@pytest.mark.parametrize("make", ALL)
def test_a_certificate_is_read_back_as_it_was_written(make) -> None:
    written = make()
    assert Certificate.from_json(written.to_json()) == written
    assert Certificate.from_json(written.to_json()).to_json() == written.to_json()


def test_the_certificate_says_what_kind_of_release_it_is_and_on_which_day_it_was_made() -> None:
    kinds = [make().kind for make in (of_table, of_two_tables, of_sets)]
    assert kinds == [ReleaseKind.TABLE, ReleaseKind.TWO_TABLES, ReleaseKind.SETS]
    assert abs(of_table().date - dt.date.today()) <= dt.timedelta(days=1)
    assert of_table().format == FORMAT


def test_a_certificate_cannot_be_changed() -> None:
    found = of_table()
    with pytest.raises(ValidationError, match="frozen"):
        found.rows = 3
    assert found.with_changes(rows=3).rows == 3
    assert found.rows == 120


def old(content: dict[str, object]) -> dict[str, object]:
    """As it was written before certificates had a format."""
    return {key: entry for key, entry in content.items() if key not in ("format", "kind", "date")}


@pytest.mark.parametrize("make", [of_table, of_two_tables, of_sets])
def test_certificates_of_the_first_format_are_read(make) -> None:
    now = make()
    before = Certificate.from_dict(old(now.to_dict()))
    assert before.kind is now.kind
    assert before.date is None
    assert before.degree == now.degree
    assert before.guarantee == now.guarantee


def test_a_folder_of_the_first_format_is_read_and_asked(tmp_path: Path) -> None:
    release = mottle.anonymize(*people(), KAnonymity(3), seed=1)
    release.save(tmp_path / "out")
    file = tmp_path / "out" / "certificate.json"
    file.write_text(json.dumps(old(json.loads(file.read_text()))))
    again = mottle.read_release(tmp_path / "out")
    assert again.table.equals(release.table)
    assert again.count({"age": (20, 40)}) == release.count({"age": (20, 40)})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "is not a certificate"),
        ("{}", "'mottle' is missing"),
        ('{"format": 3}', "has format 3"),
        ("{", "is not valid JSON"),
    ],
)
def test_what_is_not_a_certificate_is_refused_with_the_reason(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Certificate.from_json(content, "certificate.json")


def test_an_entry_of_another_type_is_named_and_its_value_is_not() -> None:
    content = certificate(rows=4).to_dict() | {"rows": "a secret"}
    with pytest.raises(DataError, match="'rows'") as caught:
        Certificate.from_dict(content)
    assert "secret" not in str(caught.value)


def test_a_release_without_a_certificate_says_so() -> None:
    release = mottle.anonymize(*people(), KAnonymity(3), seed=1)
    with pytest.raises(DataError, match="has no certificate"):
        _ = Release(release.table, release.columns).certificate
