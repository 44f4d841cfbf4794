"""Delimited text: dialects, encodings and types."""
