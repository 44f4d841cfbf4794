"""A release is not taken for an original, however it is given."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import KAnonymity, Schema, anonymize, read_table
from mottle.errors import DataError
from mottle.io.batch_source import open_source
from mottle.io.release_input import refuse_generalized_cells
from mottle.schema.reading import ReadOptions

SCHEMA = Schema.of(quasi_identifying=["age", "sex"], rest="insensitive")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    people = mottle.datasets.population(200, seed=1).select(["age", "sex", "income"])
    release = anonymize(people, SCHEMA, KAnonymity(5), method="nh", seed=1)
    place = tmp_path_factory.mktemp("release") / "released"
    release.save(place, report=False)
    return place


@pytest.mark.parametrize("name", ["", "release.csv", "release.parquet"])
def test_folder_and_files_of_a_release_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(DataError, match="release"):
        anonymize(folder / name, SCHEMA, KAnonymity(5))


@pytest.mark.parametrize("name", ["release.csv", "release.parquet"])
def test_copies_without_the_certificate_are_refused(
    folder: Path, name: str, tmp_path: Path
) -> None:
    copy = tmp_path / f"people{Path(name).suffix}"
    copy.write_bytes((folder / name).read_bytes())
    with pytest.raises(DataError, match="release"):
        read_table(copy)
    with pytest.raises(DataError, match="release"):
        open_source(copy, tmp_path / "copy.parquet", ReadOptions())


def test_table_in_memory_that_was_published_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="metadata of column"):
        anonymize(pq.read_table(folder / "release.parquet"), SCHEMA, KAnonymity(5))


def test_values_of_the_original_that_look_so_are_accepted_when_told() -> None:
    table = pa.table({"band": [f"{i % 5}..{i % 5 + 1}" for i in range(50)], "n": range(50)})
    with pytest.raises(DataError, match="--allow-generalized"):
        mottle.inspect(table)
    schema = Schema.of(quasi_identifying=["band"], identifying=["n"])
    allowed = schema.with_reading(ReadOptions(allow_generalized=True))
    assert anonymize(table, allowed, KAnonymity(5), seed=1).num_rows == 50


@pytest.mark.parametrize("cells", [["a..b", "see p. 1..2"], ["{x}", "{a;b}"], ["1.5", "v1..2x"]])
def test_other_cells_with_points_and_braces_are_no_release(
    cells: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a\n" + "\n".join(cells * 20) + "\n", encoding="utf-8")
    assert read_table(path).num_rows == 40


def test_foreign_certificate_beside_a_table_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text('{"sha256": {"t.csv": "x"}}', encoding="utf-8")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert read_table(tmp_path / "t.csv").num_rows == 1


@pytest.mark.parametrize("rows", [3, 6000])
@pytest.mark.parametrize("look", ["{a|b}", "20..29"])
def test_generalized_cells_are_counted_whether_or_not_values_repeat(rows: int, look: str) -> None:
    plain = pa.table({"x": [["a", "b", None][row % 3] for row in range(rows)]})
    refuse_generalized_cells(plain, "the table")
    marked = pa.table({"x": [look, *plain.column("x").to_pylist(), look]})
    with pytest.raises(DataError, match="has 2 cells") if rows < 2000 else nullcontext():
        refuse_generalized_cells(marked, "the table")
    many = pa.table({"x": plain.column("x").to_pylist() + [look] * 60})
    with pytest.raises(DataError, match="has 60 cells"):
        refuse_generalized_cells(many, "the table")
