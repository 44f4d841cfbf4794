"""Databases on the command line: what users type, what they see, and what nobody sees."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest
from adbc_driver_postgresql import dbapi
from postgresql_server import Server, rows, run
from typer.testing import CliRunner, Result

import mottle
from mottle.cli.app import app

COLUMNS = ("--qi", "age,sex", "--sensitive", "diagnosis", "--rest", "insensitive")


def mottle_command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(result: Result) -> str:
    return re.sub(r"\s+", " ", result.output)


@pytest.fixture
def clinic(postgresql: str) -> str:
    """A PostgreSQL database with people in it."""
    people = mottle.datasets.population(300, seed=1).select(["age", "sex", "income", "diagnosis"])
    with dbapi.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", people)
        connection.commit()
    return postgresql


def test_between_files_of_databases(tmp_path: Path) -> None:
    people = mottle.datasets.population(300, seed=1)  # noqa: F841 - DuckDB reads it by its name
    with duckdb.connect(str(tmp_path / "people.duckdb")) as database:
        database.execute("CREATE TABLE people AS SELECT age, sex, diagnosis FROM people")
    command = (
        "anonymize",
        tmp_path / "people.duckdb",
        "--table",
        "people",
        *COLUMNS,
        "--k",
        "5",
        "--to",
        tmp_path / "open.sqlite",
        "--to-table",
        "people",
    )
    done = mottle_command(*command)
    assert done.exit_code == 0, done.output
    shown = mottle.read_database(tmp_path / "open.sqlite", table="people_readable")
    assert shown.num_rows == 300
    again = mottle_command(*command)
    assert again.exit_code == 5
    assert "already has people" in said(again)
    for key in ((), ("--key", tmp_path / "key")):
        refused = mottle_command(*command, "--overwrite", *key)
        assert refused.exit_code == 2
        assert "--another-draw" in said(refused)
    assert mottle_command(*command, "--overwrite", "--another-draw").exit_code == 0


@pytest.mark.parametrize(
    ("options", "exit_code", "words"),
    [
        (("-o", "out", "--to", "x.db", "--to-table", "t"), 2, "either a folder"),
        ((), 2, "exactly one destination"),
        (("--to", "x.db"), 2, "--to and --to-table must be given together"),
        (("--to", "redis://ada:s3cret@db/x", "--to-table", "t"), 2, "redis://"),
        (("--to", "x.csv", "--to-table", "t"), 2, "not a database"),
        (("-o", "out", "--table", "people"), 2, "--table is for databases"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, monkeypatch, options, exit_code, words) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,sex,diagnosis\n" + "30,f,flu\n" * 20)
    result = mottle_command("anonymize", "people.csv", *COLUMNS, "--k", "2", *options)
    assert result.exit_code == exit_code, result.output
    assert words in said(result)
    assert "s3cret" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_no_output_repeats_a_password(postgresql_server: Server, tmp_path: Path) -> None:
    server = postgresql_server
    wrong = server.url(password="s3cret-but-wrong@")
    (tmp_path / "people.csv").write_text("age,sex,diagnosis\n" + "30,f,flu\n" * 20)
    known = (*COLUMNS, "--k", "2")
    attempts: list[tuple[object, ...]] = [
        ("anonymize", wrong, "--table", "people", *known, "-o", tmp_path / "out"),
        ("anonymize", tmp_path / "people.csv", *known, "--to", wrong, "--to-table", "t"),
        (
            "anonymize",
            server.url().replace("127.0.0.1", "nowhere.invalid"),
            "--table",
            "t",
            *known,
            "-o",
            tmp_path / "out",
        ),
        ("anonymize", server.url(), "--query", "SELEC", *known, "-o", tmp_path / "out"),
        ("anonymize", server.url(), *known, "-o", tmp_path / "out"),
        ("anonymize", tmp_path / "people.csv", server.url(), *known, "-o", tmp_path / "out"),
        ("inspect", wrong, "--table", "t", "-o", tmp_path / "mottle.toml"),
        ("audit", wrong, tmp_path / "out", "--table", "t"),
        ("audit", tmp_path / "people.csv", server.url()),
        (server.url(),),
        ("anonymize", tmp_path / "people.csv", *known, "-o", server.url()),
        ("anonymize", tmp_path / "people.csv", *known, "-o", "out", "--schema", server.url()),
        ("anonymize", "postgresql://ada:s3cret@x@db/y", "--table", "t", *known, "-o", "out"),
    ]
    for attempt in attempts:
        result = mottle_command(*attempt)  # type: ignore[arg-type]
        assert result.exit_code in (2, 5), result.output
        assert "s3cret" not in result.output, attempt
        assert "Traceback" not in result.output


def test_a_connection_killed_in_the_middle_of_writing_ends_with_5(clinic: str) -> None:
    killed = threading.Event()

    def kill() -> None:
        while not killed.is_set():
            waiting = rows(
                clinic,
                "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND datname = current_database()",
            )
            for (pid,) in waiting:
                run(clinic, f"SELECT pg_terminate_backend({pid})")
                killed.set()
            time.sleep(0.01)

    with dbapi.connect(clinic) as other, other.cursor() as cursor:
        cursor.execute("CREATE TABLE open_certificate(taken int)")  # the command waits for it
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            result = mottle_command(
                "anonymize",
                clinic,
                "--table",
                "people",
                *COLUMNS,
                "--k",
                "5",
                "--to",
                clinic,
                "--to-table",
                "open",
            )
        finally:
            killed.set()
            killer.join()
        other.rollback()
    assert result.exit_code == 5, result.output
    assert "was lost. Nothing was written" in said(result)
    assert rows(clinic, "SELECT relname FROM pg_class WHERE relname LIKE 'open%'") == []


def test_missing_drivers_are_named_with_the_way_to_get_them(tmp_path: Path) -> None:
    without = (
        "import sys; sys.modules['adbc_driver_postgresql'] = None;"
        " sys.modules['adbc_driver_sqlite'] = None;"
        " sys.argv = ['mottle', 'inspect', sys.argv[1], '--table', 't'];"
        " import mottle.cli.app; mottle.cli.app.main()"
    )
    (tmp_path / "x.db").write_bytes(b"")
    for source in ("postgresql://ada:s3cret@db/x", str(tmp_path / "x.db")):
        done = subprocess.run(
            [sys.executable, "-c", without, source], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stderr
        assert "pip install 'mottle[db]'" in done.stderr
        assert "s3cret" not in done.stderr
