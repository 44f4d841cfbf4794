"""How SQL Server is read."""

from __future__ import annotations

__all__ = ["BEFORE_READING", "TABLES"]

# A snapshot has to be allowed by the database, so that rows of one moment are not promised.
BEFORE_READING: tuple[str, ...] = ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",)
TABLES = (
    "SELECT CASE WHEN table_schema = SCHEMA_NAME() THEN NULL ELSE table_schema END, table_name"
    " FROM information_schema.tables"
)
