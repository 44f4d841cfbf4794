"""A run that is killed at any call that changes the disk leaves the old release or the new one."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from dying_process import every_death

from mottle import KAnonymity, LDiversity, Release, Schema, StorageError, anonymize, anonymize_sets
from mottle.io.atomic_write import staged
from mottle.io.databases import release_at, write_database
from mottle.io.read_set_release import load_any_release
from mottle.io.write_release import check_paths, recover_owner_files, release_number, save_release
from mottle.release.data import ReleaseData

PUBLISHED = {"release.parquet", "release.csv", "sensitive.parquet", "sensitive.csv"}


def state(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by their path; those of hidden folders as well."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def page(certificate) -> str:
    """A report that says to which certificate it belongs."""
    return certificate.sha256["release.parquet"]


def saving(release: ReleaseData, *, links: bool, report: bool) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        save_release(
            release,
            folder / "out",
            folder / "mine" / "links.parquet" if links else None,
            overwrite=True,
            another_draw=True,
            report=page if report else None,
        )

    return save


def check_readable(out: Path) -> None:
    """What a reader finds at any moment: a whole release with its own files, or none."""
    if not (out / "certificate.json").exists():
        with pytest.raises(StorageError, match=r"complete release|no file"):
            load_any_release(out)
        return
    load_any_release(out)
    certificate = json.loads((out / "certificate.json").read_text())
    present = {path.name for path in out.iterdir() if path.is_file()}
    assert present & PUBLISHED == set(certificate["sha256"])
    for name, checksum in certificate["sha256"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == checksum
    if "report.html" in present:
        assert (out / "report.html").read_text() == certificate["sha256"]["release.parquet"]


def next_command(folder: Path) -> None:
    """What the next command that writes there does before it begins."""
    check_paths(
        folder / "out", folder / "mine" / "links.parquet", overwrite=True, another_draw=True
    )


def check_every_death(
    folder: Path,
    before: Callable[[Path], None] | None,
    new: Callable[[Path], None],
) -> None:
    """Kill ``new`` at every call, on a folder in which ``before`` was saved."""
    whole = folder / "whole"
    for name, saved in (("old", before), ("new", new)):
        (whole / name / "mine").mkdir(parents=True)
        if before is not None:
            before(whole / name)
        if saved is new:
            new(whole / name)
    expected = {name: state(whole / name) for name in ("old", "new")}
    assert expected["old"] != expected["new"]
    run = folder / "run"
    deaths, ended = 0, set()
    shutil.copytree(whole / "old", run)
    for at in every_death(lambda: new(run)):
        deaths += 1
        check_readable(run / "out")
        if before is None:
            assert not (run / "out").exists() or (run / "out" / "certificate.json").exists()
        next_command(run)
        found = state(run)
        ended.update(name for name in expected if found == expected[name])
        assert found in expected.values(), f"killed at call {at}: {sorted(found)}"
        shutil.rmtree(run)
        shutil.copytree(whole / "old", run)
    assert deaths > 20
    assert ended == {"old", "new"}
    assert state(run) == expected["new"]


@pytest.fixture(scope="session")
def two_tables() -> Release:
    table = pa.table({"age": list(range(12)), "ill": ["flu", "gout", "ache"] * 4})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["ill"])
    return anonymize(table, schema, LDiversity(2), method="anatomy", seed=1)


def test_a_new_release(release: Release, tmp_path: Path) -> None:
    check_every_death(tmp_path, None, saving(release, links=False, report=True))


def test_a_new_release_with_links(release: Release, tmp_path: Path) -> None:
    check_every_death(tmp_path, None, saving(release, links=True, report=True))


def test_an_overwritten_release_with_links(release, other_release, tmp_path: Path) -> None:
    check_every_death(
        tmp_path,
        saving(release, links=True, report=True),
        saving(other_release, links=True, report=True),
    )


def test_two_tables_and_a_report_over_one_table_without(release, two_tables, tmp_path) -> None:
    """The new report and the new sensitive values never stay beside the old certificate."""
    check_every_death(
        tmp_path,
        saving(release, links=False, report=False),
        saving(two_tables, links=False, report=True),
    )


def test_one_table_over_two_tables_with_a_report(release, two_tables, tmp_path: Path) -> None:
    check_every_death(
        tmp_path,
        saving(two_tables, links=True, report=True),
        saving(release, links=True, report=False),
    )


def test_sets(tmp_path: Path) -> None:
    sets = [{"tea"}, {"rum"}, {"tea", "rum"}, set()]
    old, new = (anonymize_sets(sets, KAnonymity(2), seed=seed) for seed in (1, 2))
    check_every_death(
        tmp_path, saving(old, links=True, report=True), saving(new, links=True, report=True)
    )


def test_files_that_people_add_to_a_folder_stay(release: Release, tmp_path: Path) -> None:
    """What is added after a kill is not taken for a part of the killed run."""
    added = 0
    for _ in every_death(lambda: saving(release, links=True, report=True)(tmp_path)):
        if (tmp_path / "out").exists():
            added += 1
            (tmp_path / "out" / "README.txt").write_text("mine")
            next_command(tmp_path)
            assert (tmp_path / "out" / "README.txt").read_text() == "mine"
            load_any_release(tmp_path / "out")
            assert (tmp_path / "mine" / "links.parquet").exists()
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    assert added > 2


def test_damaged_files_are_not_published(release, other_release, tmp_path: Path) -> None:
    """A power failure may have damaged what waits: the old release comes back."""
    saving(release, links=False, report=True)(tmp_path)
    before = state(tmp_path)
    damaged = 0
    for _ in every_death(lambda: saving(other_release, links=False, report=True)(tmp_path)):
        waiting = list((tmp_path / "out").glob(".mottle-*/new/release.csv"))
        if waiting and list((tmp_path / "out").glob(".mottle-*/record")):
            waiting[0].write_bytes(b"")
            damaged += 1
            next_command(tmp_path)
            assert state(tmp_path) == before
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        saving(release, links=False, report=True)(tmp_path)
    assert damaged > 2


def test_links_of_a_killed_run_wait_for_a_command_that_names_them(release, tmp_path: Path) -> None:
    """A command without --private finishes the release, and the links are not lost."""
    save = saving(release, links=True, report=True)
    waited = 0
    for _ in every_death(lambda: save(tmp_path)):
        check_paths(tmp_path / "out", None, overwrite=True)
        links = tmp_path / "mine" / "links.parquet"
        waited += (tmp_path / "out").exists() and not links.exists()
        next_command(tmp_path)
        assert (tmp_path / "out").exists() == links.exists()
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    assert waited > 0


def test_owners_files_of_another_release_are_not_decided_here(release, tmp_path: Path) -> None:
    save = saving(release, links=True, report=True)
    refused = 0
    for _ in every_death(lambda: save(tmp_path)):
        waiting = list((tmp_path / "mine").glob(".mottle-*/record"))
        if waiting:
            with pytest.raises(StorageError, match="for the owner of a release in"):
                check_paths(tmp_path / "other", tmp_path / "mine" / "links.parquet", overwrite=True)
            refused += 1
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    assert refused > 0


@pytest.mark.parametrize("exists", [False, True])
def test_single_files(tmp_path: Path, exists: bool) -> None:
    """Files of other commands: a schema, a report, samples."""
    target, names = tmp_path / "out", ["sample-1.csv", "sample-2.csv"]

    def write(text: str) -> None:
        with staged(target, names, overwrite=True) as stage:
            for name in names:
                (stage / name).write_text(text)

    old = {}
    if exists:
        write("old")
        old = dict.fromkeys(names, b"old")
    for _ in every_death(partial(write, "new")):
        with pytest.raises(RuntimeError), staged(target, names, overwrite=True):
            raise RuntimeError
        found = state(tmp_path / "out") if target.exists() else {}
        assert found in (old, dict.fromkeys(names, b"new"))
        assert not list(tmp_path.rglob(".mottle-*"))
        shutil.rmtree(target, ignore_errors=True)
        if exists:
            write("old")


@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_links_of_a_release_in_a_database(release: Release, tmp_path: Path, database: str) -> None:
    """The link file is there if and only if the database holds the release."""
    url, links = f"{database}:///{tmp_path}/open.{database}", tmp_path / "mine" / "links.parquet"
    number = release_number(release.certificate.to_json())
    stored = 0
    for at in every_death(lambda: write_database(release, url, "people", private=links)):
        recover_owner_files([links], f"{url} people", lambda: release_at(url, "people"))
        is_stored = release_at(url, "people") == number
        stored += is_stored
        assert links.exists() == is_stored, f"killed at call {at}"
        assert not list(tmp_path.rglob(".mottle-*"))
        for path in (links, tmp_path / f"open.{database}"):
            path.unlink(missing_ok=True)
    assert stored > 0
