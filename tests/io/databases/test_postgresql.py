"""What only PostgreSQL has: snapshots, privileges, names in upper case, values it refuses."""

from __future__ import annotations

import pyarrow as pa
import pytest
from postgresql_server import run
from small_releases import release_of, unchanged

import mottle
from mottle.errors import DataError, MottleError, StorageError, UsageError


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


def test_a_query_with_two_columns_of_one_name_is_refused(postgresql_server) -> None:
    with pytest.raises(DataError, match="duplicate column names: id"):
        mottle.read_database(postgresql_server.url(), query="SELECT 1 AS id, '{}'::json AS id")


def test_a_query_may_end_with_a_comment(postgresql_server) -> None:
    query = "SELECT '{}'::json AS a -- all of it"
    found = mottle.read_database(postgresql_server.url(), query=query)
    assert found.num_rows == 1


def test_names_differ_by_their_case(postgresql) -> None:
    run(postgresql, "CREATE TABLE people(age int)")
    with pytest.raises(UsageError, match="Did you mean 'people'"):
        mottle.read_database(postgresql, table="People")


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


def test_values_the_database_cannot_hold_are_refused_without_quoting_them(postgresql: str) -> None:
    release = release_of([(unchanged("text", pa.string()), ["Ms\x00Unknown"])])
    with pytest.raises(MottleError) as refused:
        mottle.write_database(release, postgresql, "open")
    assert "Unknown" not in str(refused.value)
    assert "Nothing was written" in str(refused.value)
    moment = release_of([(unchanged("moment", pa.timestamp("ns")), [1])])
    with pytest.raises(DataError, match="'moment'"):
        mottle.write_database(moment, postgresql, "open")
