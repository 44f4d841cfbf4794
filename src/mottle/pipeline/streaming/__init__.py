"""Anonymizes tables and sets that do not fit into memory, in chunks on one machine."""

from mottle.pipeline.streaming.sets import anonymize_sets
from mottle.pipeline.streaming.tables import anonymize

__all__ = ["anonymize", "anonymize_sets"]
