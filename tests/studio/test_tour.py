"""From a table to a verified release, and what every page holds and does not hold."""

from __future__ import annotations

import errno
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from mottle.studio import project
from mottle.studio.commands import shown_python
from mottle.studio.project import Project
from mottle.studio.recent import recent, remember
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
    assert "How the file was read" not in first  # as most files are written
    assert "one row = one person" in first

    _columns(here)
    here.post("/columns/role", column=2, role="insensitive")
    assert '+role = "insensitive"' in html.unescape(here.page("columns"))
    here.post("/undo")
    assert here.studio.project.schema().columns[2].role == "quasi-identifying"

    here.post("/columns/scenario", **{"scenario-0": True, "scenario-2": True})
    here.post("/columns/scenario", **{"scenario-0": True})
    stated = here.studio.project.schema().context
    assert [words[:11] for words in stated.adversaries] == ["a neighbour"]
    assert here.page("columns").count("checked") == 1

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
    _explore(here)
    _try_variants(here, people)

    here.post("/run/start")
    for _ in range(2):  # a page that is loaded again shows the run that goes on
        assert 'data-post="/run/cancel"' in here.page("run")
    here.wait_for("run")
    run = here.page("run")
    assert "% lost" in run
    assert "no release of this yet" not in run
    assert "received" in here.post("/run/start", status=422)["problem"]

    _use(here, people)
    _attack(here)
    _two_releases(here, people)
    _beside(here, people)

    here.post("/publish/verify")
    here.wait_for("verify")
    assert "Verified." in here.page("publish")
    _publish(here, people)
    report = here.client.get("/report")
    assert "a neighbour, who knows" in report.text
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


def _columns(here) -> None:
    """Roles are lanes; who is singled out and what depends on what follows the roles."""
    page = here.page("columns")
    assert "Proposed because" in page
    assert page.count("data-lane=") == 5
    assert "data-now" in page
    here.post("/columns/measure")
    first = here.studio.exposure()
    assert [each.columns for each in first.known] == [1, 2]
    page = here.page("columns")
    assert "data-now" not in page
    assert f"{first.known[1].worst[0][1]:.1%} age, sex" in page
    here.post("/columns/role", column=1, role="insensitive")
    assert here.studio.exposure() is None  # never figures of other roles
    here.post("/columns/measure")
    assert "published as it is" in here.page("columns")
    here.post("/undo")
    assert here.studio.exposure() == first


def _publish(here, people: Path) -> None:
    """Context, sign-off, signature, copies and databases leave rows and promise as they are."""
    before = {name: (people / "released" / name).read_bytes() for name in FILES}
    assert "Write certificate and report anew" in here.page("publish")  # a question was pinned
    stated = {"purpose": "a study", "recipients": "us\nthem", "controls": "", "reviewer": "B. Beta"}
    here.post("/publish/state", status=422, **stated, review_by="soon")
    here.post("/publish/state", **stated, review_by="2031-02-03", **{"list-wp216": True})
    here.wait_for("restate")
    page = here.page("publish")
    assert "Write certificate and report anew" not in page
    assert "Verified." in page  # the rows are the same
    assert "lines answered" in page
    report = here.client.get("/report").text
    assert "B. Beta" in report
    assert "WHERE age &gt;= 60" in report
    assert "in the original" not in report  # the truth stays here
    assert here.studio.project.current_run() is not None
    for suffix in ("xlsx", "sav"):
        here.post("/publish/export", format=suffix)
        here.wait_for("export")
        assert (people / "copies" / f"release.{suffix}").stat().st_size > 1000
    here.post("/publish/export", status=422, format="exe")
    assert "copies/release.xlsx" in here.page("publish")
    assert (
        "outside"
        in here.post(
            "/publish/store", status=422, address="../out.duckdb", table="open", password=""
        )["problem"]
    )
    here.post("/publish/store", address="out.duckdb", table="open", password="")
    assert "open_certificate" in here.page("publish")
    with duckdb.connect(str(people / "out.duckdb")) as database:
        assert database.execute("SELECT COUNT(*) FROM open").fetchall() == [(300,)]
    here.post("/publish/sign", status=422, key="/etc/passwd")
    key = people / "stays-here" / "signing"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    here.post("/publish/sign", key="stays-here/signing")
    here.wait_for("sign")
    assert "✓ Signed." in here.page("publish")
    here.post("/publish/state", **stated, review_by="")
    here.wait_for("restate")
    assert "changed since they were signed" in here.page("publish")
    assert {name: (people / "released" / name).read_bytes() for name in FILES} == before


