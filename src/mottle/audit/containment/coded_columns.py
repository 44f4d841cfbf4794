"""Originals and published cells in common integer codes, on which containment is decided.

Everything here is computed from the release and the original table. Values are encoded and compared
independently of the code that made the release; only the reading of tables and the hierarchies are
shared with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.audit.containment import coarsened
from mottle.audit.containment.item_lists import item_lists
from mottle.audit.containment.possible_worlds import members_of_cells, read_worlds_column
from mottle.encoding.domain import Form
from mottle.errors import DataError, UsageError
from mottle.itemsets.arrow import is_list
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.schema.model import SEPARATOR, Role
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.arrow import is_plain
from mottle.utils.compiled import kernel

MISSING = 0  # the code of the missing value; all others are positive


class CodedColumn(NamedTuple):
    """Originals and published cells of one column in common integer codes.

    A cell is a list of disjoint code intervals, ascending: a range is one interval, a set has one
    per member, a node is the interval of its leaves, and possible worlds have one per original set
    that is among them. If the value may be missing, that is one more interval.
    """

    codes: Int32Array  # [originals]
    offsets: Int64Array  # [records + 1]: where the intervals of each cell begin
    lowest: Int32Array  # first code of each interval
    highest: Int32Array  # last code of each interval


def code_columns(table: pa.Table, release: ReleaseData) -> list[CodedColumn]:
    """Encode all quasi-identifiers of a release and the values of the table it was made from."""
    known = quasi_identifiers(release)
    if not known:
        raise UsageError("The release has no quasi-identifier, so there is nothing to match.")
    return [_code_column(table, release.table, column) for column in known]


def quasi_identifiers(release: ReleaseData) -> list[PublishedColumn]:
    """The columns adversaries know of everybody, generalized or (Anatomy) published unchanged."""
    return [column for column in release.columns if column.role is Role.QUASI_IDENTIFYING]


def count_outside(columns: list[CodedColumn], originals: Int32Array, records: Int32Array) -> int:
    """Count the pairs of an original and a published record that do not match."""
    inside = np.ones(len(originals), np.bool_)
    for column in columns:
        parallel.over_rows(
            lambda first, last, column=column: _strike_outside(  # type: ignore[misc]
                column, originals, records, inside, first, last
            ),
            len(originals),
        )
    return int(np.count_nonzero(~inside))


@kernel
def _strike_outside(
    column: CodedColumn,
    originals: Int32Array,
    records: Int32Array,
    inside: BoolArray,
    first: int,
    last: int,
) -> None:
    """Mark the pairs ``first .. last - 1`` whose original lies outside the record's cell."""
    for pair in range(first, last):
        code = column.codes[originals[pair]]
        begin, end = column.offsets[records[pair]], column.offsets[records[pair] + 1]
        # only the last interval that begins at or before the code can contain it
        interval = begin - 1 + np.searchsorted(column.lowest[begin:end], code, side="right")
        if interval < begin or column.highest[interval] < code:
            inside[pair] = False


# ---------------------------------------------------------------------------- columns to integers


def _code_column(original: pa.Table, published: pa.Table, column: PublishedColumn) -> CodedColumn:
    if column.name not in original.column_names:
        raise DataError(
            f"The original has no column '{column.name}', which the release has.",
            "Give the table the release was made from.",
        )
    values = comparable_values(original.column(column.name).combine_chunks(), column)
    cells = published.column(column.name).combine_chunks()
    match column.form:
        case Form.RANGE:
            return _code_ranges(values, cells, column)
        case Form.SET:
            return _code_sets(values, cells)
        case Form.NODE:
            return _code_nodes(values, cells, column)
        case Form.WORLDS:
            worlds = read_worlds_column(values, cells, column.hierarchy)
            codes, offsets, members = members_of_cells(worlds)
            return CodedColumn(codes, offsets, members, members)
        case None:
            codes, exact = _ranks(values, comparable_values(cells, column))
            return CodedColumn(codes, np.arange(len(exact) + 1), exact, exact)
        case unknown:
            raise UsageError(f"The audit cannot read cells of the form '{unknown}'.")


def comparable_values(values: pa.Array, column: PublishedColumn) -> pa.Array:
    """The originals in the type they were published in; a time becomes its day, NaN missing."""
    if column.form is Form.WORLDS:
        return _item_sets(values, column)
    rule = {} if column.coarsening is None else column.coarsening.facts
    if coarsened.is_time(column.kind):
        return coarsened.times(values, rule)
    if pa.types.is_duration(values.type) and pa.types.is_integer(column.value_type):
        values = coarsened.durations(values, rule)
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


