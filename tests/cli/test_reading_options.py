"""Reading options stick from one command to the next; messages about reading say the way out."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle import Schema
from mottle.cli import _progress
from mottle.io.link_file import LinkFile

COLUMNS = ("--qi", "age,size,job", "--sensitive", "diagnosis", "--id", "id")
READING = ("--missing", "?", "--missing", "n/a", "--decimal", ",", "--delimiter", ";")


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(1)
    lines = ["id;age;size;job;diagnosis"]
    for row in range(300):
        age = "?" if row % 20 == 0 else str(random.integers(18, 90))
        size = f"{random.normal(1.7, 0.1):.2f}".replace(".", ",")
        job = random.choice(["cook", "nurse", "n/a"])
        lines.append(f"{row};{age};{size};{job};{random.choice(['flu', 'none'])}")
    path = tmp_path_factory.mktemp("data") / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(messy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release made with options of reading, its links, and the mottle.toml of its report."""
    place = tmp_path_factory.mktemp("made")
    done = mottle_command(
        *("anonymize", messy, *COLUMNS, *READING, "--k", "5", "--method", "nh", "--seed", "1"),
        *("-o", place / "released", "--private", place / "links.parquet"),
    )
    assert done.exit_code == 0, done.output
    return place


def test_links_remember_how_the_table_was_read(made: Path) -> None:
    reading = LinkFile(made / "links.parquet").reading
    assert reading is not None
    assert reading.words() == [*READING[:4], *READING[6:], *READING[4:6]]


def test_audit_reads_the_original_as_the_links_say(messy: Path, made: Path) -> None:
    private = ("--private", made / "links.parquet")
    audited = mottle_command("audit", messy, made / "released", *private, "--adversary", "linkage")
    assert audited.exit_code == 0, audited.output


def test_audit_reads_the_original_as_the_schema_says(
    messy: Path, made: Path, tmp_path: Path
) -> None:
    schema = tmp_path / "mottle.toml"
    looked = mottle_command("inspect", messy, "-o", schema)
    assert looked.exit_code == 0
    assert Schema.read(schema).reading.decimal == ","
    arguments = ("audit", messy, made / "released", "--adversary", "linkage", "--schema", schema)
    audited = mottle_command(*arguments)
    assert audited.exit_code == 0, audited.output


def test_audit_refuses_an_original_that_is_read_differently(messy: Path, made: Path) -> None:
    refused(mottle_command("audit", messy, made / "released"), 4, "--missing", "--schema")
    wrong = ("--missing", "x", "--private", made / "links.parquet")
    refused(mottle_command("audit", messy, made / "released", *wrong), 4, "fingerprint")


def test_internal_report_reads_the_original_as_the_links_say(
    messy: Path, made: Path, tmp_path: Path
) -> None:
    report = ("report", made / "released", "--original", messy, "-o", tmp_path / "i.html")
    refused(mottle_command(*report), 4, "read in another way")
    assert not (tmp_path / "i.html").exists()
    done = mottle_command(*report, "--private", made / "links.parquet")
    assert done.exit_code == 0, done.output


def test_report_says_how_the_table_is_read_again(messy: Path, made: Path, tmp_path: Path) -> None:
    page = (made / "released" / "report.html").read_text(encoding="utf-8")
    assert "[read]" in page
    assert "decimal = &#34;,&#34;" in page or 'decimal = ","' in page


def test_schema_with_reading_options_gives_the_same_release(
    messy: Path, made: Path, tmp_path: Path
) -> None:
    release = mottle.read_release(made / "released")
    schema = Schema.of(
        quasi_identifying=["age", "size", "job"], sensitive=["diagnosis"], identifying=["id"]
    )
    reading = LinkFile(made / "links.parquet").reading
    assert reading is not None
    schema.with_reading(reading).write(tmp_path / "mottle.toml")
    done = mottle_command(
        *("anonymize", messy, "--schema", tmp_path / "mottle.toml", "--k", "5", "--method", "nh"),
        *("--seed", "1", "-o", tmp_path / "again", "--no-report"),
    )
    assert done.exit_code == 0, done.output
    assert mottle.read_release(tmp_path / "again").table.equals(release.table)


