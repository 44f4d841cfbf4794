"""What is written beside a release that is made in chunks: reports, links, tables of a database."""

from __future__ import annotations

import json
import logging
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dying_process import Dying, dying_at
from typer.testing import CliRunner

import mottle
from mottle import Caps, KAnonymity, Schema, StorageError, UsageError
from mottle.audit.links.edges import read_edges
from mottle.cli.app import app
from mottle.guarantees.base import Guarantee
from mottle.io.databases import DatabaseTable
from mottle.pipeline import streaming
from mottle.pipeline.destination import Destination
from mottle.report import InternalReport, Owner, report_html
from mottle.report import table_body as report_tables

pytestmark = pytest.mark.usefixtures("own_work")

ROWS = 1500
QI = ["age", "sex", "education"]
SCHEMA = Schema.of(
    quasi_identifying=QI, identifying=["person_id"], sensitive=["diagnosis"], rest="insensitive"
)
CAPS = Caps({"none": 0.8}, default=0.4)
RUN = {"chunk_rows": 600, "effort": 0}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return mottle.datasets.population(ROWS, seed=4).select(
        ["person_id", *QI, "income", "diagnosis"]
    )


@pytest.fixture(scope="module")
def people(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.parquet"
    pq.write_table(table, path, row_group_size=400)
    return path


def hidden(folder: Path) -> list[Path]:
    return [*folder.rglob(".mottle-*"), *(folder / "work").glob("mottle-work-*/run-*")]


# ---------------------------------------------------------------------------------------- reports


def test_the_report_is_the_one_that_a_release_in_memory_would_have(
    people: Path, tmp_path: Path
) -> None:
    streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "out", **RUN)
    written = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert written == report_html(mottle.read_release(tmp_path / "out"))
    assert "processed in 3 chunks (streaming)" in written
    assert "--memory 4GB" in written


def test_no_report_when_none_is_wanted_and_an_old_one_goes(people: Path, tmp_path: Path) -> None:
    streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "out", **RUN)
    streaming.anonymize(
        people,
        SCHEMA,
        KAnonymity(6),
        tmp_path / "out",
        report=False,
        overwrite=True,
        another_draw=True,
        **RUN,
    )
    assert not (tmp_path / "out" / "report.html").exists()


def test_internal_report_shows_people_beside_their_own_records(
    people: Path, table: pa.Table, tmp_path: Path
) -> None:
    internal = InternalReport(tmp_path / "mine.html", Owner(None, "mottle …", "p"), examples=True)
    streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "out", internal=internal, **RUN)
    page = internal.path.read_text(encoding="utf-8")
    assert stat.S_IMODE(internal.path.stat().st_mode) == 0o600
    assert 'class="before"' in page
    assert "Ten people before and after" in page
    incomes = mottle.read_release(tmp_path / "out").table.column("income").slice(0, 10)
    for income in incomes.drop_null().to_pylist():
        assert page.count(f">{income}<") >= 2, "once before and once after"
    assert not hidden(tmp_path)


