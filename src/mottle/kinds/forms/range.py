"""Ranges: the lowest and the highest possible value, and whether missing is possible.

For a cell of attribute A, NCP = (highest - lowest) / (max A - min A) (FAST07 §2.1, HKA15 eq. 1).
Alongside a range the missing value lies one mean step g = (max A - min A) / (|A| - 1) away, so that
NCP = (highest - lowest + g·[value or missing]) / (max A - min A + g), which for whole numbers
without gaps is the formula of sets again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.errors import UsageError
from mottle.kinds._arrow import arrow, pa, pc
from mottle.kinds.coarsening import Coarsening
from mottle.kinds.columns import Domain, ReleasedColumn
from mottle.kinds.forms import binned_text
from mottle.kinds.forms.base import (
    Cells,
    Described,
    Form,
    Growth,
    Layout,
    Preimages,
    Stored,
    View,
    register,
    take_values,
    truth,
)
from mottle.kinds.forms.grammar import BETWEEN, Member, cast_texts, parse_cell, value_text
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.distinct_cells import numbered


@dataclass(frozen=True)
class RangeCells(Cells):
    """Ranges of one column; ``lowest`` = ``highest`` = -1 where only missing is possible."""

    lowest: Int32Array  # [rows] smallest code
    highest: Int32Array  # [rows] largest code
    missing: BoolArray  # [rows] whether the missing value is possible

    def take(self, rows: Int32Array) -> RangeCells:
        """The cells of the given rows."""
        return RangeCells(self.lowest[rows], self.highest[rows], self.missing[rows])

    def is_well_formed(self, rows: int, domain: Domain) -> bool:
        """Whether there is one cell for each row."""
        return len(self.lowest) == len(self.highest) == len(self.missing) == rows

    def check(self, preimages: Preimages, domain: Domain) -> str | None:
        """Invariant 2 for ranges of codes."""
        uncovered = preimages.outside_extents(
            domain.missing, self.lowest, self.highest, self.missing
        )
        return missed(uncovered, domain)

    def ncp(self, domain: Domain) -> Float64Array:
        """Width of each cell by that of the domain."""
        scale, step = range_scale(domain)
        present = self.lowest >= 0
        width = domain.positions[self.highest] - domain.positions[self.lowest]
        if domain.halves is not None:
            width += domain.halves[self.highest] + domain.halves[self.lowest]
        width = np.where(present, width, 0.0)
        penalty: Float64Array = (width + step * (present & self.missing)) / scale
        return penalty

    def decode(self, domain: Domain) -> pa.Array:
        """Cells of struct<lo, hi, missing>."""
        return pa.StructArray.from_arrays(
            [
                take_values(domain.values, self.lowest),
                take_values(
                    domain.values if domain.uppers is None else domain.uppers, self.highest
                ),
                pa.array(self.missing),
            ],
            fields=list(domain.form.arrow_type(domain.values.type)),
        )

    def distinct(self) -> Int32Array | None:
        """Cells are equal where both ends are, and whether missing is possible."""
        several = int(self.highest.max(initial=-1)) + 2
        keys = (self.lowest.astype(np.int64) + 1) * several
        keys += self.highest
        keys += 1
        keys *= 2
        keys += self.missing
        return numbered(keys)

    def expected_features(self, domain: Domain) -> Float64Array:
        """Twice the middle of each range."""
        low, high = np.maximum(self.lowest, 0), np.maximum(self.highest, 0)
        return (domain.positions[low] + domain.positions[high])[:, None]


def missed(uncovered: int, domain: Domain) -> str | None:
    """Return the error message about cells that miss a preimage; None if there are none."""
    if not uncovered:
        return None
    return f"Invariant 2: {uncovered} cells of column '{domain.name}' miss a preimage."


def range_scale(domain: Domain) -> tuple[float, float]:
    """Denominator of a range's NCP, and the step g that a possible missing value adds."""
    present = domain.positions[: domain.missing] if domain.missing >= 0 else domain.positions
    if len(present) == 0:
        return 1.0, 0.0
    extent = float(present[-1] - present[0])
    if domain.halves is not None:
        extent += float(domain.halves[0] + domain.halves[len(present) - 1])
    if domain.missing < 0:
        return extent or 1.0, 0.0
    step = extent / max(len(present) - 1, 1) if extent > 0 else 1.0
    return extent + step, step


