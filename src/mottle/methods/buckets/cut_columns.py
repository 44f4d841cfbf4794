"""Quasi-identifiers as the tree of cuts sees them: columns of small codes, ordered or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mottle.kernels.ncp_growth import BITS, NODE, RANGE, Scales
from mottle.kernels.vote_growth import ItemLists
from mottle.typing import Float64Array, Int8Array, Int32Array

_MOST_ITEMS = 64  # items of a set-valued column that nodes may be cut by


class CutColumn(NamedTuple):
    """One column by which nodes may be cut."""

    source: int  # the column of the records' codes
    size: int  # codes are below it
    positions: Float64Array | None  # [size], ascending, in units of loss; None: not ordered
    step: float  # not ordered: loss of two records that differ
    holds: Int8Array | None = None  # set-valued: by code, whether the set has a certain item

    def of(self, matrix: Int32Array) -> Int32Array:
        """The codes of some records [n, d] in this column."""
        codes = np.ascontiguousarray(matrix[:, self.source])
        return codes if self.holds is None else self.holds[codes].astype(np.int32)


def cut_columns(matrix: Int32Array, metric: Scales) -> tuple[CutColumn, ...]:
    """The columns of records whose loss is ``metric``.

    A set-valued column becomes one column for each of its items that vary most in ``matrix``, which
    holds these records or some of them.
    """
    found: list[CutColumn] = []
    ends = np.append(metric.offset[1:], metric.domain_total)
    for source, form in enumerate(metric.form):
        first, size = metric.offset[source], int(ends[source] - metric.offset[source])
        if form == BITS:
            assert metric.lists is not None
            found += _item_columns(matrix[:, source], source, metric.lists)
        elif form == RANGE:
            positions = np.maximum.accumulate(metric.position[first : first + size])
            found.append(CutColumn(source, size, positions, 0.0))
        elif form == NODE:
            positions = _along_tree(metric.node[first : first + size], metric)
            found.append(CutColumn(source, size, positions, 0.0))
        else:
            found.append(CutColumn(source, size, None, float(metric.step[source])))
    return tuple(found)


def codes_of(columns: Sequence[CutColumn], matrix: Int32Array) -> Int32Array:
    """[columns, n]: the codes of records [n, d]."""
    return np.stack([column.of(matrix) for column in columns])


def _along_tree(nodes: Int32Array, metric: Scales) -> Float64Array:
    """Positions along the leaves of a tree, far apart where a high node is their lowest common."""
    gaps = np.zeros(len(nodes))
    for code in range(1, len(nodes)):
        node = nodes[code - 1]
        while metric.last_leaf[node] < code and metric.parent[node] != node:
            node = metric.parent[node]
        gaps[code] = metric.penalty[node]
    total = gaps.sum()
    return np.cumsum(gaps) * (gaps.max() / total if total else 0.0)


def _item_columns(codes: Int32Array, source: int, lists: ItemLists) -> list[CutColumn]:
    """One column for each item that varies most: whether the record holds it."""
    first = int(lists.rows[source])
    later = lists.rows[lists.rows > first]
    number = int(later.min() if len(later) else len(lists.starts) - 1) - first
    starts = lists.starts[first : first + number + 1]
    items = lists.items[starts[0] : starts[-1]]
    owner = np.repeat(np.arange(number), np.diff(starts))
    times = np.bincount(codes, minlength=number)
    share = np.bincount(items, weights=times[owner]) / max(len(codes), 1)
    made = []
    for item in np.argsort(-share * (1 - share), kind="stable")[:_MOST_ITEMS]:
        holds = np.zeros(number, np.int8)
        holds[owner[items == item]] = 1
        made.append(CutColumn(source, 2, None, float(lists.step[source]), holds))
    return made
