"""Releases in databases, whichever it is: all or nothing, and the same cells as everywhere."""

from __future__ import annotations

import datetime as dt
import json
import stat
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mottle
from mottle import Release, Schema
from mottle.encoding.domain import Form
from mottle.errors import DataError, MottleError, StorageError, UsageError
from mottle.io.databases import check_database_target
from mottle.release import set_cell_text as worlds
from mottle.release.cell_text import from_text, from_texts, text_columns
from mottle.release.column import PublishedColumn
from mottle.schema.model import Kind, Role


def release_of(columns: Sequence[tuple[PublishedColumn, list[object]]]) -> Release:
    """A release with exactly these cells."""
    fields = [column.field() for column, _ in columns]
    arrays = [
        pa.array(cells, field.type) for field, (_, cells) in zip(fields, columns, strict=True)
    ]
    table = pa.table(arrays, schema=pa.schema(fields))
    return Release(table, tuple(column for column, _ in columns), {"rows": table.num_rows})


def generalized(name: str, kind: Kind, form: str, value_type: pa.DataType) -> PublishedColumn:
    order = ("S", "M", "L") if kind is Kind.ORDERED else None
    return PublishedColumn(name, Role.QUASI_IDENTIFYING, kind, mottle.Form(form), value_type, order)


def unchanged(name: str, value_type: pa.DataType) -> PublishedColumn:
    return PublishedColumn(name, Role.INSENSITIVE, None, None, value_type)


def between(lo: object, hi: object, missing: bool = False) -> dict[str, object]:
    return {"lo": lo, "hi": hi, "missing": missing}


NOTHING = between(None, None, True)


def check_readable(url: str, release: Release, table: str = "open") -> None:
    """The view has the cells of release.csv: taken apart, they are the typed cells again."""
    shown = mottle.read_database(url, table=f"{table}_readable")
    assert shown.num_rows == release.table.num_rows
    assert shown.column_names == list(release.to_text().column_names)
    for column in release.columns:
        texts = shown.column(column.name)
        if column.form is None:
            continue
        typed = from_text(texts.cast(pa.string()).combine_chunks(), column.form, column.value_type)
        assert typed.to_pylist() == release.table.column(column.name).to_pylist(), column.name


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
    assert json.loads(row["certificate"]) == {"rows": 4}


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
    mottle.write_database(release, url, "open", overwrite=True)
    shown = mottle.read_database(url, query="SELECT * FROM open_readable")
    expected = release.to_text()
    for name in expected.column_names:
        assert shown.column(name).to_pylist() == expected.column(name).to_pylist()


def test_a_real_release_with_all_kinds(url: str, release: Release) -> None:
    mottle.write_database(release, url, "open")
    check_readable(url, release)


def test_existing_releases_are_kept_unless_told_otherwise(
    url: str, release: Release, other_release: Release
) -> None:
    mottle.write_database(release, url, "open")
    with pytest.raises(StorageError, match=r"already has open, .*--overwrite"):
        mottle.write_database(other_release, url, "open")
    check_readable(url, release)
    mottle.write_database(other_release, url, "open", overwrite=True)
    check_readable(url, other_release)


def test_only_releases_are_overwritten(url: str, release: Release) -> None:
    mottle.write_database(release, url, "open")
    with pytest.raises(StorageError, match="not a release"):
        mottle.write_database(release, url, "open_certificate", overwrite=True)
    check_readable(url, release)


def test_a_failure_in_the_middle_leaves_nothing(url: str, release: Release, tmp_path: Path) -> None:
    no_json = {"rows": object()}  # fails last, when all rows are there
    failing = Release(release.table, release.columns, no_json, release.links)
    with pytest.raises(TypeError):
        mottle.write_database(failing, url, "open", private=tmp_path / "links.parquet")
    assert [path.name for path in tmp_path.iterdir()] == []
    mottle.write_database(release, url, "open")
    with pytest.raises(TypeError):
        mottle.write_database(failing, url, "open", overwrite=True)
    check_readable(url, release)


def test_the_rehearsal_raises_what_writing_would_and_leaves_nothing(
    url: str, release: Release, tmp_path: Path
) -> None:
    check_database_target(url, "open", overwrite=False)
    assert list(tmp_path.iterdir()) == []
    mottle.write_database(release, url, "open")
    with pytest.raises(StorageError, match="already has"):
        check_database_target(url, "open", overwrite=False)
    check_database_target(url, "open", overwrite=True)
    check_readable(url, release)


