"""A link file is continued once; a second, other release that continues it is refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, Release, Schema, UsageError
from mottle.io.successor import check_not_continued

SCHEMA = Schema.of(quasi_identifying=["age", "sex"], identifying=["person_id"], rest="insensitive")
KEY = bytes(range(32))


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return mottle.datasets.population(120, seed=4).select(["person_id", "age", "sex", "income"])


@pytest.fixture
def links(people: pa.Table, tmp_path: Path) -> Path:
    first = release_of(people.slice(0, 80), same="person_id")
    first.save(tmp_path / "one", private=tmp_path / "links", report=False)
    return tmp_path / "links"


def release_of(table: pa.Table, **options: object) -> Release:
    return mottle.anonymize(table, SCHEMA, KAnonymity(4), method="nh", **{"key": KEY, **options})


def test_a_second_other_release_is_refused(people: pa.Table, links: Path, tmp_path: Path) -> None:
    check_not_continued(links)
    release_of(people, previous=links).save(tmp_path / "two", report=False)
    mark = tmp_path / "links.next"
    assert stat.S_IMODE(mark.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="was continued by another release before"):
        check_not_continued(links)
    fork = release_of(people.slice(0, 110), previous=links)
    for other in (fork, release_of(people, previous=links, key=None)):
        with pytest.raises(UsageError, match="was continued by another release") as refused:
            other.save(tmp_path / "fork", report=False)
        assert "--another-draw" in refused.value.remedy
        assert not (tmp_path / "fork").exists()
    fork.save(tmp_path / "fork", another_draw=True, report=False)


def test_the_same_release_again_is_no_other_one(
    people: pa.Table, links: Path, tmp_path: Path
) -> None:
    for folder in ("two", "again"):
        release_of(people, previous=links).save(tmp_path / folder, report=False)


def test_a_release_that_is_not_to_be_published_leaves_no_mark(
    people: pa.Table, links: Path, tmp_path: Path
) -> None:
    release_of(people, previous=links, key=None, seed=1).save(tmp_path / "two", report=False)
    check_not_continued(links)


def test_a_release_that_could_not_be_written_leaves_no_mark(
    people: pa.Table, links: Path, tmp_path: Path
) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "release.csv").touch()
    with pytest.raises(mottle.StorageError):
        release_of(people, previous=links).save(tmp_path / "two", report=False)
    check_not_continued(links)


def test_a_mark_that_is_something_else_counts(
    people: pa.Table, links: Path, tmp_path: Path
) -> None:
    (tmp_path / "links.next").write_bytes(b"\xff\xff")
    with pytest.raises(UsageError, match="was continued"):
        release_of(people, previous=links).save(tmp_path / "two", report=False)


def test_a_release_continued_in_memory_marks_no_earlier_file(
    people: pa.Table, links: Path, tmp_path: Path
) -> None:
    second = release_of(people.slice(0, 100), previous=links)
    release_of(people, previous=second).save(tmp_path / "three", report=False)
    check_not_continued(links)
