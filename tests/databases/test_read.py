"""Reading tables and queries: what is named is read, read-only, and mistakes say what there is."""

from __future__ import annotations

import pytest
from live_database import LiveDatabase

import mottle
from mottle import DataError, MottleError, UsageError

MISTAKEN = {
    "postgresql": (
        ("SELEC 1", 'syntax error at or near "SELEC"'),
        ("SELECT nobody FROM people", 'column "nobody" does not exist'),
        ("CREATE TABLE x(a int)", "no columns"),
        ("DELETE FROM people RETURNING age", "read-only transaction"),
    ),
    "sqlite": (
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT nobody FROM people", "no such column: nobody"),
        ("DELETE FROM people RETURNING age", "syntax error"),
    ),
    "mariadb": (
        ("SELEC 1", "error in your SQL syntax"),
        ("SELECT nobody FROM people", "Unknown column 'nobody'"),
        ("DELETE FROM people RETURNING age", "error in your SQL syntax"),
    ),
    "duckdb": (
        ("SELEC 1", "syntax error"),
        ("SELECT nobody FROM people", '"nobody" not found'),
    ),
}


def test_queries_that_cannot_be_right_say_why(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people AS SELECT 31 AS age")
    for query, words in (*MISTAKEN[database.name], (" ; ", "query is empty")):
        with pytest.raises(UsageError, match=words):
            mottle.read_database(database.url, query=query)
    assert mottle.read_database(database.url, table="people").num_rows == 1


@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE people", "DELETE FROM people RETURNING age", "INSERT INTO people VALUES (1)"],
)
def test_reading_never_writes(database: LiveDatabase, statement: str) -> None:
    database.run("CREATE TABLE people AS SELECT 31 AS age")
    before = None if database.file is None else database.file.read_bytes()
    with pytest.raises(MottleError):
        mottle.read_database(database.url, query=statement)
    assert mottle.read_database(database.url, table="people").to_pylist() == [{"age": 31}]
    assert before is None or database.file is None or database.file.read_bytes() == before


def test_unknown_tables_suggest_the_nearest(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people(age int)", 'CREATE VIEW "My people" AS SELECT 1 AS a')
    with pytest.raises(UsageError, match=r"has no table 'pepole'.*Did you mean 'people'"):
        mottle.read_database(database.url, table="pepole")
    with pytest.raises(UsageError, match="Did you mean 'My people'"):
        mottle.read_database(database.url, table="my_people")
    with pytest.raises(UsageError, match=r"Its tables: My people, people\."):
        mottle.read_database(database.url)


def test_a_table_or_a_query_and_not_both(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people(age int)")
    with pytest.raises(UsageError, match="--table or --query"):
        mottle.read_database(database.url, table="people", query="SELECT 1")


@pytest.mark.parametrize("database", ["postgresql", "duckdb"], indirect=True)
def test_tables_in_schemas_are_suggested_and_listed_with_them(database: LiveDatabase) -> None:
    database.run(
        "CREATE SCHEMA clinic",
        "CREATE TABLE people(age int)",
        "CREATE TABLE clinic.visits(day date)",
    )
    with pytest.raises(UsageError, match=r"Did you mean 'clinic\.visits'"):
        mottle.read_database(database.url, table="clinic.visit")
    with pytest.raises(UsageError, match=r"Its tables: clinic\.visits, people\."):
        mottle.read_database(database.url)


def test_a_database_without_tables_says_so(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people(age int)", "DROP TABLE people")
    with pytest.raises(UsageError, match="It has no tables"):
        mottle.read_database(database.url)
    with pytest.raises(UsageError, match=r"no table 'people'.*It has no tables"):
        mottle.read_database(database.url, table="people")


def test_names_with_odd_characters(database: LiveDatabase) -> None:
    prefix = "clinic." if database.dialect.schemas else ""
    database.run(
        *(["CREATE SCHEMA clinic"] if prefix else []),
        f'CREATE TABLE {prefix}"My ""people"".1" AS SELECT 1 AS "a ""b"" c", 2 AS "d\'e"',
    )
    found = mottle.read_database(database.url, table=f'{prefix}"My ""people"".1"')
    assert found.column_names == ['a "b" c', "d'e"]


@pytest.mark.parametrize("database", ["postgresql", "duckdb"], indirect=True)
def test_columns_that_are_cast_keep_their_odd_names(database: LiveDatabase) -> None:
    nil = "00000000-0000-0000-0000-000000000000"
    cells = f"""1 AS "a ""b"" c", CAST('{nil}' AS uuid) AS "d'e" """
    database.run(f"CREATE TABLE people AS SELECT {cells}")
    found = mottle.read_database(database.url, table="people")
    assert found.to_pylist() == [{'a "b" c': 1, "d'e": nil}]


def test_a_query_may_end_with_a_comment(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people AS SELECT 31 AS age")
    found = mottle.read_database(database.url, query="SELECT age FROM people -- all of it")
    assert found.to_pylist() == [{"age": 31}]


def test_failing_computations_do_not_quote_cells(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people AS SELECT 'Ms Unknown' AS name")
    query = f"SELECT {database.dialect.failing} AS number FROM people"
    with pytest.raises(DataError, match="failed to compute") as refused:
        mottle.read_database(database.url, query=query)
    assert "Unknown" not in str(refused.value)


def test_a_computation_that_fails_late_does_not_quote_cells(database: LiveDatabase) -> None:
    database.run(
        "CREATE TABLE people AS SELECT CASE WHEN i = 300000 THEN 'Ms Unknown' ELSE '1' END AS name"
        f" FROM ({database.series(300_000)}) AS numbers"
    )
    query = f"SELECT {database.dialect.failing} AS number FROM people"
    with pytest.raises(DataError, match="failed to compute") as refused:
        mottle.read_database(database.url, query=query)
    assert "Unknown" not in str(refused.value)


def test_missing_words_apply_to_text(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people AS SELECT 'NA' AS country UNION ALL SELECT 'NL'")
    found = mottle.read_database(database.url, table="people", missing=["NA"])
    assert sorted(found.column("country").to_pylist(), key=str) == ["NL", None]


def test_a_table_without_rows_is_refused(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people(age int)")
    with pytest.raises(DataError, match=r"Table 'people' of .* has no rows"):
        mottle.read_database(database.url, table="people")
