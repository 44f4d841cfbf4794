"""Data frames and Arrow: names and types in each other's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def named(name: str) -> str:
    """A column's name as Spark's expressions take it.

    >>> named("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def spark_schema(fields: pa.Schema) -> Any:
    """Arrow's fields as Spark's."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(fields)


def arrow_schema(df: DataFrame) -> pa.Schema:
    """A data frame's columns as Arrow's fields."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(df.schema, timezone="UTC")
