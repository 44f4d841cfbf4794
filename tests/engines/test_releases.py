"""Every engine returns the same kind of release: it is asked, read, saved and repeated alike."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Progress, Release, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

ROWS = 1100


@pytest.fixture
def made(engine, crowd, once) -> tuple[Release, list[Progress]]:
    """A release by each engine, and what was heard of its progress."""

    def make() -> tuple[Release, list[Progress]]:
        heard: list[Progress] = []
        options = {"method": "nh", "seed": 3, "progress": heard.append}
        return engine.anonymize(*crowd(ROWS), KAnonymity(5), **options), heard

    return once(engine.name, make)


@pytest.fixture
def in_memory(crowd, once) -> Release:
    """The same release, all rows in memory."""
    return once(
        "comparison", lambda: mottle.anonymize(*crowd(ROWS), KAnonymity(5), method="nh", seed=3)
    )


def test_a_release_is_asked_and_saved_whatever_made_it(made, crowd, tmp_path: Path) -> None:
    table, _ = crowd(ROWS)
    release, _ = made
    assert isinstance(release, Release)
    counted = release.count({"age": (18, 64)})
    true = sum(18 <= age <= 64 for age in table.column("age").to_pylist())
    assert counted.certain <= true <= counted.possible
    assert release.count({}).expected == ROWS
    written = release.save(tmp_path / "out")
    again = mottle.read_release(tmp_path / "out")
    assert again.table.equals(release.table)
    assert again.certificate == written
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    assert pickle.loads(pickle.dumps(release)).table.equals(release.table)


def test_columns_come_out_in_the_same_order_and_types(made, in_memory, crowd) -> None:
    table, _ = crowd(ROWS)
    release, _ = made
    assert release.table.schema.equals(in_memory.table.schema)
    assert [column.name for column in release.columns] == table.column_names[1:]
    assert [column.totals for column in release.columns] == [
        column.totals for column in in_memory.columns
    ]


def test_engines_find_the_same_risk(made, in_memory) -> None:
    release, _ = made
    risk, expected = release.certificate.risk, in_memory.certificate.risk
    assert risk.before == expected.before
    assert 0 < risk.before.unique < risk.before.prosecutor_mean < 1
    assert risk.after.prosecutor_highest == expected.after.prosecutor_highest == 0.2


def test_engines_lose_about_the_same(made, in_memory) -> None:
    release, _ = made
    assert release.gcp == pytest.approx(in_memory.gcp, rel=0.25)


@pytest.mark.parametrize(("guarantee", "method"), [(KAnonymity(5), "nh"), (LDiversity(2), "auto")])
def test_missing_values_codes_and_odd_names_are_published(engine, guarantee, method) -> None:
    rows = 700
    table = pa.table(
        {
            'a "quoted" name': [None if row % 9 == 0 else row % 50 for row in range(rows)],
            "post code": [f"{10 + row % 40}{row % 7}" for row in range(rows)],
            "Ärzte": [("flu", "none", "cold")[row % 3] for row in range(rows)],
        }
    )
    schema = mottle.Schema.of(
        quasi_identifying=['a "quoted" name', "post code"],
        sensitive=["Ärzte"],
        kinds={"post code": "prefix"},
    )
    release = engine.anonymize(table, schema, guarantee, method=method, effort=0)
    assert release.table.column_names == table.column_names
    report = mottle.audit_release(table, release, schema=schema)
    assert report.passed, report.failed


def test_columns_made_coarser_are_published_in_bins(engine) -> None:
    rows = 700
    table = pa.table(
        {
            "age": [None if row % 90 == 0 else (row * 37) % 104 for row in range(rows)],
            "born": [dt.date(1930, 1, 1) + dt.timedelta(days=row * 41) for row in range(rows)],
            "size": [150 + (row * 7919) % 600 / 10 for row in range(rows)],
            "diagnosis": [("flu", "none", "cold")[row % 3] for row in range(rows)],
        }
    )
    schema = mottle.Schema.of(
        quasi_identifying=["age", "born", "size"],
        sensitive=["diagnosis"],
        snaps={"age": 5, "size": 2.5},
        tops={"age": 90},
        granularities={"born": "month"},
    )
    release = engine.anonymize(table, schema, KAnonymity(5), method="nh", effort=0)
    report = mottle.audit_release(table, release, schema=schema)
    assert report.passed, report.failed
    in_memory = mottle.anonymize(table, schema, KAnonymity(5), method="nh", effort=0)
    assert [(column.totals, column.coarsening) for column in release.columns] == [
        (column.totals, column.coarsening) for column in in_memory.columns
    ]
    assert release.certificate.risk.before == in_memory.certificate.risk.before
    known = [cell for cell in release.table["age"].to_pylist() if cell["lo"] is not None]
    assert {cell["lo"] % 5 for cell in known} == {0}
    assert {cell["hi"] for cell in known} <= {*range(4, 90, 5), 90}
    assert release.gcp == pytest.approx(in_memory.gcp, rel=0.25)


def test_a_seed_repeats_the_rows(engine, made, crowd) -> None:
    table, schema = crowd(ROWS)
    first, _ = made
    assert first.certificate.seed == 3
    assert any("seed" in note for note in first.certificate.notes)
    text = first.to_text()
    if engine.name == "spark":  # rows are dealt to partitions as Spark likes
        return
    assert engine.anonymize(table, schema, KAnonymity(5), method="nh", seed=3).to_text() == text


def test_progress_is_reported_and_ends(made) -> None:
    _, heard = made
    assert heard[-1].stage == "done"
    assert heard[-1].gcp is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "nhh"}, "no method 'nhh'"),
        ({"walk": "crooked"}, "no walk 'crooked'"),
        ({"effort": -1}, "time for improving"),
        ({"method": "buckets"}, "does not give k-anonymity"),
    ],
)
def test_options_that_do_not_exist_are_refused(engine, crowd, options, message: str) -> None:
    table, schema = crowd(40)
    with pytest.raises(UsageError, match=message):
        engine.anonymize(table, schema, KAnonymity(2), **options)


def test_every_engine_follows_the_objective_and_states_what_it_reached(engine, crowd) -> None:
    table, schema = crowd(ROWS)
    options = {"method": "freeform", "objective": "reading", "effort": 0, "seed": 1}
    stated = engine.anonymize(table, schema, KAnonymity(5), **options).certificate.objective
    in_memory = mottle.anonymize(table, schema, KAnonymity(5), **options).certificate.objective
    assert stated is not None
    assert in_memory is not None
    assert stated.name == in_memory.name == "reading"
    assert stated.loss == pytest.approx(in_memory.loss, rel=0.5)  # chunks lose a little more
