"""Repeats draws on the same graph, to see what else could have been drawn, and how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mottle.assignment import DRAWS, assign
from mottle.audit.containment.coded_columns import offsets_of
from mottle.audit.containment.compact import concatenate_ranges
from mottle.audit.links.edges import Edges, Subgraph, subgraph_of_records
from mottle.graph.model import Graph, is_order
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils.compiled import kernel
from mottle.utils.csprng import Secret


@dataclass(frozen=True, repr=False)
class Redraw:
    """Edges as a graph that can be drawn again in the way the release was drawn."""

    graph: Graph
    draw: str
    records: Int64Array  # [positions]: the published record at each position
    people: Int64Array  # [positions]: the original at each position

    def record_of_person(self, seed: int) -> Int64Array:
        """For each original: the record that a fresh draw gives it."""
        drawn = assign(self.graph, Secret.draw(seed=seed), self.draw)
        record_of = np.empty(len(drawn), np.int64)
        record_of[self.people[drawn]] = self.records
        return record_of


def prepare_redraw(edges: Edges, draw: str) -> Redraw | None:
    """Prepare edges for drawing again; None when they cannot come from the given ``draw``.

    The layer of its true original shows which bucket a record was published for: a bucket has one
    such layer, and permuting buckets again does not need their names.
    """
    named = edges.clusters[edges.truth] if edges.blocks is None else edges.blocks
    numbers, of_record = np.unique(named, return_inverse=True)
    of_person = np.empty(edges.records, np.int64)
    of_person[edges.truth] = of_record
    sizes = np.bincount(of_record, minlength=len(numbers))
    degrees = np.zeros(len(numbers), np.int64)
    degrees[of_record] = edges.degrees
    complete = (degrees == sizes)[of_record]
    layer = np.where(complete, 0, _true_layers(edges))
    if (
        draw not in DRAWS
        or not np.array_equal(degrees[of_record], edges.degrees)
        or np.any(of_person[edges.originals] != of_record[edges.published])
        or not _fits(draw, of_record, layer, sizes, np.where(degrees == sizes, 1, degrees))
    ):
        return None
    records = np.lexsort((layer if draw == "buckets" else of_record, of_record))
    people = np.argsort(of_person, kind="stable")
    place = np.empty(edges.records, np.int64)
    place[people] = concatenate_ranges(np.zeros(len(sizes), np.int64), sizes)
    edge_order = concatenate_ranges(edges.offsets[records], edges.degrees[records])
    graph = Graph.explicit(
        np.arange(edges.records, dtype=np.int32),
        offsets_of(sizes),
        degrees.astype(np.int32),
        place[edges.originals[edge_order]].astype(np.int32),
    )
    redraw = Redraw(graph, "closed" if draw == "apart" else draw, records, people)
    return redraw if is_order(redraw.record_of_person(0)) else None


def _true_layers(edges: Edges) -> Int64Array:
    """For each record: the layer of its true original; -1 where no edge is the true one."""
    layers = np.full(edges.records, -1, np.int64)
    true = np.flatnonzero(edges.originals == edges.truth[edges.published])
    layers[edges.published[true]] = edges.layers[true]
    return layers


def _fits(
    draw: str, block: Int64Array, layer: Int64Array, sizes: Int64Array, layers: Int64Array
) -> bool:
    """Whether the true layers are those of whole buckets, or a single one for each block."""
    if layer.min() < 0:
        return False
    if draw not in ("buckets", "rotation"):
        return True
    keys, counts = np.unique(block * (int(layer.max()) + 1) + layer, return_counts=True)
    of_key = keys // (int(layer.max()) + 1)
    expected = sizes // layers if draw == "buckets" else sizes
    return np.array_equal(counts, expected[of_key])


def sample_blocks(
    part: Subgraph, most: int, seed: int, degree: int | None = None
) -> Subgraph | None:
    """Draw whole blocks at random with at most ``most`` edges; all of them if they fit.

    If ``degree`` is given, only blocks in which nobody has more matches are drawn.
    """
    edges = part.edges
    if len(edges.originals) <= most and (degree is None or edges.degrees.max() <= degree):
        return part
    numbers, of_record = np.unique(edges.clusters[edges.truth], return_inverse=True)
    sizes = np.bincount(of_record, edges.degrees)
    order = np.random.default_rng(seed).permutation(len(numbers))
    highest = np.zeros(len(numbers), np.int64)
    np.maximum.at(highest, of_record, edges.degrees)
    order = order[(sizes[order] <= most) & (highest[order] <= (degree or highest.max()))]
    fitting = order[np.cumsum(sizes[order]) <= most]
    chosen = subgraph_of_records(edges, np.flatnonzero(np.isin(of_record, fitting)))
    if chosen is None:
        return None
    return Subgraph(chosen.edges, part.records[chosen.records], part.people[chosen.people])


@kernel
def edges_leading_to(starts: Int64Array, records: Int32Array, record_of: Int64Array) -> Int64Array:
    """For each original: which of its edges leads to the given record."""
    found = np.empty(record_of.size, np.int64)
    for person in range(record_of.size):
        edge = starts[person]
        while records[edge] != record_of[person]:
            edge += 1
        found[person] = edge
    return found


@kernel
def describe_edges(
    starts: Int64Array, records: Int32Array, codes: Int32Array, overall: NDArray[np.float64]
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Describe the value of each edge, edges being grouped by original.

    Returns how often the value occurs among the original's matches, how many distinct values occur
    there, and how many of those are rarer in the whole table.
    """
    times = np.zeros(records.size, np.int32)
    kinds = np.zeros(records.size, np.int32)
    rarer = np.zeros(records.size, np.int32)
    tally = np.zeros(overall.size, np.int32)
    rank = np.zeros(overall.size, np.int32)
    present = np.empty(overall.size, np.int64)
    for person in range(starts.size - 1):
        distinct = 0
        for edge in range(starts[person], starts[person + 1]):
            code = codes[records[edge]]
            if code >= 0:
                if tally[code] == 0:
                    present[distinct] = code
                    distinct += 1
                tally[code] += 1
        for kind in range(distinct):
            value = present[kind]
            rank[value] = 0
            for other in range(distinct):
                rank[value] += overall[present[other]] < overall[value]
        for edge in range(starts[person], starts[person + 1]):
            code = codes[records[edge]]
            if code >= 0:
                times[edge], kinds[edge], rarer[edge] = tally[code], distinct, rank[code]
        for kind in range(distinct):
            tally[present[kind]] = 0
    return times, kinds, rarer


@kernel
def heaviest_edges(
    starts: Int64Array,
    records: Int32Array,
    codes: Int32Array,
    weights: NDArray[np.float64],
    values: int,
) -> tuple[BoolArray, Int64Array]:
    """The edges whose value has the largest weight of the original's, and the number of ties.

    Edges of weight 0 are never taken; all edges of a value have the same weight.
    """
    chosen = np.zeros(records.size, np.bool_)
    ties = np.zeros(starts.size - 1, np.int64)
    seen_by = np.full(values, -1, np.int64)
    for person in range(starts.size - 1):
        best = 0.0
        for edge in range(starts[person], starts[person + 1]):
            best = max(best, weights[edge])
        for edge in range(starts[person], starts[person + 1]):
            code = codes[records[edge]]
            if code >= 0 and best > 0 and weights[edge] >= best * (1 - 1e-12):
                chosen[edge] = True
                ties[person] += seen_by[code] != person
                seen_by[code] = person
    return chosen, ties
