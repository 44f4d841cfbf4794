"""How MariaDB is read: in one read-only snapshot."""

from __future__ import annotations

__all__ = ["BEFORE_READING", "TABLES"]

BEFORE_READING = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
TABLES = (
    "SELECT CASE WHEN table_schema = DATABASE() THEN NULL ELSE table_schema END, table_name"
    " FROM information_schema.tables WHERE table_schema NOT IN"
    " ('information_schema', 'mysql', 'performance_schema', 'sys')"
)
