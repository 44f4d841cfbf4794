"""Buckets: every sensitive guarantee without a leak, by permuting buckets instead of records. Ours.

HET's idea is kept: records in μ buckets by sensitive value, every published record with one
preimage in each bucket. What differs is that no step looks at quasi-identifiers and sensitive
values together (docs/guarantees.md has the proof; the steps there have the same numbers):

1. Blocks are cut along an order of the quasi-identifiers, all of nearly the same size. How many is
   one decision for the whole table: as many as leave every block within the caps.
2. Buckets are planned from each block's counts (`mottle.bucket_plan`) and filled by lot. A plan
   may use what is public: how often values occur in each block and, where blocks are too few to
   tell, what the release of a few *scouts*, records drawn by lot and finished first, says.
3. Buckets are numbered by lot, and matched by quasi-identifiers alone.
4. One random permutation of the buckets in each connected part of a table decides who is who
   (`Draw.BUCKETS`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.bucket_plan import Values
from mottle.bucketization import good_fill
from mottle.coding import Codes, Float64s, Int32s
from mottle.graph import Graph, Int64s, join
from mottle.guarantees import BetaLikeness, Caps, Demand, LDiversity, allowed
from mottle.methods._block_cuts import deepest_cut, marks_of_values
from mottle.methods._bucket_records import Records, TableRecords
from mottle.methods._pile_matching import match_piles
from mottle.methods._piles import Layout, fill_blocks, seat_records
from mottle.methods._registry import Arrangement, Decided, Draw, Effort, SetColumns, register
from mottle.refinement import mean_loss, refine

_MANY_BUCKETS = 24
_LARGEST_SPLIT = 64  # buckets up to which tables are split into their connected parts
FEWEST_BLOCKS = 6  # that tell enough about where sensitive values lie
_SCOUTS = 0.04  # share of the records that go first where blocks are fewer …
_FEWEST_SCOUTS = 300  # … unless these would be too few to tell anything …
_FEWEST_SCOUTS_PER_BUCKET = 30  # … or to be matched well
_SCOUTING = 2.0  # seconds for improving the scouts' release


@register(
    "buckets",
    title="sensitive values in buckets, matched by quasi-identifiers, buckets permuted at random",
    paper="mottle, after HET",
    guarantees=(LDiversity, BetaLikeness, Caps),
    cost="O(n · μ · block · d) time, refinement as long as you let it; O(n · (μ + d)) memory",
    sets=SetColumns.VOTED,
)
def buckets(codes: Codes, demand: Demand, effort: Effort) -> Arrangement:
    """Cut blocks, plan and fill buckets, match them, refine; μ is the smallest that caps allow."""
    return arrange_in_buckets(TableRecords(codes), demand, effort)


def arrange_in_buckets(records: Records, demand: Demand, effort: Effort) -> Arrangement:
    """The method, whatever the quasi-identifiers are."""
    lots = effort.lots(len(records.matrix))
    table = _Table(records, demand, lots, bucket_count(demand))
    if effort.decided is None:
        parts, blocks = _arrange_whole(table, effort)
        whole: dict[str, object] = {
            "blocks": blocks,
            "scouts": sum(part.graph.records for part in parts[:-1]),
        }
    else:
        parts, whole = [_arrange_decided(table, effort.decided, effort)], {}
    facts = {
        "decides_by": "quasi-identifiers or sensitive values, never both; the number of blocks is"
        " one decision for the whole table",
        "buckets": table.buckets,
        **whole,
        "in_plain_groups": sum(part.in_plain_groups for part in parts),
        "refinement": parts[-1].refinement,
    }
    return Arrangement(join([part.graph for part in parts]), facts, Draw.BUCKETS)


def _arrange_whole(table: _Table, effort: Effort) -> tuple[list[_Part], int]:
    """All records of a table, scouts first where there are any; and the number of blocks."""
    records, demand, lots, count = table
    order = records.order(lots)
    starts = deepest_cut(demand, order, count, records.borders(order))
    parts: list[_Part] = []
    if len(starts) - 1 >= FEWEST_BLOCKS:
        profiles = records.profiles_by_block(demand, order, starts)
    else:
        profiles = np.empty((len(marks_of_values(demand)), 0))
        scouts = draw_scouts(demand, lots, count)
        if len(scouts):
            is_scout = np.zeros(len(lots), np.bool_)
            is_scout[scouts] = True
            first, order = order[is_scout[order]], order[~is_scout[order]]
            seconds = scouting_seconds(effort.seconds)
            scouted = _arrange_part(table, first, profiles, Effort(seconds, effort.seed))
            if effort.seconds is not None:
                effort = replace(effort, seconds=effort.seconds - seconds)
            parts.append(scouted)
            profiles = records.profiles_by_release(
                demand, scouted.graph, effort.preview(scouted.graph)
            )
            starts = deepest_cut(demand, order, count, records.borders(order))
    parts.append(_arrange_part(table, order, profiles, effort, starts))
    return parts, len(starts) - 1


def _arrange_decided(table: _Table, decided: Decided, effort: Effort) -> _Part:
    """Records whose blocks, or buckets, were decided for a larger table."""
    order = np.arange(len(table.lots))
    if decided.seats is None:
        return _arrange_part(table, order, decided.profiles, effort, decided.starts)
    return _match(table, seat_records(decided.seats, table.lots, table.buckets), effort)


def scouting_seconds(seconds: float | None) -> float:
    """What scouts may spend of the seconds for improving."""
    return _SCOUTING if seconds is None else min(_SCOUTING, seconds / 4)


class _Table(NamedTuple):
    """What is the same for all parts of a run."""

    records: Records
    demand: Demand
    lots: Int64s
    buckets: int  # μ


class _Part(NamedTuple):
    """Some of the records, arranged."""

    graph: Graph
    in_plain_groups: int
    refinement: object


def bucket_count(demand: Demand) -> int:
    """The fewest buckets that can hold every value at least once: no cap below 1/μ.

    Where that is many, a few more may leave fewer records over; the table's counts decide.

    >>> marks = np.array([[0], [0], [1]], np.int32)
    >>> bucket_count(Demand(2, marks, np.array([0.7, 0.35]), np.array([2, 1])))
    3
    """
    present = demand.counts > 0
    fewest = max(demand.degree, int(np.ceil(1 / demand.caps[present].min() - 1e-9)))
    if fewest < _MANY_BUCKETS or demand.marks.shape[1] > 1:
        return fewest
    fill = good_fill(demand.counts[present], demand.caps[present], demand.degree)
    return int(fill.shape[1])


def draw_scouts(demand: Demand, lots: Int64s, count: int) -> Int64s:
    """Rows that are finished first: of every value the same share, by lot; none if too few.

    Both the scouts and the others have to keep the caps; the counts alone decide.
    """
    counts = np.bincount(demand.values)
    return first_by_lot(demand.values, lots, scout_counts(demand, counts, count))


def scout_counts(demand: Demand, counts: Int64s, buckets: int, most: int | None = None) -> Int64s:
    """How many records of each value go first; zero of each if these are too few to tell anything.

    ``counts``: of every value; ``most``: scouts in all, where there is a limit.
    """
    share = _SCOUTS if most is None else min(_SCOUTS, most / counts.sum())
    taken = np.floor(counts * share).astype(np.int64)
    marks = marks_of_values(demand)
    for part in (taken, counts - taken):
        totals = np.zeros(len(demand.caps), np.int64)
        for system in range(marks.shape[1]):
            np.add.at(totals, marks[:, system], part)
        if np.any(totals > allowed(demand.caps, int(part.sum()))):
            return np.zeros(len(counts), np.int64)
    if taken.sum() < max(_FEWEST_SCOUTS, _FEWEST_SCOUTS_PER_BUCKET * buckets):
        return np.zeros(len(counts), np.int64)
    return taken


def first_by_lot(values: Int32s, lots: Int64s, taken: Int64s) -> Int64s:
    """Of every value as many rows as ``taken`` says, those whose lots come first."""
    counts = np.bincount(values, minlength=len(taken))
    by_value = lots[np.argsort(values[lots], kind="stable")]
    rank = np.arange(len(lots)) - np.repeat(np.cumsum(counts) - counts, counts)
    return by_value[rank < np.repeat(taken, counts)]


def _arrange_part(
    table: _Table, order: Int64s, profiles: Float64s, effort: Effort, starts: Int64s | None = None
) -> _Part:
    """Arrange the records of ``order`` in blocks (steps 2 and 3)."""
    demand = table.demand
    if starts is None:
        starts = np.array([0, len(order)], np.int64)
    marks = marks_of_values(demand)
    values = Values(marks, demand.caps, profiles[: len(marks)], demand.degree)
    layout = fill_blocks(order, starts, table.lots, demand.values, values, table.buckets)
    return _match(table, layout, effort)


def _match(table: _Table, layout: Layout, effort: Effort) -> _Part:
    """Match the buckets, and refine that as long as it may take (step 3)."""
    records, count = table.records, table.buckets
    metric = records.metric(count)
    ordered = np.ascontiguousarray(records.matrix[layout.members])
    preimages = match_piles(metric, ordered, layout, count)
    refinement: object = None
    if layout.in_buckets and effort.seconds != 0:
        piles = layout.piles(count)
        orders = records.orders(layout.members)
        refined = refine(metric, ordered, orders, preimages, effort, piles=piles)
        refinement = {"passes": refined.passes, "ended": refined.ended}
    elif layout.in_buckets:
        effort.tell(mean_loss(metric, ordered, preimages))
    in_groups = len(layout.members) - layout.in_buckets
    return _Part(_graph(layout, preimages, count), in_groups, refinement)


def _graph(layout: Layout, preimages: Int32s, count: int) -> Graph:
    """Connected parts of the tables, bucket after bucket, and complete plain groups (step 4)."""
    order, starts = _parts(layout, preimages, count)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    local = place[preimages[order]] - np.repeat(starts[:-1], np.diff(starts))[:, None]
    group_sizes = np.diff(layout.groups)
    complete = [np.tile(np.arange(size, dtype=np.int32), size) for size in group_sizes]
    return Graph.explicit(
        np.concatenate([layout.members[order], layout.members[layout.in_buckets :]]),
        np.concatenate([starts, layout.groups[1:]]),
        np.concatenate([np.full(len(starts) - 1, count), group_sizes]).astype(np.int32),
        np.concatenate([local.ravel().astype(np.int32), *complete]),
    )


def _parts(layout: Layout, preimages: Int32s, count: int) -> tuple[Int64s, Int64s]:
    """Positions part after part and bucket after bucket, and the start of every part.

    A part holds equally many records of every bucket, since buckets are matched one-to-one. Each
    is permuted by itself: whoever learns one true record then learns about its part only.
    """
    records = layout.in_buckets
    if count > _LARGEST_SPLIT or records == 0:
        return np.arange(records), layout.tables
    ends = np.arange(0, records * count + 1, count)
    edges = csr_array((np.ones(records * count, np.int8), preimages.ravel(), ends))
    _, part = connected_components(edges, directed=False)
    piles = layout.piles(count)
    bucket = np.repeat(np.arange(len(piles) - 1) % count, np.diff(piles))
    order = np.lexsort((bucket, part))
    return order, np.concatenate([[0], np.cumsum(np.bincount(part))]).astype(np.int64)
