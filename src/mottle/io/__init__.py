"""Doors of the house: tables come in as files or as anything that speaks the Arrow protocol."""

from mottle.io.read_table import as_table, normalize, read_table

__all__ = ["as_table", "normalize", "read_table"]
