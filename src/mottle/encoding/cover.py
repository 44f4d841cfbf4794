"""From graph to published cells: the range, set, hierarchy node or worlds that cover all preimages.

Published records of a complete block are identical, so cells are kept once per *row* of the cover
and ``row_of`` says which row each published record has. The form of a column (`mottle.kinds.forms`)
decides what covers its preimages; this module gives all forms what they need from the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mottle.encoding.domain import Codes
from mottle.errors import PrivacyError
from mottle.graph.bit_voting import Votes, check_worlds, vote
from mottle.graph.model import Graph, preimage, rows_of
from mottle.itemsets.data import Sets
from mottle.kinds.forms.base import Cells
from mottle.kinds.forms.node import NodeCells as NodeCells
from mottle.kinds.forms.range import RangeCells as RangeCells
from mottle.kinds.forms.set import SetCells as SetCells
from mottle.kinds.forms.worlds import WorldCells as WorldCells
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

CoverCells = Cells


@dataclass(frozen=True)
class Cover:
    """The published cells of all quasi-identifiers, in code form."""

    row_of: Int32Array  # [n]: the row of the cover each published record has
    block_of: Int32Array  # [rows]: the block of the graph a row belongs to
    place_of: Int32Array  # [rows]: the place in that block whose preimages the row covers
    cells: tuple[Cells, ...]  # one per quasi-identifier

    @property
    def multiplicity(self) -> Int64Array:
        """How many published records have each row."""
        return np.bincount(self.row_of, minlength=len(self.block_of))


def cover(graph: Graph, codes: Codes) -> Cover:
    """Cover the preimages of every published record. Cost O(n · degree · d)."""
    rows = _Rows(graph, codes, *rows_of(graph))
    cells = tuple(
        domain.form.cover(_ColumnPreimages(rows, column), domain)
        for column, domain in enumerate(codes.domains)
    )
    return Cover(rows.row_of, rows.block_of, rows.place_of, cells)


def check_covers(graph: Graph, codes: Codes, published: Cover) -> int:
    """Check invariant 2: every published cell contains the values of all its preimages.

    Returns the number of cell-preimage pairs checked, or raises `PrivacyError`.
    """
    stated = (published.row_of, published.block_of, published.place_of)
    if not all(map(np.array_equal, rows_of(graph), stated)):
        raise PrivacyError("Invariant 2: published records and rows of the cover do not agree.")
    rows = _Rows(graph, codes, *stated)
    pairs = int((graph.degrees[published.block_of].astype(np.int64)).sum())
    if len(published.cells) != len(codes.domains):
        raise PrivacyError("Invariant 2: published columns and quasi-identifiers do not agree.")
    for column, (cells, domain) in enumerate(zip(published.cells, codes.domains, strict=True)):
        if not cells.is_well_formed(len(published.block_of), domain):
            raise PrivacyError(
                f"Invariant 2: the cells of column '{domain.name}' are not one for each row."
            )
        problem = cells.check(_ColumnPreimages(rows, column), domain)
        if problem is not None:
            raise PrivacyError(problem)
    return pairs * len(codes.domains)


@dataclass(frozen=True)
class _Rows:
    """The rows of a cover and where their preimages lie."""

    graph: Graph
    coded: Codes
    row_of: Int32Array  # [n]
    block_of: Int32Array  # [rows]
    place_of: Int32Array  # [rows]

    @cached_property
    def ordered(self) -> Int32Array:
        """Codes along the graph's members, where preimages lie close together in memory."""
        return self.coded.matrix.take(self.graph.members, axis=0)


