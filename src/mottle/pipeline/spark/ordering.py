"""Orders the rows of a data frame: the rank of a row, and the region it belongs to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.errors import PrivacyError
from mottle.pipeline.chunked.chunk import CHUNK, TIEBREAK, RowCodec
from mottle.pipeline.spark.arrow_bridge import arrow_schema, spark_schema
from mottle.pipeline.spark.tasks import PART, PLACE, Keep, add_chunk, add_place, sortable
from mottle.typing import Int64Array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Order:
    """Coded rows, ordered by keys and tie-breaks; only these are sorted, the rows do not move."""

    def __init__(
        self, keep: Keep, coded: DataFrame, codec: RowCodec, rows: int, chunk_rows: int
    ) -> None:
        self._names = [*codec.keys, TIEBREAK]
        self._coded = coded
        parts = max(-(-rows // chunk_rows), 1)
        thin = coded.select(*self._names)
        ordered = thin.repartitionByRange(parts, *self._names).sortWithinPartitions(*self._names)
        fields = pa.schema([(name, pa.int64()) for name in [*self._names, PART, PLACE]])
        self._places = keep("order", ordered.mapInArrow(add_place, spark_schema(fields)))
        counted = self._places.groupBy(PART).count().toArrow()
        sizes = dict(zip(*(column.to_pylist() for column in counted.columns), strict=True))
        self._parts = np.array(sorted(sizes), np.int64)
        ends = np.cumsum([sizes[part] for part in sorted(sizes)])
        self._starts = np.concatenate([[0], ends])

    def in_regions(self, cuts: Int64Array) -> DataFrame:
        """Add to the coded rows the number of the region of each."""
        fields = arrow_schema(self._coded).append(pa.field(CHUNK, pa.int64()))
        work = partial(add_chunk, self._names, self._rows_at(cuts[1:-1]))
        return self._coded.mapInArrow(work, spark_schema(fields))

    def _rows_at(self, ranks: Int64Array) -> NDArray[np.bytes_]:
        """Find keys and tie-breaks of the rows at some ranks: where regions begin."""
        from pyspark.sql import functions as sql

        part = np.searchsorted(self._starts, ranks, side="right") - 1
        wanted = [
            (sql.col(PART) == int(self._parts[p])) & (sql.col(PLACE) == int(rank - self._starts[p]))
            for rank, p in zip(ranks, part, strict=True)
        ]
        if not wanted:
            return np.empty(0, f"S{8 * len(self._names)}")
        found = []
        for first in range(0, len(wanted), 100):  # Spark compiles a condition as one expression
            either = wanted[first]
            for condition in wanted[first + 1 : first + 100]:
                either = either | condition
            found.append(self._places.where(either).select(*self._names).toArrow())
        bounds = np.sort(sortable(pa.concat_tables(found), self._names))
        if len(bounds) != len(ranks):
            raise PrivacyError("Invariant 5: a cut between chunks was not found.")
        return bounds
