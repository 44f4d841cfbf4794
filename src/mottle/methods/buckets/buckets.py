"""Buckets: every sensitive guarantee without a leak, by permuting buckets instead of records. Ours.

HET's idea is kept: records in μ buckets by sensitive value, every published record with one
preimage in each bucket. What differs is that no step looks at quasi-identifiers and sensitive
values together (docs/guarantees.md has the proof; the steps there have the same numbers):

0. Tiers: records that need many buckets are separated from those that need few, by counts of
   values and random choices alone (`mottle.methods.buckets.tiers`).
1. The blocks of a tier are cut along an order of the quasi-identifiers, all of nearly the same
   size. Their number is one decision for the tier: as many as leave every block within the caps.
2. Buckets are planned from each block's counts (`mottle.methods.buckets.plan`) and filled at
   random. A plan may use what is public: how often values occur in each block and, if there are
   too few blocks to learn from, the release of a few *pilot records*, which are drawn at random
   and published first.
3. Buckets are numbered and matched by quasi-identifiers alone.
4. One random permutation of the buckets in each connected part of a table decides the true
   assignment (`Draw.BUCKETS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph, join
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand, allowed
from mottle.kernels.ncp_growth import Scales
from mottle.methods.base import (
    Arrangement,
    BucketDecision,
    Chunking,
    Draw,
    MethodContext,
    SetColumns,
    register,
)
from mottle.methods.buckets.block_cuts import best_cut, values_of
from mottle.methods.buckets.filling import BucketLayout, fill_blocks, fill_from_slots
from mottle.methods.buckets.matching import match_layout
from mottle.methods.buckets.plan import counts_by_code
from mottle.methods.buckets.records import BucketRecords, TableRecords
from mottle.methods.buckets.tiers import Tier, tiers_of
from mottle.methods.refinement import INTERRUPTED, Refined, mean_loss, refine
from mottle.typing import Float64Array, Int32Array, Int64Array

_LARGEST_SPLIT = 64  # most buckets with which tables are split into their connected parts
FEWEST_BLOCKS = 6  # fewest blocks that show well enough where sensitive values lie
_PILOT_SHARE = 0.04  # share of the records that are pilot records, if there are fewer blocks
_FEWEST_PILOTS = 300  # fewest pilot records: fewer would show nothing
_FEWEST_PILOTS_PER_BUCKET = 30  # fewer pilot records in a bucket could not be matched well
_PILOT_SECONDS = 2.0  # time to improve the release of the pilot records


@register(
    "buckets",
    title="sensitive values in buckets, matched by quasi-identifiers, buckets permuted at random",
    paper="mottle, after HET",
    offers=Capability.CAPS | Capability.GROUP_CAPS,
    cost="O(n · μ · block · d) time, refinement until the time limit; O(n · (μ + d)) memory",
    sets=SetColumns.VOTED,
    chunking=Chunking(bytes_per_edge=90, offers=Capability.CAPS | Capability.GROUP_CAPS),
    decides_by=DecidesBy.SEPARATELY,
)
def buckets(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Cut blocks, plan and fill buckets, match them, refine; μ is the least that the caps allow."""
    return arrange_in_buckets(TableRecords(codes), demand, context)


def arrange_in_buckets(
    records: BucketRecords, demand: Demand, context: MethodContext
) -> Arrangement:
    """Arrange records by the method `buckets`, for any kind of quasi-identifiers."""
    number = len(records.matrix)
    drawn = context.tiebreak(2 * number)  # its halves are ordered independently
    run = _Run(records, demand, drawn[drawn < number])
    if context.bucket_decision is None:
        order = records.order(drawn[drawn >= number] - number)
        matched = _match_whole(run, order, context)
    else:
        matched = _Matched([], _match_by_decision(run, context.bucket_decision), context, {})
    refinement = _refine(matched.parts, matched.context)
    parts = [*matched.pilots, *matched.parts]
    facts = {
        "decides_by": "quasi-identifiers or sensitive values, never both; the number of blocks is"
        " one decision for each tier of the table",
        **matched.facts,
        "in_plain_groups": sum(part.in_plain_groups for part in parts),
        "refinement": refinement,
    }
    return Arrangement(join([part.graph() for part in parts]), facts, Draw.BUCKETS)


