"""Folders and patterns of Parquet files, Delta and Iceberg tables: one table, the right rows."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

import mottle
from mottle import DataError, StorageError
from mottle.io.batch_source import open_source
from mottle.schema.reading import ReadOptions


def test_files_of_a_folder_are_one_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": pa.array([1, 2], pa.int32())}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"age": pa.array([2**40], pa.int64())}), tmp_path / "c.parquet")
    (tmp_path / "_temporary").mkdir()
    pq.write_table(pa.table({"age": [99]}), tmp_path / "_temporary" / "x.parquet")
    (tmp_path / "_SUCCESS").touch()
    for source in (tmp_path, tmp_path / "*.parquet"):
        assert mottle.read_table(source).column("age").to_pylist() == [1, 2, 2**40]
        streamed = open_source(source, tmp_path / "copy", ReadOptions())
        assert [row for part in streamed.read() for row in part.column("age").to_pylist()] == [
            *(1, 2, 2**40)
        ]
    pq.write_table(pa.table({"size": [1]}), tmp_path / "d.parquet")
    with pytest.raises(DataError, match="different columns"):
        mottle.read_table(tmp_path)
    with pytest.raises(StorageError, match="No file fits"):
        mottle.read_table(tmp_path / "*.pq")


def test_folders_of_hive_are_columns(tmp_path: Path) -> None:
    for year, place in ((2020, "Ulm"), (2021, "K%C3%B6ln"), (2021, "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / f"year={year}" / f"place={place}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"age": [31]}), folder / "part.parquet")
    table = mottle.read_table(tmp_path)
    assert table.column("year").to_pylist() == [2020, 2021, 2021]
    assert table.column("place").to_pylist() == ["Ulm", "Köln", None]  # by names of folders
    pq.write_table(pa.table({"age": [31]}), tmp_path / "stray.parquet")
    with pytest.raises(DataError, match="NAME=VALUE"):
        mottle.read_table(tmp_path)


def test_delta_tables_are_read_without_deleted_rows(tmp_path: Path) -> None:
    rows = pa.table({"age": [31, 45, 7], "year": [2020, 2020, 2021]})
    deltalake.write_deltalake(str(tmp_path / "d"), rows, partition_by=["year"])
    deltalake.DeltaTable(str(tmp_path / "d")).delete("age = 45")
    table = mottle.read_table(tmp_path / "d")
    assert sorted(table.column("age").to_pylist()) == [7, 31]
    streamed = open_source(tmp_path / "d", tmp_path / "copy.parquet", ReadOptions())
    assert streamed.rows == 2
    log = tmp_path / "d" / "_delta_log" / "00000000000000000000.json"
    log.write_text(log.read_text().replace("part-", "../part-"))
    with pytest.raises(DataError):
        mottle.read_table(tmp_path / "d")


def test_iceberg_tables_are_read_where_they_lie(tmp_path: Path) -> None:
    catalog = InMemoryCatalog("local", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    rows = pa.table({"age": [31, 45, 7]})
    made = catalog.create_table("n.people", schema=rows.schema)
    made.append(rows)
    made.delete("age = 45")
    folder = tmp_path / "n" / "people"
    assert mottle.read_table(folder).column("age").to_pylist() == [31, 7]
    moved = tmp_path / "moved"
    folder.rename(moved)
    with pytest.raises(DataError, match="lie elsewhere"):
        mottle.read_table(moved)
