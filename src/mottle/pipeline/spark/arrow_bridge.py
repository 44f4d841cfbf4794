"""Converts names and types between Spark's data frames and Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def named(name: str) -> str:
    """Quote a column's name for Spark's expressions.

    >>> named("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def spark_schema(fields: pa.Schema) -> Any:
    """Convert Arrow's fields into Spark's."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(fields)


def arrow_schema(df: DataFrame) -> pa.Schema:
    """Convert a data frame's columns into Arrow's fields."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(df.schema, timezone="UTC")
