"""Adversaries who know which rows belong together: planted faults are caught, sound ones pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, Schema
from mottle.schema.model import Role

K = 5


@pytest.fixture(scope="module")
def hospital() -> pa.Table:
    names = ["patient", "age", "sex", "region", "ward", "days"]
    return mottle.datasets.visits(400, seed=4).select(names)


def schema_of(**given) -> Schema:
    return Schema.of(quasi_identifying=["age", "sex", "region"], rest="insensitive", **given)


COUNTING_PEOPLE = schema_of(person="patient")
COUNTING_ROWS = schema_of(identifying=["patient"], unit="row")


def audit(table: pa.Table, release, name: str, schema: Schema | None = None):
    return mottle.audit_release(table, release, schema=schema, adversaries=[name])


@pytest.mark.parametrize("method", ["nh", "freeform"])
def test_a_release_that_counts_rows_is_caught(hospital: pa.Table, method: str) -> None:
    release = mottle.anonymize(
        hospital, COUNTING_ROWS, KAnonymity(K), method=method, effort=0, seed=1
    )
    report = audit(hospital, release, "people", COUNTING_PEOPLE)
    fewest, share, right = report.findings
    assert fewest.passed is False
    assert fewest.achieved < K
    assert fewest.details["records_with_too_few"] > 0.2
    assert share.passed is False
    assert share.achieved == 1.0
    assert right.passed is False
    assert right.achieved > 2 / K
    assert not audit(hospital, release, "people").findings  # the certificate is about rows


@pytest.mark.parametrize("method", ["nh", "freeform"])
def test_a_release_that_counts_people_passes(hospital: pa.Table, method: str, tmp_path) -> None:
    release = mottle.anonymize(
        hospital, COUNTING_PEOPLE, KAnonymity(K), method=method, effort=0, seed=1
    )
    fewest, share, right = audit(hospital, release, "people").findings
    assert fewest.passed
    assert fewest.details["records_of_one_person"] == 0
    assert share.passed
    assert share.achieved == pytest.approx(1 / K)
    assert right.passed
    assert right.achieved == pytest.approx(1 / K, abs=0.06)
    release.save(tmp_path / "out", private=tmp_path / "links.parquet", report=False)
    without = audit(hospital, tmp_path / "out", "people").findings
    assert [finding.passed for finding in without] == [True, None]
    again = mottle.audit_release(
        hospital,
        tmp_path / "out",
        private=tmp_path / "links.parquet",
        adversaries=["people"],
    )
    assert again.findings[1].achieved == pytest.approx(1 / K)


def test_the_people_behind_a_record_are_counted_exactly(hospital: pa.Table) -> None:
    table = hospital.slice(0, 300)
    release = mottle.anonymize(table, COUNTING_PEOPLE, KAnonymity(3), method="nh", effort=0, seed=1)
    found = audit(table, release, "people").findings[0]
    people = table.column("patient").to_pylist()
    rows = table.select(["age", "sex", "region"]).to_pylist()
    counts = []
    for record in release.table.to_pylist():
        age, sex, region = record["age"], record["sex"], record["region"]
        inside = {
            who
            for who, row in zip(people, rows, strict=True)
            if age["lo"] <= row["age"] <= age["hi"]
            and row["sex"] in sex
            and row["region"] in region
        }
        counts.append(len(inside))
    assert found.achieved == min(counts)


def test_nothing_is_played_without_a_column(hospital: pa.Table) -> None:
    table = hospital.drop_columns(["patient"])
    release = mottle.anonymize(table, schema_of(), KAnonymity(K), method="nh", effort=0, seed=1)
    for name in ("people", "same_person"):
        (finding,) = audit(table, release, name).findings
        assert "does_not_apply" in finding.details


# -------------------------------------------------------------------------- recognized people


def with_device(table: pa.Table, own: bool) -> pa.Table:
    """A column that is the same in all rows of a patient, and only there, or says nothing."""
    numbers = np.unique(table.column("patient").to_numpy(), return_inverse=True)[1]
    if not own:
        numbers = np.random.default_rng(1).permutation(numbers)
    return table.append_column("device", pa.array(numbers))


def test_rows_with_the_number_of_a_device_are_recognized(hospital: pa.Table) -> None:
    table = with_device(hospital, own=True)
    release = mottle.anonymize(table, COUNTING_PEOPLE, KAnonymity(K), effort=0, seed=1)
    assert audit(table, release, "people").passed  # every record by itself is safe
    report = audit(table, release, "same_person")
    (finding,) = report.findings
    assert finding.passed is False
    assert finding.achieved > 0.6
    assert any("same 'device' are often one person's" in note for note in report.notes)


def test_pseudonyms_of_people_with_several_rows_are_caught(hospital: pa.Table) -> None:
    """A victim planted by hand: the run itself refuses such a release."""
    table = with_device(hospital, own=True)
    release = mottle.anonymize(table, COUNTING_PEOPLE, KAnonymity(K), effort=0, seed=1)
    columns = tuple(
        replace(column, role=Role.PSEUDONYM) if column.name == "device" else column
        for column in release.columns
    )
    finding = audit(table, replace(release, columns=columns), "same_person").findings[0]
    assert "by pseudonym column" in finding.measure
    assert finding.passed is False
    assert finding.achieved > 0.6


def test_rows_that_share_nothing_of_their_own_are_not(hospital: pa.Table) -> None:
    table = with_device(hospital, own=False)
    release = mottle.anonymize(table, COUNTING_PEOPLE, KAnonymity(K), effort=0, seed=1)
    (finding,) = audit(table, release, "same_person").findings
    assert finding.passed is not False
