"""Tables from elsewhere: dropped files, databases and projects of ARX."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from arx_project import Attribute, parts_of_project, write_project

import mottle
from mottle.errors import UsageError
from mottle.studio import dropped
from mottle.studio.commands import shown_command, shown_python
from mottle.studio.dropped import Dropped
from mottle.studio.elsewhere import with_password

ATTRIBUTES = [
    Attribute("name", "IDENTIFYING"),
    Attribute("age", "QUASI_IDENTIFYING", "Integer"),
    Attribute("city", "QUASI_IDENTIFYING"),
]
ROWS = [[f"n{number}", 20 + number % 5, "Ulm"] for number in range(12)]


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def closed(here) -> None:
    asyncio.run(here.studio.close())


def test_a_dropped_file_is_private_removed_at_the_end_and_known_again(visit, people) -> None:
    content = (people / "people.csv").read_bytes()
    (people / "people.csv").unlink()
    here = visit(people)
    assert here.drop("Leute, ä 1.csv", content, modified="1700000000000") == {"to": "/"}
    place = people / ".studio" / "dropped"
    assert (mode(place), mode(place / "Leute, ä 1.csv")) == (0o700, 0o600)
    assert [file.name for file in place.iterdir()] == ["Leute, ä 1.csv"]
    here.post("/promise/choose", k="5", l="", beta="")
    before = here.studio.project.fingerprint
    other = visit(people)  # a second studio in the same folder leaves it alone
    closed(other)
    assert "300 rows" in here.page("open")
    closed(here)
    assert not place.exists()

    here = visit(people)
    page = here.page("open")
    assert "drop it again" in page
    assert 'data-form="/open/database"' in page
    for name in ("columns", "promise", "run", "publish"):
        assert here.client.get(f"/{name}").status_code == 200
    here.drop("Leute, ä 1.csv", content, modified="1700000000000")
    assert here.studio.project.fingerprint == before
    closed(here)


def test_what_a_killed_studio_has_left_is_removed_by_the_next_one(people) -> None:
    place = people / ".studio" / "dropped"
    place.mkdir(parents=True)
    (place / "people.csv").write_text("age\n1\n")
    Dropped(people)
    assert not place.exists()
    outside = people.parent / "outside"
    outside.mkdir()
    (outside / "kept.csv").write_text("age\n1\n")
    place.symlink_to(outside)
    Dropped(people).close()
    assert (outside / "kept.csv").exists()


@pytest.mark.parametrize(
    "name",
    [
        *("", ".csv", "../x.csv", "a/b.csv", "a\\b.csv", "/etc/x.csv", "x.csv\n", "a\0.csv"),
        *("x.exe", "\u202egpj.csv", "x" * 300 + ".csv", "csv", ".."),
    ],
)
def test_hostile_names_are_refused_and_leave_nothing(visit, people, name) -> None:
    here = visit(people)
    before = sorted(path for path in people.parent.rglob("*") if "dropped" not in path.parts)
    said = here.drop(name, b"age\n1\n", status=422)
    assert said["problem"]
    after = sorted(path for path in people.parent.rglob("*") if "dropped" not in path.parts)
    assert [path for path in after if path.name != ".studio"] == before
    assert list(people.glob(".studio/dropped/*")) == []
    closed(here)


def test_files_that_are_too_large_damaged_or_do_not_fit_on_the_disk_are_not_kept(
    visit, people, monkeypatch
) -> None:
    here = visit(people)
    monkeypatch.setattr(dropped, "LARGEST", 1000)
    here.drop("large.csv", b"age\n" + b"1\n" * 1000, status=413)
    here.drop("damaged.parquet", b"PAR1 and nothing else", status=422)
    here.drop("damaged.deid", b"no archive", status=422)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        assert "No space left" in here.drop("small.csv", b"age\n1\n", status=507)["problem"]
    assert list(people.glob(".studio/dropped/*")) == []
    assert list(people.glob(".studio/dropped/.*")) == []
    assert here.studio.opened is None
    answer = here.client.post("/open/drop", content=b"age\n1\n")
    assert answer.status_code == 403
    closed(here)


def test_a_table_of_a_database_is_read_and_the_shown_command_gives_the_same_release(
    visit, tmp_path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    table = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    with sqlite3.connect(folder / "clinic.db") as database:
        table.to_pandas().to_sql("ward people", database, index=False)
    here = visit(folder)
    here.post("/open/database", status=422, address="clinic.db", table="", password="")
    said = here.post("/open/database", status=422, address="clinic.db", table="x", password="")
    assert "ward people" in said["problem"] + said["remedy"]
    here.post("/open/database", status=422, address="../other.db", table="x", password="")
    here.post("/open/database", address="clinic.db", table="ward people", password="")
    page = here.page("open")
    assert "200 rows" in page
    assert "Read from clinic.db, table ward people." in page
    here.post("/promise/choose", k="5", l="", beta="")
    here.post("/run/start")
    here.wait_for("run")
    command = shown_command(here.studio.project, "again").replace("links", "again")
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    content = (folder / "released" / "release.csv").read_bytes()
    assert (folder / "again" / "release.csv").read_bytes() == content
    script = shown_python(here.studio.project, "by-python")
    assert "read_database('clinic.db'" in script
    closed(here)


def test_a_password_is_shown_logged_and_stored_nowhere(visit, people, caplog, capfd) -> None:
    secret = "p/ss:w@rd"
    here = visit(people)
    found = ""
    for address in ("postgresql://ada@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x", "nonsense"):
        body = {"address": address, "table": "people", "password": secret}
        found += str(here.post("/open/database", status=422, **body))
    found += here.page("open") + caplog.text + "".join(capfd.readouterr())
    for path in people.rglob("*"):
        found += path.read_text(errors="replace") if path.is_file() else ""
    for each in (secret, "p%2Fss", "w%40rd"):
        assert each not in found
    assert secret not in repr(vars(here.studio))


def test_a_password_needs_a_user_and_keeps_the_rest_of_the_address() -> None:
    found = with_password("postgresql://ada@[::1]:5432/x?sslmode=require", "ü#")
    assert found == "postgresql://ada:%C3%BC%23@[::1]:5432/x?sslmode=require"
    for address in ("postgresql://host/x@y", "postgresql://a:b@host/x", "people.db"):
        with pytest.raises(UsageError):
            with_password(address, "x")


def test_a_project_of_arx_becomes_a_project_of_the_studio(visit, people) -> None:
    path = write_project(people / "example.deid", parts_of_project(ATTRIBUTES, ROWS))
    here = visit(people)
    assert "example.deid" in here.page("open")
    here.post("/open/arx", status=422, file="people.csv")
    here.post("/open/arx", file="example.deid")
    assert here.studio.project.folder == people / "example"
    page = here.page("open")
    assert "What became of the imported project" in page
    assert here.studio.opened is not None
    assert here.studio.project.state.wishes.options["k"]
    here.post("/open/project", project=".")
    assert here.studio.opened is None
    here.post("/open/project", status=422, project="../x")
    here.drop("second.deid", path.read_bytes())
    assert here.studio.project.folder == people / "second"
    assert list(people.glob(".studio/dropped/*")) == []
    path.rename(people / "released.deid")
    here.post("/open/project", project=".")
    here.post("/open/arx", status=422, file="released.deid")
    closed(here)
