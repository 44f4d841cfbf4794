"""Buckets: every sensitive guarantee without a leak, by permuting buckets instead of records. Ours.

HET's idea is kept: records in μ buckets by sensitive value, every published record with one
preimage in each bucket. What differs is that no step looks at quasi-identifiers and sensitive
values of the same records together (docs/guarantees.md has the proof; the steps there have the same
numbers):

0. Tiers: records that need many buckets are separated from those that need few, by counts of
   values and random choices alone (`mottle.methods.buckets.tiers`).
1. Of every tier a first wave is drawn by lot and published uncut (`mottle.methods.buckets.waves`).
   What it shows is public. The rest is cut into blocks by a tree that uses it, quasi-identifiers
   and the counts of its own nodes (`mottle.methods.buckets.tree`).
2. Buckets are planned from each block's counts (`mottle.methods.buckets.plan`) and filled at
   random, in tables so small that one known record gives away few others. A plan may use what is
   public: how often values occur in the block, and the release of the first wave.
3. Buckets are numbered and matched by quasi-identifiers alone.
4. One random permutation of the buckets of each table decides the true assignment
   (`Draw.BUCKETS`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph, join
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
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
from mottle.methods.buckets.association import Association, PublishedTable
from mottle.methods.buckets.cut_columns import codes_of, cut_columns
from mottle.methods.buckets.filling import BucketLayout, fill_blocks
from mottle.methods.buckets.matching import match_layout
from mottle.methods.buckets.plan import others_given_away, values_of, widest
from mottle.methods.buckets.records import BucketRecords, TableRecords
from mottle.methods.buckets.tiers import Tier, tiers_of
from mottle.methods.buckets.tree import Knowledge, Node, grow
from mottle.methods.buckets.waves import published_tables, random_rank, wave_counts
from mottle.methods.refinement import (
    INTERRUPTED,
    PASSES,
    Refined,
    column_losses,
    like,
    mean_loss,
    refine,
)
from mottle.typing import Float64Array, Int32Array, Int64Array

_OFFERS = Capability.CAPS | Capability.GROUP_CAPS | Capability.KNOWN_RECORDS
_WAVE_SECONDS = 2.0  # time to improve the release of the first wave


@register(
    "buckets",
    title="sensitive values in buckets, matched by quasi-identifiers, buckets permuted at random",
    paper="mottle, after HET",
    offers=_OFFERS,
    cost="O(n · μ · block · d) time, refinement until the time limit; O(n · (μ + d)) memory",
    sets=SetColumns.VOTED,
    chunking=Chunking(bytes_per_edge=90, offers=_OFFERS),
    decides_by=DecidesBy.SEPARATELY,
    options=(PASSES,),
    follows_objective=True,
)
def buckets(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Cut blocks, plan and fill buckets, match them, refine; μ is the least that the caps allow."""
    return arrange_in_buckets(TableRecords(codes), demand, context)


def arrange_in_buckets(
    records: BucketRecords, demand: Demand, context: MethodContext
) -> Arrangement:
    """Arrange records by the method `buckets`, for any kind of quasi-identifiers."""
    run = Run.of(records, demand, context)
    decision = context.bucket_decision
    matched = (
        _match_tiers(run, context) if decision is None else _match_nodes(run, context, decision)
    )
    refinement = _refine(matched.parts, matched.context)
    parts = [*matched.waves, *matched.parts]
    facts = {
        **matched.facts,
        "known_records": max(part.others_given_away(demand) for part in parts),
        "in_plain_groups": sum(part.in_plain_groups for part in parts),
        "refinement": refinement,
    }
    return Arrangement(join([part.graph() for part in parts]), facts, Draw.BUCKETS)


class Run(NamedTuple):
    """What all parts of a run share."""

    records: BucketRecords
    demand: Demand
    # Random order that decides among records with equal sensitive values. It is independent of the
    # one that orders records with equal quasi-identifiers.
    tiebreak: Int64Array
    order: Int64Array  # keeps similar records together

    @classmethod
    def of(cls, records: BucketRecords, demand: Demand, context: MethodContext) -> Run:
        """Draw the random order and put the records in order."""
        number = len(records.matrix)
        drawn = context.tiebreak(2 * number)  # its halves are ordered independently
        order = records.order(drawn[drawn >= number] - number)
        return cls(records, demand, drawn[drawn < number], order)

    def match(self, blocks: Blocks, profiles: Float64Array) -> list[_Part]:
        """Fill the buckets of every block and match them (steps 2 and 3)."""
        demand = self.demand
        layouts = fill_blocks(
            blocks.order,
            blocks.starts,
            self.tiebreak,
            demand.values,
            values_of(demand, profiles),
            blocks.buckets,
            demand.known_records,
        )
        return [_Part.matched(self.records, layout) for layout in layouts]


