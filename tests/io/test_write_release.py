"""Saved releases: complete, checksummed, plain CSV, and the secret in a file of its own."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import (
    KAnonymity,
    Release,
    Role,
    Schema,
    StorageError,
    UsageError,
    anonymize,
    read_release,
)
from mottle.io import atomic_write
from mottle.io.hashed_file import sha256_of
from mottle.io.write_release import write_rows
from mottle.release.certificate import Certificate
from mottle.release.column import PublishedColumn
from mottle.release.formula_guard import guard_text
from mottle.schema.reading import ReadOptions

FILES = ["certificate.json", "release.csv", "release.parquet", "report.html"]
NASTY = st.text(
    st.one_of(st.sampled_from("\"',;\n\r\t\\|{}. \x00"), st.characters(exclude_categories=["Cs"])),
    max_size=6,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_exactly_four_files_with_the_checksums_of_the_certificate(release: Release, tmp_path):
    certificate = release.save(tmp_path / "out")
    assert names(tmp_path / "out") == FILES
    written = Certificate.from_json(
        (tmp_path / "out" / "certificate.json").read_text(encoding="utf-8")
    )
    assert written == certificate
    assert written.sha256 == {
        name: hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest()
        for name in ("release.parquet", "release.csv")
    }
    assert written.with_changes(sha256={}) == release.certificate


def test_certificate_in_memory_is_not_changed_by_saving(release: Release, tmp_path):
    release.save(tmp_path / "out")
    assert release.certificate.sha256 == {}


def test_parquet_keeps_cells_typed(release: Release, tmp_path):
    release.save(tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "release.parquet")
    assert table.equals(release.table)
    assert table.schema.metadata is None or b"pandas" not in table.schema.metadata


def test_nothing_in_the_release_names_a_person(release: Release, tmp_path):
    release.save(tmp_path / "out")
    assert b"Person" not in b"".join(contents(tmp_path / "out").values())


# -------------------------------------------------------------------------------- overwriting


def test_existing_release_is_refused_and_untouched(release, other_release, tmp_path):
    release.save(tmp_path / "out")
    before = contents(tmp_path / "out")
    with pytest.raises(StorageError, match="already holds"):
        other_release.save(tmp_path / "out")
    assert contents(tmp_path / "out") == before


def test_existing_release_is_replaced_when_asked(release, other_release, tmp_path):
    release.save(tmp_path / "out")
    other_release.save(tmp_path / "out", overwrite=True)
    assert read_release(tmp_path / "out").table.equals(other_release.table)
    assert names(tmp_path / "out") == FILES


def unwritable(release: Release) -> Release:
    """A release, put together by hand, whose Parquet file can be written but whose CSV cannot."""
    nested = PublishedColumn("note", Role.INSENSITIVE, None, None, pa.list_(pa.int64()))
    rows = pa.array([[row] for row in range(release.table.num_rows)])
    table = release.table.set_column(release.table.num_columns - 1, nested.field(), rows)
    return replace(release, stored=table, columns=(*release.columns[:-1], nested))


def test_old_release_survives_when_the_new_one_cannot_be_written(release, tmp_path):
    release.save(tmp_path / "out", private=tmp_path / "links.parquet")
    before, links = contents(tmp_path / "out"), (tmp_path / "links.parquet").read_bytes()
    with pytest.raises(pa.ArrowNotImplementedError):
        unwritable(release).save(
            tmp_path / "out", private=tmp_path / "links.parquet", overwrite=True
        )
    assert contents(tmp_path / "out") == before
    assert (tmp_path / "links.parquet").read_bytes() == links
    assert names(tmp_path) == ["links.parquet", "out"]


def blocked_folder(release: Release, folder: Path, links: Path) -> None:
    """A saved release in which another release cannot take the place of release.csv."""
    release.save(folder, private=links)
    (folder / "release.csv").unlink()
    (folder / "release.csv").mkdir()


def test_failing_replacement_leaves_the_old_files(release, other_release, tmp_path):
    blocked_folder(release, tmp_path / "out", tmp_path / "links")
    before = (tmp_path / "out" / "release.parquet").read_bytes()
    with pytest.raises(StorageError):
        other_release.save(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "release.parquet").read_bytes() == before
    assert (tmp_path / "out" / "certificate.json").exists()


class Interrupting:
    """Stands for `os.replace` and is interrupted before or after one of its calls."""

    def __init__(self, at: int, *, after: bool, error: BaseException) -> None:
        self.calls, self.at, self.after, self.error = 0, at, after, error
        self.replace = os.replace

    def __call__(self, source: Path, place: Path) -> None:
        self.calls += 1
        if self.calls == self.at and not self.after:
            raise self.error
        self.replace(source, place)
        if self.calls == self.at:
            raise self.error


@pytest.mark.parametrize("old", [True, False], ids=["replacing", "new"])
@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(5, "Input/output error")], ids=str)
def test_interruption_between_two_renames_leaves_the_old_set(
    release, other_release, tmp_path, monkeypatch, old: bool, after: bool, error: BaseException
):
    if old:
        release.save(tmp_path / "out", private=tmp_path / "links")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for at in range(1, 9 if old else 5):  # three files and the links set aside, and as many moved
        with monkeypatch.context() as patch:
            patch.setattr(atomic_write.os, "replace", Interrupting(at, after=after, error=error))
            with pytest.raises((KeyboardInterrupt, StorageError)):
                other_release.save(tmp_path / "out", private=tmp_path / "links", overwrite=True)
        now = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert now == before, f"interrupted at rename {at}"
        assert old or names(tmp_path) == []


def test_failing_replacement_leaves_the_old_links(release, other_release, tmp_path):
    blocked_folder(release, tmp_path / "out", tmp_path / "links")
    before = (tmp_path / "links").read_bytes()
    with pytest.raises(StorageError):
        other_release.save(tmp_path / "out", private=tmp_path / "links", overwrite=True)
    assert (tmp_path / "links").read_bytes() == before


def test_folder_that_cannot_be_made_is_an_error_of_ours(release: Release, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="Cannot write to"):
        release.save(tmp_path / "file" / "out")
    assert names(tmp_path) == ["file"]


# ------------------------------------------------------------------------- full disk and kills

LIMITED = """
import resource, signal, sys
import pyarrow as pa
from mottle import KAnonymity, Schema, anonymize
from mottle.errors import StorageError

