"""The first pass over all rows: the domain of every column and how often sensitive values occur.

The codes of a table in memory are a function of its distinct values. A survey collects these from
batches of rows of any engine, and so finds the same domains. It needs memory for the distinct
values, not for the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Domain
from mottle.encoding.encode import comparable, encode_column, encode_in, kind_of
from mottle.encoding.sensitive import SensitiveValues, count_values, with_breaks
from mottle.errors import DataError, UsageError
from mottle.kinds.columns import SchemaColumn
from mottle.pipeline.unit import Repeats
from mottle.release.column import PublishedColumn
from mottle.release.publish import check_publishable
from mottle.release.unchanged import unchanged_of
from mottle.release.value_totals import Totals
from mottle.schema.model import Column, Representation, Role, Schema
from mottle.typing import Int64Array
from mottle.utils.arrow import dictionary_order, merged_order
from mottle.utils.dependence import Dependence

# Most values of a domain: codes are 32-bit, and every process holds all domains.
LARGEST_DOMAIN = 50_000_000


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
    some_rows: list[pa.Table] = field(default_factory=list)  # see `keep_some`
    # How often the values of columns occur that may name people; see `mottle.pipeline.unit`.
    repeats: tuple[Repeats, ...] = ()

    def __post_init__(self) -> None:
        check_publishable(self.types.empty_table(), self.schema)
        for column in self.schema.with_role(Role.QUASI_IDENTIFYING):
            if not kind_of(self.types.field(column.name).type, column).streams:
                raise UsageError(
                    f"Column '{column.name}' holds sets of items, which are anonymized in memory"
                    " only.",
                    "Leave --memory and --engine out, or give the column another role.",
                )

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
        comparable_values = comparable(values, column.model_copy(update={"kind": kind}))
        self.add_counts(column.name, comparable_values, counts)
        if self.counted[column.name].num_rows > LARGEST_DOMAIN:
            raise DataError(
                f"Column '{column.name}' has more than {LARGEST_DOMAIN:,} different values.",
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
            domain, _ = encode_column(self._values(column), column, representation)
            found.append(replace(domain, counts=self._counts(domain)))
        return tuple(found)

    def _counts(self, domain: Domain) -> Int64Array:
        """How often each code of a domain occurs in the whole table."""
        counts = np.zeros(domain.size, np.int64)
        codes = encode_in(self._values(domain.column), domain)
        np.add.at(counts, codes, self.counted[domain.name].column("count").to_numpy())
        return counts

    def totals(self, domains: Sequence[Domain], least: int) -> tuple[Totals | None, ...]:
        """Count how often values occur; a total never counts fewer than ``least`` records."""
        return tuple(Totals.of_counts(domain, self._counts(domain), least) for domain in domains)

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
        return tuple(
            f"Column '{name}': {cells} NaN cells are taken for missing."
            for name, cells in self.missing_numbers.items()
            if cells
        )


def _summed(counted: pa.Table) -> pa.Table:
    """Sum the counts of equal values."""
    summed = counted.group_by("value").aggregate([("count", "sum")])
    return summed.select(["value", "count_sum"]).rename_columns(["value", "count"])