class Blocks(NamedTuple):
    """Records block by block."""

    buckets: int
    order: Int64Array
    starts: Int64Array

    @classmethod
    def of(cls, buckets: int, blocks: Sequence[Int64Array]) -> Blocks:
        """Put blocks, given as rows, one after the other."""
        starts = np.cumsum([0, *[len(block) for block in blocks]])
        return cls(buckets, np.concatenate(blocks), starts.astype(np.int64))


class _Matched(NamedTuple):
    """All records, matched."""

    waves: list[_Part]  # finished
    parts: list[_Part]  # not yet refined
    context: MethodContext  # with the time that is left
    facts: dict[str, object]  # what was decided for the table


class CutTiers(NamedTuple):
    """A table whose first waves are matched and whose other records are cut into blocks."""

    tiers: tuple[Tier, ...]
    waves: list[_Part]
    published: tuple[Graph, Int32Array] | None  # the first waves as released
    blocks: list[Blocks]  # by tier
    context: MethodContext  # with the time that is left


def cut_tiers(run: Run, context: MethodContext) -> CutTiers:
    """Separate tiers, publish their first waves and cut the other records (steps 0 and 1).

    First waves are matched and refined before the rest is cut.
    """
    tiers = tiers_for(run.demand)
    nothing = np.empty((len(tiers[0].counts), 0))
    waves: list[_Part] = []
    published: tuple[Graph, Int32Array] | None = None
    blocks: list[Blocks] = []
    for tier, rows in zip(tiers, _rows_by_tier(run, tiers), strict=True):
        first, others = _separate_wave(run, tier, rows)
        if not len(first):
            blocks.append(Blocks.of(tier.buckets, [others]))
            continue
        parts = run.match(Blocks.of(tier.buckets, [first]), nothing)
        seconds = wave_seconds(context.seconds)
        if seconds is not None and context.seconds is not None:
            seconds /= len(tiers)
            context = replace(context, seconds=context.seconds - seconds)
        _refine(parts, replace(context, seconds=seconds))
        waves += parts
        blocks_before = 0 if published is None else len(published[0].degrees)
        graph = join([part.graph() for part in waves])
        published = graph, context.preview(graph)
        tables = list(published_tables(*published, run.demand.values))[blocks_before:]
        blocks.append(Blocks.of(tier.buckets, _cut(run, tier, first, others, tables)))
    return CutTiers(tiers, waves, published, blocks, context)


def _match_tiers(run: Run, context: MethodContext) -> _Matched:
    """Match a table, tier by tier."""
    cut = cut_tiers(run, context)
    profiles = np.empty((len(cut.tiers[0].counts), 0))
    if cut.published is not None:
        profiles = run.records.profiles_by_release(run.demand, *cut.published)
    matched = [part for each in cut.blocks for part in run.match(each, profiles)]
    facts: dict[str, object] = {
        "tiers": [tier.described for tier in cut.tiers],
        "blocks": sum(len(each.starts) - 1 for each in cut.blocks),
        "wave": sum(part.records for part in cut.waves),
    }
    return _Matched(cut.waves, matched, cut.context, facts)


def _match_nodes(run: Run, context: MethodContext, decision: BucketDecision) -> _Matched:
    """Match nodes of a larger table, which is cut further as far as it is public."""
    demand = run.demand
    rows = [np.flatnonzero(decision.node == node) for node in range(len(decision.waves))]
    blocks = [inside for inside in rows if len(inside)]
    if decision.known is not None:
        known = deepcopy(decision.known)
        codes = codes_of(known.columns, run.records.matrix)
        nodes = [
            Node(*each)
            for each in zip(rows, decision.waves, decision.spent, strict=True)
            if len(each[0])
        ]
        blocks = grow(known, codes, demand.values, nodes)
    parts = run.match(Blocks.of(decision.buckets, blocks), decision.profiles)
    return _Matched([], parts, context, {"blocks": len(blocks)})


def _rows_by_tier(run: Run, tiers: Sequence[Tier]) -> Iterator[Int64Array]:
    """The records of every tier, drawn by lot, along the order (step 0)."""
    values = run.demand.values
    rank = random_rank(values, run.tiebreak)
    for tier in tiers:
        inside = (rank >= 0) & (rank < tier.counts[values])
        yield run.order[inside[run.order]]
        rank -= tier.counts[values]


