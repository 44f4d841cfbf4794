"""The [release] table of mottle.toml: read, validated, written and read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from mottle import Schema, SchemaError
from mottle.schema.external_release import CellNotation, ExternalRelease, Tool


def read(tmp_path: Path, text: str) -> Schema:
    file = tmp_path / "mottle.toml"
    file.write_text(text, encoding="utf-8")
    return Schema.read(file)


FULL = """
rest = "insensitive"
[release]
tool = "sdcmicro"
suppressed = ["NA", "\\"quoted\\""]
missing = ["?"]
count = "how many"
[columns.age]
role = "quasi-identifying"
kind = "number"
cells = "interval"
[columns.job]
role = "quasi-identifying"
cells = "set"
"""


def test_what_is_written_is_read_back(tmp_path):
    schema = read(tmp_path, FULL)
    assert schema.release == ExternalRelease(
        tool=Tool.SDCMICRO, suppressed=("NA", '"quoted"'), missing=("?",), count="how many"
    )
    assert [column.cells for column in schema.columns] == [CellNotation.INTERVAL, CellNotation.SET]
    schema.write(tmp_path / "again.toml")
    assert Schema.read(tmp_path / "again.toml") == schema


def test_a_short_table_has_the_ways_of_its_tool(tmp_path):
    schema = read(tmp_path, '[release]\ntool = "anonypy"\n[columns.a]\nrole = "quasi-identifying"')
    assert schema.release.count_column == "count"
    assert schema.release.suppression_markers == ("*",)
    assert Schema.read(tmp_path / "mottle.toml") == schema
    schema.write(tmp_path / "again.toml")
    assert Schema.read(tmp_path / "again.toml") == schema


def test_covering_a_table_keeps_it(tmp_path):
    schema = read(tmp_path, FULL).covering(["age", "job", "pay"])
    assert schema.release.tool is Tool.SDCMICRO


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[release]\ntool = "arxx"', "release.tool: 'arxx' is not known. Did you mean 'arx'?"),
        ('[release]\nsupressed = ["*"]', "unknown option 'supressed'. Did you mean 'suppressed'?"),
        ('[release]\nsuppressed = "*"', "release.suppressed"),
        ('release = "arx"', "release"),
        ('[columns.a]\nrole = "sensitive"\ncells = "set"', "cells are for quasi-identifying"),
        ('[columns.a]\nrole = "quasi-identifying"\ncells = "label"', "a hierarchy go together"),
        ('[columns.a]\nrole = "quasi-identifying"\ncells = "sets"', "Did you mean 'set'?"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_place(tmp_path, text, words):
    with pytest.raises(SchemaError) as error:
        read(tmp_path, text)
    assert words in str(error.value)
