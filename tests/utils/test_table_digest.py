"""Digests of tables: the same for the same content however it is read, another for another."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from mottle.utils.table_digest import Fingerprint, TableDigest, digest_of

TABLE = pa.table(
    {
        "number": pa.array([1, None, 3, 4, 5], pa.int32()),
        "share": [0.5, 1.5, None, 2.5, float("nan")],
        "text": ["ab", "c", None, "", "é"],
        "flag": [True, None, False, True, True],
        "day": [dt.date(2020, 1, day) for day in range(1, 6)],
        "price": [Decimal("1.10"), None, Decimal("2.20"), Decimal("3.30"), Decimal("4.40")],
        "bytes": [b"x", b"", None, b"yz", b"w"],
        "visited": [["a", "b"], [], None, ["c"], [None]],
        "level": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None, 1, 0]), pa.array(["low", "high"]), ordered=True
        ),
        "nothing": pa.nulls(5),
    }
)
NAMES = TABLE.column_names


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_batches_do_not_matter(rows: int) -> None:
    digest = TableDigest(NAMES)
    for first in range(0, TABLE.num_rows, rows):
        digest.add(TABLE.slice(first, rows))
    assert digest.digest() == digest_of(TABLE, NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_column_counts_with_its_cells_name_and_type(name: str) -> None:
    before = digest_of(TABLE, NAMES)
    place = NAMES.index(name)
    column = TABLE.column(name)
    if name != "nothing":
        moved = column.take(pa.array([1, 0, 2, 3, 4]))
        assert digest_of(TABLE.set_column(place, name, moved), NAMES) != before
    renamed = TABLE.rename_columns([*NAMES[:place], "other", *NAMES[place + 1 :]])
    assert digest_of(renamed, renamed.column_names) != before
    assert digest_of(TABLE, [other for other in NAMES if other != name]) != before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(["ab", "c"]), pa.array(["a", "bc"])),
        (pa.array([0, 1]), pa.array([None, 1])),
        (pa.array(["", "x"]), pa.array([None, "x"])),
        (pa.array([1, 2], pa.uint64()), pa.array([1, 2], pa.int64())),
        (pa.array([["a"], ["b", "c"]]), pa.array([["a", "b"], ["c"]])),
    ],
)
def test_contents_that_look_alike_have_other_digests(one: pa.Array, other: pa.Array) -> None:
    assert digest_of(pa.table({"a": one}), ["a"]) != digest_of(pa.table({"a": other}), ["a"])


def test_order_of_categories_counts() -> None:
    codes = pa.array([0, 1])
    up = pa.DictionaryArray.from_arrays(codes, pa.array(["low", "high"]), ordered=True)
    down = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["high", "low"]), ordered=True)
    assert up.to_pylist() == down.to_pylist()
    assert digest_of(pa.table({"a": up}), ["a"]) != digest_of(pa.table({"a": down}), ["a"])


def test_fingerprint_recognizes_its_table_and_no_other() -> None:
    names = ["number", "text"]
    fingerprint = Fingerprint.of(names, digest_of(TABLE, names), bytes(range(32)))
    read = Fingerprint.from_json(fingerprint.to_json())
    assert read == fingerprint
    assert read.fits(TABLE)
    assert read.fits(TABLE.drop_columns(["price"]))  # a column that does not count
    assert not read.fits(TABLE.slice(1))
    assert not read.fits(TABLE.drop_columns(["text"]))
    assert fingerprint.key.hex() not in repr(fingerprint)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"columns": 1, "key": "00", "value": "00"}'])
def test_anything_else_is_no_fingerprint(text: str) -> None:
    with pytest.raises(ValueError, match=r"fingerprint|Expecting value"):
        Fingerprint.from_json(text)


def test_whole_numbers_count_the_same_in_every_width() -> None:
    narrow, wide = (
        pa.table({"age": pa.array([1, None, 3], kind)}) for kind in (pa.int16(), pa.int64())
    )
    assert digest_of(narrow, ["age"]) == digest_of(wide, ["age"])
    assert digest_of(wide, ["age"]) != digest_of(pa.table({"age": [1.0, None, 3.0]}), ["age"])


def test_fingerprints_of_earlier_versions_are_recognized() -> None:
    narrow = pa.table({"age": pa.array([1, None, 3], pa.int16())})
    earlier = TableDigest(["age"], by_width=True)
    earlier.add(narrow)
    assert Fingerprint.of(["age"], earlier.digest(), bytes(32)).fits(narrow)


def test_what_the_values_of_lists_are_called_does_not_count() -> None:
    cells = [["a", "b"], [], None]
    tables = [
        pa.table({"visited": pa.array(cells, pa.list_(pa.field(name, pa.string())))})
        for name in ("item", "element")
    ]
    digests = {digest_of(table, ["visited"]) for table in tables}
    assert len(digests) == 1
    earlier = TableDigest(["visited"], by_list_names=True)
    earlier.add(tables[1])
    fingerprint = Fingerprint.of(["visited"], earlier.digest(), b"k" * 32)
    assert fingerprint.fits(tables[1])
    assert not fingerprint.fits(tables[1].slice(1))
