"""Rows that are made into bundles come back as they were."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from mottle.pipeline.spark.bundles import BUNDLE, MOST_ROWS, bundle, rows_of, slices, unbundle


def test_cells_of_all_shapes_come_back_with_types_and_metadata() -> None:
    fields = pa.schema(
        [
            pa.field("range", pa.struct([("low", pa.int64()), ("high", pa.int64())])),
            pa.field("set", pa.list_(pa.string()), metadata={"about": "items"}),
            pa.field("day", pa.date32()),
            pa.field("word", pa.dictionary(pa.int32(), pa.string())),
        ]
    )
    day = dt.date(2020, 2, 29)
    cells = [[{"low": 1, "high": 9}, None], [["a", "b"], []], [None, day], ["x", "y"]]
    table = pa.table([pa.array(c, f.type) for c, f in zip(cells, fields, strict=True)], fields)
    again = unbundle([bundle(table)])
    assert again.schema.equals(table.schema, check_metadata=True)
    assert again.to_pylist() == table.to_pylist()


def test_slices_are_small_enough_and_complete() -> None:
    table = pa.table({"n": range(2 * MOST_ROWS + 1)})
    parts = list(slices(table))
    assert [part.num_rows for part in parts] == [MOST_ROWS, MOST_ROWS, 1]
    held = pa.table({BUNDLE: [bundle(part) for part in parts]})
    assert rows_of(held).column("n").to_pylist() == table.column("n").to_pylist()
    assert list(slices(table.slice(0, 0))) == []


def test_a_bundle_of_a_slice_holds_the_slice_alone() -> None:
    table = pa.table({"text": ["many words"] * 50_000})
    assert len(bundle(table.slice(7, 1))) < 1000
