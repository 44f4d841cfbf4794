"""The command line with every database: inspect, anonymize into tables, audit, and its errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import mottle_command, refused, said
from live_database import LiveDatabase

import mottle
from mottle.io.databases import parse
from mottle.io.databases.base import DATABASES

COLUMNS = ("--qi", "age,sex", "--sensitive", "diagnosis", "--rest", "insensitive")
ADULTS = "SELECT age, sex, diagnosis FROM people WHERE age > 20"


@pytest.fixture
def clinic(database: LiveDatabase) -> LiveDatabase:
    """A database with people in it."""
    people = mottle.datasets.population(300, seed=1).select(["age", "sex", "income", "diagnosis"])
    database.load("people", people)
    return database


def test_from_a_table_to_tables_and_an_audit(clinic: LiveDatabase, tmp_path: Path) -> None:
    url, schema, link = clinic.url, tmp_path / "mottle.toml", tmp_path / "links.parquet"
    looked = mottle_command("inspect", url, "--table", "people", "-o", schema)
    assert looked.exit_code == 0, looked.output
    assert "people: 300 rows" in said(looked)
    assert f"anonymize {parse(url).shown}" in said(looked).replace(" \\ ", "")
    to = ("--to", url, "--to-table", "released", "--private", link)
    done = mottle_command("anonymize", url, "--table", "people", *COLUMNS, "--k", "5", *to)
    assert done.exit_code == 0, done.output
    assert "released, released_readable, released_certificate" in said(done)
    assert link.exists()
    text = "certificate" if clinic.name == "mariadb" else "CAST(certificate AS text)"
    ((stored,),) = clinic.rows(f"SELECT {text} FROM released_certificate")
    assert json.loads(stored)["rows"] == 300
    out = tmp_path / "out"
    query = ("--query", f"{ADULTS};")
    saved = mottle_command("anonymize", url, *query, *COLUMNS, "--k", "5", "-o", out, "--json")
    assert saved.exit_code == 0, saved.output
    audited = mottle_command("audit", url, out, "--query", ADULTS)
    assert audited.exit_code == 0, audited.output
    printed = [looked.output, done.output, saved.output, audited.output, stored]
    for text in (*printed, (out / "certificate.json").read_text(), schema.read_text()):
        assert "s3cret" not in text


def test_an_existing_release_is_kept_unless_overwrite_is_given(clinic: LiveDatabase) -> None:
    to = ("--to", clinic.url, "--to-table", "released")
    command = ("anonymize", clinic.url, "--table", "people", *COLUMNS, "--k", "5", *to)
    assert mottle_command(*command).exit_code == 0
    refused(mottle_command(*command), 5, "already has released")
    refused(mottle_command(*command, "--overwrite"), 2, "--another-draw")
    assert mottle_command(*command, "--overwrite", "--another-draw").exit_code == 0
    shown = mottle.read_database(clinic.url, table="released_readable")
    assert shown.num_rows == 300


def test_a_name_that_is_taken_is_reported_before_the_work_begins(
    clinic: LiveDatabase, tmp_path: Path
) -> None:
    to = ("--to", clinic.url, "--to-table", "people")
    options = (*COLUMNS, "--k", "5", "--private", tmp_path / "links.parquet", *to)
    result = mottle_command("anonymize", clinic.url, "--table", "people", *options)
    refused(result, 5, "already has people")
    refused(
        mottle_command("anonymize", clinic.url, "--table", "people", *options, "--overwrite"),
        5,
        "not a release",
    )
    assert clinic.rows("SELECT count(*) FROM people") == [(300,)]
    assert not (tmp_path / "links.parquet").exists()


def test_mistakes_in_the_source_are_usage_errors(clinic: LiveDatabase, tmp_path: Path) -> None:
    run = ("anonymize", clinic.url, *COLUMNS, "--k", "5", "-o", tmp_path / "out")
    refused(mottle_command(*run), 2, "--table or --query", "Its tables: people")
    refused(mottle_command(*run, "--table", "peple"), 2, "Did you mean 'people'")
    refused(mottle_command(*run, "--query", "SELEC 1"), 2, "syntax")
    refused(mottle_command(*run, "--table", "people", "--encoding", "utf-8"), 2, "--encoding")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("database", "source"),
    [("postgresql", "postgresql://ada:s3cret@db/x"), ("sqlite", "x.db"), ("duckdb", "x.duckdb")]
    + [(name, f"{name}://ada:s3cret@db/x") for name in ("mariadb", "oracle", "sqlserver")],
)
def test_a_missing_driver_is_named_with_the_way_to_get_it(
    tmp_path: Path, database: str, source: str
) -> None:
    driver = DATABASES[database].driver
    top = driver.module.split(".")[0]
    script = (
        f"import sys; sys.modules[{top!r}] = None;"
        " from mottle import UsageError; from mottle.io.databases import database_batches\n"
        "try:\n    database_batches(sys.argv[1], table='t')\n"
        "except UsageError as error:\n    print(error)"
    )
    for name in ("x.db", "x.duckdb"):
        (tmp_path / name).write_bytes(b"")
    done = subprocess.run(
        [sys.executable, "-c", script, source],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"The package {driver.package} is not installed" in done.stdout, done.stderr
    wanted = f"mottle[{driver.extra}]" if driver.extra else driver.package
    assert f"pip install '{wanted}'" in done.stdout
    assert "s3cret" not in done.stdout
