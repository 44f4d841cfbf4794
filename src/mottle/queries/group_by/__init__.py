"""Counts by group, with bounds and a standard error."""
