"""The same chunks, worked on by a Spark cluster."""

from mottle.pipeline.spark.engine import SparkRelease, anonymize

__all__ = ["SparkRelease", "anonymize"]