def _separate_wave(run: Run, tier: Tier, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The first wave of a tier, drawn by lot, and the other records."""
    taken = wave_counts(run.demand, tier.counts, tier.buckets)
    values = run.demand.values[rows]
    rank = random_rank(values, np.argsort(np.argsort(run.tiebreak)[rows]))
    goes_first = rank < taken[values]
    return rows[goes_first], rows[~goes_first]


def _cut(
    run: Run, tier: Tier, first: Int64Array, others: Int64Array, wave: Sequence[PublishedTable]
) -> list[Int64Array]:
    """Cut the records of a tier into blocks by what its first wave shows (step 1)."""
    known, codes = known_from_wave(run.records, run.demand, tier, first, wave)
    return grow(known, codes, run.demand.values, [Node(others, np.arange(len(first)))])


def known_from_wave(
    records: BucketRecords,
    demand: Demand,
    tier: Tier,
    wave: Int64Array | Int32Array,
    tables: Sequence[PublishedTable],
) -> tuple[Knowledge, Int32Array]:
    """What is public about a tier once its first wave is, and all records as the tree sees them."""
    columns = cut_columns(records.matrix, records.metric(tier.buckets))
    codes = codes_of(columns, records.matrix)
    unknown = Association.unknown(columns, codes, tier.counts)
    association, evidence = unknown.fitted_to_wave(codes, tables)
    seen = np.bincount(demand.values[wave], minlength=len(tier.counts))
    size = int(tier.counts.sum())
    known = Knowledge(
        columns,
        values_of(demand),
        tier.buckets,
        size,
        association,
        evidence,
        seen,
        demand.known_records,
    )
    return known, codes


def wave_seconds(seconds: float | None) -> float | None:
    """The part of the time for refinement that the first wave may take; None: while it gains."""
    return None if seconds is None else min(_WAVE_SECONDS, seconds / 4)


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

    def others_given_away(self, demand: Demand) -> int:
        """How many other records one known record gives away at most."""
        layout, most = self.layout, 0
        tables = [(start, end, layout.buckets) for start, end in pairwise(layout.tables.tolist())]
        groups = [(start, end, end - start) for start, end in pairwise(layout.groups.tolist())]
        for start, end, buckets in (*tables, *groups):
            if end > start:
                codes = demand.sensitive_codes[layout.members[start:end]]
                spans = widest(codes.reshape(buckets, -1))
                most = max(most, others_given_away(buckets, spans, (end - start) // buckets))
        return most

    def objective(self, context: MethodContext) -> Scales:
        """The loss that refinement keeps low; matching goes by NCP."""
        return self.all_records.objective(self.layout.buckets, context.objective)

    def loss(self, context: MethodContext) -> float:
        """Total loss of the records in buckets."""
        if not self.layout.in_buckets:
            return 0.0
        metric = self.objective(context)
        return mean_loss(metric, self.ordered, self.preimages) * self.layout.in_buckets

    def column_losses(self, metric: Scales) -> Float64Array:
        """[d]: how much of the mean loss of the records in buckets is each column's."""
        if not self.layout.in_buckets:
            return np.zeros(self.ordered.shape[1])
        return column_losses(metric, self.ordered, self.preimages)

    def refine(self, context: MethodContext) -> Refined | None:
        """Exchange preimages between the same two buckets, within the time limit."""
        if not self.layout.in_buckets or context.seconds == 0:
            return None
        orders = self.all_records.orders(self.layout.members)
        starts = self.layout.bucket_starts
        return refine(
            self.objective(context),
            self.ordered,
            orders,
            self.preimages,
            context,
            bucket_starts=starts,
        )

    def graph(self) -> Graph:
        """The connected parts of the tables, and the plain groups (step 4)."""
        return _graph(self.layout, self.preimages)


def _refine(parts: Sequence[_Part], context: MethodContext) -> object:
    """Refine the parts one by one, reporting the loss of all; return facts for the certificate."""
    losses = np.array([part.loss(context) for part in parts])
    records = np.array([part.layout.in_buckets for part in parts])
    context.on_progress(losses.sum() / max(records.sum(), 1))

    metrics: list[Scales] = []  # NCP of every part, once somebody wants to know it

    def by_column() -> Float64Array:
        if not metrics:
            metrics.extend(like(each.metric, each.objective(context)) for each in parts)
        losses_of = [
            part.column_losses(metric) for part, metric in zip(parts, metrics, strict=True)
        ]
        return np.asarray(records @ np.array(losses_of) / records.sum())

    passes, ended = 0, []
    for place, part in enumerate(parts):

        def on_progress(loss: float, place: int = place) -> None:
            losses[place] = loss * records[place]
            context.on_progress(losses.sum() / records.sum())

        share = context.share(records[place] / max(records.sum(), 1))

        def on_columns(_: object) -> None:
            context.on_columns(by_column)

        refined = part.refine(replace(share, on_progress=on_progress, on_columns=on_columns))
        if refined is not None:
            passes += refined.passes
            ended.append(refined.ended)
        if ended[-1:] == [INTERRUPTED]:
            break
    return {"passes": passes, "ended": ended[-1]} if ended else None


def _graph(layout: BucketLayout, preimages: Int32Array) -> Graph:
    """Tables by bucket, and plain groups as complete blocks; each has its own draw (step 4)."""
    tables = layout.tables
    local = preimages - np.repeat(tables[:-1], np.diff(tables))[:, None]
    group_sizes = np.diff(layout.groups)
    complete = [np.tile(np.arange(size, dtype=np.int32), size) for size in group_sizes]
    return Graph.explicit(
        layout.members,
        np.concatenate([tables, layout.groups[1:]]),
        np.concatenate([np.full(len(tables) - 1, layout.buckets), group_sizes]).astype(np.int32),
        np.concatenate([local.ravel().astype(np.int32), *complete]),
    )
