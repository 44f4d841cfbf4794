"""From graph to published cells: the range, set, hierarchy node or worlds that cover all preimages.

Published records of a complete block are identical, so cells are kept once per *row* of the cover
and ``row_of`` says which row each published record has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mottle.encoding.domain import Codes, Domain, Form
from mottle.errors import PrivacyError
from mottle.graph.bit_voting import Votes, check_worlds, vote
from mottle.graph.model import Graph, preimage, rows_of
from mottle.itemsets.data import Sets
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils import parallel


@dataclass(frozen=True)
class RangeCells:
    """Ranges of one column; ``lowest`` = ``highest`` = -1 where only missing is possible."""

    lowest: Int32Array  # [rows] smallest code
    highest: Int32Array  # [rows] largest code
    missing: BoolArray  # [rows] whether the missing value is possible

    def take(self, rows: Int32Array) -> RangeCells:
        """The cells of the given rows."""
        return RangeCells(self.lowest[rows], self.highest[rows], self.missing[rows])


@dataclass(frozen=True)
class SetCells:
    """Sets of codes of one column, each ascending: row r has values[offsets[r]:offsets[r + 1]]."""

    offsets: Int64Array  # [rows + 1]
    values: Int32Array

    def take(self, rows: Int32Array) -> SetCells:
        """The cells of the given rows."""
        counts = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], counts)
        return SetCells(offsets, self.values[places])


@dataclass(frozen=True)
class NodeCells:
    """Hierarchy nodes of one column; -1 for the missing value alone."""

    nodes: Int32Array  # [rows]

    def take(self, rows: Int32Array) -> NodeCells:
        """The cells of the given rows."""
        return NodeCells(self.nodes[rows])


@dataclass(frozen=True)
class WorldCells:
    """Sets of items of one column, as bit voting publishes them (`mottle.graph.bit_voting`)."""

    base: SetCells  # items that most of the preimages hold that are not missing
    uncertain: SetCells  # items that some of these hold and others do not
    distance: Int32Array  # [rows] how many uncertain items may be otherwise than in the base
    known: BoolArray  # [rows] whether there is a set at all; not where only missing is possible
    missing: BoolArray  # [rows] whether the missing value is possible
    wrong: NDArray[np.float64]  # [rows] items told wrongly of a preimage, the mean over all

    def take(self, rows: Int32Array) -> WorldCells:
        """The cells of the given rows."""
        return WorldCells(
            self.base.take(rows),
            self.uncertain.take(rows),
            self.distance[rows],
            self.known[rows],
            self.missing[rows],
            self.wrong[rows],
        )


CoverCells = RangeCells | SetCells | NodeCells | WorldCells


@dataclass(frozen=True)
class Cover:
    """The published cells of all quasi-identifiers, in code form."""

    row_of: Int32Array  # [n]: the row of the cover each published record has
    block_of: Int32Array  # [rows]: the block of the graph a row belongs to
    place_of: Int32Array  # [rows]: the place in that block whose preimages the row covers
    cells: tuple[CoverCells, ...]  # one per quasi-identifier

    @property
    def multiplicity(self) -> Int64Array:
        """How many published records have each row."""
        return np.bincount(self.row_of, minlength=len(self.block_of))


def cover(graph: Graph, codes: Codes) -> Cover:
    """Cover the preimages of every published record. Cost O(n · degree · d)."""
    row_of, block_of, place_of = rows_of(graph)
    rows = len(block_of)
    ordered = codes.matrix[graph.members]  # preimages lie close together in memory

    def ranges(column: int, missing: int) -> RangeCells:
        lowest, highest = np.empty(rows, np.int32), np.empty(rows, np.int32)
        possible = np.empty(rows, np.bool_)
        parallel.over_rows(
            lambda first, last: _cover_ranges(
                graph,
                block_of,
                place_of,
                ordered,
                column,
                missing,
                first,
                last,
                lowest,
                highest,
                possible,
            ),
            rows,
        )
        return RangeCells(lowest, highest, possible)

    def sets(column: int) -> SetCells:
        parts = parallel.over_rows(
            lambda first, last: _cover_sets(
                graph, block_of, place_of, ordered, column, first, last
            ),
            rows,
        )
        counts = np.concatenate([counts for counts, _ in parts])
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return SetCells(offsets, np.concatenate([values for _, values in parts]))

    def cells(column: int, domain: Domain) -> CoverCells:
        if domain.form is Form.SET:
            return sets(column)
        if domain.form is Form.WORLDS:
            return _cover_worlds(graph, codes, column)
        extent = ranges(column, domain.missing)
        return nodes_of_ranges(extent, domain) if domain.form is Form.NODE else extent

    return Cover(
        row_of,
        block_of,
        place_of,
        tuple(cells(column, domain) for column, domain in enumerate(codes.domains)),
    )


def _cover_worlds(graph: Graph, codes: Codes, column: int) -> WorldCells:
    votes = vote(graph, *_sets_of_records(codes, column))
    degrees = graph.degrees[votes.block_of]
    return WorldCells(
        base=SetCells(votes.base_starts, votes.base),
        uncertain=SetCells(votes.uncertain_starts, votes.uncertain),
        distance=votes.distance,
        known=votes.voters > 0,
        missing=votes.voters < degrees,
        wrong=votes.wrong / degrees,
    )


def _sets_of_records(codes: Codes, column: int) -> tuple[Sets, BoolArray]:
    """The items of every record, and whether it has a set at all."""
    domain = codes.domains[column]
    assert domain.sets is not None
    own = codes.matrix[:, column]
    return domain.sets.sets.take(own), own != domain.missing


def nodes_of_ranges(extent: RangeCells, domain: Domain) -> NodeCells:
    """The lowest common ancestors of ranges of in-order leaves (FAST07 §2.1).

    Leaves are numbered in order, so the ancestor of the lowest and the highest is the ancestor of
    all between. The missing value hangs directly below the root.
    """
    assert domain.hierarchy is not None
    only_missing = extent.lowest < 0
    nodes = domain.hierarchy.common_ancestors(extent.lowest, extent.highest)
    nodes = np.where(extent.missing, domain.hierarchy.root, nodes)
    return NodeCells(np.where(only_missing, -1, nodes).astype(np.int32))


def check_covers(graph: Graph, codes: Codes, published: Cover) -> int:
    """Invariant 2: every published cell contains the values of all its preimages.

    Returns the number of cell-preimage pairs looked at, or raises `PrivacyError`.
    """
    stated = (published.row_of, published.block_of, published.place_of)
    if not all(map(np.array_equal, rows_of(graph), stated)):
        raise PrivacyError("Invariant 2: published records and rows of the cover do not agree.")
    rows = len(published.block_of)
    ordered = codes.matrix[graph.members]
    pairs = int((graph.degrees[published.block_of].astype(np.int64)).sum())
    if len(published.cells) != len(codes.domains):
        raise PrivacyError("Invariant 2: published columns and quasi-identifiers do not agree.")
    for column, (cells, domain) in enumerate(zip(published.cells, codes.domains, strict=True)):
        if not _is_well_formed(cells, rows, domain):
            raise PrivacyError(
                f"Invariant 2: the cells of column '{domain.name}' are not one for each row."
            )
        if isinstance(cells, WorldCells):
            _check_worlds(graph, codes, column, cells, published)
            continue
        allowed = _as_sets_or_ranges(cells, domain)
        uncovered = sum(
            parallel.over_rows(
                partial(
                    _uncovered,
                    graph,
                    published.block_of,
                    published.place_of,
                    ordered,
                    column,
                    domain.missing,
                    *allowed,
                ),
                rows,
            )
        )
        if uncovered:
            raise PrivacyError(
                f"Invariant 2: {uncovered} cells of column '{domain.name}' miss a preimage."
            )
    return pairs * len(codes.domains)


def _check_worlds(
    graph: Graph, codes: Codes, column: int, cells: WorldCells, published: Cover
) -> None:
    """Every preimage is a possible world, or missing where that is possible."""
    sets, present = _sets_of_records(codes, column)
    votes = Votes(
        published.row_of,
        published.block_of,
        published.place_of,
        cells.base.offsets,
        cells.base.values,
        cells.uncertain.offsets,
        cells.uncertain.values,
        np.where(cells.known, cells.distance, -1).astype(np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int64),
    )
    try:
        check_worlds(graph, sets, votes, present)
    except PrivacyError as error:
        name = codes.domains[column].name
        raise PrivacyError(f"{error.problem} This is column '{name}'.") from None
    rows = len(cells.missing)
    ordered = np.ascontiguousarray(np.where(present, 1, 0)[graph.members, None], np.int32)
    anything, nothing = np.ones(rows, np.int32), np.empty(0, np.int32)
    uncovered = parallel.over_rows(
        partial(
            _uncovered,
            graph,
            published.block_of,
            published.place_of,
            ordered,
            0,
            0,
            anything,
            anything,
            cells.missing,
            np.empty(0, np.int64),
            nothing,
        ),
        rows,
    )
    if sum(uncovered):
        raise PrivacyError(
            f"Invariant 2: {sum(uncovered)} cells of column '{codes.domains[column].name}' miss"
            " that a preimage is missing."
        )


def _is_well_formed(cells: CoverCells, rows: int, domain: Domain) -> bool:
    """Whether there is one cell for each row, so that kernels stay inside the arrays."""
    match cells:
        case RangeCells():
            return len(cells.lowest) == len(cells.highest) == len(cells.missing) == rows
        case SetCells():
            return _are_lists(cells, rows)
        case NodeCells():
            assert domain.hierarchy is not None
            return bool(
                len(cells.nodes) == rows and np.all(cells.nodes < len(domain.hierarchy.labels))
            )
        case WorldCells():
            assert domain.sets is not None
            items = np.concatenate([cells.base.values, cells.uncertain.values, [0]])
            return bool(
                _are_lists(cells.base, rows)
                and _are_lists(cells.uncertain, rows)
                and len(cells.distance) == len(cells.known) == len(cells.missing) == rows
                and items.min() >= 0
                and items.max() < max(domain.sets.universe, 1)
            )


def _are_lists(cells: SetCells, rows: int) -> bool:
    """Whether offsets cut the values into one list for each row."""
    ends = cells.offsets
    return bool(
        len(ends) == rows + 1
        and ends[0] == 0
        and ends[-1] == len(cells.values)
        and np.all(np.diff(ends) >= 0)
    )


def _as_sets_or_ranges(
    cells: RangeCells | SetCells | NodeCells, domain: Domain
) -> tuple[Int32Array, Int32Array, BoolArray, Int64Array, Int32Array]:
    """Cells in the terms of `_uncovered`: a code interval and missing flag, or a set of codes."""
    nothing = np.empty(0, np.int32)
    match cells:
        case RangeCells():
            return cells.lowest, cells.highest, cells.missing, np.empty(0, np.int64), nothing
        case SetCells():
            return nothing, nothing, np.empty(0, np.bool_), cells.offsets, cells.values
        case NodeCells():
            assert domain.hierarchy is not None
            first, last = domain.hierarchy.extents
            missing = (cells.nodes < 0) | (cells.nodes == domain.hierarchy.root)
            lowest = np.where(cells.nodes < 0, -1, first[cells.nodes]).astype(np.int32)
            highest = np.where(cells.nodes < 0, -1, last[cells.nodes]).astype(np.int32)
            return lowest, highest, missing, np.empty(0, np.int64), nothing


@njit(cache=True, nogil=True)
def _cover_ranges(
    graph: Graph,
    block_of: Int32Array,
    place_of: Int32Array,
    ordered: Int32Array,
    column: int,
    missing: int,
    first: int,
    last: int,
    lowest: Int32Array,
    highest: Int32Array,
    possible: BoolArray,
) -> None:
    for row in range(first, last):
        block = block_of[row]
        start = graph.starts[block]
        low, high, absent = np.int32(2**31 - 1), np.int32(-1), False
        for layer in range(graph.degrees[block]):
            code = ordered[start + preimage(graph, block, place_of[row], layer), column]
            if code == missing:
                absent = True
            else:
                low = min(low, code)
                high = max(high, code)
        lowest[row] = low if high >= 0 else -1
        highest[row] = high
        possible[row] = absent


@njit(cache=True, nogil=True)
def _cover_sets(
    graph: Graph,
    block_of: Int32Array,
    place_of: Int32Array,
    ordered: Int32Array,
    column: int,
    first: int,
    last: int,
) -> tuple[Int32Array, Int32Array]:
    counts = np.empty(last - first, np.int32)
    values = np.empty(max(4 * (last - first), 16), np.int32)
    filled = 0
    for row in range(first, last):
        block = block_of[row]
        start = graph.starts[block]
        degree = graph.degrees[block]
        while filled + degree > values.size:
            larger = np.empty(2 * values.size + degree, np.int32)
            for place in range(filled):
                larger[place] = values[place]
            values = larger
        codes = values[filled : filled + degree]
        for layer in range(degree):
            codes[layer] = ordered[start + preimage(graph, block, place_of[row], layer), column]
        distinct = _sort_distinct(codes)
        counts[row - first] = distinct
        filled += distinct
    return counts, values[:filled].copy()


@njit(cache=True, nogil=True)
def _sort_distinct(codes: Int32Array) -> int:
    """Sort ``codes`` in place, distinct ones to the front; returns how many there are."""
    distinct = 0
    if codes.size <= 64:  # insertion into the sorted front: few distinct values are the rule
        for code in codes.copy():
            place = distinct
            while place > 0 and codes[place - 1] > code:
                place -= 1
            if place > 0 and codes[place - 1] == code:
                continue
            for shifted in range(distinct, place, -1):
                codes[shifted] = codes[shifted - 1]
            codes[place] = code
            distinct += 1
        return distinct
    _sort(codes)
    for code in codes:
        if distinct == 0 or code != codes[distinct - 1]:
            codes[distinct] = code
            distinct += 1
    return distinct


@njit(cache=True, nogil=True)
def _sort(codes: Int32Array) -> None:
    """Shell's sort: NumPy's own takes seconds to compile, this a fraction, and sets are small."""
    gap = codes.size
    while gap > 1:
        gap = max(gap * 5 // 11, 1)
        for place in range(gap, codes.size):
            code = codes[place]
            while place >= gap and codes[place - gap] > code:
                codes[place] = codes[place - gap]
                place -= gap
            codes[place] = code


@njit(cache=True, nogil=True)
def _uncovered(
    graph: Graph,
    block_of: Int32Array,
    place_of: Int32Array,
    ordered: Int32Array,
    column: int,
    missing: int,
    lowest: Int32Array,
    highest: Int32Array,
    possible: BoolArray,
    offsets: Int64Array,
    values: Int32Array,
    first: int,
    last: int,
) -> int:
    """Count cells that miss one of their preimages."""
    uncovered = 0
    for row in range(first, last):
        block = block_of[row]
        start = graph.starts[block]
        for layer in range(graph.degrees[block]):
            code = ordered[start + preimage(graph, block, place_of[row], layer), column]
            if offsets.size > 0:
                inside = values[offsets[row] : offsets[row + 1]]
                found = np.searchsorted(inside, code)
                covered = found < inside.size and inside[found] == code
            elif code == missing:
                covered = possible[row]
            else:
                covered = lowest[row] <= code <= highest[row]
            if not covered:
                uncovered += 1
                break
    return uncovered