def _explore(here) -> None:
    """Several k are tried in memory; what it costs stands beside the promise."""
    here.post("/promise/explore")
    here.wait_for("frontier")
    found = next(iter(here.studio.frontiers.values()))
    losses = [point["loss"] for point in found["points"]]
    assert [point["k"] for point in found["points"]][:3] == [2, 3, 5]
    assert losses == sorted(losses)
    assert found["others"]["mondrian"]["5"] > losses[2]
    assert found["others"]["global"]["5"] > losses[2]
    assert "data-frontier" in here.page("promise")


def _try_variants(here, people: Path) -> None:
    """Variants run one after the other, are measured, leave nothing, and can be taken."""
    before = here.studio.project.state
    here.post("/run/try", status=422, k="", l="", beta="", seconds=0)
    here.post("/run/try", k="3", l="", beta="", seconds=0)
    here.post("/run/try", k="4", l="", beta="", seconds=0)
    assert "2 in the queue" in here.page("run")
    here.wait_for("variant")
    first, second = here.studio.project.variants()
    assert first["loss"] < second["loss"]
    assert not (people / ".studio" / "variant").exists()
    assert here.studio.project.state == before
    here.post("/run/take", status=422, variant=2)
    here.post("/run/take", variant=1)
    assert here.studio.project.state.wishes.options["k"] == "4"
    here.post("/undo")
    assert here.studio.project.state == before
    here.post("/run/forget")
    assert here.studio.project.variants() == []


def _use(here, people: Path) -> None:
    """Answers stand beside the truth, and pinned questions stay in the project."""
    assert "data-now" in here.page("use")
    here.post("/use/prepare")
    sql = "SELECT COUNT(*) FROM release WHERE age >= 60"
    here.post("/use/ask", status=422, sql="SELECT nonsense")
    here.post("/use/pin", sql=sql)
    ages = [
        int(line.split(",")[1]) for line in (people / "people.csv").read_text().splitlines()[1:]
    ]
    page = here.page("use")
    assert f'<td class="count truth">{sum(age >= 60 for age in ages)}</td>' in page
    assert page.count('class="card"') == 3
    assert here.studio.project.questions == (sql,)
    assert "(current)" in page
    here.post("/use/explain", status=422, row=0)
    here.post("/use/explain", status=422, column=0, cell=99)
    here.post("/use/explain", column=0, cell=0)
    found = here.studio.explained[1]
    assert sum(each.true for each in found.preimages) == 1
    assert f"Why record {found.row} is so wide" in here.page("use")
    assert found.columns[0].cell == here.studio.analysis.ready.columns[0].widest[0][0]
    here.post("/use/compare")
    page = here.page("use")
    assert "Who loses most" in page
    assert "cannot be measured" not in page
    assert "in the original 0." in page
    here.post("/use/look", status=422, first=9, second=-1)
    here.post("/use/look", status=422, first=0)
    here.post("/use/look", first=0, second=-1)
    _, found = here.studio.looked
    assert (found.first, found.second) == ("age", None)
    assert sum(each.before for each in found.marks) == pytest.approx(1)
    assert all(each.certain <= each.before <= each.possible for each in found.marks)
    here.post("/use/look", first=1, second=2)
    page = here.page("use")
    for each in here.studio.looked[1].marks:
        assert f"<td>{each.other}</td>" in page
        assert f"{100 * each.before:.1f} %" in page
    here.post("/run/try", k="3", l="", beta="", seconds=0)  # pinned questions measure variants
    here.wait_for("variant")
    assert here.studio.project.variants()[0]["error"] is not None
    assert "questions off by" in here.page("run")
    here.post("/run/forget")


def _attack(here) -> None:
    """The chair counts the records that contain a person, and the adversaries hold."""
    here.post("/attack/sit")
    here.post("/attack/pick", who="exposed")
    chair = here.studio.chair.ready
    records = chair.view.release.table.to_pylist()
    for person in (0, 17, chair.exposed):
        row = chair.original.slice(person, 1).to_pylist()[0]
        fits = [each["age"]["lo"] <= row["age"] <= each["age"]["hi"] for each in records]
        both = [fit and row["sex"] in each["sex"] for fit, each in zip(fits, records, strict=True)]
        assert chair.attack(person, ["age"], 0).matches == sum(fits)
        found = chair.attack(person, ["age", "sex"], 0)
        assert (found.matches, found.along_graph) == (sum(both), True)
        assert 5 <= found.candidates <= found.matches
        assert sum(each.after for each in found.beliefs[0][1]) == pytest.approx(1)
        assert chair.attack(person, ["age", "sex"], 2).candidates == found.candidates - 2
        assert chair.attack(person, ["age", "sex"], 999).candidates >= 1
    assert "may be this person" in here.page("attack")
    here.post("/attack/know", status=422, people=0)
    here.post("/attack/know", **{"known-0": True, "people": 0})
    here.post("/attack/search", text=str(row["age"]))
    here.post("/attack/search", status=422, text="nobody has this")
    here.post("/attack/pick", status=422, who="99999")
    assert "all records that contain what is known" in here.page("attack")
    here.post("/attack/play")
    here.wait_for("audit")
    assert "no adversary got beyond what is promised" in here.page("attack")
    assert "linkage" in here.page("attack")