def _item_sets(values: pa.Array, column: PublishedColumn) -> pa.Array:
    """The originals' item sets as lists, from lists or from text."""
    if not is_list(values.type) and not is_plain(values.type):
        raise DataError(
            f"Column '{column.name}' holds {values.type} values in the original and sets of items"
            " in the release.",
            "Give the table the release was made from.",
        )
    separator = column.separator or SEPARATOR
    return item_lists(values, separator)


def _code_ranges(values: pa.Array, cells: pa.StructArray, column: PublishedColumn) -> CodedColumn:
    lowest, highest, missing = cells.flatten()
    if column.coarsening is not None and not coarsened.is_time(column.kind):
        rule = column.coarsening.facts
        if pa.types.is_integer(column.value_type):  # of a duration, whose values are in its unit
            rule = {name: fact for name, fact in rule.items() if name != "granularity"}
        values, lowest, highest = (
            coarsened.lower_ends(part, rule) for part in (values, lowest, highest)
        )
    if column.kind is not None and column.kind.has_order:
        codes, low, high = (_order_codes(part, column) for part in (values, lowest, highest))
    else:
        codes, low, high = _ranks(values, lowest, highest)
    return _intervals(codes, low, high, _true_where(missing))


def _code_nodes(values: pa.Array, cells: pa.Array, column: PublishedColumn) -> CodedColumn:
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
    low = np.where(only_missing, MISSING, first[nodes] + 1)
    high = np.where(only_missing, MISSING, last[nodes] + 1)
    return _intervals(leaves + 1, low, high, only_missing | (nodes == hierarchy.root))


def _code_sets(values: pa.Array, cells: pa.ListArray) -> CodedColumn:
    codes, members = _ranks(values, cells.flatten())
    sizes = pc.fill_null(pc.list_value_length(cells), 0).to_numpy().astype(np.int64)
    cell_of = np.repeat(np.arange(len(sizes)), sizes)
    members = members[np.lexsort((members, cell_of))]
    return CodedColumn(codes, offsets_of(sizes), members, members)


def _intervals(
    codes: NDArray[np.integer],
    low: NDArray[np.integer],
    high: NDArray[np.integer],
    missing: BoolArray,
) -> CodedColumn:
    """Cells of at most two intervals: the missing value, and low to high if not missing."""
    parts = np.stack([missing, low != MISSING], axis=1)
    lowest = np.stack([np.full(len(low), MISSING), low], axis=1)[parts]
    highest = np.stack([np.full(len(high), MISSING), high], axis=1)[parts]
    return CodedColumn(
        codes.astype(np.int32),
        offsets_of(parts.sum(axis=1)),
        lowest.astype(np.int32),
        highest.astype(np.int32),
    )


def offsets_of(sizes: NDArray[np.integer] | list[int]) -> Int64Array:
    """Offsets of consecutive runs: where each begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _true_where(flags: pa.Array) -> BoolArray:
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), np.bool_)


def _ranks(*parts: pa.Array) -> tuple[Int32Array, ...]:
    """Codes of all parts by rank among their combined distinct values."""
    ends = np.cumsum([len(part) for part in parts])[:-1]
    together = pa.concat_arrays([pc.cast(part, parts[0].type) for part in parts])
    if pa.types.is_null(together.type):
        codes = np.zeros(len(together), np.int32)
    else:
        ranks = pc.rank(together, tiebreaker="dense").to_numpy().astype(np.int32)
        codes = np.where(_true_where(pc.is_valid(together)), ranks, np.int32(MISSING))
    return tuple(np.split(codes, ends))


def _order_codes(values: pa.Array, column: PublishedColumn) -> Int32Array:
    """Codes of ordered categories by their position in the order."""
    if column.order is None:
        raise UsageError(
            f"The release does not carry the order of column '{column.name}'.",
            "Read it from release.parquet, which does.",
        )
    return _positions(pc.cast(values, pa.string()), column.order, column.name) + np.int32(1)


def _positions(values: pa.Array, known: tuple[str, ...], name: str) -> Int32Array:
    """Positions of values among the known ones, -1 for missing values."""
    found = pc.index_in(values, value_set=pa.array(known, pa.string()))
    if found.null_count > values.null_count:
        raise DataError(
            f"Column '{name}' has {found.null_count - values.null_count} values that the release"
            " does not know.",
            "Give the table the release was made from.",
        )
    return np.asarray(pc.fill_null(found, -1).to_numpy(), np.int32)
