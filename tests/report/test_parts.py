"""Reports of releases that stay in their files say what reports of tables in memory say."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import KAnonymity, Release, Schema, anonymize, datasets, read_release
from mottle.encoding.domain import Form
from mottle.evaluation import query_accuracy
from mottle.evaluation.cell_counts import tallies
from mottle.io.read_release import load_release
from mottle.queries import Condition, Queries
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.rows import StoredRows, tables_of
from mottle.report import Owner, gather_content, report_html, table_body
from mottle.schema.model import Kind, Role

ROWS = 900


@pytest.fixture(scope="module")
def crowd() -> tuple[pa.Table, Schema]:
    table = datasets.population(ROWS, seed=2)
    schema = Schema.of(
        quasi_identifying=["age", "sex", "education", "income"],
        sensitive=["diagnosis"],
        identifying=["person_id"],
        rest="insensitive",
    )
    return table, schema


@pytest.fixture(scope="module")
def saved(crowd: tuple[pa.Table, Schema], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "out"
    anonymize(*crowd, KAnonymity(4), method="hilbert", seed=1).save(folder)
    return folder


def of_folder(folder: Path) -> ReleaseData:
    return load_release(folder, in_memory=False)


# ------------------------------------------------------------------------------------------- parts


@given(st.lists(st.integers(0, 7), min_size=0, max_size=12), st.integers(1, 9))
def test_parts_have_the_same_size_however_rows_are_stored(sizes: list[int], size: int) -> None:
    fields = pa.schema([("row", pa.int64())])
    batches = [pa.record_batch([pa.array(range(many), pa.int64())], fields) for many in sizes]
    table = pa.Table.from_batches(batches, fields)
    found = list(tables_of(table, size))
    assert [part.num_rows for part in found[:-1]] == [size] * max(len(found) - 1, 0)
    assert [row for part in found for row in part.column("row").to_pylist()] == (
        table.column("row").to_pylist()
    )


def test_the_report_is_the_same_from_memory_and_from_the_file(
    saved: Path, crowd: tuple[pa.Table, Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = (saved / "report.html").read_text(encoding="utf-8")
    assert report_html(of_folder(saved)) == written
    monkeypatch.setattr(ReleaseData.tables, "__defaults__", (100,))
    assert report_html(of_folder(saved)) == written
    owner = Owner(crowd[0])
    assert report_html(of_folder(saved), owner=owner) == report_html(
        read_release(saved), owner=owner
    )


def test_stored_rows_are_read_as_often_as_needed(tmp_path: Path) -> None:
    pq.write_table(pa.table({"row": range(10)}), tmp_path / "rows.parquet", row_group_size=3)
    rows = StoredRows(tmp_path / "rows.parquet")
    for _ in range(2):
        assert sum(batch.num_rows for batch in rows.to_batches(4)) == rows.num_rows == 10


# ----------------------------------------------------------------------------------------- tallies


def test_tallies_count_what_is_there(saved: Path) -> None:
    release = read_release(saved)
    slices = [release.table.slice(first, 70) for first in range(0, ROWS, 70)]
    counted = tallies(slices, release.columns)
    for column in release.columns:
        cells = Counter(map(str, release.table.column(column.name).to_pylist()))
        tally = counted[column.name]
        assert cells == dict(zip(map(str, tally.cells.to_pylist()), tally.counts, strict=True))
        assert tally.whole


def test_shares_of_a_tally_are_those_of_all_records(saved: Path) -> None:
    release = read_release(saved)
    asked = Queries.of(release)
    counted = tallies([release.table], release.columns)
    for name, condition in (
        ("age", Condition(low=30, high=50)),
        ("sex", Condition(values=("female",))),
        ("diagnosis", Condition(values=("none",))),
    ):
        answer = asked.counts([{name: condition}])
        expected = [answer.expected[0], answer.certain[0], answer.possible[0]]
        shares = counted[name].shares([condition], release.certificate.degree.min)[0]
        assert shares[1:] == pytest.approx(np.array(expected[1:]) / ROWS)
        assert shares[0] == pytest.approx(expected[0] / ROWS, abs=0.01)  # others' columns help it


@pytest.mark.parametrize(
    ("form", "kind", "value_type", "cells"),
    [
        (Form.SET, Kind.CATEGORY, pa.string(), [["a", "b|c"], ["a"], [None], ["a", "b|c"], [""]]),
        (
            Form.RANGE,
            Kind.NUMBER,
            pa.float64(),
            [
                {"lo": 0.5, "hi": 2.0, "missing": False},
                {"lo": None, "hi": None, "missing": True},
                {"lo": 0.5, "hi": 2.0, "missing": True},
                {"lo": 0.5, "hi": 2.0, "missing": False},
            ],
        ),
        (None, None, pa.null(), [None, None]),
    ],
)
def test_unusual_cells_are_distinguished(form, kind, value_type, cells) -> None:
    column = PublishedColumn("odd", Role.INSENSITIVE, kind, form, value_type)
    table = pa.table([pa.array(cells, column.field().type)], pa.schema([column.field()]))
    tally = tallies([table, table], [column])["odd"]
    expected = Counter(map(str, cells))
    found = zip(map(str, tally.cells.to_pylist()), tally.counts.tolist(), strict=True)
    assert {cell: 2 * times for cell, times in expected.items()} == dict(found)


def test_a_column_with_too_many_cells_is_described_by_a_sample_and_says_so(saved: Path) -> None:
    release = read_release(saved)
    slices = [release.table.slice(first, 90) for first in range(0, ROWS, 90)]
    tally = tallies(slices, release.columns, most=100)["income"]
    assert not tally.whole
    assert len(tally.cells) > 100
    assert tally.records in range(90, ROWS, 90)
    assert tallies(slices, release.columns, most=100)["sex"].whole


def test_the_sample_is_named_in_the_report(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mottle.report.columns.tallies", partial(tallies, most=100))
    monkeypatch.setattr(ReleaseData.tables, "__defaults__", (200,))
    text = report_html(of_folder(saved))
    assert "records drawn at random, since there are too many different cells" in text


# ----------------------------------------------------------------------------------------- queries


def test_a_large_release_is_queried_by_a_sample_and_for_its_owner_as_a_whole(
    saved: Path, crowd: tuple[pa.Table, Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gather_content(read_release(saved), read_release(saved).certificate)
    for module in (query_accuracy, table_body):
        monkeypatch.setattr(module, "MOST_QUERIED_ROWS", 300)
    large = of_folder(saved)
    sampled = gather_content(large, large.certificate)
    assert sampled.queried_rows == 300
    assert whole.queried_rows is None
    assert "run on 300 records, a random sample" in report_html(large)
    assert [line.question for line in sampled.accuracy] == [
        line.question for line in whole.accuracy
    ]
    owned = gather_content(large, large.certificate, Owner(crowd[0]))
    assert owned.queried_rows is None
    assert all(line.within_bounds == 1.0 for line in owned.accuracy)


def test_answers_of_parts_add_up_to_the_answers_of_all(
    saved: Path, crowd: tuple[pa.Table, Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner(crowd[0])
    release: Release = read_release(saved)
    at_once = gather_content(release, release.certificate, owner).accuracy
    monkeypatch.setattr(query_accuracy, "_workload", _fixed_workload(release))
    monkeypatch.setattr(query_accuracy, "MOST_QUERIED_ROWS", 250)
    in_parts = gather_content(release, release.certificate, owner).accuracy
    for one, other in zip(at_once, in_parts, strict=True):
        assert one.question == other.question
        assert (one.certain, one.possible) == (other.certain, other.possible)
        assert other.certain <= other.expected <= other.possible
        assert one.expected == pytest.approx(other.expected, rel=0.3)  # each part has its own fit


def _fixed_workload(release: Release):
    """The queries that are drawn for the whole release, whatever part of it is given."""
    workload = query_accuracy._workload(release, Queries.of(release))
    return lambda *_: workload