def _two_releases(here, people: Path) -> None:
    """What a second release of the same table leaves possible about a person."""
    assert "Two releases" not in here.page("attack")
    words = ["anonymize", "people.csv", "--schema", "mottle.toml", "--k", "3", "-o", "earlier"]
    done = subprocess.run([sys.executable, "-m", "mottle", *words], cwd=people, check=False)
    assert done.returncode == 0
    here.post("/attack/second", status=422, release="released")
    here.post("/attack/second", status=422, release="../project")
    here.post("/attack/second", release="earlier")
    name, other = here.studio.second
    person = here.studio.chosen.person
    chair = here.studio.chair.ready
    known = here.studio.chosen.known or chair.columns
    one, two = (each.possible(person, known) for each in (chair, other))
    own = here.studio.opened.table.column("diagnosis")[person].as_py()
    assert own in one[1]["diagnosis"]
    assert own in two[1]["diagnosis"]
    page = here.page("attack")
    assert name == "earlier"
    assert f'<b class="figure">{two[0]}</b> of earlier contain what is known' in page


def _beside(here, people: Path) -> None:
    """Another tool's file is held against the same promise, and ours stays beside it."""
    here.post("/attack/beside", status=422, file="../people.csv", tool="arx")
    lines = (people / "people.csv").read_text().splitlines()
    copied = [line.split(",", 1)[1] for line in lines]  # every person is alone with her age
    (people / "theirs.csv").write_text("\n".join(copied) + "\n")
    here.post("/attack/beside", status=422, file="theirs.csv", tool="none")
    here.post("/attack/beside", file="theirs.csv", tool="other")
    here.wait_for("audit")
    page = here.page("attack")
    assert 'theirs.csv: <b class="bad">the promise is broken</b>' in page
    assert 'Our release: <b class="good">' in page
    assert here.studio.project.audits()["other"]["file"] == "theirs.csv"


def _same_by_command_and_python(made: Project, people: Path, tmp_path: Path) -> None:
    """What the drawer shows gives the same files under the same key."""
    words = [*made.command("again"), "--private", "stays-here/again.parquet"]
    program = shown_python(made, "by-python").replace("links.parquet", "python.parquet")
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
    here.post("/open/unit", unit="household", column=0)
    here.post("/promise/choose", k="2", l="", beta="")
    here.post("/run/start")
    here.wait_for("run")
    for address in ("/use/prepare", "/attack/sit"):
        here.post(address)
    here.post("/use/ask", sql='SELECT "{{ 7*7 }}", COUNT(*) FROM release GROUP BY "{{ 7*7 }}"')
    here.post("/use/look", first=0, second=1)
    here.post("/attack/search", text=HOSTILE[0])
    here.post("/values/example")
    for name in SCREENS:
        text = here.page(name)
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "<b>," not in text
        assert "alert" not in re.search("<title>(.*?)</title>", text)[1]
    assert "may be this household's" in here.page("attack")
    assert "households that nobody equals" in here.client.get("/report").text
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


@pytest.mark.parametrize(
    "wishes",
    [
        {"options": {"k": "5", "seed": "7"}},
        {"options": {"k": "5", "key": "owner-of-somebody-else.key"}},
        {"options": {"k": "5", "unsafe_paper_randomization": True}},
        {"options": {"k": "--seed"}},
        {"options": {"k": "5", "beta": "."}},
        {"options": ["k"]},
        {"caps": {"flu": "0.2", "a=b": "0.3"}},
        {"caps": {"flu": "2"}},
        {"options": {"cap_rest": "nan"}},
        {"data": 3},
    ],
)
def test_a_prepared_project_cannot_add_options_to_the_command(
    visit, people: Path, wishes: dict
) -> None:
    (people / ".studio").mkdir()
    content = {"data": "people.csv", **wishes}
    (people / ".studio" / "project.json").write_text(json.dumps(content))
    here = visit(people)
    page = here.page("run")
    assert "The project of the studio is damaged" in page
    assert "seed" not in page
    assert "damaged" in here.post("/run/start", status=422)["problem"]


