"""Readers and writers for files, databases and Arrow-compatible objects."""

from mottle.io.normalize import normalize
from mottle.io.read_table import as_table, read_table

__all__ = ["as_table", "normalize", "read_table"]