def test_private_links_stay_a_local_file(url: str, release: Release, tmp_path: Path) -> None:
    link = tmp_path / "private" / "links.parquet"
    mottle.write_database(release, url, "open", private=link)
    assert pq.read_table(link).column_names == ["published", "original", "true"]
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    with pytest.raises(StorageError, match=r"links\.parquet"):
        mottle.write_database(release, url, "other", private=link)


def test_sensitive_values_published_apart_get_their_own_table(url: str) -> None:
    people = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, mottle.LDiversity(2), method="anatomy", seed=1)
    assert "open_sensitive" in mottle.write_database(release, url, "open")
    apart = mottle.read_database(url, query="SELECT * FROM open_sensitive")
    assert release.sensitive is not None
    assert apart.to_pylist() == release.sensitive.to_pylist()
    mottle.write_database(release, url, "open", overwrite=True)


def test_sets_of_items_are_stored_with_their_three_parts(url: str) -> None:
    cell = {"base": ["milk", "te|a"], "uncertain": [], "distance": 0}
    other = {"base": [], "uncertain": ["a", 'b"'], "distance": 1}
    metadata = {b"mottle": json.dumps({"role": "quasi-identifying", "form": "worlds"}).encode()}
    field = pa.field("basket", worlds.TYPE, metadata=metadata)
    table = pa.table([pa.array([cell, other], worlds.TYPE)], schema=pa.schema([field]))
    mottle.write_database(Release(table, (), {}), url, "open")
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


def test_lists_from_a_database_are_a_column_of_sets(url: str) -> None:
    if url.startswith("sqlite"):
        return  # it has no lists
    people = mottle.datasets.population(40, seed=1).select(["age"])
    schema = Schema.of(quasi_identifying=["age", "diagnoses"])
    patients = mottle.datasets.with_diagnoses(
        people.append_column("sex", pa.array(["male"] * 40))
    ).drop(["sex"])
    release = mottle.anonymize(patients, schema, mottle.KAnonymity(2), seed=1)
    mottle.write_database(release, url, "open")
    base = "diagnoses.base" if url.startswith("duckdb") else "diagnoses_base"
    read = mottle.read_database(url, query=f"SELECT {base} AS ill FROM open")
    again = mottle.anonymize(
        read, Schema.of(quasi_identifying=["ill"]), mottle.KAnonymity(2), seed=1
    )
    assert again.columns[0].kind is Kind.SET


def test_many_batches_keep_the_order_of_the_release(url: str) -> None:
    rows = 70_000
    release = release_of(
        [
            (
                generalized("age", Kind.NUMBER, "range", pa.int64()),
                [between(row, row + 1) for row in range(rows)],
            ),
            (
                generalized("sex", Kind.CATEGORY, "set", pa.string()),
                [["f", "m"] if row % 3 else ["f"] for row in range(rows)],
            ),
        ]
    )
    mottle.write_database(release, url, "open")
    shown = mottle.read_database(url, query="SELECT * FROM open_readable")
    assert shown.column("age").to_pylist() == [f"{row}..{row + 1}" for row in range(rows)]
    assert shown.column("sex").to_pylist()[:3] == ["f", "{f|m}", "{f|m}"]


def test_stored_names_that_collide_are_refused(url: str) -> None:
    release = release_of(
        [
            (generalized("size", Kind.ORDERED, "range", pa.string()), [between("S", "L")]),
            (unchanged("size_lo", pa.int64()), [1]),
        ]
    )
    if url.startswith("duckdb"):
        mottle.write_database(release, url, "open")
        release = release_of(
            [(unchanged("size", pa.int64()), [1]), (unchanged("Size", pa.int64()), [1])]
        )
    with pytest.raises(UsageError, match=r"both be stored as 'size"):
        mottle.write_database(release, url, "collision")


@pytest.mark.parametrize("name", ["", "a.b.c", '"'])
def test_bad_names_of_tables_are_refused(url: str, release: Release, name: str) -> None:
    with pytest.raises(UsageError, match="not the name of a table"):
        mottle.write_database(release, url, name)


def test_values_the_database_cannot_hold_are_refused_without_quoting_them(postgresql: str) -> None:
    release = release_of([(unchanged("text", pa.string()), ["Ms\x00Unknown"])])
    with pytest.raises(MottleError) as refused:
        mottle.write_database(release, postgresql, "open")
    assert "Unknown" not in str(refused.value)
    assert "Nothing was written" in str(refused.value)
    moment = release_of([(unchanged("moment", pa.timestamp("ns")), [1])])
    with pytest.raises(DataError, match="'moment'"):
        mottle.write_database(moment, postgresql, "open")
