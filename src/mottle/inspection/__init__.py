"""Inspection of a table: proposed roles and kinds, and how identifying its columns are."""

from mottle.inspection.inspect import InspectedColumn, Inspection, inspect
from mottle.inspection.roles import MAY_BE_KNOWN

__all__ = ["MAY_BE_KNOWN", "InspectedColumn", "Inspection", "inspect"]
