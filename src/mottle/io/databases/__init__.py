"""Databases as input and output: PostgreSQL, SQLite files and DuckDB files, as Arrow batches.

`mottle.io.databases.base` states what a database implements; each one is a sub-package that
registers itself, and all of them store a release by the same steps (`publish`).
"""

from mottle.io.databases.read import database_batches, read_database
from mottle.io.databases.url import is_database, parse, redacted
from mottle.io.databases.write import (
    DatabaseTable,
    check_database_target,
    release_at,
    write_database,
    write_stored_rows,
)

__all__ = [
    "DatabaseTable",
    "check_database_target",
    "database_batches",
    "is_database",
    "parse",
    "read_database",
    "redacted",
    "release_at",
    "write_database",
    "write_stored_rows",
]
