"""The content of reports: complete, and without facts of the original beyond the release."""

from __future__ import annotations

import datetime as dt
import logging
import re
import stat
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mottle import (
    BetaLikeness,
    Caps,
    DataError,
    Hierarchy,
    KAnonymity,
    LDiversity,
    Release,
    Schema,
    UsageError,
    anonymize,
    read_release,
)
from mottle.report import InternalReport, Owner, gather_content, page_of, report_html, table_body
from mottle.report.reproduce import command_of, schema_of
from mottle.schema.model import Role


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.partition("<body")[2]))


@pytest.fixture(scope="module")
def owner(people: tuple[pa.Table, Schema]) -> Owner:
    return Owner(people[0], "mottle anonymize people.csv", "people.csv")


# ------------------------------------------------------------------------------------- flavours


@pytest.mark.parametrize("guarantee", [KAnonymity(4), BetaLikeness(2.0)])
def test_publishable_report_is_made_of_the_published_files_alone(people, guarantee, tmp_path):
    release = anonymize(*people, guarantee)
    certificate = release.save(tmp_path / "out")
    written = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert written == report_html(read_release(tmp_path / "out"))
    assert written == report_html(release, certificate)
    assert "Person" not in written, "an identifying value"


def test_publishable_report_has_no_truth_in_it(release: Release, owner: Owner):
    public = gather_content(release, release.certificate)
    secret = gather_content(release, release.certificate, owner)
    assert all(line.true_error is None for line in public.accuracy)
    assert all(line.true_error is not None for line in secret.accuracy)
    assert 'class="before"' not in report_html(release)
    assert 'class="before"' in report_html(release, owner=owner)
    assert not public.internal
    assert secret.internal
    assert "INTERNAL" not in report_html(release)
    assert "Do not publish or share" in report_html(release, owner=owner)


def test_internal_report_lies_outside_the_release_and_only_its_owner_reads_it(
    release: Release, owner: Owner, tmp_path: Path
):
    internal = InternalReport(tmp_path / "mine" / "internal.html", owner, examples=True)
    release.save(tmp_path / "out", internal=internal)
    assert stat.S_IMODE(internal.path.stat().st_mode) == 0o600
    assert "Ten people before and after" in internal.path.read_text(encoding="utf-8")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["internal.html"]


def test_internal_report_cannot_lie_in_the_release_folder(release, owner, tmp_path: Path):
    internal = InternalReport(tmp_path / "out" / "internal.html", owner)
    with pytest.raises(UsageError, match="for the owner only"):
        release.save(tmp_path / "out", internal=internal)
    assert not (tmp_path / "out").exists()


def test_internal_report_of_another_table_is_refused_and_nothing_is_published(
    release, people, tmp_path: Path
):
    internal = InternalReport(tmp_path / "i.html", Owner(people[0].slice(1)))
    with pytest.raises(DataError, match="not the table"):
        release.save(tmp_path / "out", internal=internal)
    assert not (tmp_path / "out").exists()
    assert not internal.path.exists()


def test_examples_show_a_person_next_to_the_own_record(release: Release, people):
    rows = release.links.original_of_row[:10].tolist()
    found = gather_content(release, release.certificate, Owner(people[0], examples=rows)).examples
    assert len(found.pairs) == 10
    notes = found.headings.index("note")
    assert [before[notes] for before, _ in found.pairs] == [
        after[notes] for _, after in found.pairs
    ]
    assert "name" not in found.headings, "identifying columns are not shown"


def test_no_report_is_written_if_not_wanted_and_an_old_one_is_removed(
    release: Release, tmp_path: Path
):
    release.save(tmp_path / "out")
    release.save(tmp_path / "out", overwrite=True, report=False)
    assert not (tmp_path / "out" / "report.html").exists()
    assert (tmp_path / "out" / "release.csv").exists()


