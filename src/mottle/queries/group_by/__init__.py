"""Counts by group."""
