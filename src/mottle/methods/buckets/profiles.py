"""Where among the quasi-identifiers each sensitive value lies, as far as that is public.

Which values share a bucket is chosen so that buckets become similar. That choice must not depend on
which record has which value; it may use counts per block, which stay the same when values are
distributed differently inside blocks, and what has already been published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mottle.encoding.cover import CoverCells, NodeCells, RangeCells, SetCells, WorldCells, cover
from mottle.encoding.domain import Codes, Domain, Form
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import frequent_items
from mottle.typing import Float64Array, Int32Array, Int64Array

_LARGEST_DOMAIN = 100  # most values of a column whose shares are part of profiles
_ITEMS = 100  # number of most frequent items whose shares are part of profiles
_DOUBT = 10  # number of records of a value at which its profile counts half


class Gathered(NamedTuple):
    """Sums of features over the records of each value, and over all records."""

    sums: Float64Array  # [values, features]
    seen: Int64Array  # [values]: number of records of each value
    everybody: Float64Array  # [features]
    records: int  # number of all records

    @classmethod
    def total(cls, parts: Sequence[Gathered]) -> Gathered:
        """Add up several parts of a table."""
        sums, seen, everybody, records = zip(*parts, strict=True)
        return cls(sum(sums), sum(seen), sum(everybody), sum(records))

    def profiles(self) -> Float64Array:
        """Mean features of the records of each value, minus those of all records."""
        seen = self.seen[:, None]
        difference = self.sums / np.maximum(seen, 1) - self.everybody / self.records
        return np.where(seen > 0, difference * (seen / (seen + _DOUBT)), 0.0)


def profiles_by_block(
    codes: Codes, demand: Demand, order: Int64Array, starts: Int64Array
) -> Float64Array:
    """Profiles [values, features] from how often each value occurs in each block."""
    count = int(demand.sensitive_codes[:, 0].max()) + 1
    return gather_by_block(codes, demand.values[order], order, starts, count).profiles()


def gather_by_block(
    codes: Codes, values: Int32Array, order: Int64Array, starts: Int64Array, count: int
) -> Gathered:
    """Sum features over records, each with those of its block; ``values`` are along the order."""
    features = block_features(codes, order, starts)
    lengths = np.diff(starts)
    block_of = np.repeat(np.arange(len(lengths)), lengths)
    times = csr_array((np.ones(len(values)), (values, block_of)), shape=(count, len(lengths)))
    seen = np.bincount(values, minlength=count)
    return Gathered(np.asarray(times @ features), seen, lengths @ features, int(lengths.sum()))


def block_features(codes: Codes, order: Int64Array, starts: Int64Array) -> Float64Array:
    """Features [blocks, features]: where among the quasi-identifiers each block lies."""
    columns = [
        _means(domain, codes.matrix[order, column], starts)
        for column, domain in enumerate(codes.domains)
        if _is_used(domain)
    ]
    return np.concatenate([np.zeros((len(starts) - 1, 1)), *columns], axis=1)


def profiles_by_release(
    codes: Codes, demand: Demand, graph: Graph, truth: Int32Array
) -> Float64Array:
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
    return domain.form in (Form.RANGE, Form.WORLDS) or domain.size <= _LARGEST_DOMAIN


def _weight(domain: Domain) -> float:
    """Weight of a column: mixing values costs more in columns with few values."""
    return float(1 / np.sqrt(max(domain.size - 1, 1)))


def _means(domain: Domain, column: Int32Array, starts: Int64Array) -> Float64Array:
    """Mean position, or the shares of a column's values or items, in every block."""
    lengths = np.diff(starts)
    if domain.sets is not None:
        held = frequent_items(domain.sets.sets, domain.sets.sets.take(column), _ITEMS)
        return np.asarray(np.add.reduceat(held, starts[:-1], axis=0) / lengths[:, None])
    if domain.form is Form.RANGE:
        totals = np.add.reduceat(2 * domain.positions[column], starts[:-1])
        return np.asarray(totals / lengths)[:, None]
    block_of = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.bincount(block_of * domain.size + column, minlength=len(lengths) * domain.size)
    return np.asarray(counts.reshape(-1, domain.size) / lengths[:, None] * _weight(domain))


def _expected(cells: CoverCells, domain: Domain) -> Float64Array:
    """Features of published cells, each distributed evenly over the values it may stand for."""
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
        case WorldCells():
            assert domain.sets is not None
            bases = domain.sets.sets._replace(starts=cells.base.offsets, items=cells.base.values)
            return frequent_items(domain.sets.sets, bases, _ITEMS)


def profiles(demand: Demand, values: Int32Array, features: Float64Array) -> Float64Array:
    """Mean features of the records of each value, minus those of all records."""
    count = int(demand.sensitive_codes[:, 0].max()) + 1
    sums = np.zeros((count, features.shape[1]))
    np.add.at(sums, values, features)
    seen = np.bincount(values, minlength=count)
    return Gathered(sums, seen, features.sum(axis=0), len(features)).profiles()