def test_what_one_row_is_goes_into_the_schema(visit, people) -> None:
    here = visit(people / "people.csv")
    here.post("/open/unit", unit="visit", column=0)
    assert here.studio.project.schema().person == "person_id"
    assert "k counts people, by column person_id" in here.page("open")
    here.post("/open/unit", unit="household", column=0)
    assert "one row = one household" in here.page("open")
    assert 'unit = "household"' in here.studio.project.state.toml
    here.post("/promise/choose", k="5", l="", beta="")
    assert "no household is linked with more than 1 in 5" in here.page("open")
    here.post("/open/unit", unit="row", column=0)
    assert here.studio.project.schema().person is None
    assert "one row = one row" in here.page("open")
    here.post("/open/unit", status=422, unit="nobody", column=0)
    for name in (".studio", "stays-here"):
        assert (people / name).stat().st_mode & 0o077 == 0


def test_a_file_written_as_in_germany_is_read_and_the_page_says_how(visit, tmp_path: Path) -> None:
    towns = ["München", "Köln", "Düsseldorf", "Nürnberg", "köln "]
    rows = [
        f"{20 + n % 40};{n % 7},5;{1 + n % 28:02}.03.2024;{towns[n % len(towns)]}"
        for n in range(60)
    ]
    file = tmp_path / "export.csv"
    file.write_bytes("\r\n".join(["Alter;Wert;Wert;Ort", *rows]).encode("cp1252"))
    here = visit(tmp_path)
    refused = here.post("/open/open", status=422, file="export.csv")
    assert refused["problem"] == "export.csv: duplicate column names: Wert."
    file.write_bytes("\r\n".join(["Alter;Wert;Tag;Ort", *rows]).encode("cp1252"))
    here.post("/open/open", file="export.csv")
    page = here.page("open")
    assert "encoding cp1252; columns separated by semicolons; decimal mark ,; dates written" in page
    assert "<td>0.5</td><td>2024-03-01</td>" in page
    page = here.page("columns")
    noticed = page.index("What was noticed: stays here")
    assert noticed < page.index("only in capitals or in spaces") < page.index("Columns by role")
    assert "First: what is promised" in here.page("run")


def test_a_tree_of_the_items_of_a_column_of_sets_goes_into_the_schema(visit, tmp_path) -> None:
    cells = ["I20;J10", "I21", "J45", "I20", "J10;J45", "I21"] * 5
    lines = "".join(f"{20 + place % 3},{cell}\n" for place, cell in enumerate(cells))
    (tmp_path / "ill.csv").write_text("age,ill\n" + lines)
    columns = '[columns.age]\nrole = "quasi-identifying"\n[columns.ill]\n'
    (tmp_path / "mottle.toml").write_text(columns + 'role = "quasi-identifying"\nkind = "set"\n')
    here = visit(tmp_path / "ill.csv")
    here.post("/values/show", column=1)
    here.post("/values/build", by="prefixes", words="1")
    column = here.studio.project.schema().columns[1]
    assert str(column.kind) == "set"
    assert set(column.hierarchy.leaves) == {"I20", "I21", "J10", "J45"}
    assert "similarity" not in here.page("values")
    here.post("/values/example")
    assert '<ul class="cells">' in here.page("values")
    here.post("/values/without")
    column = here.studio.project.schema().columns[1]
    assert (str(column.kind), column.hierarchy) == ("set", None)


def test_trees_and_steps_of_values_go_into_the_schema_and_are_undone(visit, people) -> None:
    here = visit(people / "people.csv")
    before = here.studio.project.state.toml
    here.post("/values/build", by="intervals", words="10,20")
    column = here.studio.project.schema().columns[1]
    assert (str(column.kind), column.hierarchy_file.name) == ("hierarchy", "1.csv")
    page = here.page("values")
    tree = column.hierarchy
    nodes = [tree.labels.index(name) for name in ("0-9", "10-19")]
    assert all(f'name="node-{node}"' in page for node in nodes)
    here.post("/values/split", **{f"node-{tree.labels.index('0-19')}": True})
    assert here.studio.project.schema().columns[1].hierarchy_file.name == "2.csv"
    here.post("/values/example")
    assert '<ul class="cells">' in here.page("values")
    here.post("/values/group", status=422, name="x")
    here.post("/values/build", status=422, by="intervals", words="ten")
    here.post("/values/without")
    here.post("/values/coarsen", snap="5", bottom="", top="80", breaks="", granularity="")
    column = here.studio.project.schema().columns[1]
    assert (column.snap, column.top, column.hierarchy) == (5, 80, None)
    here.post(
        "/values/coarsen", status=422, snap="5", bottom="", top="", breaks="1,2", granularity=""
    )
    for _ in range(4):
        here.post("/undo")
    assert here.studio.project.state.toml == before