@pytest.mark.parametrize("flavour", ["publishable", "internal"])
def test_a_defect_in_a_report_does_not_cost_the_release(
    people: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    flavour: str,
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret value 42")

    monkeypatch.setattr(report_tables, "describe_columns", broken)
    internal = InternalReport(tmp_path / "i.html", Owner(None)) if flavour == "internal" else None
    with caplog.at_level(logging.WARNING):
        streaming.anonymize(
            people,
            SCHEMA,
            KAnonymity(5),
            tmp_path / "out",
            internal=internal,
            report=internal is None,
            **RUN,
        )
    path = tmp_path / "out" / "report.html" if internal is None else internal.path
    page = path.read_text(encoding="utf-8")
    assert "could not be made (ZeroDivisionError)" in page
    assert "secret value" not in page + caplog.text
    assert mottle.read_release(tmp_path / "out").table.num_rows == ROWS


# ------------------------------------------------------------------------------------------ links


@pytest.mark.parametrize("guarantee", [KAnonymity(5), CAPS])
def test_the_link_file_is_that_of_the_release(
    people: Path, table: pa.Table, tmp_path: Path, guarantee: Guarantee
) -> None:
    links = tmp_path / "mine" / "links.parquet"
    certificate = streaming.anonymize(
        people, SCHEMA, guarantee, tmp_path / "out", private=links, **RUN
    ).certificate
    assert stat.S_IMODE(links.stat().st_mode) == 0o600
    edges = read_edges(links, ROWS)
    assert sorted(edges.truth.tolist()) == list(range(ROWS))
    assert edges.degrees.min() >= certificate.degree.min
    assert edges.blocks is not None
    assert len(np.unique(edges.blocks)) == certificate.checks[0].measured.blocks
    release = mottle.read_release(tmp_path / "out")
    of_person = table.column("income").take(pa.array(edges.truth)).to_pylist()
    assert release.table.column("income").to_pylist() == of_person
    report = mottle.audit_release(
        table,
        release,
        private=links,
        guarantee=guarantee,
        schema=SCHEMA.covering(table.column_names),
        adversaries=["linkage", "links"],
    )
    assert report.passed
    assert not hidden(tmp_path)


def test_asking_for_links_does_not_change_the_release(people: Path, tmp_path: Path) -> None:
    for name, private in (("a", None), ("b", tmp_path / "links.parquet")):
        streaming.anonymize(
            people, SCHEMA, KAnonymity(5), tmp_path / name, private=private, seed=3, **RUN
        )
    one, two = (mottle.read_release(tmp_path / name).table for name in "ab")
    assert one.equals(two)


def test_the_owners_files_are_not_written_where_they_would_be_published(
    people: Path, tmp_path: Path
) -> None:
    inside = tmp_path / "out" / "links.parquet"
    with pytest.raises(UsageError, match="for the owner only"):
        streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "out", private=inside)
    (tmp_path / "links.parquet").touch()
    with pytest.raises(StorageError, match="already exists"):
        streaming.anonymize(
            people, SCHEMA, KAnonymity(5), tmp_path / "out", private=tmp_path / "links.parquet"
        )
    same = InternalReport(tmp_path / "same", Owner(None))
    with pytest.raises(UsageError, match="cannot be both"):
        streaming.anonymize(
            people, SCHEMA, KAnonymity(5), tmp_path / "out", private=same.path, internal=same
        )
    assert not (tmp_path / "out").exists()


def deaths_while_publishing(run: Callable[[], object]) -> Iterator[int]:
    """Let a run die at every call from the moment at which it begins to publish."""
    entered = Destination.publishing
    for at in count(1):
        dying = Dying(sys.maxsize)

        def publishing(self: Destination, work: Path, dying: Dying = dying, at: int = at):
            dying.at = dying.calls + at
            return entered(self, work)

        with pytest.MonkeyPatch.context() as patch, dying_at(sys.maxsize, dying):
            patch.setattr(Destination, "publishing", publishing)
            run()
        if not dying.dead:
            return
        yield at


@pytest.mark.parametrize("kind", ["folder", "sqlite"])
def test_a_run_that_dies_while_it_publishes_is_finished_by_the_next(
    table: pa.Table, tmp_path: Path, kind: str
) -> None:
    """With the owner's files; what is published is whole, and is published once."""
    rows, people = 90, tmp_path / "people.parquet"
    pq.write_table(table.slice(0, rows), people)
    file, links = tmp_path / "out", tmp_path / "mine" / "links.parquet"
    output = file if kind == "folder" else DatabaseTable(f"sqlite:///{file}", "people")
    place = Destination.of(output, report=False, private=None, internal=None, overwrite=False)

    def run() -> None:
        streaming.anonymize(
            people,
            SCHEMA,
            KAnonymity(5),
            output,
            private=links,
            method="nh",
            report=False,
            chunk_rows=45,
        )

    published = 0
    for _ in deaths_while_publishing(run):
        before = place.current()
        published += bool(before)
        assert not links.exists() or before
        left = {path.name for run in hidden(tmp_path) for path in run.iterdir()}
        if before and left <= {"lock", "run.json"}:  # it had removed all of its rows
            with pytest.raises(StorageError, match="already"):
                run()
        else:
            run()
        assert place.current() == before or not before
        if kind == "folder":
            assert mottle.read_release(file).num_rows == rows
        assert len(read_edges(links, rows).truth) == rows
        assert not hidden(tmp_path)
        shutil.rmtree(file) if kind == "folder" else file.unlink()
        links.unlink()
    assert published > 2


