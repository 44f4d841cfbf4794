"""How Oracle is read."""

from __future__ import annotations

__all__ = ["BEFORE_READING", "TABLES"]

BEFORE_READING: tuple[str, ...] = ("SET TRANSACTION READ ONLY",)
TABLES = "SELECT NULL, table_name FROM user_tables UNION ALL SELECT NULL, view_name FROM user_views"
