"""The regions of a table on a cluster as `buckets` takes them: the driver sees only counts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from mottle.errors import PrivacyError
from mottle.methods.buckets.partitioned.shares import RegionRows, Result, RowShare
from mottle.pipeline.chunked.chunk import CHUNK, TIEBREAK, ChunkedPlan
from mottle.pipeline.spark.arrow_bridge import spark_schema
from mottle.pipeline.spark.tasks import (
    BUNDLES,
    FOUND,
    SHARE,
    Keep,
    assign_slots,
    grouped,
    inspect_section,
    part_region,
    thin_rows,
)
from mottle.typing import Int64Array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkPartitions:
    """The rows of a share, or all, by section: `partitioned.shares.OrderedPartitions`."""

    rows: DataFrame  # coded rows with the number of their section
    plan: ChunkedPlan
    cuts: Int64Array

    def over(self, work: Callable[[RegionRows], Result]) -> list[Result]:
        """Return the results of ``work`` on all sections; the driver gets nothing else."""
        fields = pa.schema([(CHUNK, pa.int64()), (FOUND, pa.binary())])
        inspect = grouped(inspect_section, self.plan, self.cuts, work)
        made = self.rows.groupBy(CHUNK).applyInArrow(inspect, spark_schema(fields)).toArrow()
        found = dict(zip(made.column(CHUNK).to_pylist(), made.column(FOUND), strict=True))
        sections = len(self.cuts) - 1
        if sorted(found) != list(range(sections)):
            raise PrivacyError("Invariant 5: a region was inspected twice or not at all.")
        return [pickle.loads(found[number].as_py()) for number in range(sections)]


class SparkParts:
    """The rows of every share."""

    def __init__(self, plan: ChunkedPlan, regions: DataFrame, keep: Keep) -> None:
        self._plan, self._regions, self._keep = plan, regions, keep
        self._known: dict[bytes, DataFrame] = {}
        self._seen = keep("regions", self._thin(regions))

    def partitions(self, share: RowShare | None) -> SparkPartitions:
        """Return the rows of a share as `methods.buckets.partitioned.decision` takes them."""
        if share is None or (share.is_everything and share.regions_per_section == 1):
            return SparkPartitions(self._seen, self._plan, self._plan.cuts)
        return SparkPartitions(self._thin(self.of(share)), self._plan, share.cuts)

    def _thin(self, rows: DataFrame) -> DataFrame:
        """Leave out the columns that decisions do not look at."""
        codec = self._plan.codec
        work = partial(thin_rows, [*codec.keys, TIEBREAK, *codec.values])
        return rows.mapInArrow(work, spark_schema(BUNDLES))

    def of(self, share: RowShare) -> DataFrame:
        """Return the rows of a share, each with the number of its section."""
        from pyspark.sql import functions as sql

        rows = self._regions
        if not share.is_everything:
            rows = self._parted(share).where(sql.col(SHARE) == share.part).drop(SHARE)
        return rows.withColumn(CHUNK, sql.floor(sql.col(CHUNK) / share.regions_per_section))

    def _parted(self, share: RowShare) -> DataFrame:
        """Add to all rows the part that each belongs to; done once for all shares of a table."""
        key = share.counts.tobytes()
        if key not in self._known:
            fields = BUNDLES.append(pa.field(SHARE, pa.int64()))
            work = grouped(part_region, self._plan, share)
            made = self._regions.groupBy(CHUNK).applyInArrow(work, spark_schema(fields))
            self._known[key] = self._keep(f"parts{len(self._known)}", made)
        return self._known[key]

    def with_slots(self, plan: ChunkedPlan) -> DataFrame:
        """Add chunk and slot to the rows of all tiers, as decided."""
        assert plan.decision is not None
        fields = spark_schema(BUNDLES)
        tiers = [
            self.of(tier.share)
            .groupBy(CHUNK)
            .applyInArrow(grouped(assign_slots, plan, number), fields)
            for number, tier in enumerate(plan.decision.tiers)
        ]
        return reduce(lambda some, more: some.union(more), tiers)
