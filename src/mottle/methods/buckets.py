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

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.bucket_plan import Values, make_plan
from mottle.bucketization import good_fill
from mottle.coding import Codes, Float64s, Int32s
from mottle.graph import Graph, Int64s, join
from mottle.guarantees import BetaLikeness, Caps, Demand, LDiversity, allowed
from mottle.methods._bucket_records import Records, TableRecords
from mottle.methods._pile_matching import match_piles
from mottle.methods._piles import Layout, fill_blocks
from mottle.methods._registry import Arrangement, Draw, Effort, register
from mottle.refinement import mean_loss, refine

_SMALLEST_BLOCK = 400  # records: smaller blocks leave less choice …
_SMALLEST_BUCKET = 8  # … and smaller buckets more remainder
LARGEST_REST = 0.1  # share of the records that plans of a few blocks may leave to plain groups
_WHOLE_BUCKETS = (
    20  # buckets' records that a block must have for its cuts to be moved to whole ones
)
_TRIED_BLOCKS = 6
_MANY_BUCKETS = 24
_LARGEST_SPLIT = 64  # buckets up to which tables are split into their connected parts
_FEWEST_BLOCKS = 6  # that tell enough about where sensitive values lie
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
)
def buckets(codes: Codes, demand: Demand, effort: Effort) -> Arrangement:
    """Cut blocks, plan and fill buckets, match them, refine; μ is the smallest that caps allow."""
    return arrange_in_buckets(TableRecords(codes), demand, effort)


def arrange_in_buckets(records: Records, demand: Demand, effort: Effort) -> Arrangement:
    """The method, whatever the quasi-identifiers are."""
    lots = effort.lots(len(records.matrix))
    count = bucket_count(demand)
    order = records.order(lots)
    table = _Table(records, demand, lots, count)
    decided = effort.blocks is not None
    if effort.blocks is None:
        starts = deepest_cut(demand, order, count, records.borders(order))
    else:
        starts = effort.blocks
    parts: list[_Part] = []
    if decided or len(starts) > _FEWEST_BLOCKS:
        profiles = records.profiles_by_block(demand, order, starts)
    else:
        profiles = np.empty((len(_marks_of_values(demand)), 0))
        scouts = draw_scouts(demand, lots, count)
        if len(scouts):
            is_scout = np.zeros(len(lots), np.bool_)
            is_scout[scouts] = True
            first, order = order[is_scout[order]], order[~is_scout[order]]
            scouting, effort = _share_of_scouts(effort)
            scouted = _arrange_part(table, first, profiles, scouting)
            parts.append(scouted)
            profiles = records.profiles_by_release(
                demand, scouted.graph, effort.preview(scouted.graph)
            )
            starts = deepest_cut(demand, order, count, records.borders(order))
    parts.append(_arrange_part(table, order, profiles, effort, starts))
    facts: dict[str, object] = {
        "decides_by": "quasi-identifiers or sensitive values, never both; the number of blocks is"
        " one decision for the whole table",
        "buckets": count,
        "blocks": len(starts) - 1,
        "scouts": sum(part.graph.records for part in parts[:-1]),
        "in_plain_groups": sum(part.in_plain_groups for part in parts),
        "refinement": parts[-1].refinement,
    }
    return Arrangement(join([part.graph for part in parts]), facts, Draw.BUCKETS)


def _share_of_scouts(effort: Effort) -> tuple[Effort, Effort]:
    """What the scouts may spend of the seconds, and what is left for the others."""
    if effort.seconds is None:
        return Effort(_SCOUTING, effort.seed), effort
    seconds = min(_SCOUTING, effort.seconds / 4)
    return Effort(seconds, effort.seed), replace(effort, seconds=effort.seconds - seconds)


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


