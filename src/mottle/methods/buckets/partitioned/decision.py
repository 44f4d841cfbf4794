"""What `buckets` decides for a table read region by region, in the same steps as in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mottle.guarantees.demand import Demand
from mottle.methods.buckets.block_cuts import values_of
from mottle.methods.buckets.buckets import FEWEST_BLOCKS, pilot_counts
from mottle.methods.buckets.partitioned.bucket_slots import (
    SlotAssignment,
    assign_slots,
    draw_counts,
)
from mottle.methods.buckets.partitioned.cuts import (
    Cut,
    OrderedPartitions,
    RegionRows,
    RowShare,
    counts_between,
    decide_cut,
    gathered_of,
    pieces_of,
)
from mottle.methods.buckets.plan import BucketPlan, make_plan
from mottle.methods.buckets.profiles import Gathered
from mottle.methods.buckets.tiers import Tier, edges_per_record
from mottle.typing import Float64Array, Int64Array
from mottle.utils.csprng import Secret


@dataclass(frozen=True)
class TierDecision:
    """What is decided about the records of a tier, without its pilot records."""

    buckets: int
    share: RowShare
    cut: Cut
    first_chunk: int
    slots: SlotAssignment | None  # None: every section cuts itself into blocks

    @property
    def end(self) -> int:
        """Number of the last chunk, plus 1."""
        if self.slots is not None:
            return self.slots.chunks
        return self.first_chunk + len(self.share.cuts) - 1


@dataclass(frozen=True)
class Decision:
    """Everything about tiers, blocks and buckets that is decided for the whole table."""

    tiers: tuple[TierDecision, ...]
    pilots: RowShare | None  # the pilot records, published as chunk 0, if there are any
    profiles: Float64Array  # [values, features]

    @property
    def first_chunk(self) -> int:
        """Number of the first chunk after the pilot records."""
        return self.tiers[0].first_chunk

    @property
    def chunks(self) -> int:
        """Number of chunks, including that of the pilot records."""
        return self.tiers[-1].end

    def tier_of(self, chunk: int) -> TierDecision:
        """The tier that the records of a chunk belong to."""
        return next(tier for tier in self.tiers if chunk < tier.end)

    @property
    def facts(self) -> dict[str, object]:
        """Facts for the certificate."""
        pilots = 0 if self.pilots is None else int(self.pilots.cuts[-1])
        return {"blocks": sum(tier.cut.blocks for tier in self.tiers), "scouts": pilots}


def decide(
    demand: Demand,
    tiers: Sequence[Tier],
    secret: Secret,
    largest: int,
    line_of: Callable[[RowShare | None], OrderedPartitions],
    publish_pilots: Callable[[RowShare, int], Float64Array],
) -> Decision:
    """Separate tiers, cut blocks, publish pilot records if these are few, assign bucket slots.

    Parameters
    ----------
    demand : Demand
        The demand of the whole table; its sensitive codes are those of all combinations of values.
    tiers : sequence of Tier
        The tiers of the whole table.
    secret : Secret
        The secret of the run.
    largest : int
        Most rows of a chunk, if all tiers had the average number of buckets.
    line_of : callable
        Returns the rows of a share, or all rows for None, along the order.
    publish_pilots : callable
        Called with the share of the pilot records and the number of buckets; publishes them as
        chunk 0 and returns the profiles of sensitive values [values, features] in their release.

    Returns
    -------
    Decision
        What the chunks need to know.
    """
    values = len(values_of(demand).sensitive_codes)
    edges = largest * edges_per_record(tiers)
    rows = [max(int(edges / tier.buckets), 2 * tier.buckets) for tier in tiers]
    counts = _counts_by_tier(demand, tiers, secret, line_of(None))
    shares = [RowShare(counts, 2 * tier + 1).within(most) for tier, most in enumerate(rows)]
    cuts = [
        decide_cut(line_of(share), demand, share.values, tier.buckets)
        for share, tier in zip(shares, tiers, strict=True)
    ]
    pilots: RowShare | None = None
    chosen = int(np.argmax([tier.counts.sum() for tier in tiers]))
    buckets = tiers[chosen].buckets
    taken = np.zeros(values, np.int64)
    if sum(cut.blocks for cut in cuts) < FEWEST_BLOCKS:
        taken = pilot_counts(demand, tiers[chosen].counts, buckets, largest)
    if taken.any():
        counts = _separate_pilots(counts, chosen, taken, secret)
        shares = [RowShare(counts, share.part, share.regions_per_section) for share in shares]
        pilots = RowShare(counts, 2 * chosen, len(counts))
        profiles = publish_pilots(pilots, buckets)
        others = shares[chosen]
        cuts[chosen] = decide_cut(line_of(others), demand, others.values, buckets)
    else:
        gathered = [
            gathered_of(line_of(share), cut, tier.buckets, values)
            for share, cut, tier in zip(shares, cuts, tiers, strict=True)
        ]
        profiles = Gathered.total(gathered).profiles()
    decided: list[TierDecision] = []
    chunk = 0 if pilots is None else 1
    for tier, share, cut, most in zip(tiers, shares, cuts, rows, strict=True):
        slots = None
        if cut.starts is not None:
            line = line_of(share)
            found = line.over(partial(_count_pieces, cut.starts, line.cuts, values))
            plans = _plans(found, cut.blocks, profiles, demand, tier.buckets)
            mine = secret.part("seats of tier", share.part)
            slots = assign_slots(cut.starts, plans, found, mine, most, chunk)
        decided.append(TierDecision(tier.buckets, share, cut, chunk, slots))
        chunk = decided[-1].end
    return Decision(tuple(decided), pilots, profiles)


def _counts_by_tier(
    demand: Demand, tiers: Sequence[Tier], secret: Secret, everything: OrderedPartitions
) -> Int64Array:
    """[regions, values, parts]: part 2t + 1 is tier t; part 2t, its pilot records, is empty.

    How many of a region's records with a value go to which tier is drawn at random.
    """
    quotas = np.stack([tier.counts for tier in tiers], axis=1)
    by_region = counts_between(everything, everything.cuts[1:], len(demand.caps))[:, : len(quotas)]
    counts = np.zeros((*by_region.shape, 2 * len(tiers)), np.int64)
    counts[:, :, 1::2] = draw_counts(secret.part("tiers"), quotas, by_region)
    return counts


def _separate_pilots(
    counts: Int64Array, tier: int, taken: Int64Array, secret: Secret
) -> Int64Array:
    """The counts after ``taken`` [values] of a tier's records are drawn as its pilot records."""
    counts = counts.copy()
    here = counts[:, :, 2 * tier + 1]
    quotas = np.stack([taken, here.sum(axis=0) - taken], axis=1)
    counts[:, :, 2 * tier : 2 * tier + 2] = draw_counts(secret.part("scouts"), quotas, here)
    return counts


def _count_pieces(
    starts: Int64Array, cuts: Int64Array, values: int, region: RegionRows
) -> list[tuple[int, Int64Array]]:
    """Counts of each value in a region's part of every block."""
    begin = cuts[region.number]
    return [
        (
            block,
            np.bincount(region.sensitive_codes[first - begin : last - begin, 0], minlength=values),
        )
        for block, first, last in pieces_of(starts[1:], begin, begin + len(region.sensitive_codes))
    ]


def _plans(
    found: list[list[tuple[int, Int64Array]]],
    blocks: int,
    profiles: Float64Array,
    demand: Demand,
    buckets: int,
) -> list[BucketPlan]:
    values = values_of(demand, profiles)
    counts = np.zeros((blocks, len(values.sensitive_codes)), np.int64)
    for region in found:
        for block, here in region:
            counts[block] += here
    return [make_plan(block, values, buckets) for block in counts]