def test_streaming_reads_in_the_same_way(messy: Path, made: Path, tmp_path: Path) -> None:
    done = mottle_command(
        *("anonymize", messy, *COLUMNS, *READING, "--k", "5", "--method", "nh", "--seed", "1"),
        *(
            "-o",
            tmp_path / "out",
            "--private",
            tmp_path / "links",
            "--memory",
            "1GB",
            "--no-report",
        ),
    )
    assert done.exit_code == 0, done.output
    links = LinkFile(tmp_path / "links")
    assert links.reading == LinkFile(made / "links.parquet").reading
    private = ("--private", tmp_path / "links")
    audited = mottle_command("audit", messy, tmp_path / "out", *private, "--adversary", "linkage")
    assert audited.exit_code == 0, audited.output


# ---------------------------------------------------------------------------------------- messages


def test_release_as_input_is_refused(made: Path, tmp_path: Path) -> None:
    for name in ("", "release.csv", "release.parquet"):
        data = made / "released" / name
        out = ("--k", "5", "-o", tmp_path / "o")
        refused(mottle_command("anonymize", data, *COLUMNS, *out), 4, "release")
        refused(mottle_command("inspect", data, "-o", tmp_path / "m.toml"), 4, "release")


def test_advice_about_numbers_and_dates_names_the_options(messy: Path, tmp_path: Path) -> None:
    out = ("--k", "5", "-o", tmp_path / "o", "--rest", "insensitive", "--delimiter", ";")
    asked = ("anonymize", messy, "--qi", "size", *out)
    refused(mottle_command(*asked, "--kind", "size=number"), 4, "--decimal ','", "inspect")
    refused(mottle_command(*asked, "--kind", "size=date"), 4, "--date-format dd.mm.yyyy")


def test_workbook_is_called_a_workbook(tmp_path: Path) -> None:
    for name in ("book.xlsx", "book.csv"):
        with zipfile.ZipFile(tmp_path / name, "w") as book:
            book.writestr("[Content_Types].xml", "<Types/>")
            book.writestr("xl/workbook.xml", "<workbook/>")
        done = mottle_command("inspect", tmp_path / name, "-o", tmp_path / "m.toml")
        refused(done, 4, "Excel workbook", "CSV")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    refused(mottle_command("inspect", tmp_path / "old.xls", "-o", tmp_path / "m.toml"), 4, "Excel")


@pytest.mark.parametrize("options", [("--l", "2.5"), ("--k", "2.5")])
def test_broken_whole_numbers_are_refused_in_words(
    messy: Path, options: tuple[str, ...], tmp_path: Path
) -> None:
    done = mottle_command("anonymize", messy, *COLUMNS, *options, "-o", tmp_path / "o")
    refused(done, 2, "whole number")
    assert "pydantic" not in done.output


def test_guarantee_of_a_wrong_type_is_named(messy: Path) -> None:
    schema = Schema.of(quasi_identifying=["age"], rest="insensitive")
    with pytest.raises(mottle.UsageError, match="must be a Guarantee object, not of type int"):
        mottle.anonymize(messy, schema, 10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "value"), [("--decimal", "ab"), ("--thousands", "."), ("--date-format", "dd.mm.yy")]
)
def test_wrong_notation_is_refused_before_anything_is_read(
    option: str, value: str, tmp_path: Path
) -> None:
    done = mottle_command("inspect", tmp_path / "nowhere.csv", option, value)
    refused(done, 2, option)


def test_compiling_is_not_announced_before_errors(
    messy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_progress._jit_cache, "done_before", lambda: False)
    arguments = ("anonymize", messy, "--rest", "insensitive", "--k", "5", "--method", "nh")
    wrong = mottle_command(*arguments, "--qi", "nothing", "-o", tmp_path / "o")
    refused(wrong, 2, "no column 'nothing'")
    assert "Compiling" not in wrong.output
    done = mottle_command(*arguments, "--qi", "job", "--no-report", "-o", tmp_path / "o")
    assert done.exit_code == 0, done.output
    assert done.output.count("Compiling") == 1


def test_terminal_and_report_count_the_same_checks(messy: Path, tmp_path: Path) -> None:
    done = mottle_command(
        *("anonymize", messy, *COLUMNS, *READING, "--k", "5", "--method", "nh"),
        *("-o", tmp_path / "out"),
    )
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "4 of 4 hold" in said(done)
    assert "<b>4 of 4</b>" in page