@dataclass(frozen=True)
class _ColumnPreimages:
    """The preimages of every row, seen from one column: `mottle.kinds.forms.base.Preimages`."""

    rows: _Rows
    column: int

    @property
    def codes(self) -> Int32Array:
        """[n]: the code of every record."""
        return self.rows.coded.matrix[:, self.column]

    def extents(self, missing: int) -> tuple[Int32Array, Int32Array, BoolArray]:
        """[rows] each: lowest and highest code, -1 for none, and whether one is missing."""
        rows, count = self.rows, len(self.rows.block_of)
        lowest, highest = np.empty(count, np.int32), np.empty(count, np.int32)
        possible = np.empty(count, np.bool_)
        ordered = rows.ordered
        parallel.over_rows(
            lambda first, last: _cover_ranges(
                rows.graph,
                rows.block_of,
                rows.place_of,
                ordered,
                self.column,
                missing,
                first,
                last,
                lowest,
                highest,
                possible,
            ),
            count,
        )
        return lowest, highest, possible

    def distinct(self) -> tuple[Int64Array, Int32Array]:
        """The distinct codes of every row, ascending, and where those of each row begin."""
        rows, ordered = self.rows, self.rows.ordered
        has_many = rows.graph.degrees.max(initial=0) > _FEW
        codes = rows.coded.domains[self.column].size if has_many else 0
        parts = parallel.over_rows(
            lambda first, last: _cover_sets(
                rows.graph, rows.block_of, rows.place_of, ordered, self.column, codes, first, last
            ),
            len(rows.block_of),
        )
        counts = np.concatenate([counts for counts, _ in parts])
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return offsets, np.concatenate([values for _, values in parts])

    def votes(self, sets: Sets, present: BoolArray) -> tuple[Votes, Int32Array]:
        """Return the preimages' votes on items, row by row, and the number of preimages."""
        votes = vote(self.rows.graph, sets, present)
        return votes, self.rows.graph.degrees[votes.block_of]

    def outside_extents(
        self, missing: int, lowest: Int32Array, highest: Int32Array, possible: BoolArray
    ) -> int:
        """Count rows with a preimage outside their ends, or with an unreported missing one."""
        return self._outside(
            self.rows.ordered, self.column, missing, lowest, highest, possible, *_NO_SETS
        )

    def outside_sets(self, offsets: Int64Array, values: Int32Array) -> int:
        """Count rows that have a preimage that is not in their set."""
        return self._outside(self.rows.ordered, self.column, -1, *_NO_EXTENTS, offsets, values)

    def check_votes(
        self,
        base: tuple[Int64Array, Int32Array],
        uncertain: tuple[Int64Array, Int32Array],
        distance: Int32Array,
        sets: Sets,
        present: BoolArray,
    ) -> None:
        """Raise `PrivacyError` unless every preimage is a possible world of its row."""
        votes = Votes(
            self.rows.row_of,
            self.rows.block_of,
            self.rows.place_of,
            *base,
            *uncertain,
            distance,
            np.empty(0, np.int32),
            np.empty(0, np.int64),
        )
        check_worlds(self.rows.graph, sets, votes, present)

    def unreported_missing(self, present: BoolArray, missing: BoolArray) -> int:
        """Count rows that have a preimage without a set and do not report it."""
        has_set = np.where(present, 1, 0)[self.rows.graph.members, None]
        anything = np.ones(len(missing), np.int32)
        return self._outside(
            np.ascontiguousarray(has_set, np.int32), 0, 0, anything, anything, missing, *_NO_SETS
        )

    def _outside(
        self,
        ordered: Int32Array,
        column: int,
        missing: int,
        lowest: Int32Array,
        highest: Int32Array,
        possible: BoolArray,
        offsets: Int64Array,
        values: Int32Array,
    ) -> int:
        counted: list[int] = parallel.over_rows(
            partial(
                _uncovered,
                self.rows.graph,
                self.rows.block_of,
                self.rows.place_of,
                ordered,
                column,
                missing,
                lowest,
                highest,
                possible,
                offsets,
                values,
            ),
            len(self.rows.block_of),
        )
        return sum(counted)


_FEW = 64  # preimages up to which distinct codes are inserted one by one
_NO_SETS = (np.empty(0, np.int64), np.empty(0, np.int32))
_NO_EXTENTS = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.bool_))


@kernel
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


@kernel
def _cover_sets(
    graph: Graph,
    block_of: Int32Array,
    place_of: Int32Array,
    ordered: Int32Array,
    column: int,
    codes: int,
    first: int,
    last: int,
) -> tuple[Int32Array, Int32Array]:
    """Return how many distinct codes each row has, and these; ``codes`` only if some has many."""
    counts = np.empty(last - first, np.int32)
    values = np.empty(max(4 * (last - first), 16), np.int32)
    seen = np.zeros(codes, np.int32)  # by code: 1 + the last row with many preimages that has it
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
        distinct = 0
        for layer in range(degree):
            code = ordered[start + preimage(graph, block, place_of[row], layer), column]
            place = filled + distinct
            if degree > _FEW:
                if seen[code] == row + 1:
                    continue
                seen[code] = row + 1
            else:  # into the sorted front: most rows have few distinct values
                while place > filled and values[place - 1] > code:
                    place -= 1
                if place > filled and values[place - 1] == code:
                    continue
                for shifted in range(filled + distinct, place, -1):
                    values[shifted] = values[shifted - 1]
            values[place] = code
            distinct += 1
        if degree > _FEW:
            _sort(values[filled : filled + distinct])
        counts[row - first] = distinct
        filled += distinct
    return counts, values[:filled].copy()


@inner_kernel
def _sort(codes: Int32Array) -> None:
    """Shellsort: NumPy's sort takes seconds to compile, this a fraction, and sets are small."""
    gap = codes.size
    while gap > 1:
        gap = max(gap * 5 // 11, 1)
        for place in range(gap, codes.size):
            code = codes[place]
            while place >= gap and codes[place - gap] > code:
                codes[place] = codes[place - gap]
                place -= gap
            codes[place] = code


@kernel
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
                # By halves: searchsorted would be five more functions to compile.
                low, high = offsets[row], offsets[row + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if values[middle] < code:
                        low = middle + 1
                    else:
                        high = middle
                covered = low < offsets[row + 1] and values[low] == code
            elif code == missing:
                covered = possible[row]
            else:
                covered = lowest[row] <= code <= highest[row]
            if not covered:
                uncovered += 1
                break
    return uncovered