def test_on_a_full_disk_nothing_is_lost(visit, people, monkeypatch) -> None:
    here = visit(people / "people.csv")
    here.post("/promise/choose", k="5", l="", beta="")
    before = here.studio.project.state

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:  # full between the two files that a change writes
        patched.setattr(project, "write_together", full)
        here.post("/promise/choose", status=507, k="9", l="", beta="")
        here.post("/columns/role", status=507, column=2, role="insensitive")
    here.post("/undo")  # once: the change before those that were not written
    assert "k" not in here.studio.project.state.wishes.options
    here.post("/promise/choose", k="5", l="", beta="")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for address, content in (
            ("/promise/choose", {"k": "9", "l": "", "beta": ""}),
            ("/columns/role", {"column": 2, "role": "insensitive"}),
            ("/undo", {}),
        ):
            assert "No space left" in here.post(address, status=507, **content)["problem"]
            assert here.studio.project.state == before
    here.post("/promise/choose", k="9", l="", beta="")
    here.post("/undo")
    assert here.studio.project.state == before


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


def test_caps_of_single_values_and_known_records_are_promised_and_repeated(
    visit, people: Path, tmp_path: Path
) -> None:
    here = visit(people / "people.csv")
    values = here.studio.sensitive()[0]
    shares = values.counts / values.rows
    rare = int(shares.argmin())
    named = values.label(rare)
    here.post("/promise/choose", k="3", l="", beta="", known_records="15")
    assert "one known record gives away at most 15" in here.page("promise")
    assert "goes along with a promise about" in here.page("promise")  # caps come next
    here.post("/promise/cap", status=422, **{f"cap-0-{rare}": "much"}, rest="")
    here.post("/promise/cap", **{f"cap-0-{rare}": "0.1"}, rest="")
    page = here.page("promise")
    assert "Not feasible" in page
    least = -int(-10_000 * shares[rare] // 1) / 100
    assert f"{least:g} to 100 %" in page
    here.post("/promise/cap", **{f"cap-0-{rare}": "30"}, rest="60")
    page = here.page("promise")
    assert "The table can have this promise" in page
    assert "own caps on a value of diagnosis, from 30 %" in page
    assert named not in re.search("<title>(.*?)</title>", page)[1]
    assert here.studio.project.state.wishes.caps == {named: "0.3"}
    here.post("/promise/choose", k="3", l="", beta="", known_records="15")
    assert here.studio.project.state.wishes.caps == {named: "0.3"}  # they stay
    here.post("/promise/preview")
    here.wait_for("preview")
    here.post("/run/start")
    here.wait_for("run")
    certificate = json.loads((people / "released" / "certificate.json").read_text())
    assert certificate["known_record"]["others"] <= 15
    assert named not in json.dumps(certificate["guarantee"])
    _same_by_command_and_python(here.studio.project, people, tmp_path)


def test_recent_projects_are_those_that_studios_were_started_with(
    visit, people: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "more.csv").write_text((people / "people.csv").read_text())
    visit(other / "more.csv")
    remember(other)
    remember(tmp_path / "gone")
    here = visit(people / "people.csv")
    remember(people)
    assert recent() == [people, other]
    assert (tmp_path / "state" / "mottle" / "studio.json").stat().st_mode & 0o077 == 0
    assert f"<option>{other}</option>" in here.page("open")
    here.post("/open/recent", status=422, folder=str(tmp_path))
    here.post("/open/open", status=422, file="../other/more.csv")
    here.post("/open/recent", folder=str(other))
    assert "more.csv" in here.page("open")
    assert recent() == [other, people]
    here.post("/open/open", status=422, file="../project/people.csv")  # one folder at a time


def test_a_table_is_opened_by_its_path_below_the_folder(visit, people: Path) -> None:
    here = visit(people)
    (people / "data").mkdir()
    (people / "people.csv").rename(people / "data" / "people.csv")
    here.post("/open/open", file="data/people.csv")
    assert "50 of 300 rows" in here.page("open")
    assert here.studio.project.data_word == "./data/people.csv"
    for name in ("released", "stays-here", ".studio"):
        (people / name).mkdir(exist_ok=True)
        (people / name / "people.csv").write_text("a\n1\n")
        here.post("/open/open", status=422, file=f"{name}/people.csv")
