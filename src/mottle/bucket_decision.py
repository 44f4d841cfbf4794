"""What `buckets` decides for a whole table that comes in regions, step by step as in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mottle.bucket_cuts import Cut, Line, Region, counts_between, decide_cut, pieces_of, profiles_of
from mottle.bucket_plan import Plan, Values, make_plan
from mottle.bucket_seats import Seating, deal_out, seat
from mottle.coding import Float64s
from mottle.graph import Int64s
from mottle.guarantees import Demand
from mottle.methods._block_cuts import marks_of_values
from mottle.methods.buckets import FEWEST_BLOCKS, bucket_count, scout_counts
from mottle.randomness import Secret


@dataclass(frozen=True)
class Decision:
    """Everything about blocks and buckets that no chunk decides for itself."""

    buckets: int
    scouts: Int64s | None  # [regions, values]: how many of each region's records went first
    cuts: Int64s  # first row of every region along the order without scouts, and the end
    cut: Cut
    profiles: Float64s
    seating: Seating | None  # None: regions cut themselves into blocks

    @property
    def first_chunk(self) -> int:
        """The number of the first chunk after the scouts."""
        return first_chunk(self.scouts)

    @property
    def chunks(self) -> int:
        """How many chunks there are, that of the scouts included."""
        if self.seating is not None:
            return self.seating.chunks
        return self.first_chunk + len(self.cuts) - 1


def first_chunk(scouts: Int64s | None) -> int:
    """The scouts, where there are any, are chunk 0."""
    return 0 if scouts is None else 1


def decide(
    demand: Demand,
    secret: Secret,
    largest: int,
    line_without: Callable[[Int64s | None], Line],
    publish_scouts: Callable[[Int64s], Float64s],
) -> Decision:
    """Cut blocks, send scouts where blocks are few, and deal out blocks larger than regions.

    Parameters
    ----------
    demand
        Of the whole table; its marks are those of all combinations of sensitive values.
    secret
        The run's.
    largest
        Rows of a chunk.
    line_without
        The rows along the order, without scouts if there are any.
    publish_scouts
        Finishes them as chunk 0; returns what their release tells about where values lie.
    """
    buckets = bucket_count(demand)
    values = len(marks_of_values(demand))
    scouts = None
    line = line_without(None)
    cut = decide_cut(line, demand, buckets)
    if cut.blocks >= FEWEST_BLOCKS:
        profiles = profiles_of(line, cut, buckets, values)
    else:
        profiles = np.empty((values, 0))
        counts = demand.counts[:values]
        taken = scout_counts(demand, counts, buckets, largest)
        if taken.any():
            by_region = counts_between(line, line.cuts[1:], len(demand.caps))[:, :values]
            places = np.stack([taken, counts - taken], axis=1)
            scouts = deal_out(secret.part("scouts"), places, by_region)[:, :, 0].astype(np.int64)
            profiles = publish_scouts(scouts)
            line = line_without(scouts)
            cut = decide_cut(line, demand, buckets)
    seating = None
    if cut.starts is not None:
        found = line.over(partial(_count_pieces, cut.starts, line.cuts, values))
        plans = _plans(found, len(cut.starts) - 1, profiles, demand, buckets)
        seating = seat(cut.starts, plans, found, secret, largest, first_chunk(scouts))
    return Decision(buckets, scouts, line.cuts, cut, profiles, seating)


def _count_pieces(
    starts: Int64s, cuts: Int64s, values: int, region: Region
) -> list[tuple[int, Int64s]]:
    """How often each value occurs in what a region has of every block."""
    begin = cuts[region.number]
    return [
        (block, np.bincount(region.marks[first - begin : last - begin, 0], minlength=values))
        for block, first, last in pieces_of(starts[1:], begin, begin + len(region.marks))
    ]


def _plans(
    found: list[list[tuple[int, Int64s]]],
    blocks: int,
    profiles: Float64s,
    demand: Demand,
    buckets: int,
) -> list[Plan]:
    marks = marks_of_values(demand)
    counts = np.zeros((blocks, len(marks)), np.int64)
    for region in found:
        for block, here in region:
            counts[block] += here
    values = Values(marks, demand.caps, profiles, demand.degree)
    return [make_plan(block, values, buckets) for block in counts]