class _Run(NamedTuple):
    """What all parts of a run share."""

    records: BucketRecords
    demand: Demand
    # Random order that decides among records with equal sensitive values. It is independent of the
    # one that orders records with equal quasi-identifiers.
    tiebreak: Int64Array

    def match_blocks(self, cut: _Cut, profiles: Float64Array) -> list[_Part]:
        """Fill the buckets of every block and match them (steps 2 and 3)."""
        values = values_of(self.demand, profiles)
        sensitive = self.demand.values
        return self.match(
            fill_blocks(cut.order, cut.starts, self.tiebreak, sensitive, values, cut.buckets)
        )

    def match(self, layouts: Sequence[BucketLayout]) -> list[_Part]:
        """Match the buckets (step 3)."""
        return [_Part.matched(self.records, layout) for layout in layouts]


class _Matched(NamedTuple):
    """All records, matched."""

    pilots: list[_Part]  # finished
    parts: list[_Part]  # not yet refined
    context: MethodContext  # with the time that is left
    facts: dict[str, object]  # what was decided for the table


def _match_whole(run: _Run, order: Int64Array, context: MethodContext) -> _Matched:
    """Match a table, tier by tier; pilot records, if any, are matched and refined first."""
    demand = run.demand
    tiers = tiers_for(demand)
    cuts = _cut_tiers(run, tiers, order)
    pilots: list[_Part] = []
    profiles = _profiles_by_block(run, cuts)
    if sum(cut.blocks for cut in cuts) < FEWEST_BLOCKS:
        largest = int(np.argmax([len(cut.order) for cut in cuts]))
        first, cuts[largest] = _separate_pilots(run, tiers[largest], cuts[largest])
        if first is not None:
            seconds = pilot_seconds(context.seconds)
            pilots = run.match_blocks(first, np.empty((len(profiles), 0)))
            _refine(pilots, replace(context, seconds=seconds))
            if context.seconds is not None:
                context = replace(context, seconds=context.seconds - seconds)
            graph = join([part.graph() for part in pilots])
            profiles = run.records.profiles_by_release(demand, graph, context.preview(graph))
    parts = [part for cut in cuts for part in run.match_blocks(cut, profiles)]
    facts: dict[str, object] = {
        "tiers": [tier.described for tier in tiers],
        "blocks": sum(cut.blocks for cut in cuts),
        "scouts": sum(part.records for part in pilots),
    }
    return _Matched(pilots, parts, context, facts)


class _Cut(NamedTuple):
    """Records of a tier along the order, cut into blocks (step 1)."""

    buckets: int
    order: Int64Array
    starts: Int64Array

    @classmethod
    def best(cls, run: _Run, buckets: int, order: Int64Array) -> _Cut:
        """Cut with the least expected loss."""
        borders = run.records.borders(order)
        return cls(buckets, order, best_cut(run.demand, order, buckets, borders))

    @property
    def blocks(self) -> int:
        return len(self.starts) - 1


def _cut_tiers(run: _Run, tiers: Sequence[Tier], order: Int64Array) -> list[_Cut]:
    """Distribute the records over the tiers at random, and cut each tier into blocks."""
    values = run.demand.values
    rank = random_rank(values, run.tiebreak)
    cuts = []
    for tier in tiers:
        inside = (rank >= 0) & (rank < tier.counts[values])
        cuts.append(_Cut.best(run, tier.buckets, order[inside[order]]))
        rank -= tier.counts[values]
    return cuts