@register
class Range(Form):
    """Cells of struct<lo, hi, missing>, as text ``28..39`` or ``{28..39|}``."""

    name = "range"
    kernel_code = 1
    has_intervals = True
    published_as = "ranges of ordered values"

    def cover(self, preimages: Preimages, domain: Domain) -> RangeCells:
        """Lowest and highest code of the preimages."""
        return RangeCells(*preimages.extents(domain.missing))

    def growth(self, domain: Domain, weight: float, degree: int) -> Growth:
        """Weighted places of the values on a line, and the step to missing."""
        scale, step = range_scale(domain)
        return Growth(step=weight * step / scale, position=domain.positions * (weight / scale))

    def coordinates(self, domain: Domain, counts: Int64Array) -> Float64Array:
        """Values lie at their position; the missing one last."""
        extent, _ = range_scale(domain)
        coordinates: Float64Array = (domain.positions - domain.positions[0]) / extent
        if domain.missing >= 0:
            coordinates[domain.missing] = 1.0
        return coordinates

    def has_profile(self, domain: Domain) -> bool:
        """One feature describes a column of any size."""
        return True

    def block_means(self, domain: Domain, codes: Int32Array, starts: Int64Array) -> Float64Array:
        """Twice the mean position in every block."""
        totals = np.add.reduceat(2 * domain.positions[codes], starts[:-1])
        return np.asarray(totals / np.diff(starts))[:, None]

    def arrow_type(self, value_type: pa.DataType) -> pa.DataType:
        """Two ends, and whether missing is possible."""
        return pa.struct([("lo", value_type), ("hi", value_type), ("missing", pa.bool_())])

    def value_type(self, cell_type: pa.DataType) -> pa.DataType:
        """The type of the ends."""
        return cell_type.field("lo").type

    def cell_texts(self, cells: pa.Array) -> pa.Array:
        """Such as ``28..39``."""
        lowest, highest, missing = cells.flatten()
        low_text, high_text = value_text(lowest), value_text(highest)
        single = pc.equal(low_text, high_text)
        several = pc.binary_join_element_wise(low_text, high_text, BETWEEN)
        ranges = pc.if_else(single, low_text, several)
        or_missing = pc.and_(missing, pc.is_valid(lowest))
        return pc.if_else(or_missing, pc.binary_join_element_wise("{", ranges, "|}", ""), ranges)

    def binned_texts(self, cells: pa.Array, rule: Coarsening) -> pa.Array:
        """Such as ``85+`` and ``2024-03..2024-05``."""
        return binned_text.cell_texts(cells, rule)

    def parse(
        self, texts: list[str], value_type: pa.DataType, rule: Coarsening | None = None
    ) -> pa.Array:
        """Ranges from text."""
        if rule is not None:
            parts = binned_text.parse(texts, value_type, rule)
            return pa.StructArray.from_arrays(parts, fields=list(self.arrow_type(value_type)))
        parsed = [parse_cell(text) for text in texts]
        ranges = [[member for member in cell if member != _NOTHING] for cell in parsed]
        if any(len(cell) > 1 for cell in ranges):
            raise ValueError("several ranges in one cell")
        lowest = [cell[0][0] if cell else None for cell in ranges]
        highest = [cell[0][1] if cell else None for cell in ranges]
        missing = [_NOTHING in cell for cell in parsed]
        return pa.StructArray.from_arrays(
            [
                cast_texts(lowest, value_type),
                cast_texts(highest, value_type),
                pa.array(missing, pa.bool_()),
            ],
            fields=list(self.arrow_type(value_type)),
        )

    def flaw(self, cells: pa.Array, column: ReleasedColumn) -> str | None:
        """Ends that are missing, infinite, unknown or in the wrong order."""
        lowest, highest, missing = cells.flatten()
        if cells.null_count or missing.null_count:
            return "a cell that says nothing"
        unknown = pc.is_null(lowest)
        if not unknown.equals(pc.is_null(highest)) or not _all(pc.or_(missing, pc.invert(unknown))):
            return "a range without an end"
        if pa.types.is_floating(lowest.type):
            if not all(_all(pc.fill_null(pc.is_finite(end), True)) for end in (lowest, highest)):
                return "a range without an end"
            for end in (lowest, highest):
                arrow.check_numbers(end, column.name)
        elif pa.types.is_null(lowest.type):
            return None
        if column.kind is not None and column.kind.has_order:
            if column.order is None:
                return None
            order = pc.cast(pa.array(column.order, pa.string()), lowest.type)
            lowest, highest = (pc.index_in(end, value_set=order) for end in (lowest, highest))
            if lowest.null_count + highest.null_count > 2 * pc.sum(unknown).as_py():
                return "a value that the order of the column does not have"
        if not _all(pc.fill_null(pc.less_equal(lowest, highest), True)):
            return "a range that ends before it begins"
        if column.kind is not None and (rule := column.kind.rule(column)) is not None:
            low, high = lowest.drop_null().unique(), highest.drop_null().unique()
            if not rule.bins(low, column.name).lower.equals(low):
                return "a range that does not begin where a bin does"
            if not rule.bins(high, column.name).upper.equals(high):
                return "a range that does not end where a bin does"
        return None

    def stored_by(self, layout: Layout[Described, Stored], column: Described) -> Stored:
        """As a range, where the database has such a type."""
        return layout.store_range(column)

    def seen_by(self, view: View[Described, Stored], cells: pa.Array, column: Described) -> Stored:
        """As intervals."""
        return view.of_intervals(cells, column)

    def keys(self, cells: pa.ChunkedArray) -> list[pa.ChunkedArray]:
        """The fields of the cells."""
        return list(pa.Table.from_arrays([cells], ["cell"]).flatten().columns)

    def named_values(self, cells: pa.Array, weights: Float64Array) -> tuple[pa.Array, Float64Array]:
        """Both ends of every range."""
        ends = pa.concat_arrays([cells.field("lo"), cells.field("hi")])
        return ends, np.concatenate([weights, weights])

    def inside(self, cells: pa.Array, others: pa.Array, column: ReleasedColumn) -> BoolArray:
        """Whether the other range starts no later and ends no earlier."""
        lowest, highest, missing = cells.flatten()
        other_lowest, other_highest, other_missing = others.flatten()
        only_missing = truth(pc.is_null(lowest))
        if pa.types.is_null(lowest.type):
            values_inside = only_missing
        else:
            starts_inside = _at_most(other_lowest, lowest, column)
            ends_inside = _at_most(highest, other_highest, column)
            values_inside = only_missing | (starts_inside & ends_inside)
        return values_inside & (~truth(missing) | truth(other_missing))

    def widths(self, cells: pa.Array, column: ReleasedColumn) -> Float64Array:
        """Highest minus lowest, in the unit of the values or in places of their order."""
        low, high = (_places(cells.field(end), column) for end in ("lo", "hi"))
        missing = pc.fill_null(cells.field("missing"), False).to_numpy(zero_copy_only=False)
        known = ~np.isnan(low)
        widths = np.where(known, high - low, 0.0)
        open_ended = np.zeros(len(low), np.bool_)
        rule = None if column.kind is None else column.kind.rule(column)
        if rule is not None and not pa.types.is_null(column.value_type):
            bottom, top = rule.tail_values(column.value_type, column.name)
            if bottom is not None:
                open_ended |= truth(pc.equal(cells.field("lo"), bottom))
            if top is not None:
                open_ended |= truth(pc.equal(cells.field("hi"), top))
        several = (missing & known) | open_ended  # "value or missing" and "90+" are not single
        return np.asarray(widths + several * 1e-9)

    def width_in_words(self, width: float) -> str:
        """In the unit of the values."""
        return f"{width:,.6g} wide"


_NOTHING: Member = (None, None)


def _all(flags: pa.Array) -> bool:
    return bool(pc.all(flags).as_py() in (True, None))  # None: there are none


def _at_most(smaller: pa.Array, larger: pa.Array, column: ReleasedColumn) -> BoolArray:
    """Whether one value is at most the other; not where one of them is missing."""
    if column.kind is not None and column.kind.has_order:
        if column.order is None:
            raise UsageError(f"The release does not carry the order of column '{column.name}'.")
        order = pa.array(column.order, pa.string())
        smaller, larger = (
            pc.index_in(pc.cast(values, pa.string()), value_set=order)
            for values in (smaller, larger)
        )
    return truth(pc.less_equal(smaller, larger))


def _places(values: pa.Array, column: ReleasedColumn) -> Float64Array:
    """Values as numbers whose differences are widths."""
    if column.kind is not None and column.kind.has_order:
        assert column.order is not None
        order = pc.cast(pa.array(column.order, pa.string()), values.type)
        values = pc.index_in(values, value_set=order)
    elif pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
