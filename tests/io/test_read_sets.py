"""Readers of sets: four forms of the same data give the same records; errors say where."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mottle import DataError, StorageError, UsageError
from mottle.io.read_sets import as_sets, read_column, read_long, read_transactions
from mottle.itemsets.data import ItemSets

BASKETS = [["bread", "milk"], [], ["milk"], ["naïve|brand", "tea & co"]]


def contents(data: ItemSets) -> list[list[str]]:
    return [data.record(number) for number in range(data.records)]


def test_all_forms_of_input_give_the_same_records(tmp_path: Path) -> None:
    text = "\n".join(";".join(record) for record in BASKETS) + "\n"
    plain, packed = tmp_path / "baskets.dat", tmp_path / "baskets.dat.gz"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    lists = tmp_path / "baskets.parquet"
    pq.write_table(pa.table({"items": BASKETS}), lists)
    delimited = tmp_path / "baskets.csv"
    cells = "\n".join(f"{row},{';'.join(record)}" for row, record in enumerate(BASKETS))
    delimited.write_text(f"row,items\n{cells}\n", encoding="utf-8")
    pairs = [(row, item) for row, record in enumerate(BASKETS) for item in record or [None]]
    long = pa.table({"row": [row for row, _ in pairs], "item": [item for _, item in pairs]})

    assert contents(read_transactions(plain, separator=";")) == BASKETS
    assert contents(read_transactions(packed, separator=";")) == BASKETS
    assert contents(read_column(lists, column="items")) == BASKETS
    assert contents(read_column(delimited, column="items", separator=";")) == BASKETS
    assert contents(read_long(long, record="row", item="item")) == BASKETS


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_of_all_systems_are_no_items(tmp_path: Path, end: str, last: bool) -> None:
    path = tmp_path / "baskets"
    path.write_bytes(
        end.join(["1 2", "", "2\t 1 2", "7"]).encode() + (end.encode() if last else b"")
    )
    data = read_transactions(path)
    assert contents(data) == [["1", "2"], [], ["1", "2"], ["7"]]
    assert data.notes == ("1 repeated item of a record was merged.",)


def test_spaces_around_items_go_and_those_inside_stay(tmp_path: Path) -> None:
    path = tmp_path / "baskets"
    path.write_text(" green tea ,, milk,\n", encoding="utf-8")
    assert contents(read_transactions(path, separator=",")) == [["green tea", "milk"]]


def test_a_byte_order_mark_and_other_encodings_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "baskets"
    path.write_bytes("\ufeffé z\n".encode())
    assert contents(read_transactions(path)) == [["z", "é"]]
    path.write_bytes("é z\n".encode("latin-1"))
    assert contents(read_transactions(path, encoding="latin-1")) == [["z", "é"]]


def test_errors_name_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "baskets"
    with pytest.raises(StorageError, match="baskets does not exist"):
        read_transactions(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"baskets is empty.*one set per line"):
        read_transactions(path)
    path.write_bytes(b"1 2\n3 \xff\n")
    with pytest.raises(DataError, match=r"baskets is not utf-8 text.*\(line 2\)"):
        read_transactions(path, encoding="utf-8")
    path.write_bytes(b"1 2\n" * 400_000 + b"3 \0\n")
    with pytest.raises(DataError, match=r"baskets, line 400001: there is a NUL"):
        read_transactions(path)
    damaged = tmp_path / "baskets.dat.gz"
    damaged.write_bytes(gzip.compress(b"1 2\n" * 1000)[:30])
    with pytest.raises(DataError, match=r"baskets\.dat\.gz is damaged"):
        read_transactions(damaged)


def test_a_record_without_key_or_with_two_labels_is_named_by_its_row() -> None:
    table = pa.table({"id": [1, None], "item": ["a", "b"]})
    with pytest.raises(DataError, match="row 2: column 'id'"):
        read_long(table, record="id", item="item")
    table = pa.table({"id": [1, 2, 1], "item": ["a", "b", "c"], "faith": ["x", "y", "z"]})
    with pytest.raises(DataError, match="row 3: the record has another 'faith'"):
        read_long(table, record="id", item="item", label="faith")


def test_labels_follow_their_records() -> None:
    table = pa.table({"id": [7, 3, 7], "item": ["a", "b", "c"], "faith": ["x", None, "x"]})
    data = read_long(table, record="id", item="item", label="faith")
    assert data.labels is not None
    assert (contents(data), data.labels.to_pylist()) == ([["a", "c"], ["b"]], ["x", None])
    assert data.label_name == "faith"


def test_lists_of_numbers_dates_and_nothing_are_read_as_text() -> None:
    table = pa.table(
        {
            "numbers": pa.array([[3, 3], None, [10]], pa.large_list(pa.int16())),
            "pairs": pa.array([[1.5, 2.0], None, [0.5, 1.5]], pa.list_(pa.float64(), 2)),
        }
    )
    assert contents(read_column(table, column="numbers")) == [["3"], [], ["10"]]
    assert contents(read_column(table, column="pairs")) == [["1.5", "2"], [], ["0.5", "1.5"]]


def test_columns_that_are_no_sets_are_refused_with_the_way_out() -> None:
    table = pa.table({"text": ["a;b"], "nested": [[["a"]]], "map": [{"a": 1}]})
    with pytest.raises(UsageError, match="--separator"):
        read_column(table, column="text")
    with pytest.raises(DataError, match="lists of list"):
        read_column(table, column="nested")
    with pytest.raises(DataError, match="'map' holds struct"):
        read_column(table, column="map", separator=";")
    with pytest.raises(UsageError, match="Did you mean 'text'"):
        read_column(table, column="tex")
    with pytest.raises(DataError, match="not one item per row"):
        read_long(table, record="text", item="nested")
    with pytest.raises(UsageError, match="separator of items"):
        read_column(table, column="text", separator="")


def test_what_is_no_collection_of_sets_is_refused() -> None:
    assert contents(as_sets([("b", "a"), {1}])) == [["a", "b"], ["1"]]
    for wrong in (7, "missing-file", ["ab", "c"], [1, 2]):
        with pytest.raises((UsageError, StorageError)):
            as_sets(wrong)
    with pytest.raises(UsageError, match="Name the column"):
        as_sets(pa.table({"a": [["x"]]}))


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe would be waited for until somebody writes to it."""
    os.mkfifo(tmp_path / "pipe.dat")
    (tmp_path / "device.dat").symlink_to("/dev/zero")
    for path in ("pipe.dat", "device.dat", ".", "nothing.dat"):
        with pytest.raises(StorageError, match=r"is not a file|does not exist"):
            read_transactions(tmp_path / path)
