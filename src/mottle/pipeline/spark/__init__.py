"""Anonymizes tables in chunks on a Spark cluster."""

from mottle.pipeline.spark.engine import SparkRelease, anonymize
from mottle.pipeline.spark.session import anonymize_file, anonymize_sets_file, spark_session

__all__ = ["SparkRelease", "anonymize", "anonymize_file", "anonymize_sets_file", "spark_session"]
