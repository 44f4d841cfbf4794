"""The first pass over all rows: the domain of every column and how often sensitive values occur.

The codes of a table in memory are a function of its distinct values. A survey collects these from
batches of rows of any engine, and so finds the same domains. It needs memory for the distinct
values, not for the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Domain
from mottle.encoding.encode import kind_of
from mottle.encoding.sensitive import SensitiveValues, count_values, with_breaks
from mottle.encoding.set_columns import changed_items
from mottle.errors import DataError
from mottle.itemsets.data import notes_on_items
from mottle.kinds.columns import SchemaColumn
from mottle.pipeline.unit import Repeats
from mottle.release.column import PublishedColumn
from mottle.release.publish import check_publishable
from mottle.release.unchanged import unchanged_of
from mottle.release.value_totals import Totals
from mottle.schema.model import SEPARATOR, Column, Representation, Role, Schema
from mottle.typing import Int64Array
from mottle.utils.arrow import dictionary_order, merged_order
from mottle.utils.dependence import Dependence

# Most values of a domain: codes are 32-bit, and every process holds all domains.
LARGEST_DOMAIN = 50_000_000


class ColumnCounts(NamedTuple):
    """What some rows have in one column."""

    values: pa.Table  # different values and how often each occurs
    missing_numbers: int | None  # NaN cells, of a column of floats
    changed_items: tuple[int, int] | None  # see `DomainSurvey`, of a column of sets


@dataclass
class DomainSurvey:
    """The values of all rows that have been read so far, and their counts."""

    schema: Schema  # covers all columns of ``types``
    types: pa.Schema
    about_values: bool  # whether sensitive values are counted
    rows: int = 0
    kept_bytes: int = 0  # of the columns that are published unchanged
    counted: dict[str, pa.Table] = field(default_factory=dict)  # by column: values and counts
    orders: dict[str, dict[tuple[str, ...], None]] = field(default_factory=dict)
    missing_numbers: dict[str, int] = field(default_factory=dict)  # NaN cells by column
    # By column of sets: items that were missing, and that were repeated.
    changed_items: dict[str, tuple[int, int]] = field(default_factory=dict)
    some_rows: list[pa.Table] = field(default_factory=list)  # see `keep_some`
    # How often the values of columns occur that may name people; see `mottle.pipeline.unit`.
    repeats: tuple[Repeats, ...] = ()

    def __post_init__(self) -> None:
        check_publishable(self.types.empty_table(), self.schema)

    def add(self, rows: pa.Table) -> None:
        """Add more rows."""
        self.rows += rows.num_rows
        check_publishable(rows, self.schema)
        for column in self.schema.columns:
            values = rows.column(column.name)
            if pa.types.is_dictionary(values.type) and not column.role.removed:
                order = tuple(dictionary_order(values, column.name).to_pylist())
                self.orders.setdefault(column.name, {})[order] = None
            if column.role is Role.QUASI_IDENTIFYING:
                self.add_values(column, values, np.ones(len(values), np.int64))
            elif column.role is Role.SENSITIVE and self.about_values:
                self.add_counts(column.name, values, np.ones(len(values), np.int64))
            elif column.role is Role.SENSITIVE:
                self._count_nan(column.name, values, np.ones(len(values), np.int64))
            if column.role in (Role.SENSITIVE, Role.INSENSITIVE):
                self.kept_bytes += values.nbytes

    def keep_some(self, rows: pa.Table, step: int) -> None:
        """Keep every ``step``-th row, to measure what unchanged columns say about others.

        Called before the rows are added.
        """
        places = np.arange(-self.rows % step, rows.num_rows, step)
        self.some_rows.append(rows.take(pa.array(places, pa.int64())))

    def add_counts(self, name: str, values: pa.ChunkedArray, counts: Int64Array) -> None:
        """Add sensitive values and how often each occurs."""
        if pa.types.is_dictionary(values.type):
            values = pc.cast(values, values.type.value_type)
        self._count_nan(name, values, counts)
        new = _summed(pa.table({"value": values, "count": counts}))
        known = self.counted.get(name)
        self.counted[name] = new if known is None else _summed(pa.concat_tables([known, new]))

    def add_values(self, column: Column, values: pa.ChunkedArray, counts: Int64Array) -> None:
        """Add values of a quasi-identifier and how often each occurs."""
        self._count_nan(column.name, values, counts)
        kind = kind_of(values.type, column)
        described = column.model_copy(update={"kind": kind})
        self.add_counts(column.name, kind.countable(values, described), counts)
        if kind.form.has_items:
            found = changed_items(values, column.name, column.separator or SEPARATOR)
            known = self.changed_items.get(column.name, (0, 0))
            missing, repeated = (
                int(one @ counts) + two for one, two in zip(found, known, strict=True)
            )
            self.changed_items[column.name] = (missing, repeated)
        self._check_size(column.name)

    def counts_of(self, name: str) -> ColumnCounts:
        """Return what has been counted of the values of one column."""
        return ColumnCounts(
            self.counted[name], self.missing_numbers.get(name), self.changed_items.get(name)
        )

    def add_counted(self, name: str, counts: ColumnCounts) -> None:
        """Add what was counted of the values of a column in other rows."""
        known = self.counted.get(name)
        both = [counts.values] if known is None else [known, counts.values]
        self.counted[name] = _summed(pa.concat_tables(both))
        if counts.missing_numbers is not None:
            missing = self.missing_numbers.get(name, 0)
            self.missing_numbers[name] = missing + counts.missing_numbers
        if counts.changed_items is not None:
            before = self.changed_items.get(name, (0, 0))
            missing, repeated = (
                one + two for one, two in zip(before, counts.changed_items, strict=True)
            )
            self.changed_items[name] = (missing, repeated)
        self._check_size(name)

    def _check_size(self, name: str) -> None:
        """Raise if a column has more different values than a domain may have."""
        if self.counted[name].num_rows > LARGEST_DOMAIN:
            raise DataError(
                f"Column '{name}' has more than {LARGEST_DOMAIN:,} different values.",
                "Round it, or give it another role.",
            )

    def _count_nan(self, name: str, values: pa.ChunkedArray, counts: Int64Array) -> None:
        """Count the NaN of a column of floats, which are taken for missing."""
        if pa.types.is_floating(values.type):
            nans = int(counts[pc.fill_null(pc.is_nan(values), False).to_numpy()].sum())
            self.missing_numbers[name] = self.missing_numbers.get(name, 0) + nans

    # --------------------------------------------------------------------------------- results

    def domains(self, representation: Representation) -> tuple[Domain, ...]:
        """Return the domains of the whole table."""
        found = []
        for column in self.schema.with_role(Role.QUASI_IDENTIFYING):
            kind = kind_of(self.types.field(column.name).type, column)
            column = column.model_copy(update={"kind": kind})
            times = self.counted[column.name].column("count").to_numpy()
            values = self._values(column)
            domain, codes = kind.encode_counted(values, times, column, representation)
            counts = np.zeros(domain.size, np.int64)
            np.add.at(counts, codes, times)
            found.append(replace(domain, counts=counts))
        return tuple(found)

    @property
    def item_bytes(self) -> float:
        """Bytes of the text of the sets of all rows, in all columns of sets."""
        found = 0.0
        for name in self.changed_items:
            counted = self.counted[name]
            sizes = pc.fill_null(pc.binary_length(counted.column("value")), 0).to_numpy()
            found += float(sizes @ counted.column("count").to_numpy())
        return found

    @property
    def set_bytes(self) -> dict[str, int]:
        """By column of sets: bytes of the text of all different sets."""
        return {name: self.counted[name].column("value").nbytes for name in self.changed_items}

    def totals(self, domains: Sequence[Domain], least: int) -> tuple[Totals | None, ...]:
        """Count how often values occur; a total never counts fewer than ``least`` records."""
        found = []
        for domain in domains:
            assert domain.counts is not None, "domains of a survey know how often values occur"
            found.append(Totals.of_counts(domain, domain.counts, least))
        return tuple(found)

    def _values(self, column: SchemaColumn) -> pa.ChunkedArray:
        values = self.counted[column.name].column("value").combine_chunks()
        ordered = column.kind is not None and column.kind.has_order
        if column.name in self.orders and ordered:
            known = pa.array(self._order(column.name), values.type)
            codes = pc.index_in(values, value_set=known)
            values = pa.DictionaryArray.from_arrays(codes, known, ordered=True)
        return pa.chunked_array([values])

    def _order(self, name: str) -> list[object]:
        return list(merged_order(self.orders[name], name))

    def sensitive_columns(self) -> tuple[tuple[Column, SensitiveValues], ...]:
        """Return every sensitive column, its bins as breaks, with its values and their counts."""
        found = []
        for column in self.schema.with_role(Role.SENSITIVE) if self.about_values else ():
            counted = self.counted[column.name]
            values = counted.column("value").combine_chunks()
            counts = counted.column("count").to_numpy()
            found.append(
                (with_breaks(values, counts, column), count_values(values, counts, column))
            )
        return tuple(found)

    def unchanged_columns(self) -> tuple[PublishedColumn, ...]:
        """Describe the columns that are published unchanged."""
        described = []
        for column in self.schema.columns:
            if column.role not in (Role.SENSITIVE, Role.INSENSITIVE):
                continue
            value_type, order = self.types.field(column.name).type, None
            if pa.types.is_dictionary(value_type):
                value_type = value_type.value_type
                order = tuple(map(str, self._order(column.name)))
            described.append(
                PublishedColumn(column.name, column.role, None, None, value_type, order=order)
            )
        return tuple(described)

    @cached_property
    def unchanged(self) -> Dependence | None:
        """What was measured of the unchanged columns; None without them, or without rows."""
        if not self.some_rows:
            return None
        return unchanged_of(pa.concat_tables(self.some_rows), self.schema)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the certificate on values that were changed while reading."""
        numbers = [
            f"Column '{name}': {cells} NaN cells are taken for missing."
            for name, cells in self.missing_numbers.items()
            if cells
        ]
        items = [
            f"Column '{name}': {note}"
            for name, changed in self.changed_items.items()
            for note in notes_on_items(*changed)
        ]
        return (*numbers, *items)


def _summed(counted: pa.Table) -> pa.Table:
    """Sum the counts of equal values."""
    summed = counted.group_by("value").aggregate([("count", "sum")])
    return summed.select(["value", "count_sum"]).rename_columns(["value", "count"])
