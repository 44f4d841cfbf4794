"""Buckets: every sensitive guarantee without a leak, by permuting buckets instead of records. Ours.

HET's idea is kept: records in μ buckets by sensitive value, every published record with one
preimage in each bucket. What differs is that no step looks at quasi-identifiers and sensitive
values together (docs/guarantees.md has the proof; the steps there have the same numbers):

1. Blocks are cut along an order of the quasi-identifiers, all of the same size. How many is one
   decision for the whole table: as many as leave every block within the caps.
2. Buckets are planned from each block's counts (`mottle.bucket_plan`) and filled by lot. A plan
   may use what is public: how often values occur in each block and, where blocks are too few to
   tell, what the release of a few *scouts*, records drawn by lot and finished first, says.
3. Buckets are numbered by lot, and matched by quasi-identifiers alone.
4. One random permutation of each table's buckets decides who is who (`Draw.BUCKETS`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mottle.bucket_plan import Values
from mottle.coding import Codes, Float64s, Form, Int32s
from mottle.cover import Cells, NodeCells, RangeCells, SetCells, cover
from mottle.graph import Graph, Int64s, join
from mottle.growth import scales
from mottle.guarantees import BetaLikeness, Caps, Demand, LDiversity, allowed
from mottle.methods._pile_matching import match_piles
from mottle.methods._piles import Layout, fill_blocks
from mottle.methods._registry import Arrangement, Draw, Effort, register
from mottle.orders import by_cardinality, lexicographic
from mottle.refinement import mean_loss, refine, table_orders

_SMALLEST_BLOCK = 400  # records: smaller blocks leave less choice …
_SMALLEST_BUCKET = 60  # … and smaller buckets more remainder
_FEWEST_BLOCKS = 6  # that tell enough about where sensitive values lie
_SCOUTS = 0.04  # share of the records that go first where blocks are fewer …
_FEWEST_SCOUTS = 300  # … unless these would be too few to tell anything …
_FEWEST_SCOUTS_PER_BUCKET = 30  # … or to be matched well
_SCOUTING = 2.0  # seconds for improving the scouts' release
_LARGEST_DOMAIN = 100  # values of a column whose shares enter the profile of a sensitive value
_DOUBT = 10  # records of a value below which its profile is not believed much


@register(
    "buckets",
    title="sensitive values in buckets, matched by quasi-identifiers, buckets permuted at random",
    paper="mottle, after HET",
    guarantees=(LDiversity, BetaLikeness, Caps),
    cost="O(n · μ · block · d) time, refinement as long as you let it; O(n · (μ + d)) memory",
)
def buckets(codes: Codes, demand: Demand, effort: Effort) -> Arrangement:
    """Cut blocks, plan and fill buckets, match them, refine; μ is the smallest that caps allow."""
    lots = effort.lots(codes.records)
    count = bucket_count(demand)
    order = lots[  # equal quasi-identifiers in the order of their lots
        lexicographic(codes.matrix[lots], codes.sizes, by_cardinality(codes.sizes))
    ]
    table = _Table(codes, demand, order, lots, count)
    starts = deepest_cut(demand, order, count)
    parts: list[_Part] = []
    if len(starts) > _FEWEST_BLOCKS:
        profiles = _profiles_by_block(codes, demand, order, starts)
    else:
        profiles = np.empty((len(_marks_of_values(demand)), 0))
        scouts = draw_scouts(demand, lots, count)
        if len(scouts):
            is_scout = np.zeros(codes.records, np.bool_)
            is_scout[scouts] = True
            first, order = order[is_scout[order]], order[~is_scout[order]]
            seconds = _SCOUTING if effort.seconds != 0 else 0
            scouted = _arrange_part(table, first, profiles, Effort(seconds, effort.seed))
            parts.append(scouted)
            profiles = _profiles_by_release(
                codes, demand, scouted.graph, effort.preview(scouted.graph)
            )
            starts = deepest_cut(demand, order, count)
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


class _Table(NamedTuple):
    """What is the same for all parts of a run."""

    codes: Codes
    demand: Demand
    order: Int64s
    lots: Int64s
    buckets: int  # μ


class _Part(NamedTuple):
    """Some of the records, arranged."""

    graph: Graph
    in_plain_groups: int
    refinement: object


def bucket_count(demand: Demand) -> int:
    """The fewest buckets that can hold every value at least once: no cap below 1/μ.

    >>> marks = np.array([[0], [0], [1]], np.int32)
    >>> bucket_count(Demand(2, marks, np.array([0.7, 0.35]), np.array([2, 1])))
    3
    """
    present = demand.counts > 0
    return max(demand.degree, int(np.ceil(1 / demand.caps[present].min() - 1e-9)))


def deepest_cut(demand: Demand, order: Int64s, count: int) -> Int64s:
    """Starts of the most blocks along the order that all keep the caps (step 1)."""
    most = max(len(order) // max(_SMALLEST_BLOCK, _SMALLEST_BUCKET * count), 1)
    marks = demand.marks[order]
    while most > 1:
        starts = np.linspace(0, len(order), most + 1).astype(np.int64)
        if all(_eligible(marks[first:last], demand) for first, last in pairwise(starts)):
            return starts
        most -= max(most // 40, 1)
    return np.array([0, len(order)], np.int64)


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
    codes, demand, count = table.codes, table.demand, table.buckets
    if starts is None:
        starts = np.array([0, len(order)], np.int64)
    values = Values(_marks_of_values(demand), demand.caps, profiles, demand.degree)
    layout = fill_blocks(order, starts, table.lots, demand.values, values, count)
    metric = scales(codes)
    ordered = np.ascontiguousarray(codes.matrix[layout.members])
    preimages = match_piles(metric, ordered, layout, count)
    refinement: object = None
    if layout.in_buckets and effort.seconds != 0:
        piles = layout.piles(count)
        orders = table_orders(ordered, codes.sizes)
        refined = refine(metric, ordered, orders, preimages, effort, piles=piles)
        refinement = {"passes": refined.passes, "ended": refined.ended}
    elif layout.in_buckets:
        effort.tell(mean_loss(metric, ordered, preimages))
    return _Part(_graph(layout, preimages, count), len(order) - layout.in_buckets, refinement)


def _graph(layout: Layout, preimages: Int32s, count: int) -> Graph:
    """Tables of buckets and complete plain groups as one explicit graph."""
    table_sizes, group_sizes = np.diff(layout.tables), np.diff(layout.groups)
    local = preimages - np.repeat(layout.tables[:-1], table_sizes)[:, None]
    complete = [np.tile(np.arange(size, dtype=np.int32), size) for size in group_sizes]
    return Graph.explicit(
        layout.members,
        np.concatenate([layout.tables, layout.groups[1:]]),
        np.concatenate([np.full(len(table_sizes), count), group_sizes]).astype(np.int32),
        np.concatenate([local.ravel().astype(np.int32), *complete]),
    )


def _profiles_by_block(codes: Codes, demand: Demand, order: Int64s, starts: Int64s) -> Float64s:
    """Where each sensitive value lies, as far as its counts per block tell.

    These counts stay the same when values are dealt out otherwise inside blocks: using them tells
    an adversary nothing.
    """
    columns = [
        _shares(codes.matrix[order, column], domain.size, np.diff(starts))
        if domain.form is not Form.RANGE
        else _mean(2 * domain.positions[codes.matrix[order, column]], starts)
        for column, domain in enumerate(codes.domains)
        if domain.form is Form.RANGE or domain.size <= _LARGEST_DOMAIN
    ]
    block_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return _profiles(
        demand.values[order],
        np.concatenate([[[0.0]] * (len(starts) - 1), *columns], axis=1)[block_of],
        demand,
    )


def _shares(column: Int32s, size: int, lengths: Int64s) -> Float64s:
    """Shares of a column's values in every block, those of few values weighing more."""
    block_of = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.bincount(block_of * size + column, minlength=len(lengths) * size)
    return counts.reshape(-1, size) / lengths[:, None] / np.sqrt(max(size - 1, 1))


