"""Reading options: in mottle.toml, as words of a command line, completed by remembered ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from mottle import Schema
from mottle.errors import SchemaError
from mottle.schema.reading import ReadOptions

OPTIONS = ReadOptions(
    missing=("?", 'a"b'),
    delimiter="\t",
    quote="'",
    encoding="cp1252",
    decimal=",",
    thousands=".",
    date_format=("dd.mm.yyyy",),
    user_missing=True,
    allow_generalized=True,
)


def test_schema_file_keeps_reading_options(tmp_path: Path) -> None:
    schema = Schema.of(quasi_identifying=["age"]).with_reading(OPTIONS)
    schema.write(tmp_path / "mottle.toml")
    assert Schema.read(tmp_path / "mottle.toml").reading == OPTIONS
    assert schema.covering(["age"]).reading == OPTIONS


def test_schema_file_without_options_has_no_table_for_them() -> None:
    assert "\n[read]" not in Schema.of(quasi_identifying=["age"]).to_toml()


def test_options_survive_json() -> None:
    assert ReadOptions.from_json(OPTIONS.to_json()) == OPTIONS
    with pytest.raises(ValueError, match="not reading options"):
        ReadOptions.from_json("[1]")


def test_one_word_may_stand_without_a_list(tmp_path: Path) -> None:
    (tmp_path / "mottle.toml").write_text('[read]\nmissing = "?"\n', encoding="utf-8")
    assert Schema.read(tmp_path / "mottle.toml").reading.missing == ("?",)


@pytest.mark.parametrize(
    ("line", "words"),
    [("mising = ['?']", "mising"), ("missing = 3", "missing"), ("decimal = 1", "decimal")],
)
def test_wrong_options_are_named(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "mottle.toml").write_text(f"[read]\n{line}\n", encoding="utf-8")
    with pytest.raises(SchemaError, match=words):
        Schema.read(tmp_path / "mottle.toml")


def test_typed_options_replace_remembered_ones() -> None:
    found = ReadOptions(missing=("NA",)).over(OPTIONS)
    assert found.missing == ("NA",)
    assert found.decimal == ","
    assert ReadOptions().over(OPTIONS) == OPTIONS


def test_words_are_those_of_the_command_line() -> None:
    words = OPTIONS.words()
    assert words[:4] == ["--missing", "?", "--missing", 'a"b']
    assert "--allow-generalized" in words
    assert words[words.index("--delimiter") + 1] == "\\t"