def _profiles_by_block(run: _Run, cuts: Sequence[_Cut]) -> Float64Array:
    """Where among quasi-identifiers each value lies, from its counts in the blocks of all tiers."""
    order = np.concatenate([cut.order for cut in cuts])
    starts = np.cumsum([0, *np.concatenate([np.diff(cut.starts) for cut in cuts])])
    return run.records.profiles_by_block(run.demand, order, starts)


def _separate_pilots(run: _Run, tier: Tier, cut: _Cut) -> tuple[_Cut | None, _Cut]:
    """The pilot records, or None if there are too few, and the other records."""
    taken = pilot_counts(run.demand, tier.counts, tier.buckets)
    if not taken.any():
        return None, cut
    values = run.demand.values[cut.order]
    rank = random_rank(values, np.argsort(np.argsort(run.tiebreak)[cut.order]))
    goes_first = rank < taken[values]
    first, others = cut.order[goes_first], cut.order[~goes_first]
    whole = np.array([0, len(first)], np.int64)
    return _Cut(tier.buckets, first, whole), _Cut.best(run, tier.buckets, others)


def _match_by_decision(run: _Run, decision: BucketDecision) -> list[_Part]:
    """Match records whose blocks, or buckets, were decided for a larger table."""
    if decision.slots is not None:
        assert decision.first_slots is not None
        return run.match(fill_from_slots(decision.slots, decision.first_slots))
    assert decision.starts is not None
    cut = _Cut(decision.buckets, np.arange(len(run.tiebreak)), decision.starts)
    return run.match_blocks(cut, decision.profiles)


def pilot_seconds(seconds: float | None) -> float:
    """The part of the time for refinement that the pilot records may take."""
    return _PILOT_SECONDS if seconds is None else min(_PILOT_SECONDS, seconds / 4)


def pilot_counts(
    demand: Demand, counts: Int64Array, buckets: int, most: int | None = None
) -> Int64Array:
    """Number of pilot records of each value; all zero if these would be too few to show anything.

    ``counts``: number of records of each value; ``most``: limit on the number of pilot records.
    """
    share = _PILOT_SHARE if most is None else min(_PILOT_SHARE, most / counts.sum())
    taken = np.floor(counts * share).astype(np.int64)
    values = values_of(demand)
    for part in (taken, counts - taken):
        if np.any(counts_by_code(part, values) > allowed(demand.caps, int(part.sum()))):
            return np.zeros(len(counts), np.int64)
    if taken.sum() < max(_FEWEST_PILOTS, _FEWEST_PILOTS_PER_BUCKET * buckets):
        return np.zeros(len(counts), np.int64)
    return taken


