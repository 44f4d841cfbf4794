"""What `buckets` decides for a table on a cluster: workers see regions, the driver counts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from mottle.bucket_cuts import Region, Result, cuts_without
from mottle.bucket_decision import decide
from mottle.chunks import CHUNK, LOT, SEAT, Plan
from mottle.coding import Float64s
from mottle.errors import PrivacyError
from mottle.graph import Int64s
from mottle.spark_frames import arrow_schema, spark_schema
from mottle.spark_workers import (
    MEASURED,
    PROFILES,
    Keep,
    choose_scouts,
    grouped,
    look_at_region,
    publish_scouts,
    published_fields,
    seat_region,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkLine:
    """The rows of a data frame, region by region, without scouts; see `mottle.bucket_cuts.Line`."""

    plan: Plan
    regions: DataFrame  # coded rows with the number of their region
    scouts: Int64s | None

    @property
    def cuts(self) -> Int64s:
        """First row of every region, and the end."""
        return cuts_without(self.plan.cuts, self.scouts)

    def over(self, work: Callable[[Region], Result]) -> list[Result]:
        """What ``work`` says about every region; the driver gets nothing else."""
        fields = pa.schema([(CHUNK, pa.int64()), ("found", pa.binary())])
        look = grouped(look_at_region, self.plan, self.scouts, work)
        told = self.regions.groupBy(CHUNK).applyInArrow(look, spark_schema(fields)).toArrow()
        found = dict(zip(told.column(CHUNK).to_pylist(), told.column("found"), strict=True))
        if sorted(found) != list(range(self.plan.regions)):
            raise PrivacyError("Invariant 5: a region was looked at twice or not at all.")
        return [pickle.loads(found[number].as_py()) for number in range(self.plan.regions)]


def decided(plan: Plan, regions: DataFrame, keep: Keep) -> tuple[Plan, DataFrame | None]:
    """The plan with what `buckets` decides; and the scouts, published, if it wanted any."""
    coding = plan.coding
    thin = regions.select(*coding.keys, LOT, *coding.values, CHUNK)
    seen = keep("regions", thin)
    published: list[DataFrame] = []

    def scouting(scouts: Int64s) -> Float64s:
        chosen = regions.groupBy(CHUNK).applyInArrow(
            grouped(choose_scouts, plan, scouts), regions.schema
        )
        fields = published_fields(plan).append(pa.field(PROFILES, pa.binary()))
        made = keep(
            "scouts",
            chosen.groupBy(CHUNK).applyInArrow(grouped(publish_scouts, plan), spark_schema(fields)),
        )
        published.append(made.drop(PROFILES))
        told = made.where(made[MEASURED].isNotNull()).select(PROFILES).toArrow()
        if told.num_rows != 1:
            raise PrivacyError("Invariant 3: the scouts were published twice or not at all.")
        profiles: Float64s = pickle.loads(told.column(PROFILES)[0].as_py())
        return profiles

    decision = decide(
        plan.demand,
        plan.secret,
        plan.largest,
        lambda scouts: SparkLine(plan, seen, scouts),
        scouting,
    )
    return replace(plan, decision=decision), published[0] if published else None


def seated(plan: Plan, regions: DataFrame, keep: Keep) -> DataFrame:
    """The rows of all chunks but the scouts', each with chunk and seat."""
    fields = arrow_schema(regions).append(pa.field(SEAT, pa.int64()))
    work = grouped(seat_region, plan)
    return keep("seated", regions.groupBy(CHUNK).applyInArrow(work, spark_schema(fields)))
