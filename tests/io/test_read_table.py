"""Input tables: dispatch by file type, Arrow objects, and the uniform table that comes out."""

from __future__ import annotations

import gzip
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import mottle
from mottle.errors import DataError, StorageError, UsageError
from mottle.io.normalize import normalize
from mottle.io.read_table import as_table, read_table
from mottle.schema.reading import ReadOptions

PEOPLE = pa.table({"age": [31, None, 45], "name": ["Ann", "Bob", None]})


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def write_file(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


WRITERS: list[tuple[str, Callable[[pa.Table, Path], None]]] = [
    ("people.parquet", pq.write_table),
    ("people.pq", pq.write_table),
    ("PEOPLE.PARQUET", pq.write_table),
    ("people.arrow", write_file),
    ("people.arrow", write_stream),
    ("people.ipc", write_file),
    ("people.ipc", write_stream),
    ("people.feather", pyarrow.feather.write_feather),
    ("people.data", pq.write_table),
    ("people", write_file),
]


# ------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_binary_file_is_read_whatever_its_name(
    tmp_path: Path, name: str, write: Callable[[pa.Table, Path], None]
) -> None:
    write(PEOPLE, tmp_path / name)
    assert read_table(tmp_path / name).equals(PEOPLE)


@pytest.mark.parametrize(
    "name",
    ["people.csv", "people.tsv", "people.tab", "people.txt", "people.dat", "people", "A.CSV"],
)
def test_text_file_is_read_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("age\tname\n31\tAnn\n\tBob\n45\t\n")
    assert read_table(str(path)).equals(PEOPLE)


@pytest.mark.parametrize("codec", ["gzip", "bz2", "zstd", "lz4"])
def test_compressed_text_is_read(tmp_path: Path, codec: str) -> None:
    suffix = {"gzip": "gz", "bz2": "bz2", "zstd": "zst", "lz4": "lz4"}[codec]
    path = tmp_path / f"people.csv.{suffix}"
    with pa.output_stream(str(path), compression=codec) as stream:
        stream.write(b"age,name\n31,Ann\n,Bob\n45,\n")
    assert read_table(path).equals(PEOPLE)


def test_options_reach_the_text_reader(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("größe^wort\n'1^2'^?\n'3'^NA\n".encode("cp1252"))
    table = read_table(path, delimiter="^", quote="'", encoding="cp1252", missing=["?"])
    assert table.to_pydict() == {"größe": ["1^2", "3"], "wort": [None, "NA"]}


def test_missing_words_hold_for_the_text_columns_of_binary_files(tmp_path: Path) -> None:
    table = pa.table({"age": [1, 2], "job": ["?", "cook"]})
    pq.write_table(table, tmp_path / "jobs.parquet")
    assert read_table(tmp_path / "jobs.parquet", missing=["?"])["job"].to_pylist() == [None, "cook"]
    assert read_table(tmp_path / "jobs.parquet").equals(table)


def test_folder_named_like_a_partition_does_not_add_a_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pq.write_table(PEOPLE, folder / "people.parquet")
    assert read_table(folder / "people.parquet").column_names == ["age", "name"]


def test_file_that_does_not_exist_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"nobody\.csv does not exist"):
        read_table(tmp_path / "nobody.csv")


def test_folder_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="without Parquet files"):
        read_table(tmp_path)


def test_file_that_cannot_be_opened_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        read_table(tmp_path / ("n" * 300 + ".csv"))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.ipc", "a.feather", "a.csv.gz"])
@pytest.mark.parametrize("content", [b"", b"age,name\n31,secret\n", b"PAR1ARROW1secret" * 9])
def test_damaged_file_is_a_data_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=name) as caught:
        read_table(tmp_path / name)
    assert caught.value.remedy
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_file_cut_off_is_a_data_error(
    tmp_path: Path, name: str, write: Callable[[pa.Table, Path], None]
) -> None:
    path = tmp_path / name
    write(pa.table({"number": np.arange(5000)}), path)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DataError, match=name):
        read_table(path)


def test_compressed_text_cut_off_is_a_data_error(tmp_path: Path) -> None:
    text = "a,b\n" + "".join(f"{number},{number**3}\n" for number in range(300_000))
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1)[:-1000])
    with pytest.raises(DataError, match="damaged"):
        read_table(path)


