"""Types of text columns: whatever was read is printed as it was written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import KAnonymity, Schema, anonymize
from mottle.inspection import inspect
from mottle.io.batch_source import open_source
from mottle.io.read_table import read_table
from mottle.io.text.type_inference import infer_type
from mottle.kinds.base import Kind
from mottle.schema.reading import ReadOptions

NUMERALS = st.one_of(
    st.from_regex(r"[+-]?[0-9]{1,3}(\.[0-9]{0,3})?", fullmatch=True),
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=2).map(str),
    st.sampled_from(["-0", "-0.0", "0", "0.0", "00", "1e3", "1E3", ".5", "5.", "0x1F", "١"]),
)


@given(st.lists(st.one_of(NUMERALS, st.none()), min_size=1, max_size=4))
def test_every_cell_is_printed_as_it_was_written(cells: list[str | None]) -> None:
    column = infer_type(pa.chunked_array([pa.array(cells, pa.string())]))
    assert pc.cast(column, pa.string()).to_pylist() == cells


@pytest.mark.parametrize(
    "cells",
    [
        ["+491701234524", "+491701234525"],  # became 4.91701234524e+11
        ["250.0", "250.00"],  # two codes of ICD-9, which became one number
        ["0.12345678901234567", "0.5"],  # more digits than a float
        ["123456789.123456789", "1.5"],
        ["1.0", "2.5", "3.25"],
        ["1", "-0"],
        ["1e5", "2"],
        ["TRUE", "false"],
    ],
)
def test_cells_that_a_number_would_change_stay_text(cells: list[str]) -> None:
    """At 8cdc187 all of them were numbers or truth values."""
    assert infer_type(pa.chunked_array([cells])).type == pa.string()


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-20", "300"], pa.int64()),
        (["1", "2.5", "-0.125"], pa.float64()),
        (["1.50", "2.25", "-0.10"], pa.decimal128(38, 2)),
        (["39.0", "40.0"], pa.decimal128(38, 1)),
        (["12345678901234567890.10", "0.25"], pa.decimal128(38, 2)),
        (["true", "false"], pa.bool_()),
    ],
)
def test_cells_in_one_notation_are_numbers(cells: list[str], kind: pa.DataType) -> None:
    assert infer_type(pa.chunked_array([cells])).type == kind


def written(folder: Path, columns: dict[str, list[str]]) -> Path:
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "people.csv"


COLUMNS = {
    "age": ["31", "45", "31", "45"],
    "icd": ["250.0", "250.00", "401.9", "250.0"],
    "phone": ["+491701234524", "+491701234525", "+491701234526", "+491701234527"],
    "dose": ["1.50", "2.25", "0.10", "0.10"],
    "measured": ["1.0", "2.5", "3.25", "4.0"],
}


def test_unchanged_columns_come_out_as_they_went_in(tmp_path: Path) -> None:
    path = written(tmp_path, COLUMNS)
    schema = Schema.of(quasi_identifying=["age"], rest="insensitive")
    release = anonymize(path, schema, KAnonymity(2), seed=1)
    release.save(tmp_path / "out")
    lines = (tmp_path / "out" / "release.csv").read_text(encoding="utf-8").splitlines()[1:]
    released = sorted(tuple(line.replace("'", "").split(",")[1:]) for line in lines)
    assert released == sorted(zip(*(COLUMNS[name] for name in list(COLUMNS)[1:]), strict=True))


def test_files_in_parts_have_the_same_types(tmp_path: Path) -> None:
    path = written(tmp_path, COLUMNS)
    source = open_source(path, tmp_path / "copy.parquet", ReadOptions())
    assert source.types.equals(read_table(path).schema)
    assert pa.concat_tables(source.read()).equals(read_table(path))


def test_text_is_a_number_where_the_schema_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, COLUMNS)
    for kind, form in (("number", "range"), (None, "set")):
        schema = Schema.of(
            quasi_identifying=["measured"],
            rest="insensitive",
            kinds={} if kind is None else {"measured": kind},
        )
        release = anonymize(path, schema, KAnonymity(2), seed=1)
        assert release.columns[-1].form == form
        assert release.audit(path).passed


def test_inspection_proposes_numbers_for_text_of_numbers(tmp_path: Path) -> None:
    found = {
        column.name: column for column in inspect(read_table(written(tmp_path, COLUMNS))).columns
    }
    assert found["measured"].kind is Kind.NUMBER
    assert found["icd"].kind is not Kind.NUMBER
    assert found["phone"].kind is not Kind.NUMBER