folder, limit, deadly = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "deadly"
words = [f"{row * 7919 % 20011:x}" for row in range(20000)]
table = pa.table({"q": list(range(20000)), "s": words})
schema = Schema.of(quasi_identifying=["q"], sensitive=["s"])
release = anonymize(table, schema, KAnonymity(5), method="nh")  # 170 KB of Parquet, 330 KB of CSV
list(release.links.batches())  # compile now: the cache is a file, too
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL if deadly else signal.SIG_IGN)
try:
    release.save(folder + "/out", private=folder + "/links.parquet")
except StorageError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def save_with_limit(folder: Path, limit: int, mode: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder), str(limit), mode],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE")
@pytest.mark.parametrize("limit", [1000, 200_000])  # full while writing Parquet, and CSV
def test_full_disk_leaves_nothing(tmp_path: Path, limit: int):
    run = save_with_limit(tmp_path, limit, "error")
    assert run.returncode == StorageError.exit_code, run.stderr
    assert "Nothing was published" in run.stdout
    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE")
def test_run_killed_while_writing_leaves_only_its_hidden_folders(release: Release, tmp_path: Path):
    run = save_with_limit(tmp_path, 200_000, "deadly")
    assert run.returncode < 0, "killed by a signal"
    left = sorted(tmp_path.iterdir())
    assert all(path.name.startswith(".mottle-unfinished-") for path in left)
    assert any("release.csv" in names(path) for path in tmp_path.glob(".mottle-*/new/out"))
    release.save(tmp_path / "out", private=tmp_path / "links")
    assert names(tmp_path / "out") == FILES
    assert names(tmp_path) == ["links", "out"]


# --------------------------------------------------------------------------------- private links


def test_link_file_has_one_row_per_edge_and_is_for_the_owner_only(release: Release, tmp_path):
    release.save(tmp_path / "out", private=tmp_path / "keep" / "links.parquet")
    path = tmp_path / "keep" / "links.parquet"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path / "keep") == ["links.parquet"]
    links = pq.read_table(path)
    assert links.column_names == ["published", "original", "true"]
    assert links.num_rows == 40 * 4
    assert sum(links.column("true").to_pylist()) == 40
    true = links.filter(links.column("true"))
    assert true.column("published").to_pylist() == list(range(40))
    assert true.column("original").to_pylist() == release.links.original_of_row.tolist()


def test_links_are_not_written_unasked(release: Release, tmp_path):
    release.save(tmp_path / "out")
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("place", ["out/links", "out/deep/links", "out", "out/../out/links"])
def test_link_file_inside_the_release_is_refused(release: Release, tmp_path, place: str):
    with pytest.raises(UsageError, match="release folder"):
        release.save(tmp_path / "out", private=tmp_path / place)
    assert names(tmp_path) == []


def test_link_file_inside_the_release_is_refused_through_a_symlink(release: Release, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "door").symlink_to(tmp_path / "out")
    with pytest.raises(UsageError, match="release folder"):
        release.save(tmp_path / "out", private=tmp_path / "door" / "links")
    assert names(tmp_path / "out") == []


def test_link_file_that_is_a_folder_is_refused(release: Release, tmp_path):
    with pytest.raises(UsageError, match="is a folder"):
        release.save(tmp_path / "out", private=tmp_path)


