"""Build the cell distributions of published columns, on which all queries are computed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.set_columns import sorted_lists
from mottle.errors import UsageError
from mottle.itemsets.arrow import is_list
from mottle.queries.cells.atoms import Atoms, Values, truth
from mottle.queries.cells.cells import CellDistribution, Occurs
from mottle.queries.cells.from_set_columns import cells_of_exact_sets, cells_of_worlds
from mottle.queries.cells.interval_atoms import DiscreteIntervals, RealIntervals
from mottle.release.column import PublishedColumn
from mottle.schema.model import SEPARATOR, Role
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_WHOLE = 2.0**53  # above this all floats are whole, whatever the column holds
_WIDEST = 2**62  # largest position on a grid
_MOST_CODES = 2**62  # of sets


def cells_of(values: pa.ChunkedArray, column: PublishedColumn) -> CellDistribution:
    """Return the cells of one published column."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if column.form is not None and column.form.has_items:
        return cells_of_worlds(column.name, values, column.hierarchy)
    together = values.combine_chunks()
    if column.form is not None:
        return column.form.seen_by(_Atomized(), together, column)
    if is_list(together.type):
        lists = sorted_lists(values, column.name, SEPARATOR).combine_chunks()
        return cells_of_exact_sets(column.name, lists)
    return _of_exact(together, column)


class _Atomized:
    """What each form is over atoms: `mottle.kinds.forms.base.View`."""

    def of_intervals(self, cells: pa.Array, column: PublishedColumn) -> CellDistribution:
        """Runs of atoms between two ends."""
        return _of_ranges(cells, column)

    def of_members(self, cells: pa.Array, column: PublishedColumn) -> CellDistribution:
        """One atom for each value."""
        return _of_sets(cells, column)

    def of_labels(self, cells: pa.Array, column: PublishedColumn) -> CellDistribution:
        """Runs of leaves."""
        return _of_nodes(cells, column)

    def of_worlds(self, cells: pa.Array, column: PublishedColumn) -> CellDistribution:
        """Items that are certain or uncertain."""
        return cells_of_worlds(column.name, pa.chunked_array([cells]), column.hierarchy)


def exact_column(name: str, values: pa.ChunkedArray) -> PublishedColumn:
    """Describe a column of an ordinary table as if it had been published unchanged."""
    return PublishedColumn.of_unchanged(name, Role.INSENSITIVE, values)


# ------------------------------------------------------------------------------ exact values, sets


def _of_exact(values: pa.Array, column: PublishedColumn) -> CellDistribution:
    """Every distinct value is a cell, and so is the missing value."""
    codes, atoms = _coded(values, column)
    size = len(atoms.values)
    places = np.append(np.arange(size), size)
    return CellDistribution(
        name=column.name,
        atoms=atoms,
        slots=None,
        slot_weights=np.ones(size),
        first=places,
        last=np.minimum(places + 1, size),
        missing=places == size,
        missing_weights=(places == size).astype(np.float64),
        of_row=np.where(codes < 0, size, codes).astype(np.int32),
    )


def _of_sets(cells: pa.ListArray, column: PublishedColumn) -> CellDistribution:
    """Every distinct set of values is a cell."""
    members, atoms = _coded(cells.flatten(), column)
    sizes = pc.fill_null(pc.list_value_length(cells), 0).to_numpy().astype(np.int64)
    row_of = np.repeat(np.arange(len(sizes)), sizes)
    missing = sizes == 0
    missing[row_of[members < 0]] = True
    members, row_of = members[members >= 0], row_of[members >= 0]
    keys = row_of * np.int64(len(atoms.values) + 1) + members
    if (np.diff(keys) < 0).any():  # a release lists members in their order
        members = members[np.argsort(keys, kind="stable")]
    of_row, slots, offsets, missing = _distinct_sets(
        members, np.bincount(row_of, minlength=len(sizes)), missing
    )
    return CellDistribution(
        name=column.name,
        atoms=atoms,
        slots=slots,
        slot_weights=np.ones(len(slots)),
        first=offsets[:-1],
        last=offsets[1:],
        missing=missing,
        missing_weights=missing.astype(np.float64),
        of_row=of_row,
    )


