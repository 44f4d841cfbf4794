"""A real, empty database of each system, and how tests fill it and look into it themselves.

A database that `mottle.io.databases` registers needs an entry in `DIALECTS` and one in `make_live`
to take part in the tests of ``tests/databases``, which run over all of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi as adbc_sqlite
import duckdb
import mariadb_server
import postgresql_server
import pyarrow as pa
from adbc_driver_postgresql import dbapi as adbc_postgresql


@dataclass(frozen=True)
class Dialect:
    """What differs between the databases in the SQL of tests."""

    schemas: bool  # whether tables lie in schemas
    lists: bool  # whether a cell may be a list
    series: str  # a query of the numbers 1 to {} in a column i
    failing: str  # an expression over a text column name that fails for some texts


DIALECTS = {
    "postgresql": Dialect(True, True, "SELECT i FROM generate_series(1, {}) AS n(i)", "name::int"),
    "sqlite": Dialect(
        False,
        False,
        "SELECT i FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < {}) SELECT i FROM n)",
        "json(name)",
    ),
    "duckdb": Dialect(True, True, "SELECT range + 1 AS i FROM range({})", "name::INT"),
    "mariadb": Dialect(
        True,
        False,
        "SELECT i FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < {}) SELECT i FROM n) AS series",
        "(SELECT name FROM (SELECT 1 UNION SELECT 2) AS two)",
    ),
}
NOT_RUN_HERE = {"oracle", "sqlserver"}  # their servers cannot be installed freely


@dataclass(frozen=True)
class LiveDatabase:
    """A database that a test may fill and look into without mottle."""

    name: str
    url: str
    run: Callable[..., None]  # statements, each committed
    rows: Callable[[str], list[tuple[Any, ...]]]
    load: Callable[[str, pa.Table], None]  # a new table with these rows
    file: Path | None = None

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.name]

    def series(self, length: int) -> str:
        """A query of the numbers from 1 in a column ``i``."""
        return self.dialect.series.format(length)

    def tables(self) -> list[str]:
        """The names of all tables and views, by the database's own catalogue."""
        if self.name == "sqlite":
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"
        else:
            query = (
                "SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN"
                " ('information_schema', 'pg_catalog') ORDER BY 1"
            )
            if self.name == "mariadb":
                query = query.replace("NOT IN ('information_schema', 'pg_catalog')", "= DATABASE()")
        if self.file is not None and not self.file.exists():
            return []
        return [name for (name,) in self.rows(query)]


def live_postgresql(url: str) -> LiveDatabase:
    def load(name: str, table: pa.Table) -> None:
        with adbc_postgresql.connect(url) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")
            connection.commit()

    return LiveDatabase(
        "postgresql",
        url,
        lambda *statements: postgresql_server.run(url, *statements),
        lambda query: postgresql_server.rows(url, query),
        load,
    )


def live_sqlite(file: Path) -> LiveDatabase:
    def run(*statements: str) -> None:
        connection = sqlite3.connect(file)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    def rows(query: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(file)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def load(name: str, table: pa.Table) -> None:
        with adbc_sqlite.connect(file.as_uri()) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")
            connection.commit()

    return LiveDatabase("sqlite", f"sqlite:///{file}", run, rows, load, file)


def live_duckdb(file: Path) -> LiveDatabase:
    def run(*statements: str) -> None:
        with duckdb.connect(str(file)) as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(query: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(file), read_only=True) as connection:
            return connection.execute(query).fetchall()

    def load(name: str, table: pa.Table) -> None:
        with duckdb.connect(str(file)) as connection:
            connection.register("arriving", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arriving")

    return LiveDatabase("duckdb", f"duckdb:///{file}", run, rows, load, file)


def live_mariadb(server: mariadb_server.Server, database: str) -> LiveDatabase:
    def run(*statements: str) -> None:
        connection = server.connect(database)
        for statement in statements:
            connection.execute(statement)

    def rows(query: str) -> list[tuple[Any, ...]]:
        batches = server.connect(database).read_arrow_batches(
            query, max_text_size=1 << 16, max_binary_size=1 << 16
        )
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    def load(name: str, table: pa.Table) -> None:
        connection = server.connect(database)
        kinds = ", ".join(f"`{field.name}` {_mariadb_type(field.type)}" for field in table.schema)
        connection.execute(f"CREATE TABLE {name} ({kinds})")
        plain = [
            column.cast(pa.string()) if pa.types.is_temporal(column.type) else column
            for column in table.columns
        ]
        connection.from_table_to_db(pa.table(plain, names=table.column_names), name)

    return LiveDatabase("mariadb", server.url(database), run, rows, load)


def _mariadb_type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "BIGINT"
    if pa.types.is_floating(kind):
        return "DOUBLE"
    if pa.types.is_date(kind):
        return "DATE"
    return "BOOLEAN" if pa.types.is_boolean(kind) else "VARCHAR(200)"


def make_live(
    name: str,
    folder: Path,
    postgresql_url: Callable[[], str],
    mariadb: Callable[[], tuple[mariadb_server.Server, str]],
) -> LiveDatabase:
    """An empty database of the system called ``name``."""
    if name == "postgresql":
        return live_postgresql(postgresql_url())
    if name == "mariadb":
        return live_mariadb(*mariadb())
    return {"sqlite": live_sqlite, "duckdb": live_duckdb}[name](folder / f"store.{name}")
