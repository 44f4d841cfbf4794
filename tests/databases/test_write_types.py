"""Every form and type of published cells survives in every database."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from certificates import certificate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_releases import NOTHING, between, check_readable, generalized, release_of, unchanged

import mottle
from mottle import Form, Kind, Release
from mottle.release import set_cell_text as worlds
from mottle.release.cell_text import from_texts, text_columns
from mottle.release.column import PublishedColumn


def test_every_form_and_type_survives(url: str) -> None:
    day, other = dt.date(1999, 12, 31), dt.date(9999, 12, 31)
    low, high = Decimal("-1.50"), Decimal("99999999.99")
    largest = 2**63 - 1
    number, date, ordered, category = Kind.NUMBER, Kind.DATE, Kind.ORDERED, Kind.CATEGORY
    columns: list[tuple[PublishedColumn, list[object]]] = [
        (
            generalized("age", number, "range", pa.int64()),
            [between(28, 39), between(5, 5), between(1, 2, True), NOTHING],
        ),
        (
            generalized("small", number, "range", pa.int8()),
            [between(-128, 127), between(0, 0), between(1, 2), between(3, 4)],
        ),
        (
            generalized("int_end", number, "range", pa.int32()),
            [between(0, 2**31 - 1), between(0, 0), between(1, 2), between(3, 4)],
        ),
        (
            generalized("end", number, "range", pa.int64()),
            [between(-largest - 1, largest), between(0, 0), between(1, 2), NOTHING],
        ),
        (
            generalized("wide", number, "range", pa.decimal128(38, 0)),
            [
                between(Decimal(2**64), Decimal(2**70)),
                NOTHING,
                between(Decimal(1), Decimal(2)),
                between(Decimal(0), Decimal(0)),
            ],
        ),
        (
            generalized("price", number, "range", pa.decimal128(10, 2)),
            [between(low, high), between(low, low), NOTHING, between(high, high, True)],
        ),
        (
            generalized("weight", number, "range", pa.float64()),
            [between(0.1, 0.1 + 0.2), between(-1e300, 5e-324), between(1.5, 1e22), NOTHING],
        ),
        (
            generalized("single", number, "range", pa.float32()),
            [between(0.5, 1.5), between(-2.0, -2.0), NOTHING, between(1e10, 3e10)],
        ),
        (
            generalized("born", date, "range", pa.date32()),
            [between(day, other), between(day, day), between(dt.date(1, 1, 1), day, True), NOTHING],
        ),
        (
            generalized("size", ordered, "range", pa.string()),
            [between("S", "L"), between("M", "M"), between("S", "M", True), NOTHING],
        ),
        (
            generalized("grade", ordered, "range", pa.int64()),
            [between(3, 1), between(2, 2), between(3, 2, True), NOTHING],
        ),
        (
            generalized("sex", category, "set", pa.string()),
            [["f", "m"], ["f"], ["f", None], [None]],
        ),
        (generalized("years", number, "set", pa.int32()), [[1, 2, 3], [-7], [4, None], [None]]),
        (
            generalized("flag", category, "set", pa.bool_()),
            [[False, True], [True], [False, None], [None]],
        ),
        (
            generalized("rate", number, "set", pa.float64()),
            [[0.1 + 0.2, 1.0], [1e-300], [2.5, None], [None]],
        ),
        (
            generalized("cost", number, "set", pa.decimal128(10, 2)),
            [[low, high], [low], [high, None], [None]],
        ),
        (
            generalized("days", date, "set", pa.date32()),
            [[day, other], [day], [other, None], [None]],
        ),
        (
            generalized("place", Kind.HIERARCHY, "node", pa.string()),
            ["Europe", "*", r"a{b|c}\d..", None],
        ),
        (unchanged("text", pa.string()), ["a,'\"b", "", None, "ü\n\\"]),
        (unchanged("tiny", pa.uint8()), [0, 255, None, 1]),
        (unchanged("half", pa.float32()), [0.5, None, -1.5, 2.0]),
        (unchanged("real", pa.float64()), [0.1, None, -1e300, 2.0]),
        (unchanged("exact", pa.decimal128(12, 3)), [Decimal("1.500"), None, low * 1000, high]),
        (unchanged("yes", pa.bool_()), [True, False, None, True]),
        (unchanged("day", pa.date32()), [day, None, other, dt.date(1, 1, 1)]),
        (
            unchanged("moment", pa.timestamp("ms")),
            [dt.datetime(2020, 1, 31, 10, 0, 1), None, dt.datetime(1900, 1, 1), None],
        ),
        (unchanged("bytes", pa.binary()), [b"\x00\xff", None, b"", b"x"]),
        (unchanged("nothing", pa.null()), [None] * 4),
    ]
    release = release_of(columns)
    written = mottle.write_database(release, url, "open")
    assert written == ["open", "open_readable", "open_certificate"]
    check_readable(url, release)
    shown = mottle.read_database(url, table="open_readable")
    for column, cells in columns:
        if column.form is None and column.name not in ("exact", "nothing"):
            values = shown.column(column.name)
            assert values.cast(column.value_type).to_pylist() == cells, column.name
    exact = pc.cast(shown.column("exact"), pa.float64()).to_pylist()
    assert exact == [1.5, None, -1500.0, 99999999.99]
    assert shown.column("nothing").null_count == 4
    (row,) = mottle.read_database(url, table="open_certificate").to_pylist()
    assert json.loads(row["certificate"])["rows"] == 4


AWKWARD = st.text(st.sampled_from("ab.\\{|}'\"%_ \n\te,é\U0001f600\x01"), max_size=6)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    members=st.lists(
        st.lists(st.one_of(st.none(), AWKWARD), min_size=1, max_size=4, unique=True),
        min_size=1,
        max_size=40,
    )
)
def test_the_view_escapes_as_release_csv_does(url: str, members: list[list[str | None]]) -> None:
    members = [sorted(cell, key=lambda value: value is None) for cell in members]
    nodes = [cell[0] for cell in members]
    ends = [NOTHING if cell[0] is None else between(cell[0], cell[-1] or "x") for cell in members]
    release = release_of(
        [
            (generalized("set", Kind.CATEGORY, "set", pa.string()), list(members)),
            (generalized("node", Kind.HIERARCHY, "node", pa.string()), list(nodes)),
            (generalized("range", Kind.ORDERED, "range", pa.string()), list(ends)),
        ]
    )
    mottle.write_database(release, url, "open", overwrite=True, another_draw=True)
    shown = mottle.read_database(url, query="SELECT * FROM open_readable")
    expected = release.to_text()
    for name in expected.column_names:
        assert shown.column(name).to_pylist() == expected.column(name).to_pylist()


def test_sets_of_items_are_stored_with_their_three_parts(url: str) -> None:
    cell = {"base": ["milk", "te|a"], "uncertain": [], "distance": 0}
    other = {"base": [], "uncertain": ["a", 'b"'], "distance": 1}
    metadata = {b"mottle": json.dumps({"role": "quasi-identifying", "form": "worlds"}).encode()}
    field = pa.field("basket", worlds.TYPE, metadata=metadata)
    table = pa.table([pa.array([cell, other], worlds.TYPE)], schema=pa.schema([field]))
    mottle.write_database(Release(table, (), certificate(rows=2)), url, "open")
    shown = mottle.read_database(url, query="SELECT * FROM open_readable")
    assert shown.to_pylist() == [
        {"basket.base": r"{milk|te\|a}", "basket.uncertain": "{}", "basket.distance": 0},
        {"basket.base": "{}", "basket.uncertain": '{a|b"}', "basket.distance": 1},
    ]


def test_a_column_of_sets_is_stored_with_its_parts_and_whether_it_may_be_missing(url: str) -> None:
    cells: list[object] = [
        {"base": ["a", "b|c"], "uncertain": ["", "..x"], "distance": 2, "missing": False},
        {"base": [], "uncertain": [], "distance": 0, "missing": True},
        {"base": None, "uncertain": None, "distance": None, "missing": True},
        {"base": ["é"], "uncertain": ["q"], "distance": 1, "missing": True},
    ]
    column = generalized("ill", Kind.SET, "worlds", pa.list_(pa.string()))
    release = release_of([(column, cells), (unchanged("n", pa.int64()), [1, 2, 3, 4])])
    mottle.write_database(release, url, "open")
    shown = mottle.read_database(url, query="SELECT * FROM open_readable ORDER BY n")
    parts = [
        shown.column(name).cast(pa.string()).combine_chunks()
        for name in text_columns("ill", Form.WORLDS)
    ]
    assert from_texts(parts, Form.WORLDS, column.value_type).to_pylist() == cells