def test_parquet_named_csv_is_refused_as_binary(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.csv")
    with pytest.raises(DataError, match="not text"):
        read_table(tmp_path / "people.csv")


# ------------------------------------------------------------------------------------------ checks


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("age,name,age,name", "duplicate column names: age, name"),
        ("age,b,c, age", "duplicate column names: age"),
        ("age,,b,c", "column 2 of 4 has an empty name"),
        ("age,b,c,", "column 4 of 4 has an empty name"),
        ("age,b,  ,d", "column 3 of 4 has an empty name"),
    ],
)
def test_column_names_of_text_must_be_distinct_and_not_empty(
    tmp_path: Path, header: str, message: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{header}\n1,2,3,4\n")
    with pytest.raises(DataError, match=message) as caught:
        read_table(path)
    assert "people.csv" in caught.value.problem


@pytest.mark.parametrize(("name", "write"), WRITERS[:-3])
def test_binary_files_are_checked_like_text(
    tmp_path: Path, name: str, write: Callable[[pa.Table, Path], None]
) -> None:
    path = tmp_path / name
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"])
    for table, message in [
        (twice, "duplicate column names: age"),
        (pa.table({"": [1]}), "column 1 of 1 has an empty name"),
        (PEOPLE.slice(0, 0), "no rows"),
    ]:
        write(table, path)
        with pytest.raises(DataError, match=message):
            read_table(path)


@pytest.mark.parametrize(
    "data",
    [
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"]),
        pd.DataFrame([[1, 2]], columns=["age", "age"]),
        pa.table({"": [1]}),
        PEOPLE.slice(0, 0),
        pa.table({}),
        pl.DataFrame({"age": []}),
    ],
)
def test_objects_are_checked_like_files(data: object) -> None:
    with pytest.raises(DataError):
        as_table(data)


# ----------------------------------------------------------------------------------------- objects


@pytest.mark.parametrize(
    "data",
    [
        PEOPLE,
        PEOPLE.to_batches()[0],
        PEOPLE.to_reader(),
        PEOPLE.to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame({"age": pd.array([31, None, 45], "Int64"), "name": ["Ann", "Bob", None]}),
        pl.DataFrame({"age": [31, None, 45], "name": ["Ann", "Bob", None]}),
    ],
    ids=["Table", "RecordBatch", "RecordBatchReader", "pandas-arrow", "pandas", "Polars"],
)
def test_every_kind_of_table_object_gives_the_same_table(data: object) -> None:
    table = as_table(data)
    assert isinstance(table, pa.Table)
    assert table.equals(PEOPLE)


def test_relation_of_duckdb_is_read_with_its_enums_decoded() -> None:
    with duckdb.connect() as connection:
        connection.register("people", PEOPLE)
        assert as_table(connection.sql("select * from people")).equals(PEOPLE)
        enum = as_table(connection.sql("select name::enum('Ann', 'Bob') as name from people"))
        assert enum.equals(PEOPLE.select(["name"]))


def test_path_given_as_object_is_read(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    assert as_table(tmp_path / "people.parquet").equals(PEOPLE)
    assert as_table(str(tmp_path / "people.parquet")).equals(PEOPLE)


@pytest.mark.parametrize("data", [None, 5, [1, 2], {"age": [1]}, np.ones((2, 2)), pa.array([1])])
def test_object_that_is_no_table_is_refused_with_what_is_accepted(data: object) -> None:
    with pytest.raises(UsageError, match="__arrow_c_stream__") as caught:
        as_table(data)
    assert type(data).__name__ in caught.value.problem


@pytest.mark.parametrize(
    "data",
    [pl.Series([1]), pd.Series([1]), pa.chunked_array([[1]])],
    ids=lambda data: str(type(data)),
)
def test_single_column_is_refused(data: object) -> None:
    with pytest.raises(DataError, match="single column"):
        as_table(data)


def test_mixed_column_of_pandas_is_refused_without_quoting_cells() -> None:
    with pytest.raises(DataError) as caught:
        as_table(pd.DataFrame({"age": pd.Series([1, "secret"], dtype=object)}))
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


# -------------------------------------------------------------------------------------- uniformity


def test_index_of_pandas_goes_and_metadata_with_it(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [1, 2]}, index=[7, 8])
    frame.to_parquet(tmp_path / "frame.parquet")
    for table in (as_table(frame), read_table(tmp_path / "frame.parquet")):
        assert table.column_names == ["age"]
        assert table.schema.metadata is None


def test_named_index_of_pandas_is_data_and_stays() -> None:
    frame = pd.DataFrame({"age": [1, 2]}, index=pd.Index([7, 8], name="patient"))
    assert as_table(frame).to_pydict() == {"age": [1, 2], "patient": [7, 8]}


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.string()])
def test_text_of_every_layout_becomes_string(kind: pa.DataType) -> None:
    column = normalize(pa.table({"a": pa.array(["x", None], kind)}))["a"]
    assert column.type == pa.string()
    assert column.to_pylist() == ["x", None]


