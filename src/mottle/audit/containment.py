"""Matches by containment: which originals lie inside which published records (NH10 §4).

Everything here is computed from the release and the original table. Values are coded and compared
anew; only the reading of tables and the hierarchies are shared with what made the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mottle import workers
from mottle.coding import Form
from mottle.errors import DataError, UsageError
from mottle.io.read import as_table
from mottle.release import PublishedColumn, Release
from mottle.schema import Kind

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

if TYPE_CHECKING:
    Matches = csr_array[np.bool_, tuple[int, int]]

_MISSING = 0  # the code of the missing value; all others are positive


def assignment_graph(original: object, release: Release) -> Matches:
    """All matches: entry [i, j] is true when original i lies inside published record j.

    Original rows are numbered as in ``original``, published records as in ``release.table``.

    Memory is O(matches + n); time is O(d) for every pair that agrees in the column with the fewest
    agreeing pairs. That is fine up to about 30,000 records; larger tables want an index over
    several columns.

    >>> import mottle
    >>> people = pa.table({"age": [30, 31, 50, 55]})
    >>> schema = mottle.Schema.of(quasi_identifying=["age"])
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(2), seed=1)
    >>> assignment_graph(people, release).sum(axis=0).tolist()
    [2, 2, 2, 2]
    """
    table = as_table(original)
    generalized = [column for column in release.columns if column.form is not None]
    if not generalized:
        raise UsageError("The release has no generalized column, so there is nothing to match.")
    if table.num_rows != release.table.num_rows:
        raise DataError(
            f"The original has {table.num_rows} rows and the release {release.table.num_rows}.",
            "Give the table the release was made from, with all its rows.",
        )
    coded = [_code_column(table, release.table, column) for column in generalized]
    coded.sort(key=_agreeing_pairs)
    return _join(coded)


def boolean_matrix(rows: NDArray[np.integer], columns: NDArray[np.integer], size: int) -> Matches:
    """The graph with the given distinct edges."""
    return csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=(size, size))


class _CodedColumn(NamedTuple):
    """Originals and published cells of one column in common integer codes.

    A cell is a list of disjoint code intervals, ascending: a range is one, a set one per member, a
    node the interval of its leaves; that the value may be missing is one more.
    """

    codes: Int32s  # [n]: of the originals
    offsets: Int64s  # [n + 1]: where the intervals of every cell begin
    lowest: Int32s  # first code of each interval
    highest: Int32s  # last code of each interval


def _code_column(original: pa.Table, published: pa.Table, column: PublishedColumn) -> _CodedColumn:
    if column.name not in original.column_names:
        raise DataError(
            f"The original has no column '{column.name}', which the release generalizes.",
            "Give the table the release was made from.",
        )
    values = _comparable(original.column(column.name).combine_chunks(), column)
    cells = published.column(column.name).combine_chunks()
    match column.form:
        case Form.RANGE:
            return _code_ranges(values, cells, column)
        case Form.SET:
            return _code_sets(values, cells)
        case _:
            return _code_nodes(values, cells, column)


def _comparable(values: pa.Array, column: PublishedColumn) -> pa.Array:
    """The originals in the type they were published in; a time is its day, NaN is missing."""
    target = pa.string() if column.form is Form.NODE else column.value_type
    try:
        values = pc.cast(values, target, safe=not pa.types.is_date(target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"Column '{column.name}' holds {values.type} values in the original and {target} values"
            " in the release.",
            "Give the table the release was made from.",
        ) from None
    if pa.types.is_floating(target):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, target), values)
        values = pc.add(values, pa.scalar(0.0, target))  # -0.0 and 0.0 are one value
    return values


def _code_ranges(values: pa.Array, cells: pa.StructArray, column: PublishedColumn) -> _CodedColumn:
    lowest, highest, missing = cells.flatten()
    if column.kind is Kind.ORDERED:
        codes, low, high = (_places(part, column) for part in (values, lowest, highest))
    else:
        codes, low, high = _ranks(values, lowest, highest)
    return _intervals(codes, low, high, _true_where(missing))


def _code_nodes(values: pa.Array, cells: pa.Array, column: PublishedColumn) -> _CodedColumn:
    hierarchy = column.hierarchy
    if hierarchy is None:
        raise UsageError(
            f"The release does not carry the hierarchy of column '{column.name}'.",
            "Read it from release.parquet, which does.",
        )
    nodes = _positions(cells, hierarchy.labels, column.name)
    leaves = _positions(values, hierarchy.leaves, column.name)
    first, last = hierarchy.extents
    only_missing = nodes < 0
    low = np.where(only_missing, _MISSING, first[nodes] + 1)
    high = np.where(only_missing, _MISSING, last[nodes] + 1)
    return _intervals(leaves + 1, low, high, only_missing | (nodes == hierarchy.root))


def _code_sets(values: pa.Array, cells: pa.ListArray) -> _CodedColumn:
    codes, members = _ranks(values, cells.flatten())
    sizes = pc.fill_null(pc.list_value_length(cells), 0).to_numpy().astype(np.int64)
    cell_of = np.repeat(np.arange(len(sizes)), sizes)
    members = members[np.lexsort((members, cell_of))]
    return _CodedColumn(codes, _offsets(sizes), members, members)


def _intervals(
    codes: NDArray[np.integer], low: NDArray[np.integer], high: NDArray[np.integer], missing: Bools
) -> _CodedColumn:
    """Cells of at most two intervals: the missing value, and low to high unless these are it."""
    parts = np.stack([missing, low != _MISSING], axis=1)
    lowest = np.stack([np.full(len(low), _MISSING), low], axis=1)[parts]
    highest = np.stack([np.full(len(high), _MISSING), high], axis=1)[parts]
    return _CodedColumn(
        codes.astype(np.int32),
        _offsets(parts.sum(axis=1)),
        lowest.astype(np.int32),
        highest.astype(np.int32),
    )


def _offsets(sizes: NDArray[np.integer]) -> Int64s:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _true_where(flags: pa.Array) -> Bools:
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), np.bool_)


def _ranks(*parts: pa.Array) -> tuple[Int32s, ...]:
    """Codes of all parts by rank among their distinct values together."""
    ends = np.cumsum([len(part) for part in parts])[:-1]
    together = pa.concat_arrays([pc.cast(part, parts[0].type) for part in parts])
    if pa.types.is_null(together.type):
        codes = np.zeros(len(together), np.int32)
    else:
        ranks = pc.rank(together, tiebreaker="dense").to_numpy().astype(np.int32)
        codes = np.where(_true_where(pc.is_valid(together)), ranks, np.int32(_MISSING))
    return tuple(np.split(codes, ends))


def _places(values: pa.Array, column: PublishedColumn) -> Int32s:
    """Codes of ordered categories by their place in the order."""
    if column.order is None:
        raise UsageError(
            f"The release does not carry the order of column '{column.name}'.",
            "Read it from release.parquet, which does.",
        )
    return _positions(pc.cast(values, pa.string()), column.order, column.name) + np.int32(1)


def _positions(values: pa.Array, known: tuple[str, ...], name: str) -> Int32s:
    """Positions of values among the known ones, -1 for missing."""
    found = pc.index_in(values, value_set=pa.array(known, pa.string()))
    if found.null_count > values.null_count:
        raise DataError(
            f"Column '{name}' has {found.null_count - values.null_count} values that the release"
            " does not know.",
            "Give the table the release was made from.",
        )
    return np.asarray(pc.fill_null(found, -1).to_numpy(), np.int32)


# ------------------------------------------------------------------------------------------- join


class _Coded(NamedTuple):
    """All columns for the kernel: the one whose values pick the candidates first."""

    codes: Int32s  # [n, d]
    offsets: Int64s  # [d, n + 1]: into lowest and highest
    lowest: Int32s
    highest: Int32s
    by_code: Int64s  # [n]: originals by their code in the first column
    starts: Int64s  # [codes + 1]: where the originals of each code of the first column begin


def _starts_of_codes(column: _CodedColumn) -> Int64s:
    largest = max(int(column.codes.max(initial=0)), int(column.highest.max(initial=0)))
    return _offsets(np.bincount(column.codes, minlength=largest + 1))


def _agreeing_pairs(column: _CodedColumn) -> int:
    """How many pairs of an original and a published record agree in the column."""
    starts = _starts_of_codes(column)
    return int((starts[column.highest + 1] - starts[column.lowest]).sum())


def _join(columns: list[_CodedColumn]) -> Matches:
    """The matches of all columns together."""
    sizes = _offsets(np.array([len(column.lowest) for column in columns]))
    coded = _Coded(
        codes=np.stack([column.codes for column in columns], axis=1),
        offsets=np.stack(
            [column.offsets + size for column, size in zip(columns, sizes, strict=False)]
        ),
        lowest=np.concatenate([column.lowest for column in columns]),
        highest=np.concatenate([column.highest for column in columns]),
        by_code=np.argsort(columns[0].codes, kind="stable").astype(np.int64),
        starts=_starts_of_codes(columns[0]),
    )
    records = len(coded.codes)
    parts = workers.over_rows(lambda first, last: _originals_inside(coded, first, last), records)
    counts = np.concatenate([counts for counts, _ in parts])
    originals = np.concatenate([originals for _, originals in parts])
    return boolean_matrix(originals, np.repeat(np.arange(records), counts), records)


@njit(cache=True, nogil=True)
def _originals_inside(coded: _Coded, first: int, last: int) -> tuple[Int64s, Int32s]:
    """Originals inside published records ``first .. last - 1``: their numbers, one after another.

    Only originals that agree in the first column are looked at.
    """
    counts = np.empty(last - first, np.int64)
    originals = np.empty(16 * (last - first), np.int32)
    filled = 0
    for record in range(first, last):
        filled_before = filled
        for interval in range(coded.offsets[0, record], coded.offsets[0, record + 1]):
            begin = coded.starts[coded.lowest[interval]]
            end = coded.starts[coded.highest[interval] + 1]
            if filled + end - begin > originals.size:
                larger = np.empty(2 * originals.size + end - begin, np.int32)
                larger[:filled] = originals[:filled]
                originals = larger
            for original in coded.by_code[begin:end]:
                if _lies_inside(coded, original, record):
                    originals[filled] = original
                    filled += 1
        counts[record - first] = filled - filled_before
    return counts, originals[:filled].copy()


@njit(cache=True, nogil=True)
def _lies_inside(coded: _Coded, original: int, record: int) -> bool:
    """Whether the original lies inside the record in every column after the first."""
    for column in range(1, coded.codes.shape[1]):
        code = coded.codes[original, column]
        begin, end = coded.offsets[column, record], coded.offsets[column, record + 1]
        # the last interval that begins at the code or before is the only one that may hold it
        interval = begin - 1 + np.searchsorted(coded.lowest[begin:end], code, side="right")
        if interval < begin or coded.highest[interval] < code:
            return False
    return True
