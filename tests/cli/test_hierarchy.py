"""The command ``mottle hierarchy``: a hierarchy is built, shown, edited, checked and converted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused

from mottle import Hierarchy, Schema

ROWS = "job,sector,age,born,diagnosis\n" + "".join(
    f"{job},{sector},{20 + row * 3},{1950 + row}-0{1 + row % 9}-11,{row % 3}\n"
    for row, (job, sector) in enumerate(
        [("nurse", "health"), ("doctor", "health"), ("farmer", "land"), ("fisher", "land")] * 6
    )
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS)
    return tmp_path / "people.csv"


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        ("age", ["intervals", "--widths", "5,10"]),
        ("age", ["intervals", "--breaks", "30,65"]),
        ("age", ["quantiles", "--groups", "4"]),
        ("age", ["ages"]),
        ("born", ["dates"]),
        ("born", ["prefixes", "--lengths", "7,4"]),
        ("job", ["frequency", "--least", "3"]),
        ("job", ["similarity", "--qi", "sector,age", "--groups", "2"]),
        ("job", ["mapping", "--to", "sector"]),
    ],
    ids=lambda part: part if isinstance(part, str) else part[0],
)
def test_every_rule_writes_a_hierarchy_for_the_column(
    data: Path, tmp_path: Path, column: str, rule: list[str]
) -> None:
    file = tmp_path / "made.csv"
    made = mottle_command(
        "hierarchy", "new", file, "--data", data, "--column", column, "--by", *rule
    )
    assert made.exit_code == 0, made.output
    assert "have to be quasi-identifiers" in " ".join(made.output.split())
    lint = mottle_command("hierarchy", "lint", file, "--data", data, "--column", column)
    assert lint.exit_code == 0, lint.output
    assert "0 errors, 0 warnings" in lint.output
    again = mottle_command(
        "hierarchy", "new", file, "--data", data, "--column", column, "--by", *rule
    )
    refused(again, 5, "exists")


def test_a_hierarchy_is_shown_edited_and_converted(data: Path, tmp_path: Path) -> None:
    file, text = tmp_path / "job.csv", tmp_path / "job.txt"
    options = ("--data", data, "--column", "job", "--by", "mapping", "--to", "sector")
    assert mottle_command("hierarchy", "new", file, *options).exit_code == 0
    shown = mottle_command("hierarchy", "show", file, "--most", "1")
    assert "health (2)" in shown.stdout
    assert "… 1 more" in shown.stdout
    text.write_text(mottle_command("hierarchy", "edit", file).stdout.replace("land", "outdoors"))
    edited = mottle_command("hierarchy", "edit", file, "--with", text)
    assert "4 values, 0 new and 0 removed" in edited.output
    assert Hierarchy.read(file).leaves_under("outdoors") == ("farmer", "fisher")
    other = tmp_path / "job.amnesia"
    converted = mottle_command("hierarchy", "convert", file, "--layout", "amnesia", "-o", other)
    assert converted.exit_code == 0, converted.output
    assert Hierarchy.read(other) == Hierarchy.read(file)


def test_the_table_is_read_as_the_schema_says(tmp_path: Path) -> None:
    data, schema, file = tmp_path / "d.csv", tmp_path / "mottle.toml", tmp_path / "h.csv"
    data.write_text("bmi;born\n18,5;01.02.2024\n31,25;k.A.\n", encoding="utf-8")
    columns = '[columns.bmi]\nrole = "quasi-identifying"\n'
    reading = '[read]\nmissing = ["k.A."]\ndecimal = ","\ndate_format = ["dd.mm.yyyy"]\n'
    schema.write_text(f'rest = "insensitive"\n{columns}{reading}', encoding="utf-8")
    start = ("hierarchy", "new", file, "--data", data, "--schema", schema, "--overwrite")
    made = mottle_command(*start, "--column", "bmi", "--by", "intervals", "--breaks", "25")
    assert made.exit_code == 0, made.output
    assert Hierarchy.read(file).leaves_under("25+") == ("31.25",)
    checked = mottle_command("hierarchy", "lint", file, *start[3:7], "--column", "bmi")
    assert "0 errors, 0 warnings" in checked.output
    made = mottle_command(*start, "--column", "born", "--by", "dates", "--units", "month")
    assert Hierarchy.read(file).leaves == ("2024-02-01",), made.output


def test_sensitive_columns_are_refused(data: Path, tmp_path: Path) -> None:
    schema = tmp_path / "mottle.toml"
    Schema.of(quasi_identifying=["job", "age"], sensitive=["diagnosis"], rest="insensitive").write(
        schema
    )
    file = tmp_path / "made.csv"
    start = ("hierarchy", "new", file, "--data", data, "--schema", schema, "--column")
    refused(
        mottle_command(*start, "job", "--by", "similarity", "--qi", "diagnosis"), 2, "sensitive"
    )
    refused(mottle_command(*start, "diagnosis", "--by", "frequency", "--least", "9"), 2)
    refused(mottle_command(*start, "job", "--by", "mapping", "--to", "diagnosis"), 2)
    assert not file.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["draw", "x.csv"], "There is no 'mottle hierarchy draw'"),
        (["new", "x.csv"], "--data and --column are missing"),
        (["new", "x.csv", "--data", "d", "--column", "c"], "--by is missing"),
        (["new", "x.csv", "--data", "d", "--column", "c", "--by", "magic"], "no rule 'magic'"),
        (["new", "x.csv", "--data", "d", "--column", "c", "--by", "prefixes"], "--lengths"),
        (
            ["new", "x.csv", "--data", "d", "--column", "c", "--by", "ages", "--least", "3"],
            "does not take --least",
        ),
        (["convert", "x.csv"], "--output is missing"),
        (["show", "x.csv", "--layout", "xml"], "no --layout 'xml'"),
        (["lint", "x.csv", "--data", "d"], "must be given together"),
    ],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)
def test_wrong_options_are_refused_before_anything_is_read(words: list[str], message: str) -> None:
    refused(mottle_command("hierarchy", *words), 2, message)


def test_lint_names_every_value(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "job.csv"
    file.write_text("nurse;*\nbaker;*\n")
    for command in (["hierarchy", "lint"], ["lint-hierarchy"]):
        found = mottle_command(*command, file, "--data", data, "--column", "job")
        assert found.exit_code == 4
        for value in ("doctor", "farmer", "fisher", "baker"):
            assert f"Label: '{value}'" in found.output
    assert "is now 'mottle hierarchy lint'" in found.output


def test_items_of_sets_are_the_values_of_a_column_of_sets(tmp_path: Path) -> None:
    held = ["I20;J10", "J45", None, "I21;I20"]
    lists = pa.array([None if each is None else each.split(";") for each in held])
    pq.write_table(pa.table({"ill": lists, "age": [1, 2, 3, 4]}), tmp_path / "lists.parquet")
    (tmp_path / "text.csv").write_text("".join(f"{each or ''}\n" for each in ["ill", *held]))
    schema, tree = tmp_path / "mottle.toml", tmp_path / "tree.csv"
    schema.write_text('[columns.ill]\nrole = "quasi-identifying"\nkind = "set"\n')
    for file, words in (
        ("lists.parquet", []),
        ("text.csv", ["--item-separator", ";"]),
        ("text.csv", ["--schema", schema]),
    ):
        read = ["--data", tmp_path / file, "--column", "ill", *words]
        options = [*read, "--by", "prefixes", "--lengths", "1", "--overwrite"]
        made = mottle_command("hierarchy", "new", tree, *options)
        assert made.exit_code == 0, made.output
        assert set(Hierarchy.read(tree).leaves) == {"I20", "I21", "J10", "J45"}
        assert mottle_command("hierarchy", "lint", tree, *read).exit_code == 0
        options = [*read, "--by", "mapping", "--to", "age", "--overwrite"]
        refused(mottle_command("hierarchy", "new", tree, *options), 2, "ill", "sets of items")
