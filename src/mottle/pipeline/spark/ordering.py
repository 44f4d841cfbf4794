"""Orders the rows of a data frame: the rank of a row, and the region it belongs to."""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.errors import PrivacyError
from mottle.pipeline.chunked.chunk import CHUNK, TIEBREAK, RowCodec
from mottle.pipeline.spark.arrow_bridge import spark_schema
from mottle.pipeline.spark.bundles import BUNDLE, ROWS
from mottle.pipeline.spark.key_groups import KeyGroups
from mottle.pipeline.spark.tasks import (
    BUNDLES,
    FOUND,
    KEYS,
    PLACE,
    SAMPLE,
    Keep,
    by_group,
    rows_at,
    sort_keys,
    sortable,
    split_keys,
    split_rows,
)
from mottle.typing import Int64Array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Order:
    """Coded rows, ordered by keys and tie-breaks; only these are sorted, the rows do not move.

    Sections of about equal size begin at rows of a sample; each is sorted by one worker.
    """

    def __init__(
        self, keep: Keep, coded: DataFrame, codec: RowCodec, rows: int, chunk_rows: int
    ) -> None:
        self._names = [*codec.keys, TIEBREAK]
        self._coded = coded
        sections = max(-(-rows // chunk_rows), 1)
        split = partial(split_keys, self._names, self._sampled(sections))
        pieces = coded.select(KEYS).mapInArrow(split, spark_schema(BUNDLES))
        fields = pa.schema([*BUNDLES, (PLACE, pa.int64()), (FOUND, pa.binary())])
        work = by_group(sort_keys, codec.keys, self._names)
        self._places = keep("order", pieces.groupBy(CHUNK).applyInArrow(work, spark_schema(fields)))
        self._find_sections(rows)

    def _sampled(self, sections: int) -> NDArray[np.bytes_]:
        """Rows of a sample at which sections begin, all but the first."""
        found = self._coded.select(SAMPLE).toArrow().column(SAMPLE).to_pylist()
        sample = np.sort(np.frombuffer(b"".join(found), f"S{8 * len(self._names)}"))
        ranks = np.linspace(0, len(sample), sections + 1).astype(np.int64)[1:-1]
        return np.unique(sample[ranks])

    def _find_sections(self, rows: int) -> None:
        """Find out how many rows each section has, and its groups of equal keys."""
        from pyspark.sql import functions as sql

        found = self._places.where(sql.col(FOUND).isNotNull()).select(CHUNK, FOUND).toArrow()
        groups: dict[int, KeyGroups] = {
            number: pickle.loads(one)
            for number, one in zip(*(column.to_pylist() for column in found.columns), strict=True)
        }
        self._sections = np.array(sorted(groups), np.int64)
        self.groups = [groups[number] for number in self._sections]
        ends = np.cumsum([section.rows for section in self.groups])
        self._starts = np.concatenate([[0], ends])
        if len(groups) != found.num_rows or self._starts[-1] != rows:
            raise PrivacyError("Invariant 5: the ordered rows are more or fewer than the table's.")

    def in_regions(self, cuts: Int64Array) -> DataFrame:
        """Return the coded rows in bundles, each of rows of one region."""
        work = partial(split_rows, self._names, self._rows_at(cuts[1:-1]))
        return self._coded.mapInArrow(work, spark_schema(BUNDLES))

    def _rows_at(self, ranks: Int64Array) -> NDArray[np.bytes_]:
        """Find keys and tie-breaks of the rows at some ranks: where regions begin."""
        from pyspark.sql import functions as sql

        if not len(ranks):
            return np.empty(0, f"S{8 * len(self._names)}")
        section = np.searchsorted(self._starts, ranks, side="right") - 1
        wanted = {
            int(self._sections[one]): ranks[section == one] - self._starts[one]
            for one in np.unique(section)
        }
        fields = pa.schema([(name, pa.int64()) for name in self._names])
        held = self._places.where(sql.col(CHUNK).isin(list(wanted)))
        found = held.select(CHUNK, PLACE, ROWS, BUNDLE).mapInArrow(
            partial(rows_at, self._names, wanted), spark_schema(fields)
        )
        bounds = np.sort(sortable(found.toArrow(), self._names))
        if len(bounds) != len(ranks):
            raise PrivacyError("Invariant 5: a cut between chunks was not found.")
        return bounds
