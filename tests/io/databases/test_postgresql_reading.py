"""Reading from a real PostgreSQL: types, snapshots, queries and what is refused."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest
from postgresql_server import run

import mottle
from mottle.errors import DataError, StorageError, UsageError

UTC = dt.UTC
D = decimal.Decimal


TYPES = (
    ("7::smallint", pa.int16(), 7),
    ("7", pa.int32(), 7),
    ("7::bigint", pa.int64(), 7),
    ("4000000000::oid", pa.int64(), 4_000_000_000),
    ("1.5::real", pa.float32(), 1.5),
    ("0.1::float8", pa.float64(), 0.1),
    ("1.50::numeric(10, 2)", pa.decimal128(10, 2), D("1.50")),
    ("12::numeric(3)", pa.int64(), 12),
    ("1200::numeric(2, -2)", pa.int64(), 1200),
    ("0.00012::numeric(2, 5)", pa.decimal128(5, 5), D("0.00012")),
    ("1.250::numeric", pa.decimal128(3, 2), D("1.25")),
    ("42.00::numeric", pa.int64(), 42),
    (
        "123456789012345678901234567890123456789012.5::numeric",
        pa.decimal256(43, 1),
        D("123456789012345678901234567890123456789012.5"),
    ),
    ("-42::numeric", pa.int64(), -42),
    ("12.34::money", pa.decimal128(4, 2), D("12.34")),
    ("true", pa.bool_(), True),
    ("'é'::text", pa.string(), "é"),
    ("'x'::varchar(9)", pa.string(), "x"),
    ("'ok'::mood", pa.string(), "ok"),
    ("5::positive", pa.int32(), 5),
    (
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
        pa.string(),
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    ("'10.0.0.1'::inet", pa.string(), "10.0.0.1/32"),
    ("'[1]'::jsonb", pa.string(), "[1]"),
    ("B'101'", pa.string(), "101"),
    ("date '2020-01-31'", pa.date32(), dt.date(2020, 1, 31)),
    ("timestamp '2020-01-31 10:00'", pa.timestamp("us"), dt.datetime(2020, 1, 31, 10)),
    (
        "timestamptz '2020-01-31 10:00+02'",
        pa.timestamp("us", "UTC"),
        dt.datetime(2020, 1, 31, 8, tzinfo=UTC),
    ),
    ("time '10:30'", pa.time64("us"), dt.time(10, 30)),
    ("'\\x00ff'::bytea", pa.binary(), b"\x00\xff"),
    ("'{a,NULL}'::text[]", pa.list_(pa.string()), ["a", None]),
    ("'{1,2}'::int[]", pa.list_(pa.int32()), [1, 2]),
)


def test_every_type_arrives_as_what_it_is(postgresql) -> None:
    cells = ", ".join(f"{expression} AS c{place}" for place, (expression, *_) in enumerate(TYPES))
    run(
        postgresql,
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN positive AS int CHECK (value > 0)",
        f"CREATE TABLE one AS SELECT {cells}",
        "INSERT INTO one DEFAULT VALUES",  # all of them missing
    )
    for source in ({"table": "one"}, {"query": "SELECT * FROM one;"}):
        found = mottle.read_database(postgresql, **source)
        for (expression, kind, value), name in zip(TYPES, found.column_names, strict=True):
            assert found.schema.field(name).type == kind, expression
            assert found.column(name).to_pylist() == [value, None], expression


REFUSED = (
    ("point(1, 2)", '"cell"::text'),
    ("int4range(1, 3)", '"cell"::text'),
    ("interval '1 day'", 'extract(epoch FROM "cell")::float8'),
    ("ROW(1, 2)::pair", '"cell"::text'),
    ("'{1.5}'::numeric[]", '"cell"::text[]'),
)


def test_other_types_are_refused_with_a_cast_that_works(postgresql) -> None:
    run(postgresql, "CREATE TYPE pair AS (a int, b int)")
    for expression, cast in REFUSED:
        source = f"(SELECT {expression} AS cell) x"
        with pytest.raises(DataError, match="Column 'cell'") as refused:
            mottle.read_database(postgresql, query=f"SELECT * FROM {source}")
        assert f"{cast} AS" in refused.value.remedy, expression
        found = mottle.read_database(postgresql, query=f'SELECT {cast} AS "cell" FROM {source}')
        assert found.num_rows == 1


STRANGE = (
    ("'NaN'::numeric", "NaN or infinite"),
    ("'NaN'::numeric(5, 2)", "not ordinary numbers"),
    ("'infinity'::date", "outside the years 1 to 9999"),
    ("'-infinity'::timestamp", "outside the years 1 to 9999"),
    ("'0044-03-15 BC'::date", "outside the years 1 to 9999"),
    ("10::numeric ^ 90", "mottle reads up to 76"),
)


def test_values_without_a_place_in_arrow_name_the_column(postgresql_server) -> None:
    for expression, words in STRANGE:
        with pytest.raises(DataError, match=words) as refused:
            mottle.read_database(postgresql_server.url(), query=f"SELECT {expression} AS cell")
        assert "'cell'" in str(refused.value)


def test_batches_come_as_they_are_needed_and_are_one_snapshot(postgresql) -> None:
    run(
        postgresql,
        "CREATE TABLE many AS SELECT i, i / 4.0 AS quarter, repeat('x', 1000) AS text"
        " FROM generate_series(1, 60000) i",
    )
    with mottle.database_batches(postgresql, table="many") as reader:
        first = reader.read_next_batch()
        run(postgresql, "DELETE FROM many")
        sizes = [first.num_rows, *(batch.num_rows for batch in reader)]
    assert sum(sizes) == 60_000
    assert len(sizes) > 2
    assert reader.schema.field("quarter").type == pa.decimal128(7, 2)
    with pytest.raises(DataError, match="no rows"):
        mottle.read_database(postgresql, table="many")


def test_a_reader_that_is_closed_early_frees_its_connection(postgresql) -> None:
    run(postgresql, "CREATE TABLE many AS SELECT * FROM generate_series(1, 1000000) i")
    reader = mottle.database_batches(postgresql, table="many")
    reader.read_next_batch()
    reader.close()
    del reader
    run(postgresql, "DROP TABLE many")  # would wait for ever for an open transaction


def test_names_in_schemas_and_with_odd_characters(postgresql) -> None:
    run(
        postgresql,
        "CREATE SCHEMA clinic",
        'CREATE TABLE clinic."My ""people"".1" AS SELECT 1 AS "a ""b"" c", uuid_nil AS "d\'e"'
        " FROM (SELECT '00000000-0000-0000-0000-000000000000'::uuid AS uuid_nil) x",
    )
    found = mottle.read_database(postgresql, table='clinic."My ""people"".1"')
    assert found.column_names == ['a "b" c', "d'e"]


def test_a_query_with_two_columns_of_one_name_is_refused(postgresql_server) -> None:
    with pytest.raises(DataError, match="duplicate column names: id"):
        mottle.read_database(postgresql_server.url(), query="SELECT 1 AS id, '{}'::json AS id")


def test_a_query_may_end_with_a_comment(postgresql_server) -> None:
    query = "SELECT '{}'::json AS a -- all of it"
    found = mottle.read_database(postgresql_server.url(), query=query)
    assert found.num_rows == 1


def test_unknown_tables_suggest_the_nearest(postgresql) -> None:
    run(
        postgresql,
        "CREATE SCHEMA clinic",
        "CREATE TABLE people(age int)",
        "CREATE TABLE clinic.visits(day date)",
    )
    with pytest.raises(UsageError, match="Did you mean 'people'"):
        mottle.read_database(postgresql, table="People")
    with pytest.raises(UsageError, match=r"Did you mean 'clinic\.visits'"):
        mottle.read_database(postgresql, table="clinic.visit")
    with pytest.raises(UsageError, match=r"Its tables: clinic\.visits, people\."):
        mottle.read_database(postgresql)
    with pytest.raises(UsageError, match="--table or --query"):
        mottle.read_database(postgresql, table="people", query="SELECT 1")


MISTAKEN = (
    ("SELEC 1", 'syntax error at or near "SELEC"'),
    ("SELECT nobody FROM people", 'column "nobody" does not exist'),
    (" ; ", "query is empty"),
    ("DELETE FROM people RETURNING age", "read-only transaction"),
    ("CREATE TABLE x(a int)", "no columns"),
)


def test_queries_that_cannot_be_right_say_why(postgresql) -> None:
    run(postgresql, "CREATE TABLE people AS SELECT 31 AS age")
    for query, words in MISTAKEN:
        with pytest.raises(UsageError, match=words):
            mottle.read_database(postgresql, query=query)
    assert mottle.read_database(postgresql, table="people").num_rows == 1


def test_failing_computations_do_not_quote_cells(postgresql) -> None:
    run(postgresql, "CREATE TABLE people AS SELECT 'Ms Unknown'::text AS name")
    with pytest.raises(DataError, match="failed to compute") as refused:
        mottle.read_database(postgresql, query="SELECT name::int FROM people")
    assert "Unknown" not in str(refused.value)
    run(
        postgresql,
        "CREATE TABLE late AS SELECT i, CASE WHEN i = 300000 THEN 'Ms Unknown' ELSE"
        " '1' END AS name FROM generate_series(1, 300000) i",
    )
    with pytest.raises(DataError, match="failed to compute") as refused:
        mottle.read_database(postgresql, query="SELECT name::int FROM late")
    assert "Unknown" not in str(refused.value)


def test_a_table_without_the_privilege_to_read_it(postgresql, postgresql_server) -> None:
    run(
        postgresql,
        "CREATE TABLE people(age int)",
        "DROP ROLE IF EXISTS guest",
        "CREATE ROLE guest LOGIN PASSWORD 'guest'",
    )
    as_guest = postgresql.replace(postgresql.split("@", 1)[0], "postgresql://guest:guest")
    with pytest.raises(StorageError, match="permission denied for table people"):
        mottle.read_database(as_guest, table="people")


def test_missing_words_apply_to_text(postgresql) -> None:
    run(postgresql, "CREATE TABLE people AS SELECT 'NA' AS country UNION ALL SELECT 'NL'")
    found = mottle.read_database(postgresql, table="people", missing=["NA"])
    assert sorted(found.column("country").to_pylist(), key=str) == ["NL", None]
