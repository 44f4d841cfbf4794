"""Reading in batches: they come as they are needed, and a reader frees what it holds."""

from __future__ import annotations

import pyarrow as pa
import pytest
from live_database import LiveDatabase

import mottle


def test_batches_come_as_they_are_needed(database: LiveDatabase) -> None:
    wide = "x" * 400  # PostgreSQL's driver fills batches of 16 MB
    numbers = database.series(130_000)
    database.run(f"CREATE TABLE many AS SELECT i, '{wide}' AS wide FROM ({numbers}) AS numbers")
    with mottle.database_batches(database.url, table="many") as reader:
        batches = list(reader)
    assert len(batches) > 1
    assert pa.Table.from_batches(batches).column("i").to_pylist() == list(range(1, 130_001))


def test_batches_have_the_schema_of_the_reader(database: LiveDatabase) -> None:
    database.run(f"CREATE TABLE many AS {database.series(100_000)}")
    with mottle.database_batches(database.url, query="SELECT i, 'x' AS letter FROM many") as reader:
        assert reader.schema.names == ["i", "letter"]
        assert all(batch.schema == reader.schema for batch in reader)


def test_a_reader_that_is_closed_early_frees_its_connection(database: LiveDatabase) -> None:
    database.run(f"CREATE TABLE many AS {database.series(1_000_000)}")
    reader = mottle.database_batches(database.url, table="many")
    reader.read_next_batch()
    reader.close()
    del reader
    database.run("DROP TABLE many")  # would wait or fail while a transaction is open


def test_a_query_without_rows_has_a_schema_and_no_batches(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people(age int)")
    with mottle.database_batches(database.url, table="people") as reader:
        assert reader.schema.names == ["age"]
        assert sum(batch.num_rows for batch in reader) == 0


def test_mistakes_are_raised_before_the_first_batch(database: LiveDatabase) -> None:
    database.run("CREATE TABLE people(age int)")
    with pytest.raises(mottle.UsageError, match="has no table"):
        mottle.database_batches(database.url, table="nobody")