def random_rank(values: Int32Array, tiebreak: Int64Array) -> Int64Array:
    """The rank of every row among those with its value, in the random order ``tiebreak``.

    >>> random_rank(np.array([7, 3, 7, 7]), np.array([3, 1, 0, 2]))
    array([1, 0, 2, 0])
    """
    by_value = tiebreak[np.argsort(values[tiebreak], kind="stable")]
    counts = np.bincount(values)
    rank = np.empty(len(tiebreak), np.int64)
    rank[by_value] = np.arange(len(tiebreak)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank


def tiers_for(demand: Demand) -> tuple[Tier, ...]:
    """The tiers of a table, from its counts; none if values are not capped."""
    if not demand.capped:
        return ()
    values = values_of(demand)
    return tuple(tiers_of(demand.counts[: len(values.sensitive_codes)], values))


@dataclass(frozen=True)
class _Part:
    """Some of the records, matched; all their tables have the same number of buckets."""

    all_records: BucketRecords
    layout: BucketLayout
    metric: Scales
    ordered: Int32Array  # [records, d]: codes of the layout's members
    preimages: Int32Array  # [records in buckets, buckets]

    @classmethod
    def matched(cls, records: BucketRecords, layout: BucketLayout) -> _Part:
        """Match the buckets."""
        metric = records.metric(layout.buckets)
        ordered = np.ascontiguousarray(records.matrix[layout.members])
        return cls(records, layout, metric, ordered, match_layout(metric, ordered, layout))

    @property
    def records(self) -> int:
        """Number of records, including those in plain groups."""
        return len(self.layout.members)

    @property
    def in_plain_groups(self) -> int:
        return self.records - self.layout.in_buckets

    def loss(self) -> float:
        """Total loss of the records in buckets."""
        if not self.layout.in_buckets:
            return 0.0
        return mean_loss(self.metric, self.ordered, self.preimages) * self.layout.in_buckets

    def refine(self, context: MethodContext) -> Refined | None:
        """Exchange preimages between the same two buckets, within the time limit."""
        if not self.layout.in_buckets or context.seconds == 0:
            return None
        orders = self.all_records.orders(self.layout.members)
        starts = self.layout.bucket_starts
        return refine(
            self.metric, self.ordered, orders, self.preimages, context, bucket_starts=starts
        )

    def graph(self) -> Graph:
        """The connected parts of the tables, and the plain groups (step 4)."""
        return _graph(self.layout, self.preimages)


def _refine(parts: Sequence[_Part], context: MethodContext) -> object:
    """Refine the parts one by one, reporting the loss of all; return facts for the certificate."""
    losses = np.array([part.loss() for part in parts])
    records = np.array([part.layout.in_buckets for part in parts])
    context.on_progress(losses.sum() / max(records.sum(), 1))
    passes, ended = 0, []
    for place, part in enumerate(parts):

        def on_progress(loss: float, place: int = place) -> None:
            losses[place] = loss * records[place]
            context.on_progress(losses.sum() / records.sum())

        share = context.share(records[place] / max(records.sum(), 1))
        refined = part.refine(replace(share, on_progress=on_progress))
        if refined is not None:
            passes += refined.passes
            ended.append(refined.ended)
        if ended[-1:] == [INTERRUPTED]:
            break
    return {"passes": passes, "ended": ended[-1]} if ended else None


def _graph(layout: BucketLayout, preimages: Int32Array) -> Graph:
    """Connected parts of the tables, by bucket, and plain groups as complete blocks (step 4)."""
    order, starts = _parts(layout, preimages)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    local = place[preimages[order]] - np.repeat(starts[:-1], np.diff(starts))[:, None]
    group_sizes = np.diff(layout.groups)
    complete = [np.tile(np.arange(size, dtype=np.int32), size) for size in group_sizes]
    return Graph.explicit(
        np.concatenate([layout.members[order], layout.members[layout.in_buckets :]]),
        np.concatenate([starts, layout.groups[1:]]),
        np.concatenate([np.full(len(starts) - 1, layout.buckets), group_sizes]).astype(np.int32),
        np.concatenate([local.ravel().astype(np.int32), *complete]),
    )


def _parts(layout: BucketLayout, preimages: Int32Array) -> tuple[Int64Array, Int64Array]:
    """Positions by connected part and then by bucket, and the start of every part.

    A part holds equally many records of every bucket, because buckets are matched one-to-one. Each
    part is permuted separately, so that an adversary who learns one true record learns something
    about its part only.
    """
    records, count = layout.in_buckets, layout.buckets
    if count > _LARGEST_SPLIT or records == 0:
        return np.arange(records), layout.tables
    ends = np.arange(0, records * count + 1, count)
    edges = csr_array((np.ones(records * count, np.int8), preimages.ravel(), ends))
    _, part = connected_components(edges, directed=False)
    bucket_starts = layout.bucket_starts
    bucket = np.repeat(np.arange(len(bucket_starts) - 1) % count, np.diff(bucket_starts))
    order = np.lexsort((bucket, part))
    return order, np.concatenate([[0], np.cumsum(np.bincount(part))]).astype(np.int64)
