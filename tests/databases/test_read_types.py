"""Reading: every type arrives as what it is, or is refused with a cast that works."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from live_database import LiveDatabase

import mottle
from mottle import DataError

UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
BEFORE = {
    "postgresql": (
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN positive AS int CHECK (value > 0)",
        "CREATE TYPE pair AS (a int, b int)",
    ),
    "mariadb": ("CREATE TABLE bits (cell BIT(8))", "INSERT INTO bits VALUES (b'11')"),
}
TYPES = {
    "postgresql": (
        ("7::smallint", pa.int16(), 7),
        ("7", pa.int32(), 7),
        ("7::bigint", pa.int64(), 7),
        ("4000000000::oid", pa.int64(), 4_000_000_000),
        ("1.5::real", pa.float32(), 1.5),
        ("0.1::float8", pa.float64(), 0.1),
        ("1.50::numeric(10, 2)", pa.decimal128(10, 2), Decimal("1.50")),
        ("12::numeric(3)", pa.int64(), 12),
        ("1200::numeric(2, -2)", pa.int64(), 1200),
        ("0.00012::numeric(2, 5)", pa.decimal128(5, 5), Decimal("0.00012")),
        ("1.250::numeric", pa.decimal128(3, 2), Decimal("1.25")),
        ("42.00::numeric", pa.int64(), 42),
        (
            "123456789012345678901234567890123456789012.5::numeric",
            pa.decimal256(43, 1),
            Decimal("123456789012345678901234567890123456789012.5"),
        ),
        ("-42::numeric", pa.int64(), -42),
        ("12.34::money", pa.decimal128(4, 2), Decimal("12.34")),
        ("true", pa.bool_(), True),
        ("'é'::text", pa.string(), "é"),
        ("'x'::varchar(9)", pa.string(), "x"),
        ("'ok'::mood", pa.string(), "ok"),
        ("5::positive", pa.int32(), 5),
        (f"'{UUID}'::uuid", pa.string(), UUID),
        ("'10.0.0.1'::inet", pa.string(), "10.0.0.1/32"),
        ("'[1]'::jsonb", pa.string(), "[1]"),
        ("B'101'", pa.string(), "101"),
        ("date '2020-01-31'", pa.date32(), dt.date(2020, 1, 31)),
        ("timestamp '2020-01-31 10:00'", pa.timestamp("us"), dt.datetime(2020, 1, 31, 10)),
        (
            "timestamptz '2020-01-31 10:00+02'",
            pa.timestamp("us", "UTC"),
            dt.datetime(2020, 1, 31, 8, tzinfo=dt.UTC),
        ),
        ("time '10:30'", pa.time64("us"), dt.time(10, 30)),
        ("'\\x00ff'::bytea", pa.binary(), b"\x00\xff"),
        ("'{a,NULL}'::text[]", pa.list_(pa.string()), ["a", None]),
        ("'{1,2}'::int[]", pa.list_(pa.int32()), [1, 2]),
    ),
    "sqlite": (
        ("7", pa.int64(), 7),
        ("-9223372036854775807", pa.int64(), -9_223_372_036_854_775_807),
        ("0.1", pa.float64(), 0.1),
        ("'é'", pa.string(), "é"),
        ("''", pa.string(), ""),
        ("'2020-01-31'", pa.date32(), dt.date(2020, 1, 31)),
        ("'2020-01-31 10:00:00'", pa.timestamp("us"), dt.datetime(2020, 1, 31, 10)),
        ("x'00ff'", pa.binary(), b"\x00\xff"),
    ),
    "mariadb": (
        ("7", pa.int64(), 7),
        ("CAST(4294967295 AS UNSIGNED)", pa.int64(), 4_294_967_295),
        ("CAST(1.5 AS DECIMAL(10, 2))", pa.decimal128(10, 2), Decimal("1.50")),
        ("CAST(12 AS DECIMAL(3, 0))", pa.int64(), 12),
        ("0.1e0", pa.float64(), 0.1),
        ("b'1' + 0", pa.int64(), 1),
        ("'é😀'", pa.string(), "é😀"),
        ("''", pa.string(), ""),
        ("DATE '2020-01-31'", pa.date32(), dt.date(2020, 1, 31)),
        (
            "CAST('2020-01-31 10:00:00' AS DATETIME)",
            pa.timestamp("ms"),
            dt.datetime(2020, 1, 31, 10),
        ),
        (
            "CAST('2020-01-31 10:00:00.25' AS DATETIME(6))",
            pa.timestamp("us"),
            dt.datetime(2020, 1, 31, 10, 0, 0, 250000),
        ),
        ("CAST('100:30:00' AS TIME)", pa.string(), "100:30:00"),
        ("JSON_ARRAY(1)", pa.string(), "[1]"),
        ("x'00ff'", pa.binary(), b"\x00\xff"),
    ),
    "duckdb": (
        ("7::TINYINT", pa.int8(), 7),
        ("7::HUGEINT", pa.decimal128(38, 0), Decimal(7)),
        ("1.5::DECIMAL(10, 2)", pa.decimal128(10, 2), Decimal("1.50")),
        ("'x'::ENUM('x', 'y')", pa.string(), "x"),
        (f"'{UUID}'::UUID", pa.string(), UUID),
        ("'101'::BIT", pa.string(), "101"),
        ("DATE '2020-01-31'", pa.date32(), dt.date(2020, 1, 31)),
        ("TIMESTAMP '2020-01-31 10:00'", pa.timestamp("us"), dt.datetime(2020, 1, 31, 10)),
        ("TIMESTAMP_S '2020-01-31 10:00:00'", pa.timestamp("ms"), dt.datetime(2020, 1, 31, 10)),
        ("TIME '10:30'", pa.time64("us"), dt.time(10, 30)),
        ("['a', NULL]", pa.list_(pa.string()), ["a", None]),
        ("'x'::BLOB", pa.binary(), b"x"),
    ),
}
REFUSED = [
    ("postgresql", "point(1, 2) AS cell", '"cell"::text'),
    ("postgresql", "int4range(1, 3) AS cell", '"cell"::text'),
    ("postgresql", "interval '1 day' AS cell", 'extract(epoch FROM "cell")::float8'),
    ("postgresql", "ROW(1, 2)::pair AS cell", '"cell"::text'),
    ("postgresql", "'{1.5}'::numeric[] AS cell", '"cell"::text[]'),
    ("duckdb", "{'a': 1} AS cell", '"cell"::VARCHAR'),
    ("duckdb", "INTERVAL 1 DAY AS cell", 'epoch("cell")'),
    ("duckdb", "MAP {'a': 1} AS cell", '"cell"::VARCHAR'),
    ("mariadb", "cell FROM bits", "`cell` + 0"),
    ("sqlite", "x'00' AS cell UNION ALL SELECT 1", 'CAST("cell" AS TEXT)'),
]
OUTSIDE_ARROW = [
    ("postgresql", "'NaN'::numeric", "NaN or infinite"),
    ("postgresql", "'NaN'::numeric(5, 2)", "not ordinary numbers"),
    ("postgresql", "'infinity'::date", "outside the years 1 to 9999"),
    ("postgresql", "'-infinity'::timestamp", "outside the years 1 to 9999"),
    ("postgresql", "'0044-03-15 BC'::date", "outside the years 1 to 9999"),
    ("postgresql", "10::numeric ^ 90", "mottle reads up to 76"),
    ("duckdb", "DATE 'infinity'", "outside the years 1 to 9999"),
]


def test_every_type_arrives_as_what_it_is(database: LiveDatabase) -> None:
    types = TYPES[database.name]
    cells = ", ".join(f"{expression} AS c{place}" for place, (expression, *_) in enumerate(types))
    names = ", ".join(f"c{place}" for place in range(len(types)))
    nothing = ", ".join(["NULL"] * len(types))
    rows = (
        f"CREATE TABLE one AS SELECT {cells}",
        f"INSERT INTO one ({names}) VALUES ({nothing})",  # all of them missing
    )
    if database.name == "mariadb":  # whose columns of constants are NOT NULL
        rows = (f"CREATE TABLE one AS SELECT {cells} UNION ALL SELECT {nothing}",)
    database.run(*BEFORE.get(database.name, ()), *rows)
    for source in ({"table": "one"}, {"query": "SELECT * FROM one;"}):
        found = mottle.read_database(database.url, **source)
        for (expression, kind, value), name in zip(types, found.column_names, strict=True):
            got = found.schema.field(name).type
            if pa.types.is_list(kind):  # the name of the member's field does not matter
                got = pa.list_(got.value_type)
            assert got == kind, expression
            assert found.column(name).to_pylist() == [value, None], expression


@pytest.mark.parametrize(("database", "source", "cast"), REFUSED, indirect=["database"])
def test_other_types_are_refused_with_a_cast_that_works(
    database: LiveDatabase, source: str, cast: str
) -> None:
    database.run(*BEFORE.get(database.name, ()), f"CREATE TABLE one AS SELECT {source}")
    with pytest.raises(DataError, match="Column 'cell'") as refused:
        mottle.read_database(database.url, table="one")
    assert f"{cast} AS" in refused.value.remedy
    found = mottle.read_database(database.url, query=f'SELECT {cast} AS "cell" FROM one')
    assert found.num_rows >= 1


@pytest.mark.parametrize(("database", "value", "words"), OUTSIDE_ARROW, indirect=["database"])
def test_values_without_a_place_in_arrow_name_the_column(
    database: LiveDatabase, value: str, words: str
) -> None:
    database.run("CREATE TABLE other (a integer)")  # so that there is a file
    with pytest.raises(DataError, match=words) as refused:
        mottle.read_database(database.url, query=f"SELECT {value} AS cell")
    assert "'cell'" in str(refused.value)


def test_tables_of_arrow_come_back_as_they_were(database: LiveDatabase) -> None:
    people = pa.table(
        {
            "age": pa.array([31, None, 7], pa.int64()),
            "height": pa.array([1.5, None, 0.1]),
            "name": pa.array(["Ada", "", None]),
        }
    )
    database.load("people", people)
    assert mottle.read_database(database.url, table="people").equals(people)
