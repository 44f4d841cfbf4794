"""Projects of ARX: what is carried over, what is named as lost, and hostile archives."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest
from arx_project import JAVA_OBJECT, Attribute, parts_of_project, write_project

from mottle import Schema
from mottle.errors import DataError, MottleError, StorageError
from mottle.io.projects.arx import read_arx
from mottle.io.projects.arx_criteria import criteria_of
from mottle.io.projects.imported import write_project as write_folder
from mottle.io.read_table import read_table
from mottle.schema.model import Kind, Role

TOWNS = [["Bonn", "West", "*"], ["Köln", "West", "*"], ["Ulm", "South", "*"]]
AGES = [[str(age), f"[{age // 10 * 10}, {age // 10 * 10 + 10}[", "*"] for age in range(20, 60)]
ATTRIBUTES = [
    Attribute("name", "IDENTIFYING"),
    Attribute("age", "QUASI_IDENTIFYING", "Integer", AGES),
    Attribute("town", "QUASI_IDENTIFYING", "String", TOWNS, {"min": "1"}),
    Attribute("school", "QUASI_IDENTIFYING", "Ordinal", more={"format": "low\nmiddle\nhigh"}),
    Attribute("born", "INSENSITIVE", "Date/Time", more={"format": "dd.MM.yyyy"}),
    Attribute("ill", "SENSITIVE", more={"responseVariable": "true"}),
]
ROWS = [["a", 20, "Köln", "low", "31.12.1980", "flu"], ["b", 59, "Ulm", "high", "NULL", "cold"]]


def project(path: Path, **options: object) -> Path:
    parts = parts_of_project(ATTRIBUTES, ROWS, **options)  # type: ignore[arg-type]
    return write_project(path / "example.deid", parts)


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_a_project_becomes_a_folder_that_mottle_reads(tmp_path: Path, delimiter: str) -> None:
    found = read_arx(project(tmp_path, weights={"age": 1.0, "town": 0.0}, delimiter=delimiter))
    written = write_folder(found, tmp_path / "new", "example.deid")
    schema = Schema.read(tmp_path / "new" / "mottle.toml")
    columns = {column.name: column for column in schema.columns}
    assert {name: column.role for name, column in columns.items()} == {
        "name": Role.IDENTIFYING,
        "age": Role.QUASI_IDENTIFYING,
        "town": Role.QUASI_IDENTIFYING,
        "school": Role.QUASI_IDENTIFYING,
        "born": Role.INSENSITIVE,
        "ill": Role.SENSITIVE,
    }
    assert columns["age"].kind == Kind.NUMBER
    assert columns["age"].hierarchy is None  # ranges say as much
    assert columns["age"].importance == 2.0
    assert columns["town"].importance == 0.01
    assert columns["school"].order == ("low", "middle", "high")
    hierarchy = columns["town"].hierarchy
    assert hierarchy is not None
    assert hierarchy.leaves_under("West") == ("Bonn", "Köln")
    table = read_table(tmp_path / "new" / "input.csv", **schema.reading.model_dump())
    assert table.column("town").to_pylist() == ["Köln", "Ulm"]
    assert [None if day is None else day.year for day in table.column("born").to_pylist()] == [
        1980,
        None,
    ]
    assert "--k 5" in written.commands[0]
    notes = (tmp_path / "new" / "imported.md").read_text(encoding="utf-8")
    assert "levels 1 to All of 'town'" in notes
    assert "suppression limit 5%" in notes
    assert (tmp_path / "new" / "input.csv").stat().st_mode & 0o077 == 0


def test_serialized_objects_are_never_opened(tmp_path: Path) -> None:
    parts = parts_of_project(ATTRIBUTES, ROWS)
    assert parts["project.dat"] == JAVA_OBJECT
    path = write_project(tmp_path / "p.deid", parts)
    content = path.read_bytes().replace(JAVA_OBJECT, b"\xac\xed\x00\xff")  # a wrong checksum
    path.write_bytes(content)
    assert len(read_arx(path).columns) == len(ATTRIBUTES)


def test_criteria_become_options_that_imply_them() -> None:
    assert criteria_of(["5-anonymity", "distinct-3-diversity for attribute 'x'"]).options == (
        *("--k", "5"),
        *("--l", "3"),
    )
    # L > l - 1 + 1/c: for c = 0.5 and l = 3 that is L > 4
    assert criteria_of(["recursive-(0.5,3)-diversity for attribute 'x'"]).options == ("--l", "5")
    assert criteria_of(["shannon-entropy-2.5-diversity for attribute 'x'"]).diversity == 3
    assert criteria_of(["enhanced-2.0-likeness for attribute 'x'"]).options == (
        *("--beta", "2"),
        "--enhanced",
    )
    assert criteria_of(["(0.09)-average-reidentification-risk"]).k == 12
    assert criteria_of(["(20)-map estimated as (3)-anonymity (Poisson)"]).k == 20


@pytest.mark.parametrize(
    "text",
    [
        "0.2-closeness with ordered distance for attribute 'x'",
        "(0.0,0.2)-presence",
        "1.5-disclosure privacy for attribute 'x'",
        "(1.0E-6,2)-differential privacy",
        f"{'9' * 400}-anonymity",
        "something new",
    ],
)
def test_criteria_without_a_counterpart_are_named(text: str) -> None:
    found = criteria_of([text])
    assert found.options == ()
    assert [setting.kept for setting in found.settings] == [False]


def test_a_recursive_bound_is_implied_by_the_bound_on_shares() -> None:
    """Every distribution with shares of at most 1/L over whole counts, for small tables."""
    for c, least in ((0.5, 3), (1.0, 2), (4.0, 3), (0.34, 2)):
        bound = criteria_of([f"recursive-({c},{least})-diversity for attribute 'x'"]).diversity
        assert bound is not None
        for counts in _counts(12, 6):
            if max(counts) * bound <= sum(counts):
                ordered = sorted(counts, reverse=True)
                assert ordered[0] < c * sum(ordered[least - 1 :])


def _counts(total: int, most: int) -> list[list[int]]:
    if most == 0:
        return [[]] if total == 0 else []
    found = [] if total else [[]]
    for first in range(1, total + 1):
        found += [[first, *rest] for rest in _counts(total - first, most - 1)]
    return found


def test_a_hierarchy_that_is_no_tree_is_left_out(tmp_path: Path) -> None:
    twisted = [["a", "x", "*"], ["b", "x", "*"], ["a", "y", "*"]]
    attributes = [Attribute("q", "QUASI_IDENTIFYING", hierarchy=twisted)]
    path = write_project(tmp_path / "p.deid", parts_of_project(attributes, [["a"]]))
    found = read_arx(path)
    assert found.columns[0].hierarchy is None
    assert any("hierarchy of 'q'" in each.setting and not each.kept for each in found.settings)


def test_a_root_is_added_where_arx_has_none(tmp_path: Path) -> None:
    rows = [["a", "x"], ["b", "x"], ["c", "y"]]
    attributes = [Attribute("q", "QUASI_IDENTIFYING", hierarchy=rows)]
    path = write_project(tmp_path / "p.deid", parts_of_project(attributes, [["a"]]))
    tree = read_arx(path).columns[0].hierarchy
    assert tree is not None
    assert tree.leaves_under("x") == ("a", "b")
    assert read_arx(path, hierarchies=False).columns[0].hierarchy is None


def test_columns_with_one_file_name_get_different_files(tmp_path: Path) -> None:
    names = ["a b", "a-b", "../../a b", "ä"]
    attributes = [Attribute(name, "QUASI_IDENTIFYING", hierarchy=TOWNS) for name in names]
    path = write_project(tmp_path / "p.deid", parts_of_project(attributes, [["Bonn"] * 4]))
    write_folder(read_arx(path), tmp_path / "new", "p.deid")
    files = sorted(file.name for file in (tmp_path / "new" / "hierarchies").iterdir())
    assert files == ["a_b.csv", "a_b_2.csv", "a_b_3.csv", "column.csv"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new", "p.deid"]


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>'
    "<definition><assigment><name>&b;</name></assigment></definition>"
)
OTHER_FILE = '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><definition>&x;</definition>'


@pytest.mark.parametrize(
    ("part", "content", "words"),
    [
        ("input/definition.xml", LAUGHS, "document type"),
        ("input/definition.xml", OTHER_FILE, "document type"),
        ("input/definition.xml", "<definition><assigment>", "not XML"),
        ("input/definition.xml", "<a>" * 1000, "nested too deeply"),
        ("input/definition.xml", '<?xml version="1.0" encoding="nosuch"?><a/>', "cannot be used"),
        ("input/definition.xml", "<definition></definition>", "no columns"),
        ("input/definition.xml", None, "no input/definition.xml"),
        ("input/config.xml", "\0\1", "not XML"),
        ("data/input.csv", "other;header\n1;2\n", "no column 'name'"),
        ("data/input.csv", "", "no column 'name'"),
    ],
)
def test_damaged_parts_are_named(
    tmp_path: Path, part: str, content: str | None, words: str
) -> None:
    parts = parts_of_project(ATTRIBUTES, ROWS)
    if content is None:
        del parts[part]
    else:
        parts[part] = content.encode()
    with pytest.raises(DataError, match=words):
        read_arx(write_project(tmp_path / "p.deid", parts))


def test_archives_that_are_no_projects_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.deid").write_text("hello", encoding="utf-8")
    with pytest.raises(DataError, match="not a zip archive"):
        read_arx(tmp_path / "text.deid")
    with pytest.raises(DataError, match="not a project of ARX"):
        read_arx(write_project(tmp_path / "zip.deid", {"a.txt": b"x"}))
    with pytest.raises(MottleError, match="cannot be read"):
        read_arx(tmp_path / "none.deid")


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    parts = parts_of_project(ATTRIBUTES, ROWS) | {"input/definition.xml": b" " * (80 << 20)}
    path = write_project(tmp_path / "p.deid", parts)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataError, match="once it is unpacked"):
        read_arx(path)
    parts = parts_of_project(ATTRIBUTES, ROWS) | {"data/input.csv": b"a" * (80 << 20)}
    with pytest.raises(DataError, match="once it is unpacked"):
        read_arx(write_project(tmp_path / "q.deid", parts))


def test_links_and_doubled_names_are_refused(tmp_path: Path) -> None:
    parts = parts_of_project(ATTRIBUTES, ROWS)
    link = zipfile.ZipInfo("data/input.csv")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    del parts["data/input.csv"]
    path = write_project(tmp_path / "p.deid", parts)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="a link"):
        read_arx(path)
    path = project(tmp_path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("data/input.csv", "x")
    with pytest.raises(DataError, match="two files of one name"):
        read_arx(path)


def test_every_cut_of_an_archive_ends_with_a_named_error(tmp_path: Path) -> None:
    content = project(tmp_path).read_bytes()
    path = tmp_path / "cut.deid"
    for end in range(0, len(content), 97):
        path.write_bytes(content[:end])
        with pytest.raises(MottleError):
            read_arx(path)
    for place in range(0, len(content), 61):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            read_arx(path)
        except MottleError:
            continue


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe would be waited for until somebody writes to it."""
    os.mkfifo(tmp_path / "pipe.deid")
    for path in (tmp_path / "pipe.deid", tmp_path, tmp_path / "nothing.deid"):
        with pytest.raises(StorageError, match=r"is not a file|cannot be read"):
            read_arx(path)