def _distinct_sets(
    members: Int32Array, sizes: Int64Array, missing: BoolArray
) -> tuple[Int32Array, Int64Array, Int64Array, BoolArray]:
    """Number the distinct sets: the set of every row, all members, their offsets, missing."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    of_row = np.empty(len(sizes), np.int32)
    slots: list[Int64Array] = []
    counts: list[Int64Array] = []
    flags: list[BoolArray] = []
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        listed = members[offsets[rows][:, None] + np.arange(size)].astype(np.int64)
        code, codes = missing[rows].astype(np.int64), 2
        values = int(members.max(initial=-1)) + 1
        for member in listed.T:
            if codes > _MOST_CODES // values:  # number the sets by their members so far
                _, code = np.unique(code, return_inverse=True)
                codes = len(code)
            code, codes = code * values + member, codes * values
        _, places, inverse = np.unique(code, return_index=True, return_inverse=True)
        of_row[rows] = inverse.ravel() + sum(len(flag) for flag in flags)
        slots.append(listed[places].ravel())
        counts.append(np.full(len(places), size))
        flags.append(missing[rows[places]])
    if not flags:
        return of_row, np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.bool_)
    ends = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    return of_row, np.concatenate(slots), ends, np.concatenate(flags)


def _coded(values: pa.Array, column: PublishedColumn) -> tuple[Int32Array, Values]:
    """Code values by their position among the distinct ones; -1 for missing and NaN."""
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        values = pc.add(values, pa.scalar(0.0, values.type))  # -0.0 and 0.0 are one value
    if pa.types.is_null(values.type):
        return np.full(len(values), -1, np.int32), Values(column.name, values.slice(0, 0))
    if column.order is not None:
        order = pc.cast(pa.array(column.order, pa.string()), values.type)
        known, ordered = order, True
    else:
        known = pc.unique(values).drop_null()
        known, ordered = known.take(pc.sort_indices(known)), False
    codes = pc.fill_null(pc.index_in(values, value_set=known), -1).to_numpy()
    return codes.astype(np.int32), Values(column.name, known, ordered)


# ------------------------------------------------------------------------------------------ nodes


def _of_nodes(cells: pa.Array, column: PublishedColumn) -> CellDistribution:
    """A node is the run of its leaves; the root may stand for a missing value as well."""
    hierarchy = column.hierarchy
    if hierarchy is None:
        raise _not_carried(column.name, "hierarchy")
    labels = pa.array(hierarchy.labels, pa.string())
    nodes = pc.fill_null(pc.index_in(cells, value_set=labels), -1).to_numpy()
    begin, end = hierarchy.extents
    distinct, of_row = np.unique(nodes, return_inverse=True)
    only_missing = distinct < 0
    # Whether the column has missing values is visible only if some cell is missing.
    hidden = 1.0 if only_missing.any() else 0.0
    missing = only_missing | (distinct == hierarchy.root)
    return CellDistribution(
        name=column.name,
        atoms=Values(column.name, pa.array(hierarchy.leaves, pa.string()), hierarchy=hierarchy),
        slots=None,
        slot_weights=np.ones(len(hierarchy.leaves)),
        first=np.where(only_missing, 0, begin[distinct]),
        last=np.where(only_missing, 0, end[distinct] + 1),
        missing=missing,
        missing_weights=np.where(only_missing, 1.0, np.where(missing, hidden, 0.0)),
        of_row=of_row.astype(np.int32),
        occurs=Occurs.NONE,
    )


# ----------------------------------------------------------------------------------------- ranges


def _of_ranges(cells: pa.StructArray, column: PublishedColumn) -> CellDistribution:
    """A range is a run of intervals, or of ordered values."""
    lowest, highest, missing = cells.flatten()
    known = truth(pc.is_valid(lowest))
    if not known.any():
        return _of_exact(lowest, replace(column, order=None))
    atoms: Atoms
    if column.kind is not None and column.kind.has_order:
        atoms = order = _order(column)
        begin, end = (_places(part, order)[known] for part in (lowest, highest))
        end = end + 1
    else:
        atoms, begin, end = _interval_atoms(lowest.drop_null(), highest.drop_null(), column)
    cells_are_bins = column.rule is not None
    return _runs(
        column.name,
        atoms,
        known,
        begin,
        end,
        truth(missing),
        Occurs.NONE if cells_are_bins else Occurs.ENDS,
    )


def _runs(
    name: str,
    atoms: Atoms,
    known: BoolArray,
    begin: Int64Array,
    end: Int64Array,
    missing: BoolArray,
    occurs: Occurs,
) -> CellDistribution:
    """Cells that are runs of atoms; only the missing value where ``known`` is False."""
    keys = np.zeros((len(known), 3), np.int64)
    keys[known, 0], keys[known, 1] = begin, end
    keys[:, 2] = missing
    width = len(atoms.measure) + 1
    packed = (keys[:, 0] * width + keys[:, 1]) * 2 + keys[:, 2]
    _, places, of_row = np.unique(packed, return_index=True, return_inverse=True)
    first, last, flags = keys[places].T
    slots, weights, first, last = _with_single_points(atoms, first, last)
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    missing_weights = np.full(len(first), atoms.missing_measure)
    if atoms.missing_measure == 0.0:  # as likely as each end of the range
        missing_weights = np.where(last - first > 1, (mass[last] - mass[first]) / 2, 1.0)
    return CellDistribution(
        name=name,
        atoms=atoms,
        slots=slots,
        slot_weights=weights,
        first=first,
        last=last,
        missing=flags > 0,
        missing_weights=np.where(flags > 0, missing_weights, 0.0),
        of_row=of_row.astype(np.int32),
        occurs=occurs,
    )


def _with_single_points(
    atoms: Atoms, first: Int64Array, last: Int64Array
) -> tuple[Int64Array | None, Float64Array, Int64Array, Int64Array]:
    """Give cells that are one point without length a slot of their own, with weight 1."""
    weights = atoms.measure
    single = last - first == 1
    single[single] = weights[first[single]] == 0
    if not single.any():
        return None, weights, first, last
    own = len(weights) + np.arange(np.count_nonzero(single))
    slots = np.concatenate([np.arange(len(weights)), first[single]])
    weights = np.concatenate([weights, np.ones(len(own))])
    first, last = first.copy(), last.copy()
    first[single], last[single] = own, own + 1
    return slots, weights, first, last


def _interval_atoms(
    lowest: pa.Array, highest: pa.Array, column: PublishedColumn
) -> tuple[Atoms, Int64Array, Int64Array]:
    """The atoms of a number or date column, and the run of atoms of every range."""
    value_type, ranges = column.value_type, len(lowest)
    if column.totals is not None:  # no interval may lie in two groups that are counted
        counted = pc.cast(pa.array(column.totals.values, pa.string()), value_type)
        lowest, highest = (
            pa.concat_arrays([pc.cast(part, value_type), counted]) for part in (lowest, highest)
        )
    grid = on_grid(lowest, highest, value_type)
    if grid is not None:
        low, high = grid.low, grid.high
        starts = np.unique(np.concatenate([low, low + 1, high, high + 1]))
        atoms = DiscreteIntervals(column.name, value_type, grid.unit, starts, grid.origin)
        low, high = low[:ranges], high[:ranges]
        return atoms, np.searchsorted(starts, low), np.searchsorted(starts, high + 1)
    floats = [as_floats(part) for part in (lowest, highest)]
    ends = np.unique(np.concatenate(floats))
    begin, end = (2 * np.searchsorted(ends, part[:ranges]) for part in floats)
    exact = pa.types.is_floating(value_type)
    return RealIntervals(column.name, value_type, ends, exact), begin, end + 1


class Grid(NamedTuple):
    """The ends of ranges as steps of a grid."""

    unit: Fraction  # the width of a step
    low: Int64Array
    high: Int64Array
    origin: int = 0  # the step of the grid that is numbered 0


def on_grid(
    lowest: pa.Array, highest: pa.Array, value_type: pa.DataType, origin: int | None = None
) -> Grid | None:
    """Return the ends of ranges on a grid, None without one; by default its origin is found."""
    unit = Fraction(1)
    if pa.types.is_date(value_type):
        days = [pc.cast(part, pa.date32()).cast(pa.int32()) for part in (lowest, highest)]
        low, high = (part.to_numpy(zero_copy_only=False).astype(np.int64) for part in days)
        return Grid(unit, low, high)
    if pa.types.is_decimal(value_type):
        unit = Fraction(10) ** -value_type.scale
        steps = [
            [int(value / unit) for value in map(Fraction, part.to_pylist())]
            for part in (lowest, highest)
        ]
        if origin is None:
            origin = _origin(min(map(min, steps), default=0), max(map(max, steps), default=0))
        if origin is None:
            return None
        low, high = (np.array([step - origin for step in part], np.int64) for part in steps)
        return Grid(unit, low, high, origin)
    if pa.types.is_floating(value_type):
        floats = [as_floats(part) for part in (lowest, highest)]
        if any(((part != np.floor(part)) | (np.abs(part) > _WHOLE)).any() for part in floats):
            return None
        return Grid(unit, floats[0].astype(np.int64), floats[1].astype(np.int64))
    if pa.types.is_integer(value_type):
        if origin is None:
            ends = [pc.min_max(part).as_py() for part in (lowest, highest)]
            origin = _origin(min(end["min"] for end in ends), max(end["max"] for end in ends))
        if origin is None:
            return None
        wide = np.uint64 if pa.types.is_unsigned_integer(value_type) else np.int64
        moved = np.uint64(origin % 2**64)  # subtracted modulo 2^64: the difference is small
        low, high = (
            (part.to_numpy(zero_copy_only=False).astype(wide).astype(np.uint64) - moved).astype(
                np.int64
            )
            for part in (lowest, highest)
        )
        return Grid(unit, low, high, origin)
    return None


def _origin(lowest: int, highest: int) -> int | None:
    """The step from which others are counted in 64 bits; None if they are too far apart."""
    if max(abs(lowest), abs(highest)) < _WIDEST:
        return 0
    return lowest if highest - lowest < _WIDEST else None


def as_floats(values: pa.Array) -> Float64Array:
    """Convert numbers to the nearest floats."""
    floats: Float64Array = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats


def _order(column: PublishedColumn) -> Values:
    """The values of an ordered column as atoms."""
    if column.order is None:
        raise _not_carried(column.name, "order")
    known = pc.cast(pa.array(column.order, pa.string()), column.value_type)
    return Values(column.name, known, ordered=True)


def _places(values: pa.Array, atoms: Values) -> Int64Array:
    """The atoms of values; -1 for missing."""
    found = pc.fill_null(pc.index_in(values, value_set=atoms.values), -1)
    return np.asarray(found.to_numpy(), np.int64)


def _not_carried(name: str, what: str) -> UsageError:
    """An error about an order or hierarchy that a file of the release does not hold."""
    return UsageError(
        f"The release does not carry the {what} of column '{name}'.",
        "Read it from release.parquet, which does.",
    )