def _mean(positions: Float64s, starts: Int64s) -> Float64s:
    return (np.add.reduceat(positions, starts[:-1]) / np.diff(starts))[:, None]


def _profiles_by_release(codes: Codes, demand: Demand, graph: Graph, truth: Int32s) -> Float64s:
    """Where each sensitive value lies, as far as the release of ``graph`` shows it."""
    rows = graph.members
    part = Codes(codes.domains, codes.matrix[rows])
    published = cover(graph._replace(members=np.arange(len(rows), dtype=np.int32)), part)
    columns = [
        _expected(cells, domain.size, domain.positions)
        for cells, domain in zip(published.cells, codes.domains, strict=True)
        if domain.form is Form.RANGE or domain.size <= _LARGEST_DOMAIN
    ]
    features = np.concatenate(
        [np.zeros((len(rows), 1)), *[c[published.row_of] for c in columns]], axis=1
    )
    return _profiles(demand.values[rows[truth]], features, demand)


def _expected(cells: Cells, size: int, positions: Float64s) -> Float64s:
    """Features of published cells, each spread evenly over the values it holds."""
    match cells:
        case RangeCells():
            middle = (
                positions[np.maximum(cells.lowest, 0)] + positions[np.maximum(cells.highest, 0)]
            )
            return middle[:, None]
        case SetCells():
            lengths = np.diff(cells.offsets)
            features = np.zeros((len(lengths), size))
            row = np.repeat(np.arange(len(lengths)), lengths)
            features[row, cells.values] = np.repeat(1 / lengths, lengths)
            return features / np.sqrt(max(size - 1, 1))
        case NodeCells():
            return np.zeros((len(cells.nodes), 1))


def _profiles(values: Int32s, features: Float64s, demand: Demand) -> Float64s:
    """Mean features of the records of each value against those of all."""
    count = int(demand.marks[:, 0].max()) + 1
    sums = np.zeros((count, features.shape[1]))
    np.add.at(sums, values, features)
    seen = np.bincount(values, minlength=count)[:, None]
    means = sums / np.maximum(seen, 1)
    return np.where(seen > 0, (means - features.mean(axis=0)) * (seen / (seen + _DOUBT)), 0.0)
