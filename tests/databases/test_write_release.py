"""Writing a release: the tables, the view, the certificate and the owner's links."""

from __future__ import annotations

import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from live_database import LiveDatabase
from small_releases import between, check_readable, generalized, release_of

import mottle
from mottle import Kind, Release, Schema, StorageError


def test_a_real_release_with_all_kinds(database: LiveDatabase, release: Release) -> None:
    mottle.write_database(release, database.url, "open")
    check_readable(database.url, release)
    assert database.tables() == ["open", "open_certificate", "open_readable"]


def test_private_links_stay_a_local_file(url: str, release: Release, tmp_path: Path) -> None:
    link = tmp_path / "private" / "links.parquet"
    mottle.write_database(release, url, "open", private=link)
    assert pq.read_table(link).column_names == ["published", "original", "true"]
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    with pytest.raises(StorageError, match=r"links\.parquet"):
        mottle.write_database(release, url, "other", private=link)


def test_sensitive_values_published_separately_get_their_own_table(url: str) -> None:
    people = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, mottle.LDiversity(2), method="anatomy", seed=1)
    assert "open_sensitive" in mottle.write_database(release, url, "open")
    separate = mottle.read_database(url, query="SELECT * FROM open_sensitive")
    assert release.sensitive is not None
    assert separate.to_pylist() == release.sensitive.to_pylist()
    mottle.write_database(release, url, "open", overwrite=True)


def test_many_batches_keep_the_order_of_the_release(url: str) -> None:
    rows = 70_000
    release = release_of(
        [
            (
                generalized("age", Kind.NUMBER, "range", pa.int64()),
                [between(row, row + 1) for row in range(rows)],
            ),
            (
                generalized("sex", Kind.CATEGORY, "set", pa.string()),
                [["f", "m"] if row % 3 else ["f"] for row in range(rows)],
            ),
        ]
    )
    mottle.write_database(release, url, "open")
    shown = mottle.read_database(url, query="SELECT * FROM open_readable")
    assert shown.column("age").to_pylist() == [f"{row}..{row + 1}" for row in range(rows)]
    assert shown.column("sex").to_pylist()[:3] == ["f", "{f|m}", "{f|m}"]


@pytest.mark.parametrize("database", ["postgresql", "duckdb"], indirect=True)
def test_lists_from_a_database_are_a_column_of_sets(url: str) -> None:
    people = mottle.datasets.population(40, seed=1).select(["age"])
    schema = Schema.of(quasi_identifying=["age", "diagnoses"])
    patients = mottle.datasets.with_diagnoses(
        people.append_column("sex", pa.array(["male"] * 40))
    ).drop(["sex"])
    release = mottle.anonymize(patients, schema, mottle.KAnonymity(2), seed=1)
    mottle.write_database(release, url, "open")
    base = "diagnoses.base" if url.startswith("duckdb") else "diagnoses_base"
    read = mottle.read_database(url, query=f"SELECT {base} AS ill FROM open")
    again = mottle.anonymize(
        read, Schema.of(quasi_identifying=["ill"]), mottle.KAnonymity(2), seed=1
    )
    assert again.columns[0].kind is Kind.SET
