"""Readers and writers for files, databases and Arrow-compatible objects."""
