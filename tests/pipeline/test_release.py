"""The public release: the owner's links stay with the owner; files back it where it is large."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Release, Schema, SetRelease, UsageError
from mottle.pipeline.progress import Progress
from mottle.release.rows import RowsElsewhere, StoredRows

SCHEMA = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])


@pytest.fixture(scope="module")
def release() -> Release:
    people = mottle.datasets.population(150, seed=2).select(["age", "sex", "diagnosis"])
    return mottle.anonymize(people, SCHEMA, KAnonymity(3), seed=1)


@pytest.fixture(scope="module")
def sets() -> SetRelease:
    baskets = [{"tea", "milk"}, {"tea"}, {"rum"}, {"milk"}, {"rum", "tea"}, set()]
    return mottle.anonymize_sets(baskets, KAnonymity(2), seed=1)


def test_pickles_and_copies_do_not_carry_the_links(release: Release, sets: SetRelease) -> None:
    for found in (release, sets):
        assert found.links is not None
        for made in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
            assert made.links is None
            assert made.table.equals(found.table)
            assert made.certificate == found.certificate
            assert type(made) is type(found)
    assert b"position_of_row" not in pickle.dumps(release)


def test_links_are_not_printed(release: Release) -> None:
    assert "links" not in repr(release).lower()
    assert repr(release).startswith("Release(150 rows, k-anonymity, gcp=")


def test_a_pickled_release_is_asked_as_the_release(release: Release) -> None:
    asked = release.count({"age": (20, 40)})
    assert pickle.loads(pickle.dumps(release)).count({"age": (20, 40)}) == asked


def test_the_audit_of_a_release_uses_its_links(release: Release) -> None:
    people = mottle.datasets.population(150, seed=2).select(["age", "sex", "diagnosis"])
    report = release.audit(people, adversaries=["links"])
    assert report.passed
    assert all("not_played" not in finding.details for finding in report.findings)


def test_a_release_is_prepared_for_questions_once(release: Release) -> None:
    assert release.queries("uniform") is release.queries("uniform")
    assert release.queries("uniform") is not release.queries()


def test_a_release_backed_by_a_file_is_used_as_one_in_memory(
    release: Release, tmp_path: Path
) -> None:
    release.save(tmp_path / "out")
    stored = Release(StoredRows(tmp_path / "out" / "release.parquet"), release.columns)
    assert stored.num_rows == release.num_rows
    assert stored.table.equals(release.table)
    assert stored.to_text().equals(release.to_text())
    again = Release(stored.stored, release.columns, release.certificate)
    again.save(tmp_path / "again", report=False)
    assert pq.read_table(tmp_path / "again" / "release.parquet").equals(release.table)
    first, second = (tmp_path / name / "release.csv" for name in ("out", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_rows_that_lie_elsewhere_are_named_when_they_are_asked_for(release: Release) -> None:
    rows = RowsElsewhere("a database", release.table.schema, release.num_rows)
    with pytest.raises(UsageError, match="are in a database"):
        _ = Release(rows, release.columns, release.certificate).table


def test_the_end_is_announced_after_the_audit() -> None:
    people = mottle.datasets.population(60, seed=2).select(["age", "sex", "diagnosis"])
    stages: list[Progress] = []
    mottle.anonymize(people, SCHEMA, LDiversity(2), seed=1, audit="full", progress=stages.append)
    assert [progress.stage for progress in stages][-2:] == ["audit", "done"]
