"""Text files of Amnesia: hierarchies and rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from mottle.errors import DataError
from mottle.io.projects.amnesia import read_amnesia
from mottle.schema.model import Kind, Role

SEX = "distinct\nname sex\ntype string\nheight 2\n\nAny has Male Female\n"
AGE = "range\nname age\ntype int\nheight 2\n\n0,100 has 0,50 51,100\n"
RULES = "Anonymization rules:\nsex\nMale->Any\nFemale->Any\n\ntown\nBonn->West\nUlm->*\n\n"


def test_a_folder_of_hierarchies_gives_the_quasi_identifiers(tmp_path: Path) -> None:
    (tmp_path / "sex.txt").write_text(SEX, encoding="utf-8")
    (tmp_path / "age.txt").write_text(AGE, encoding="utf-8")
    found = {column.name: column for column in read_amnesia(tmp_path).columns}
    assert found["age"].kind == Kind.NUMBER
    assert found["age"].hierarchy is None
    assert found["sex"].hierarchy is not None


def test_rules_give_hierarchies_of_one_level(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text(RULES, encoding="utf-8")
    found = {column.name: column for column in read_amnesia(tmp_path / "rules.txt").columns}
    tree = found["town"].hierarchy
    assert tree is not None
    assert tree.leaves_under("West") == ("Bonn",)
    assert sorted(tree.leaves) == ["Bonn", "Ulm"]


def test_a_template_states_all_columns_and_k(tmp_path: Path) -> None:
    slashes = "/" * 20
    lines = ["name: false,string", "sex: true,string,sex_h", "age: true,int,age_h", "pay: true,int"]
    template = f"{slashes} check columns, vartypes {slashes}\n\n" + "\n".join(lines)
    template += f"\n\n{slashes} END {slashes}\n\n{slashes} set k {slashes}\n\nk: 3\n"
    for name, text in (("sex", SEX), ("age", AGE), ("template", template)):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    imported = read_amnesia(tmp_path)
    found = {column.name: column for column in imported.columns}
    assert [column.role for column in imported.columns] == [
        Role.IDENTIFYING,
        Role.QUASI_IDENTIFYING,
        Role.QUASI_IDENTIFYING,
        Role.INSENSITIVE,
    ]
    assert found["sex"].hierarchy is not None
    assert found["age"].kind == Kind.NUMBER
    assert imported.guarantee == ("--k", "3")
    (tmp_path / "template.txt").write_text(template.replace("pay: true,int", "pay"), "utf-8")
    with pytest.raises(DataError, match=r"template\.txt has a line"):
        read_amnesia(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;b;*\n", "neither a hierarchy nor a file of rules nor a template"),
        ("Anonymization rules:\nsex\nMale\n", "a line that is not"),
        ("distinct\nname sex\n", "no line 'parent has child"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=words):
        read_amnesia(tmp_path)


def test_a_column_that_is_described_twice_is_refused(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(SEX, encoding="utf-8")
    with pytest.raises(DataError, match="described twice"):
        read_amnesia(tmp_path)