def test_a_defect_in_the_report_does_not_cost_the_release(
    release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret value 42")

    monkeypatch.setattr(table_body, "describe_columns", broken)
    with caplog.at_level(logging.WARNING):
        release.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "could not be made (ZeroDivisionError)" in page
    assert "could not be made (ZeroDivisionError)" in caplog.text
    assert "42" not in page + caplog.text
    assert read_release(tmp_path / "out").table.equals(release.table)


# ------------------------------------------------------------------------------------- contents


def test_a_reader_finds_guarantee_loss_columns_attacks_and_checksums(people, tmp_path: Path):
    release = anonymize(*people, KAnonymity(4) & BetaLikeness(3.0), audit="full", seed=3)
    certificate = release.save(tmp_path / "out")
    text = text_of((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert "at least 4 records that may be theirs" in text
    assert "at most 4 times as likely" in text
    assert "Removed: name" in text
    assert "Not fit for publication" in text, "a seed was given"
    for column in ("age", "sex", "size", "born", "place", "diagnosis"):
        assert column in text
    for checksum in certificate.sha256.values():
        assert checksum in text
    for adversary in {finding.adversary for finding in certificate.audit.findings}:
        assert adversary in text
    assert "did not get beyond what the guarantee allows" in text
    assert "right guesses: the nearest row of the matches" not in text
    internal = text_of(report_html(release, certificate, Owner(people[0])))
    assert "right guesses: the nearest row of the matches" in internal


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (KAnonymity(5), "at most 1 in 5 (20 %)"),
        (LDiversity(3), "a confidence above 1 in 3 (33.3 %)"),
        (Caps({"flu": 0.5}, default=0.6), "the lowest is 50 %"),
    ],
)
def test_guarantees_in_plain_words(people, guarantee, words: str):
    release = anonymize(*people, guarantee, seed=1)
    assert words in text_of(report_html(release))


def test_expected_shares_of_a_column_sum_to_one(release: Release, owner: Owner):
    for column in gather_content(release, release.certificate, owner).columns:
        if column.chart:
            shown = re.findall(r"""(?:<title>|note">).*?: ([0-9.]+) %""", column.chart)
            assert sum(map(float, shown)) == pytest.approx(100, abs=0.06 * len(shown))
            before = re.findall(r"original ([0-9.]+) %", column.chart)
            assert sum(map(float, before)) == pytest.approx(100, abs=0.06 * len(before))


def test_truth_always_lies_within_the_bounds(release: Release, owner: Owner):
    lines = gather_content(release, release.certificate, owner).accuracy
    assert [line.question for line in lines] == ["1 condition", "2 conditions", "3 conditions"]
    assert all(line.within_bounds == 1.0 for line in lines)


def test_widest_cells_are_cells_of_the_release(release: Release):
    texts = release.to_text()
    for column in gather_content(release, release.certificate).columns:
        cells = texts.column(column.name).to_pylist()
        for cell, records in column.widest:
            assert records.split()[0] == str(cells.count(cell))


# ------------------------------------------------------------------------------ odd columns


def odd_table(rows: int = 60) -> pa.Table:
    random = np.random.default_rng(1)
    days = [dt.date(1990, 1, 1) + dt.timedelta(int(day)) for day in random.integers(0, 9000, rows)]
    return pa.table(
        {
            "whole": random.integers(0, 100_000, rows),
            "skewed": (10 ** random.uniform(0, 7, rows)).round(2),
            "exact": pa.array([Decimal(int(v)) / 4 for v in random.integers(0, 400, rows)]),
            "tiny": random.normal(0, 1e-6, rows),
            "day": days,
            "moment": pa.array([dt.datetime(d.year, 3, 1, 12) for d in days], pa.timestamp("us")),
            "week": pa.array([dt.date(2024, 2, 1 + row % 20) for row in range(rows)]),
            "flag": [row % 3 == 0 for row in range(rows)],
            "nothing": pa.nulls(rows, pa.string()),
            "constant": ["x"] * rows,
            "<script>alert(1)</script>": [f"<b>{row % 4}&\"'" for row in range(rows)],
            "many": [f"kind {row % 25}" for row in range(rows)],
            "expected": [row % 5 for row in range(rows)],
            "text": [f"a free text {row}" for row in range(rows)],
            "paid": random.normal(0, 1000, rows),
        }
    )


@pytest.mark.parametrize("representation", ["range", "set"])
def test_columns_of_every_type_are_shown(representation: str, tmp_path: Path):
    table = odd_table()
    kept = ["text", "paid"]
    schema = Schema.of(
        quasi_identifying=[name for name in table.column_names if name not in kept],
        insensitive=["text"],
        sensitive=["paid"],
        bins={"paid": 4},
        importance={"whole": 2.0},
    )
    release = anonymize(table, schema, KAnonymity(3), representation=representation)
    html = report_html(release, owner=Owner(table))
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    charts = {
        column.name: column.chart for column in gather_content(release, release.certificate).columns
    }
    assert [name for name, chart in charts.items() if chart is None] == ["nothing", "text"]


@pytest.mark.parametrize("rows", [2, 3])
def test_tiny_tables_have_reports(rows: int):
    table = pa.table({"age": list(range(rows)), "ill": ["yes"] * rows})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["ill"])
    release = anonymize(table, schema, KAnonymity(2))
    assert "at least 2 records" in text_of(report_html(release, owner=Owner(table)))


# ------------------------------------------------------------------------------ reproduction


def test_command_and_schema_make_an_equal_release_again(people, places: Hierarchy, tmp_path: Path):
    table, schema = people
    release = anonymize(table, schema, KAnonymity(5), seed=4, walk="backtracking", method="nh")
    release.save(tmp_path / "out")
    read = read_release(tmp_path / "out")
    again = schema_of(read)
    places.write(tmp_path / "place.csv")
    (tmp_path / "mottle.toml").write_text(again.to_toml(), encoding="utf-8")  # as reports show it
    assert command_of(read.certificate) == (
        "mottle anonymize DATA --schema mottle.toml --k 5 --method nh --walk backtracking --seed 4"
        " -o released"
    )
    once_more = anonymize(
        table,
        Schema.read(tmp_path / "mottle.toml"),
        KAnonymity(5),
        seed=4,
        walk="backtracking",
        method="nh",
    )
    assert once_more.table.equals(release.table)


def test_options_of_a_run_are_in_its_command(people):
    table, schema = people
    guarantee = LDiversity(2) & BetaLikeness(4.0, enhanced=True) & Caps({"flu": 0.9}, default=0.8)
    release = anonymize(
        table, schema, guarantee, method="mondrian", representation="set", effort=1, audit="full"
    )
    assert command_of(release.certificate) == (
        "mottle anonymize DATA --schema mottle.toml --l 2 --beta 4 --enhanced --cap VALUE=SHARE"
        " --cap-rest 0.8 --method mondrian --representation set --seconds 1 --audit full"
        " -o released"
    )


def test_bins_are_in_the_schema():
    table = odd_table().select(["whole", "paid"])
    schema = Schema.of(
        quasi_identifying=["whole"], sensitive=["paid"], breaks={"paid": [-500.0, 500.0]}
    )
    release = anonymize(table, schema, LDiversity(2))
    (found,) = schema_of(release).with_role(Role.SENSITIVE)
    assert found.breaks == (-500.0, 500.0)


def test_page_takes_the_certificate_as_written(release: Release):
    written = release.certificate.with_changes(sha256={"release.csv": "f" * 64})
    assert "f" * 64 in page_of(release)(written)
    assert "not written to files yet" in report_html(release)
