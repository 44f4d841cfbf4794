"""Releases of other tools, written as their documentation says, audited against their originals."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import mottle
from mottle import DataError, KAnonymity, LDiversity, Schema, SchemaError, UsageError
from mottle.encoding.domain import Form
from mottle.io.external.read import read_external

ORIGINAL = pa.table(
    {
        "age": [21, 25, 38, 44, 47, 59],
        "sex": ["m", "f", "m", "f", "m", "f"],
        "place": ["Rome", "Turin", "Rome", "Lyon", "Nice", "Lyon"],
        "ill": ["flu", "gout", "cold", "flu", "gout", "cold"],
    }
)
PLACES = "Rome;Italy;*\nTurin;Italy;*\nLyon;France;*\nNice;France;*\n"
AMNESIA_PLACES = """distinct
name place
type string
height 3

Italy has Rome Turin
France has Lyon Nice

Any has Italy France
"""
COLUMNS = """
[columns.age]
role = "quasi-identifying"
[columns.sex]
role = "quasi-identifying"
[columns.place]
role = "quasi-identifying"
hierarchy = "place.csv"
[columns.ill]
role = "sensitive"
"""

ARX = """age;sex;place;ill
[20, 40[;*;Italy;flu
[20, 40[;*;Italy;gout
[20, 40[;*;Italy;cold
[40, 60[;*;France;flu
[40, 60[;*;France;gout
[40, 60[;*;France;cold
"""
SDCMICRO = """"","age","sex","place","ill"
"1","(20,40]",NA,"Italy","flu"
"2","(20,40]",NA,"Italy","gout"
"3","(20,40]",NA,"Italy","cold"
"4","(40,60]",NA,"France","flu"
"5","(40,60]",NA,"France","gout"
"6","(40,60]",NA,"France","cold"
"""
AMNESIA = """age,sex,place,ill
20-40,*,Italy,flu
20-40,*,Italy,gout
20-40,(null),Italy,cold
40-60,*,France,flu
40-60,*,France,gout
40-60,*,France,cold
"""
ANONYPY = """age,sex,place,ill,count
21-38,"f,m","Rome,Turin",flu,1
21-38,"f,m","Rome,Turin",gout,1
21-38,"f,m","Rome,Turin",cold,1
44-59,"m,f","Nice,Lyon",flu,1
44-59,"m,f","Nice,Lyon",gout,1
44-59,"m,f","Nice,Lyon",cold,1
"""


@pytest.fixture
def written(tmp_path: Path):
    """Write a release and its schema; gives the file and the schema."""

    def write(text: str, schema: str, hierarchy: str = PLACES) -> tuple[Path, Schema]:
        (tmp_path / "place.csv").write_text(hierarchy)
        (tmp_path / "mottle.toml").write_text(schema)
        (tmp_path / "theirs.csv").write_text(text)
        return tmp_path / "theirs.csv", Schema.read(tmp_path / "mottle.toml")

    return write


CASES = {
    "arx": (ARX, PLACES, COLUMNS),
    "sdcmicro": (SDCMICRO, PLACES, COLUMNS),
    "amnesia": (AMNESIA, AMNESIA_PLACES, COLUMNS),
    "anonypy": (ANONYPY, PLACES, COLUMNS.replace('hierarchy = "place.csv"', "")),
}


@pytest.mark.parametrize("tool", CASES)
def test_releases_of_every_tool_are_read_and_audited(written, tool):
    text, hierarchy, columns = CASES[tool]
    path, schema = written(text, f'[release]\ntool = "{tool}"\n{columns}', hierarchy)
    report = mottle.audit_release(
        ORIGINAL, path, schema=schema, guarantee=KAnonymity(3) & LDiversity(3)
    )
    assert report.passed
    linkage = report.of("linkage")[0]
    assert (linkage.achieved, linkage.details["matches"]["most"]) == (3, 3)
    assert report.of("classic")[0].achieved == 3 or tool == "amnesia"  # two spellings of anything
    assert report.of("assignments")[1].passed
    broken = mottle.audit_release(ORIGINAL, path, schema=schema, guarantee=KAnonymity(4))
    assert {finding.adversary for finding in broken.failed} == {"linkage", "assignments"}


def test_cells_become_those_of_our_own_releases(written):
    path, schema = written(ARX, f'[release]\ntool = "arx"\n{COLUMNS}')
    release = read_external(path, ORIGINAL, schema)
    assert [column.form for column in release.columns] == [Form.RANGE, Form.SET, Form.NODE, None]
    assert release.table.to_pylist()[0] == {
        "age": {"lo": 20, "hi": 39, "missing": False},
        "sex": ["f", "m", None],
        "place": "Italy",
        "ill": "flu",
    }


def test_rows_that_stand_for_several_records_are_repeated(written):
    text = "age,ill,count\n21-38,flu,2\n21-38,gout,1\n44-59,cold,3\n"
    columns = '[columns.age]\nrole = "quasi-identifying"\n[columns.ill]\nrole = "sensitive"\n'
    path, schema = written(text, f'rest = "identifying"\n[release]\ntool = "anonypy"\n{columns}')
    release = read_external(path, ORIGINAL, schema)
    assert release.table.column("ill").to_pylist() == ["flu", "flu", "gout", "cold", "cold", "cold"]
    for count in ("-1", "many", "1.5"):
        path.write_text(text.replace("flu,2", f"flu,{count}"))
        with pytest.raises(DataError, match="'count' of the release does not hold whole numbers"):
            read_external(path, ORIGINAL, schema)


def test_dropped_records_are_told_and_their_owners_still_counted(written):
    lines = ARX.splitlines(keepends=True)
    path, schema = written("".join(lines[:-1]), f'[release]\ntool = "arx"\n{COLUMNS}')
    report = mottle.audit_release(ORIGINAL, path, schema=schema, guarantee=KAnonymity(3))
    assert any("1 of 6 records were not published" in note for note in report.notes)
    linkage = report.of("linkage")[0]
    assert (linkage.achieved, linkage.passed) == (2, False)  # three people share two records
    assert linkage.details["journalist"]["highest"] == pytest.approx(1 / 3)
    assert report.of("links")[0].passed


def test_more_rows_than_the_original_are_refused(written):
    path, schema = written(ARX + "*;*;*;flu\n", f'[release]\ntool = "arx"\n{COLUMNS}')
    with pytest.raises(DataError, match="6 rows and the release 7"):
        mottle.audit_release(ORIGINAL, path, schema=schema)


def test_a_narrow_interval_and_a_wrong_label_are_caught(written):
    """One unit too narrow, and one node too low: the person falls out of its record."""
    for old, new in (
        ("[20, 40[;*;Italy;flu", "[22, 40[;*;Italy;flu"),
        ("Italy;cold", "Turin;cold"),
    ):
        path, schema = written(ARX.replace(old, new), f'[release]\ntool = "arx"\n{COLUMNS}')
        report = mottle.audit_release(ORIGINAL, path, schema=schema, guarantee=KAnonymity(3))
        assert {finding.adversary for finding in report.failed} >= {"linkage", "assignments"}


def test_a_value_that_nobody_has_is_caught(written):
    path, schema = written(ARX.replace(";flu", ";mumps", 1), f'[release]\ntool = "arx"\n{COLUMNS}')
    found = mottle.audit_release(ORIGINAL, path, schema=schema).of("links")[0]
    assert (found.achieved, found.passed) == (1, False)


def test_suppressed_sensitive_cells_are_not_unknown_values(written):
    path, schema = written(ARX.replace(";flu", ";*", 1), f'[release]\ntool = "arx"\n{COLUMNS}')
    assert mottle.audit_release(ORIGINAL, path, schema=schema).of("links")[0].passed


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[20, 40[;*;Italy;flu", "young;*;Italy;flu", "'age' of the release has 1 different cells"),
        (
            "Italy;flu",
            "Itlay;flu",
            "'place' of the release has 1 different cells that are not label",
        ),
        ("[20, 40[;*;Italy;flu", "[20, 40[;x;Italy;flu", "'sex' of the release has 1 different"),
    ],
)
def test_cells_that_mean_nothing_are_refused_without_showing_them(written, old, new, words):
    path, schema = written(ARX.replace(old, new), f'[release]\ntool = "arx"\n{COLUMNS}')
    with pytest.raises(DataError) as error:
        mottle.audit_release(ORIGINAL, path, schema=schema)
    assert words in str(error.value)
    for cell in ("young", "Itlay"):
        assert cell not in str(error.value)


def test_a_file_of_other_columns_is_refused(written):
    path, schema = written("a;b\n1;2\n3;4\n", f'[release]\ntool = "arx"\n{COLUMNS}')
    with pytest.raises(DataError, match="none of the quasi-identifiers"):
        mottle.audit_release(ORIGINAL, path, schema=schema)


def test_values_of_another_type_are_refused(written):
    table = ORIGINAL.set_column(3, "ill", pa.array(range(6)))
    path, schema = written(ARX, f'[release]\ntool = "arx"\n{COLUMNS}')
    with pytest.raises(DataError, match="'ill' holds int64 values in the original"):
        mottle.audit_release(table, path, schema=schema)


def test_a_missing_quasi_identifier_column_is_noted(written):
    text = "age;ill\n" + "".join(f"[20, 60[;{ill}\n" for ill in ORIGINAL["ill"].to_pylist())
    path, schema = written(text, f'[release]\ntool = "arx"\n{COLUMNS}')
    report = mottle.audit_release(ORIGINAL, path, schema=schema, guarantee=KAnonymity(6))
    assert report.of("linkage")[0].passed
    assert any("does not have the quasi-identifiers sex, place" in note for note in report.notes)


def test_intervals_of_text_are_refused(written):
    columns = COLUMNS.replace(
        '[columns.sex]\nrole = "quasi-identifying"',
        '[columns.sex]\nrole = "quasi-identifying"\ncells = "interval"',
    )
    path, schema = written(ARX, f'[release]\ntool = "arx"\n{columns}')
    with pytest.raises(SchemaError, match="'sex' has cells 'interval' but is of kind 'category'"):
        mottle.audit_release(ORIGINAL, path, schema=schema)


def test_sets_of_items_are_refused(written):
    columns = COLUMNS.replace(
        '[columns.sex]\nrole = "quasi-identifying"',
        '[columns.sex]\nrole = "quasi-identifying"\nkind = "set"',
    )
    path, schema = written(ARX, f'[release]\ntool = "arx"\n{columns}')
    with pytest.raises(SchemaError, match="'sex' holds sets of items"):
        mottle.audit_release(ORIGINAL, path, schema=schema)


def test_a_file_that_is_no_release_of_ours_says_how_to_describe_it(written):
    path, schema = written(ARX, COLUMNS)
    for described in (None, schema):
        with pytest.raises(UsageError, match=r"\[release\] with tool"):
            mottle.audit_release(ORIGINAL, path, schema=described)


def test_missing_words_of_the_release_are_missing_values(written):
    original = ORIGINAL.set_column(1, "sex", pa.array(["m", None, "m", "f", "m", "f"]))
    text = ARX.replace(";*;", ";NULL;", 2)
    path, schema = written(text, f'[release]\ntool = "arx"\nmissing = ["NULL"]\n{COLUMNS}')
    release = read_external(path, original, schema)
    assert release.table.column("sex").to_pylist()[:3] == [[None], [None], ["f", "m", None]]