# -------------------------------------------------------------------------------------- databases


def test_a_database_gets_what_a_folder_would_get(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = DatabaseTable(f"duckdb:///{tmp_path}/open.duckdb", "people")
    links = tmp_path / "links.parquet"
    streaming.anonymize(people, SCHEMA, KAnonymity(5), place, private=links, seed=2, **RUN)
    streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "out", seed=2, **RUN)
    text = mottle.read_release(tmp_path / "out").to_text()
    with duckdb.connect(str(tmp_path / "open.duckdb"), read_only=True) as database:
        stored = database.sql("FROM people_readable").to_arrow_table()
        (certificate,) = database.execute("FROM people_certificate").fetchone()
    for name in text.column_names:
        expected = [str(cell) for cell in text.column(name).to_pylist()]
        assert [str(cell) for cell in stored.column(name).to_pylist()] == expected
    assert json.loads(certificate)["engine"]["chunks"] == 3
    assert json.loads(certificate)["sha256"] == {}
    assert len(read_edges(links, ROWS).truth) == ROWS
    assert not hidden(tmp_path)
    with pytest.raises(StorageError, match="already has"):
        streaming.anonymize(people, SCHEMA, KAnonymity(5), place, **RUN)
    with pytest.raises(UsageError, match="in a folder"):
        streaming.anonymize(
            people,
            SCHEMA,
            KAnonymity(5),
            place,
            overwrite=True,
            internal=InternalReport(tmp_path / "i.html", Owner(None)),
        )


def test_a_failing_database_is_left_as_it_was_and_the_same_command_goes_on(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = DatabaseTable("sqlite:///open.db", "people")

    def broken(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("mottle.io.databases.sqlite.write.SQLiteTransaction.commit", broken)
    with pytest.raises(StorageError, match="full"):
        streaming.anonymize(
            people, SCHEMA, KAnonymity(5), place, private=tmp_path / "links.parquet", **RUN
        )
    assert not (tmp_path / "links.parquet").exists()
    assert not (tmp_path / "open.db").exists()
    (stage,) = hidden(tmp_path)
    assert len(list(stage.glob("chunk-*.json"))) == 3
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    streaming.anonymize(
        people, SCHEMA, KAnonymity(5), place, private=tmp_path / "links.parquet", **RUN
    )
    assert mottle.read_database("open.db", table="people").num_rows == ROWS
    assert len(read_edges(tmp_path / "links.parquet", ROWS).truth) == ROWS
    assert not hidden(tmp_path)


# ---------------------------------------------------------------------------------- command line


def test_the_command_line_asks_for_all_of_it(people: Path, tmp_path: Path) -> None:
    run = [
        "anonymize",
        str(people),
        "--qi",
        ",".join(QI),
        "--id",
        "person_id",
        "--sensitive",
        "diagnosis",
        "--rest",
        "insensitive",
        "--k",
        "5",
        "--memory",
        "2GB",
        "--seconds",
        "0",
        "-o",
        str(tmp_path / "out"),
        "--private",
        str(tmp_path / "links.parquet"),
        "--internal-report",
        str(tmp_path / "internal.html"),
        "--report-examples",
    ]
    result = CliRunner().invoke(app, run)
    assert result.exit_code == 0, result.output
    assert "report.html" in result.output
    assert "keep it secret" in result.output
    page = (tmp_path / "internal.html").read_text(encoding="utf-8")
    assert "mottle anonymize" in page
    assert "--memory 2GB" in page
    assert (tmp_path / "links.parquet").exists()
    again = CliRunner().invoke(app, ["report", str(tmp_path / "out"), "--overwrite"])
    assert again.exit_code == 0, again.output


def test_the_command_line_streams_into_a_database(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = [
        "anonymize",
        str(people),
        "--qi",
        ",".join(QI),
        "--id",
        "person_id",
        "--rest",
        "insensitive",
        "--k",
        "5",
        "--memory",
        "2GB",
        "--method",
        "nh",
        "--to",
        "sqlite:///open.db",
        "--to-table",
        "people",
    ]
    result = CliRunner().invoke(app, run)
    assert result.exit_code == 0, result.output
    assert "people_readable" in result.output
    assert mottle.read_database("open.db", table="people_readable").num_rows == ROWS
    assert not hidden(tmp_path)
