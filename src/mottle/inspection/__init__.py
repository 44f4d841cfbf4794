"""Inspection of a table: proposed roles and kinds, and how identifying its columns are."""

from mottle.inspection.inspect import InspectedColumn, Inspection, inspect

__all__ = ["InspectedColumn", "Inspection", "inspect"]
