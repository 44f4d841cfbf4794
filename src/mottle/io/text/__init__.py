"""Delimited text files: dialects, encodings and types."""
