"""Anonymizes tables that do not fit into memory, in chunks on one machine."""

from mottle.pipeline.streaming.engine import anonymize

__all__ = ["anonymize"]