def test_existing_link_file_is_refused_and_untouched(release: Release, tmp_path):
    (tmp_path / "links").write_text("old")
    with pytest.raises(StorageError, match="already exists"):
        release.save(tmp_path / "out", private=tmp_path / "links")
    assert (tmp_path / "links").read_text() == "old"
    assert names(tmp_path) == ["links"]


def test_release_without_links_cannot_save_them(release: Release, tmp_path):
    release.save(tmp_path / "out")
    with pytest.raises(UsageError, match="no private links"):
        read_release(tmp_path / "out").save(tmp_path / "again", private=tmp_path / "links")
    assert names(tmp_path) == ["out"]


def test_failed_link_file_leaves_no_release(release: Release, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="file/links"):
        release.save(tmp_path / "out", private=tmp_path / "file" / "links")
    assert names(tmp_path) == ["file"]


# --------------------------------------------------------------------------------------------- CSV


def saved_csv(table: pa.Table, folder: Path) -> tuple[Release, str]:
    schema = Schema.of(quasi_identifying=["q"], rest="insensitive")
    schema = schema.with_reading(ReadOptions(allow_generalized=True))  # drawn cells may be 0..0
    release = anonymize(table, schema, KAnonymity(2), seed=1)
    release.save(folder, overwrite=True)
    return release, (folder / "release.csv").read_bytes().decode("utf-8")


@given(
    st.lists(st.tuples(st.one_of(st.none(), NASTY), st.one_of(st.none(), NASTY)), min_size=2),
    NASTY.filter(lambda name: name.strip() and name != "q"),
)
def test_csv_is_read_by_other_readers_and_equals_parquet(tmp_path_factory, rows, name):
    folder = tmp_path_factory.mktemp("csv")
    table = pa.table(
        {
            name: pa.array([kept for kept, _ in rows], pa.string()),
            "q": pa.array([quasi for _, quasi in rows], pa.string()),
        }
    )
    release, text = saved_csv(table, folder)
    header, *records = csv.reader(io.StringIO(text, newline=""))
    assert header == [guard_text(name), "q"]
    assert records == [
        ["" if cell is None else guard_text(cell) for cell in row.values()]
        for row in release.to_text().to_pylist()
    ]
    from_csv = read_release(folder / "release.csv").table
    from_parquet = read_release(folder / "release.parquet").table
    assert from_parquet.equals(release.table)
    assert from_csv.to_pylist() == from_parquet.to_pylist()


@given(st.lists(st.one_of(st.none(), NASTY), min_size=2, max_size=6))
def test_single_column_keeps_every_record(tmp_path_factory, values: list):
    folder = tmp_path_factory.mktemp("csv")
    release, _ = saved_csv(pa.table({"q": pa.array(values, pa.string())}), folder)
    assert read_release(folder / "release.csv").table.equals(release.table)


def test_only_cells_that_need_it_are_quoted(tmp_path):
    table = pa.table(
        {
            "q": [1, 1, 1, 1, 1, 1, 1],
            "kept": ["plain", "with space", "a,b", 'a"b', "a\nb", "a\rb", ""],
            "none": pa.array([None] * 7, pa.string()),
        }
    )
    _, text = saved_csv(table, tmp_path / "out")
    header, *_ = text.split("\n")
    assert header == "q,kept,none"
    for line in [
        "1,plain,\n",
        "1,with space,\n",
        '1,"a,b",\n',
        '1,"a""b",\n',
        '1,"a\nb",\n',
        '1,"a\rb",\n',
        '1,"",\n',
    ]:
        assert line in text
    assert len(re.findall('"', text)) == 2 * 5 + 2


def test_csv_written_in_batches_equals_the_table(tmp_path, monkeypatch):
    from mottle.io import write_release

    monkeypatch.setattr(write_release, "_ROWS_PER_LONG_BATCH", 3)
    table = pa.table({"q": list(range(20)), "s": [f"s{row}" for row in range(20)]})
    release, text = saved_csv(table, tmp_path / "out")
    assert text.count("\n") == 21
    assert read_release(tmp_path / "out" / "release.csv").table.equals(release.table)


@pytest.mark.parametrize("text", [True, False])
def test_rows_are_written_as_text_only_where_text_is_wanted(
    release: Release, tmp_path: Path, text: bool
):
    counted: list[int] = []
    written = write_rows(
        release.tables(10),
        release.table.schema,
        release.text_of,
        tmp_path,
        text=text,
        on_progress=counted.append,
    )
    assert written.rows == counted[-1] == release.num_rows
    assert written.sha256 == {name: sha256_of(tmp_path / name) for name in names(tmp_path)}
    assert names(tmp_path) == (["release.csv"] if text else []) + ["release.parquet"]
    assert pq.read_table(tmp_path / "release.parquet").equals(release.table)
