"""More rows than memory holds: the table is worked on in chunks on one machine."""

from mottle.pipeline.streaming.engine import anonymize

__all__ = ["anonymize"]
