"""The command line and reports: which are written, where, and which are refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pyarrow.csv
import pytest
from typer.testing import CliRunner

import mottle
from mottle import datasets
from mottle.cli.app import app

COLUMNS = ["age", "sex", "diagnosis"]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.csv"
    pyarrow.csv.write_csv(datasets.population(120, seed=5).select(COLUMNS), path)
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def anonymize(people: Path, folder: Path, *more: object) -> tuple[int, str]:
    named = ("--qi", "age,sex", "--sensitive", "diagnosis", "--k", 4)
    return run("anonymize", people, *named, "-o", folder, *more)


@pytest.fixture(scope="module")
def released(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    more = ("--private", folder / "links.parquet")
    code, text = anonymize(people, folder / "out", *more)
    assert code == 0, text
    assert "report.html" in text
    return folder / "out"


def test_internal_report_holds_the_command_as_typed(people: Path, tmp_path: Path) -> None:
    internal = tmp_path / "internal.html"
    code, text = anonymize(
        people, tmp_path / "out", "--internal-report", internal, "--report-examples"
    )
    assert code == 0, text
    assert "keep it secret" in text
    page = internal.read_text(encoding="utf-8")
    assert f"mottle anonymize {people} --qi age,sex" in page
    assert "Ten people before and after" in page
    assert str(people) not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_no_report_is_written_when_none_is_wanted(people: Path, tmp_path: Path) -> None:
    code, text = anonymize(people, tmp_path / "out", "--no-report")
    assert code == 0
    assert "report.html" not in text
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--report-examples"], "rows of the original, which report.html must not"),
        (["--internal-report", "OUT/internal.html"], "for the owner only"),
        (["--internal-report", "x.html", "--private", "x.html"], "cannot be both"),
    ],
)
def test_what_would_give_the_original_away_is_refused_before_the_run(
    people: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    options = [option.replace("OUT", str(tmp_path / "out")) for option in options]
    code, text = anonymize(people, tmp_path / "out", *options)
    assert code == 2
    assert words in " ".join(text.split())
    assert not (tmp_path / "out").exists()


def test_report_can_be_made_again_and_is_the_same(released: Path) -> None:
    before = (released / "report.html").read_bytes()
    assert run("report", released)[0] == 5, "an existing file is not replaced"
    code, text = run("report", released, "--overwrite")
    assert code == 0, text
    assert (released / "report.html").read_bytes() == before


def test_internal_report_can_be_made_later(released: Path, people: Path, tmp_path: Path) -> None:
    links = released.parent / "links.parquet"
    code, text = run(
        "report",
        released,
        "--original",
        people,
        "-o",
        tmp_path / "i.html",
        "--private",
        links,
        "--report-examples",
    )
    assert code == 0, text
    assert stat.S_IMODE((tmp_path / "i.html").stat().st_mode) == 0o600
    page = (tmp_path / "i.html").read_text(encoding="utf-8")
    assert "Ten people before and after" in page
    assert 'class="before"' in page


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--original", "DATA"], 2, "must be written outside the release"),
        (["--original", "DATA", "-o", "RELEASE/i.html"], 2, "for the owner only"),
        (["--report-examples"], 2, "needs the original and the owner's link file"),
        (
            ["--original", "DATA", "-o", "i.html", "--report-examples"],
            2,
            "needs the original and the owner's link file",
        ),
    ],
)
def test_wrong_options_are_named(
    released: Path, people: Path, options: list[str], code: int, words: str
) -> None:
    places = {"DATA": str(people), "RELEASE": str(released)}
    for name, place in places.items():
        options = [option.replace(name, place) for option in options]
    found, text = run("report", released, *options)
    assert found == code
    assert words in " ".join(text.split())


def test_another_table_and_no_release_are_refused(released: Path, people, tmp_path: Path) -> None:
    shorter = tmp_path / "shorter.csv"
    pyarrow.csv.write_csv(pyarrow.csv.read_csv(people).slice(1), shorter)
    code, text = run("report", released, "--original", shorter, "-o", tmp_path / "i.html")
    assert code == 4
    assert "not the table" in text
    assert run("report", tmp_path / "nowhere")[0] == 5


def test_report_of_sets_can_be_made_again(people: Path, tmp_path: Path) -> None:
    (tmp_path / "baskets.dat").write_text("tea rum\nrum\ntea\nmilk tea\n")
    code, text = run("anonymize-sets", tmp_path / "baskets.dat", "--k", 2, "-o", tmp_path / "out")
    assert code == 0, text
    before = (tmp_path / "out" / "report.html").read_bytes()
    code, text = run("report", tmp_path / "out", "--overwrite")
    assert code == 0, text
    assert (tmp_path / "out" / "report.html").read_bytes() == before
    assert run("report", tmp_path / "out", "--original", people, "-o", tmp_path / "i")[0] == 2


def test_context_checklists_and_groups_are_asked_for_by_options(
    people: Path, tmp_path: Path
) -> None:
    (tmp_path / "context.toml").write_text('[context]\npurpose = "A study of stays"\n')
    code, text = anonymize(
        people,
        tmp_path / "out",
        "--classic",
        *("--context", tmp_path / "context.toml", "--checklist", "wp216,hipaa"),
    )
    assert code == 0, text
    assert "points compared with cells" in " ".join(text.split())
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "A study of stays" in page
    assert "Opinion 05/2014" in page
    assert "164.514" in page
    assert "27559" not in page
    code, text = run("report", tmp_path / "out", "--checklist", "ema", "-o", tmp_path / "ema.html")
    assert code == 0, text
    assert "policy 0070" in (tmp_path / "ema.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--checklist", "wp217"], "Did you mean 'wp216'?"),
        (["--classic", "--method", "nh"], "--classic chooses the method"),
        (["--context", "{}"], "has no table [context]"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    people: Path, tmp_path: Path, more: list[str], message: str
) -> None:
    (tmp_path / "empty.toml").write_text("")
    words = [word.format(tmp_path / "empty.toml") for word in more]
    code, text = anonymize(people, tmp_path / "out", *words)
    assert code != 0
    assert message in " ".join(text.split())
    assert not (tmp_path / "out").exists()


def test_the_context_is_stated_anew_and_its_questions_are_answered(
    people: Path, tmp_path: Path
) -> None:
    folder, links = tmp_path / "out", tmp_path / "links.parquet"
    assert anonymize(people, folder, "--private", links)[0] == 0
    rows = (folder / "release.parquet").read_bytes()
    stated = tmp_path / "context.toml"
    stated.write_text(
        '[context]\nreviewer = "B. Beta"\n'
        'questions = ["SELECT COUNT(*) FROM release", "SELECT AVG(height) FROM release"]\n'
    )
    assert run("report", folder, "--context", stated)[0] == 5  # report and certificate exist
    assert run("report", folder, "--context", stated, "--overwrite")[0] == 0
    assert mottle.read_release(folder).certificate.context.reviewer == "B. Beta"
    assert (folder / "release.parquet").read_bytes() == rows
    report = (folder / "report.html").read_text()
    assert "Questions of the owner" in report
    assert "SELECT COUNT(*) FROM release" in report
    assert "height" in report  # it cannot be answered, which the report says
    assert "in the original</th>" not in report
    internal = tmp_path / "internal.html"
    code, text = run("report", folder, "--original", people, "--private", links, "-o", internal)
    assert code == 0, text
    assert "in the original</th>" in internal.read_text()
    for more in (["-o", tmp_path / "x.html"], ["--original", people, "-o", tmp_path / "y.html"]):
        assert run("report", folder, "--context", stated, *more)[0] == 2