def deepest_cut(demand: Demand, order: Int64s, count: int, borders: Int32s | None = None) -> Int64s:
    """Starts of the most blocks along the order that can be had (step 1).

    All have to keep the caps, and buckets must be able to hold most of their records. Counts of
    values per block decide, once for the whole table.
    """
    most = most_blocks(len(order), count)
    marks = demand.marks[order]
    while most > 1:
        eligible = False
        for starts in _ways_to_cut(len(order), most, count, borders):
            if all(_eligible(marks[first:last], demand) for first, last in pairwise(starts)):
                if _rest(demand, order, starts, count) <= LARGEST_REST:
                    return starts
                eligible = True
        most -= max(most // (4 if eligible else 40), 1)
    return np.array([0, len(order)], np.int64)


def _ways_to_cut(records: int, blocks: int, count: int, borders: Int32s | None) -> Iterator[Int64s]:
    """So many blocks, the way first that usually loses least."""
    if borders is not None:
        yield cut_evenly(records, blocks, count, borders)
    yield cut_evenly(records, blocks, count)
    yield cut_evenly(records, blocks, 1)


def cut_evenly(records: int, blocks: int, count: int, borders: Int32s | None = None) -> Int64s:
    """Starts of blocks of nearly the same size, and the end.

    Where ``borders`` says how much neighbours along the order have in common (the lower the less),
    cuts move to the deepest border nearby. They fall between whole buckets if that is close, so
    that only the last block has records left over.

    >>> cut_evenly(101, 4, 1)
    array([  0,  25,  50,  75, 101])
    >>> cut_evenly(1001, 4, 2, np.where(np.arange(1001) == 467, 0, 1).astype(np.int32))
    array([   0,  250,  466,  750, 1001])
    """
    size = records // blocks
    starts = np.arange(blocks + 1) * records // blocks
    if borders is not None:
        away = np.arange(-(size // 4), size // 4 + 1)
        nearest_first = away[np.argsort(np.abs(away), kind="stable")]
        nearby = starts[1:-1, None] + nearest_first
        starts[1:-1] += nearest_first[np.argmin(borders[nearby], axis=1)]
    if count * _WHOLE_BUCKETS <= size:
        starts[1:-1] -= starts[1:-1] % count
    return starts


def most_blocks(records: int, count: int) -> int:
    """How many blocks of so many records there may be at most, with ``count`` buckets each."""
    return max(records // max(_SMALLEST_BLOCK, _SMALLEST_BUCKET * count), 1)


def _rest(demand: Demand, order: Int64s, starts: Int64s, count: int) -> float:
    """The share of the records of a few blocks that plans leave to plain groups."""
    tried = [
        demand.values[order[starts[block] : starts[block + 1]]] for block in tried_blocks(starts)
    ]
    return rest_of(demand, tried, count)


def tried_blocks(starts: Int64s) -> Int64s:
    """A few blocks by which to judge a cut."""
    return np.unique(np.linspace(0, len(starts) - 2, _TRIED_BLOCKS).astype(np.int64))


def rest_of(demand: Demand, blocks: Sequence[Int32s], count: int) -> float:
    """The share of the records that plans leave to plain groups, from each block's values."""
    marks = _marks_of_values(demand)
    values = Values(marks, demand.caps, np.empty((len(marks), 0)), demand.degree)
    left = 0
    for block in blocks:
        counts = np.bincount(block, minlength=len(marks)).astype(np.int64)
        left += int(make_plan(counts, values, count).group.sum())
    return left / sum(map(len, blocks))


def _eligible(marks: Int32s, demand: Demand) -> bool:
    counts = np.bincount(marks.ravel(), minlength=len(demand.caps))
    return bool(np.all(counts <= demand.allowed(len(marks))))


def draw_scouts(demand: Demand, lots: Int64s, count: int) -> Int64s:
    """Rows that are finished first: of every value the same share, by lot; none if too few.

    Both the scouts and the others have to keep the caps; the counts alone decide.
    """
    values = demand.values
    counts = np.bincount(values)
    taken = np.floor(counts * _SCOUTS).astype(np.int64)
    marks = _marks_of_values(demand)
    for part in (taken, counts - taken):
        totals = np.zeros(len(demand.caps), np.int64)
        for system in range(marks.shape[1]):
            np.add.at(totals, marks[:, system], part)
        if np.any(totals > allowed(demand.caps, int(part.sum()))):
            return np.empty(0, np.int64)
    if taken.sum() < max(_FEWEST_SCOUTS, _FEWEST_SCOUTS_PER_BUCKET * count):
        return np.empty(0, np.int64)
    by_value = lots[np.argsort(values[lots], kind="stable")]
    rank = np.arange(len(lots)) - np.repeat(np.cumsum(counts) - counts, counts)
    return by_value[rank < np.repeat(taken, counts)]


def _marks_of_values(demand: Demand) -> Int32s:
    """The marks of every (joint) sensitive value, [values, systems]."""
    marks = np.zeros((int(demand.marks[:, 0].max()) + 1, demand.marks.shape[1]), np.int32)
    marks[demand.marks[:, 0]] = demand.marks
    return marks


def _arrange_part(
    table: _Table, order: Int64s, profiles: Float64s, effort: Effort, starts: Int64s | None = None
) -> _Part:
    """Arrange the records of ``order`` in blocks (steps 2 and 3)."""
    records, demand, count = table.records, table.demand, table.buckets
    if starts is None:
        starts = np.array([0, len(order)], np.int64)
    values = Values(_marks_of_values(demand), demand.caps, profiles, demand.degree)
    layout = fill_blocks(order, starts, table.lots, demand.values, values, count)
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
    return _Part(_graph(layout, preimages, count), len(order) - layout.in_buckets, refinement)


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