def test_half_floats_become_floats() -> None:
    column = normalize(pa.table({"a": pa.array([np.float16(1.5), None], pa.float16())}))["a"]
    assert column.type == pa.float32()
    assert column.to_pylist() == [1.5, None]


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"a": pa.array(["x", "y", None, "x"]).dictionary_encode()}),
        pd.DataFrame({"a": pd.Categorical(["x", "y", None, "x"])}),
        pl.DataFrame({"a": pl.Series(["x", "y", None, "x"], dtype=pl.Categorical)}),
    ],
    ids=["pyarrow", "pandas", "Polars"],
)
def test_categories_without_order_are_decoded(data: object) -> None:
    column = as_table(data)["a"]
    assert column.type == pa.string()
    assert column.to_pylist() == ["x", "y", None, "x"]


def test_ordered_categories_keep_their_order() -> None:
    levels = ["low", "mid", "high"]
    frame = pd.DataFrame({"a": pd.Categorical(["high", "low", None], levels, ordered=True)})
    column = as_table(frame)["a"]
    assert column.type.ordered
    assert column.type.value_type == pa.string()
    assert column.chunk(0).dictionary.to_pylist() == levels
    assert column.to_pylist() == ["high", "low", None]


def test_ordered_categories_in_several_chunks_share_one_dictionary() -> None:
    kind = pa.dictionary(pa.int8(), pa.large_string(), ordered=True)
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1], pa.int8()), pa.array(words, pa.large_string()), ordered=True
        )
        for words in (["a", "b"], ["a", "b", "c"])
    ]
    column = normalize(pa.table({"a": pa.chunked_array(chunks, kind)}))["a"]
    assert column.to_pylist() == ["a", "b", "a", "b"]
    assert {tuple(chunk.dictionary.to_pylist()) for chunk in column.chunks} == {("a", "b", "c")}


def test_nested_binary_and_other_types_are_left_as_they_are() -> None:
    table = pa.table(
        {
            "items": pa.array([["a"], None]),
            "pair": pa.array([{"x": 1}, None]),
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "raw": pa.array([b"x", None]),
            "small": pa.array([1, None], pa.int8()),
            "exact": pa.array([None, None], pa.decimal128(10, 2)),
            "nothing": pa.nulls(2),
        }
    )
    assert normalize(table).equals(table)


def test_an_archive_with_one_text_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "people.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/", "")
        archive.writestr("export/people.csv", "age;town\n31;Ulm\n45;Bonn\n")
        archive.writestr("__MACOSX/people.csv", b"\0\1")
    assert read_table(path).to_pylist()[1] == {"age": 45, "town": "Bonn"}
    assert mottle.inspect(path).rows == 2
    content = bytearray(path.read_bytes())
    content[60:70] = bytes(10)
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(content)
    with pytest.raises(DataError):
        read_table(damaged)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.csv", "a\n1\n")
    with pytest.raises(DataError, match="holds 2 files"):
        read_table(path)


def test_uuids_are_read_as_databases_write_them() -> None:
    known = [uuid.UUID(int=7), None, uuid.UUID(int=2**128 - 1)]
    stored = pa.array([cell and cell.bytes for cell in known], pa.binary(16))
    column = pa.ExtensionArray.from_storage(pa.uuid(), stored)
    for some in (slice(0, 3), slice(1, 2), slice(1, 3), slice(0, 0)):
        found = normalize(pa.table({"who": column[some]})).column("who")
        found.validate(full=True)
        assert found.type == pa.string()
        assert found.to_pylist() == [cell and str(cell) for cell in known[some]]


def test_what_was_read_is_taken_as_it_is_but_for_words_that_stand_for_missing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,age\nAnn,1\nnone,2\n")
    read = read_table(path)
    assert as_table(read).equals(read)
    masked = as_table(read, ReadOptions(missing=("none",)))
    assert masked.column("name").to_pylist() == ["Ann", None]


def test_a_table_that_was_read_with_generalized_cells_is_refused_without_the_option(
    tmp_path: Path,
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,age\n{a|b},1..5\n{a|c},2..7\n")
    read = read_table(path, allow_generalized=True)
    assert as_table(read, ReadOptions(allow_generalized=True)).equals(read)
    with pytest.raises(DataError, match="seems to be a release"):
        as_table(read)
