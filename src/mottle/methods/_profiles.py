"""Where among the quasi-identifiers each sensitive value lies, as far as is public.

Which values share a bucket is chosen so that buckets become alike. That choice must not look at
who has what; it may use counts per block, which stay the same when values are dealt out otherwise
inside blocks, and what is published already.
"""

from __future__ import annotations

import numpy as np

from mottle.coding import Codes, Domain, Float64s, Form, Int32s
from mottle.cover import Cells, NodeCells, RangeCells, SetCells, cover
from mottle.graph import Graph, Int64s
from mottle.guarantees import Demand

_LARGEST_DOMAIN = 100  # values of a column whose shares enter the profile of a sensitive value
_DOUBT = 10  # records of a value below which its profile is not believed much


def profiles_by_block(codes: Codes, demand: Demand, order: Int64s, starts: Int64s) -> Float64s:
    """Profiles [values, features] from how often each value occurs in each block."""
    lengths = np.diff(starts)
    columns = [
        _means(domain, codes.matrix[order, column], starts)
        for column, domain in enumerate(codes.domains)
        if _is_used(domain)
    ]
    features = np.concatenate([np.zeros((len(lengths), 1)), *columns], axis=1)
    return profiles(demand, demand.values[order], np.repeat(features, lengths, axis=0))


def profiles_by_release(codes: Codes, demand: Demand, graph: Graph, truth: Int32s) -> Float64s:
    """Profiles [values, features] from a release: its cells, and the values published on them."""
    rows = graph.members
    part = Codes(codes.domains, codes.matrix[rows])
    published = cover(graph._replace(members=np.arange(len(rows), dtype=np.int32)), part)
    columns = [
        _expected(cells, domain)[published.row_of]
        for cells, domain in zip(published.cells, codes.domains, strict=True)
        if _is_used(domain)
    ]
    features = np.concatenate([np.zeros((len(rows), 1)), *columns], axis=1)
    return profiles(demand, demand.values[rows[truth]], features)


def _is_used(domain: Domain) -> bool:
    return domain.form is Form.RANGE or domain.size <= _LARGEST_DOMAIN


def _weight(domain: Domain) -> float:
    """Columns of few values lose more by mixing them, so they count more."""
    return float(1 / np.sqrt(max(domain.size - 1, 1)))


def _means(domain: Domain, column: Int32s, starts: Int64s) -> Float64s:
    """Mean position, or the shares of a column's values, in every block."""
    lengths = np.diff(starts)
    if domain.form is Form.RANGE:
        totals = np.add.reduceat(2 * domain.positions[column], starts[:-1])
        return np.asarray(totals / lengths)[:, None]
    block_of = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.bincount(block_of * domain.size + column, minlength=len(lengths) * domain.size)
    return np.asarray(counts.reshape(-1, domain.size) / lengths[:, None] * _weight(domain))


def _expected(cells: Cells, domain: Domain) -> Float64s:
    """Features of published cells, each spread evenly over the values it may stand for."""
    match cells:
        case RangeCells():
            low, high = np.maximum(cells.lowest, 0), np.maximum(cells.highest, 0)
            return (domain.positions[low] + domain.positions[high])[:, None]
        case SetCells():
            lengths = np.diff(cells.offsets)
            features = np.zeros((len(lengths), domain.size))
            row = np.repeat(np.arange(len(lengths)), lengths)
            features[row, cells.values] = np.repeat(_weight(domain) / lengths, lengths)
            return features
        case NodeCells():
            assert domain.hierarchy is not None
            first, last = domain.hierarchy.extents
            leaves = np.arange(domain.size)
            below = (leaves >= first[:, None]) & (leaves <= last[:, None])
            spread = below * (_weight(domain) / (last - first + 1))[:, None]
            return np.where(cells.nodes[:, None] >= 0, spread[cells.nodes], 0.0)


def profiles(demand: Demand, values: Int32s, features: Float64s) -> Float64s:
    """Mean features of the records of each value against those of all."""
    count = int(demand.marks[:, 0].max()) + 1
    sums = np.zeros((count, features.shape[1]))
    np.add.at(sums, values, features)
    seen = np.bincount(values, minlength=count)[:, None]
    apart = sums / np.maximum(seen, 1) - features.mean(axis=0)
    return np.where(seen > 0, apart * (seen / (seen + _DOUBT)), 0.0)
