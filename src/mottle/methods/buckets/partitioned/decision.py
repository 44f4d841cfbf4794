"""What `buckets` decides for a whole table that comes in regions, step by step as in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mottle.guarantees.demand import Demand
from mottle.methods.buckets.block_cuts import values_of
from mottle.methods.buckets.buckets import FEWEST_BLOCKS, scout_counts
from mottle.methods.buckets.partitioned.cuts import (
    Cut,
    OrderedPartitions,
    Region,
    Share,
    counts_between,
    decide_cut,
    gathered_of,
    pieces_of,
)
from mottle.methods.buckets.partitioned.seating import Seating, deal_out, seat
from mottle.methods.buckets.plan import BucketPlan, make_plan
from mottle.methods.buckets.profiles import Gathered
from mottle.methods.buckets.tiers import Tier, edges_per_record
from mottle.typing import Float64Array, Int64Array
from mottle.utils.csprng import Secret


@dataclass(frozen=True)
class TierDecision:
    """What is decided about the records of a tier, without scouts."""

    buckets: int
    share: Share
    cut: Cut
    first_chunk: int
    seating: Seating | None  # None: stretches cut themselves into blocks

    @property
    def end(self) -> int:
        """One after the last chunk."""
        if self.seating is not None:
            return self.seating.chunks
        return self.first_chunk + len(self.share.cuts) - 1


@dataclass(frozen=True)
class Decision:
    """Everything about tiers, blocks and buckets that no chunk decides for itself."""

    tiers: tuple[TierDecision, ...]
    scouts: Share | None  # chunk 0, where there are any
    profiles: Float64Array

    @property
    def first_chunk(self) -> int:
        """The number of the first chunk after the scouts."""
        return self.tiers[0].first_chunk

    @property
    def chunks(self) -> int:
        """How many chunks there are, that of the scouts included."""
        return self.tiers[-1].end

    def tier_of(self, chunk: int) -> TierDecision:
        """The tier whose records a chunk has."""
        return next(tier for tier in self.tiers if chunk < tier.end)

    @property
    def facts(self) -> dict[str, object]:
        """What was decided, for the certificate."""
        scouts = 0 if self.scouts is None else int(self.scouts.cuts[-1])
        return {"blocks": sum(tier.cut.blocks for tier in self.tiers), "scouts": scouts}


def decide(
    demand: Demand,
    tiers: Sequence[Tier],
    secret: Secret,
    largest: int,
    line_of: Callable[[Share | None], OrderedPartitions],
    publish_scouts: Callable[[Share, int], Float64Array],
) -> Decision:
    """Part the tiers, cut blocks, send scouts where these are few, deal out blocks over regions.

    Parameters
    ----------
    demand
        Of the whole table; its marks are those of all combinations of sensitive values.
    tiers
        Of the whole table.
    secret
        The run's.
    largest
        Rows of a chunk, were all tiers alike.
    line_of
        The rows of a share, or all rows, along the order.
    publish_scouts
        Finishes them, with so many buckets, as chunk 0; returns what their release tells about
        where values lie.
    """
    values = len(values_of(demand).sensitive_codes)
    edges = largest * edges_per_record(tiers)
    rows = [max(int(edges / tier.buckets), 2 * tier.buckets) for tier in tiers]
    parted = _parted_by_tiers(demand, tiers, secret, line_of(None))
    shares = [Share(parted, 2 * tier + 1).within(most) for tier, most in enumerate(rows)]
    cuts = [
        decide_cut(line_of(share), demand, share.values, tier.buckets)
        for share, tier in zip(shares, tiers, strict=True)
    ]
    scouts: Share | None = None
    chosen = int(np.argmax([tier.counts.sum() for tier in tiers]))
    buckets = tiers[chosen].buckets
    taken = np.zeros(values, np.int64)
    if sum(cut.blocks for cut in cuts) < FEWEST_BLOCKS:
        taken = scout_counts(demand, tiers[chosen].counts, buckets, largest)
    if taken.any():
        parted = _without_scouts(parted, chosen, taken, secret)
        shares = [Share(parted, share.part, share.together) for share in shares]
        scouts = Share(parted, 2 * chosen, len(parted))
        profiles = publish_scouts(scouts, buckets)
        others = shares[chosen]
        cuts[chosen] = decide_cut(line_of(others), demand, others.values, buckets)
    else:
        gathered = [
            gathered_of(line_of(share), cut, tier.buckets, values)
            for share, cut, tier in zip(shares, cuts, tiers, strict=True)
        ]
        profiles = Gathered.total(gathered).profiles()
    decided: list[TierDecision] = []
    chunk = 0 if scouts is None else 1
    for tier, share, cut, most in zip(tiers, shares, cuts, rows, strict=True):
        seating = None
        if cut.starts is not None:
            line = line_of(share)
            found = line.over(partial(_count_pieces, cut.starts, line.cuts, values))
            plans = _plans(found, cut.blocks, profiles, demand, tier.buckets)
            mine = secret.part("seats of tier", share.part)
            seating = seat(cut.starts, plans, found, mine, most, chunk)
        decided.append(TierDecision(tier.buckets, share, cut, chunk, seating))
        chunk = decided[-1].end
    return Decision(tuple(decided), scouts, profiles)


def _parted_by_tiers(
    demand: Demand, tiers: Sequence[Tier], secret: Secret, everything: OrderedPartitions
) -> Int64Array:
    """[regions, values, parts]: part 2t + 1 is tier t, part 2t its scouts, of which there are none.

    Which tier gets how many of a region's records with a value is drawn by lot.
    """
    counts = np.stack([tier.counts for tier in tiers], axis=1)
    by_region = counts_between(everything, everything.cuts[1:], len(demand.caps))[:, : len(counts)]
    parted = np.zeros((*by_region.shape, 2 * len(tiers)), np.int64)
    parted[:, :, 1::2] = deal_out(secret.part("tiers"), counts, by_region)
    return parted


def _without_scouts(parted: Int64Array, tier: int, taken: Int64Array, secret: Secret) -> Int64Array:
    """The same after so many of a tier's records with each value are drawn as its scouts."""
    parted = parted.copy()
    here = parted[:, :, 2 * tier + 1]
    places = np.stack([taken, here.sum(axis=0) - taken], axis=1)
    parted[:, :, 2 * tier : 2 * tier + 2] = deal_out(secret.part("scouts"), places, here)
    return parted


def _count_pieces(
    starts: Int64Array, cuts: Int64Array, values: int, region: Region
) -> list[tuple[int, Int64Array]]:
    """How often each value occurs in what a region has of every block."""
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
