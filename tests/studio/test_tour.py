"""From a table to a verified release, and what every page holds and does not hold."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mottle.studio.project import Project
from mottle.studio.screens import SCREENS

FILES = ["release.csv", "release.parquet"]


def test_from_a_table_to_a_verified_release_that_the_command_line_repeats(
    visit, people: Path, tmp_path: Path, faults_of
) -> None:
    here = visit(people)
    assert "no table is open" in here.page("open")
    assert here.post("/open/open", file="people.csv") == {"to": "/"}
    first = here.page("open")
    assert first.count("<tr>") == 51
    assert "one row = one person" in first

    columns = here.page("columns")
    assert "Proposed because" in columns
    here.post("/columns/role", column=2, role="insensitive")
    assert '+role = "insensitive"' in html.unescape(here.page("columns"))
    here.post("/undo")
    assert here.studio.project.schema().columns[2].role == "quasi-identifying"

    here.post("/promise/choose", k="400", l="", beta="")
    assert "Not feasible" in here.page("promise")
    assert "invalid" in here.page("promise")
    here.post("/promise/choose", k="5", l="", beta="")
    assert "The table can have this promise" in here.page("promise")
    assert "asked for: nobody is linked with more than 1 in 5" in here.page("promise")
    here.post("/promise/preview")
    here.wait_for("preview")
    assert "would be lost" in here.page("promise")
    assert not (people / ".studio" / "preview").exists()

    here.post("/run/start")
    here.wait_for("run")
    run = here.page("run")
    assert "% lost" in run
    assert "no release of this yet" not in run
    assert "received" in here.post("/run/start", status=422)["problem"]

    here.post("/publish/verify")
    here.wait_for("verify")
    assert "Verified." in here.page("publish")
    report = here.client.get("/report")
    policy = report.headers["content-security-policy"]
    assert "sha256-" in policy
    assert "unsafe" not in policy
    assert "script" not in policy

    pages = []
    for name in SCREENS:
        text = here.page(name)
        links = re.findall(r'(?:src|href|action)="([^"]*)"', text)
        assert all(link.startswith("/") or link == "data:," for link in links), links
        assert not re.search(r"<script(?![^>]* src=)|\son\w+=|style=", text)
        pages.append(tmp_path / f"{name}.html")
        pages[-1].write_text(text, encoding="utf-8")
    assert faults_of(pages) == []

    _same_by_command_and_python(here.studio.project, people, tmp_path)

    here.post("/promise/choose", k="6", l="", beta="")
    assert "no release of this yet" in here.page("run")
    assert "% lost</span>" not in here.page("run")


def _same_by_command_and_python(project: Project, people: Path, tmp_path: Path) -> None:
    """What the drawer shows gives the same files under the same key."""
    words = [*project.command("again"), "--private", "stays-here/again.parquet"]
    program = project.shown_python("by-python").replace("links.parquet", "python.parquet")
    for command in (["-m", "mottle", *words], ["-c", program]):
        done = subprocess.run(
            [sys.executable, *command], cwd=people, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    for name in FILES:
        content = (people / "released" / name).read_bytes()
        assert (people / "again" / name).read_bytes() == content
        assert (people / "by-python" / name).read_bytes() == content


HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "'&<b>"]


def test_hostile_names_and_cells_are_shown_as_text_and_named_nowhere_else(
    visit, tmp_path: Path, caplog, capfd
) -> None:
    rows = [HOSTILE, *(HOSTILE for _ in range(30)), *([f"{n}", "b", "c", "d"] for n in range(30))]
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    here = visit(tmp_path / "odd.csv")
    here.post("/promise/choose", k="2", l="2", beta="")
    for name in SCREENS:
        text = here.page(name)
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "<b>," not in text
        assert "alert" not in re.search("<title>(.*?)</title>", text)[1]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in here.page("open")
    assert "{{ 7*7 }}" in here.page("open")
    secret = "<script>alert(1)</script>"
    for address, content in (
        ("/open/open", {"file": "odd.csv/../x"}),
        ("/columns/role", {"column": 99, "role": "sensitive"}),
        ("/columns/role", {"column": "0", "role": "sensitive"}),
        ("/promise/choose", {"k": "many", "l": "", "beta": ""}),
        ("/run/effort", {"seconds": "-1"}),
    ):
        assert secret not in str(here.post(address, status=422, **content))
    assert secret not in caplog.text
    assert secret not in "".join(capfd.readouterr())


def test_paths_elsewhere_and_links_that_lead_there_are_refused(visit, people, tmp_path) -> None:
    (tmp_path / "secret.csv").write_text("name,age\nAnn,3\n")
    os.symlink(tmp_path / "secret.csv", people / "link.csv")
    here = visit(people)
    page = here.page("open")
    assert "people.csv" in page
    assert "link.csv" not in page
    for name in ("link.csv", "../secret.csv", str(tmp_path / "secret.csv"), "", "\0", "none.csv"):
        assert "Ann" not in str(here.post("/open/open", status=422, file=name))
    assert here.studio.opened is None


def test_a_damaged_schema_is_shown_as_a_problem_and_can_be_undone(visit, people) -> None:
    here = visit(people / "people.csv")
    good = here.studio.project.state.toml
    here.studio.project.change(toml='[columns.age]\nrole = "nonsense"\n')
    assert "invalid" in here.page("columns")
    assert "nonsense" in here.page("columns")
    here.post("/undo")
    assert here.studio.project.state.toml == good
    assert "What the columns are" in here.page("columns")


def test_what_one_row_is_goes_into_the_schema(visit, people) -> None:
    here = visit(people / "people.csv")
    here.post("/open/unit", unit="visit", column=0)
    assert here.studio.project.schema().person == "person_id"
    assert "k counts people, by column person_id" in here.page("open")
    here.post("/open/unit", unit="row", column=0)
    assert here.studio.project.schema().person is None
    assert "one row = one row" in here.page("open")
    here.post("/open/unit", status=422, unit="nobody", column=0)
    for name in (".studio", "stays-here"):
        assert (people / name).stat().st_mode & 0o077 == 0


def test_the_demo_is_generated_and_opened(visit, tmp_path) -> None:
    here = visit(tmp_path)
    assert "There is no table in the folder" in here.page("open")
    here.post("/open/demo")
    assert "50 of 2,000 rows" in here.page("open")


@pytest.mark.parametrize("address", ["/nothing/here", "/open/nothing"])
def test_actions_that_do_not_exist_are_refused(visit, tmp_path, address) -> None:
    here = visit(tmp_path)
    assert here.post(address, status=404)
    assert here.client.get("/nothing").status_code == 404
    assert here.client.get("/static/../app.py").status_code == 404
