"""Building the published table: generalized cells, and the other columns of the true records."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.cover import Cover, CoverCells
from mottle.encoding.domain import Codes, Domain
from mottle.encoding.sensitive import as_counted
from mottle.errors import PrivacyError, SchemaError
from mottle.graph.model import is_order
from mottle.release.coded_cells import CodedCells, CodedTable
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.release.survey_weight import survey_weights
from mottle.release.value_totals import Totals
from mottle.schema.model import Kind, Role, Schema
from mottle.typing import Int32Array
from mottle.utils.arrow import as_days, as_text, check_numbers, is_plain

_ROWS_PER_CHUNK = 1 << 16


def check_publishable(table: pa.Table, schema: Schema) -> None:
    """Raise `SchemaError` or `DataError` for columns that cannot be published.

    These are columns to be published unchanged that cannot be written as text, or that hold dates
    outside the years 1 to 9999, columns that have the name of a part of another column, and a
    survey weight that is not a number of people.
    """
    names = set(table.column_names)
    for column in schema.with_role(Role.QUASI_IDENTIFYING):
        type_ = table.schema.field(column.name).type
        if pa.types.is_dictionary(type_) and not is_plain(type_):
            raise SchemaError(
                f"Column '{column.name}' holds {type_.value_type} values as categories.",
                f"Turn them into text, or leave the column out: --id {column.name}.",
            )
        kind = column.kind or Kind.of_type(type_)
        for name in kind.form.text_columns(column.name):
            if name != column.name and name in names:
                raise SchemaError(
                    f"Column '{name}' has the name of a part of column '{column.name}', as its"
                    " sets are published.",
                    "Rename one of them.",
                )
    if schema.survey_weight is not None:
        survey_weights(table.column(schema.survey_weight), schema.survey_weight)
    for column in schema.columns:
        if column.role is not Role.IDENTIFYING:
            check_numbers(table.column(column.name), column.name)
    unchanged = (Role.SENSITIVE, Role.INSENSITIVE, Role.SHIFTED)
    for column in (column for role in unchanged for column in schema.with_role(role)):
        values = table.column(column.name)
        if not is_plain(values.type):
            raise SchemaError(
                f"Column '{column.name}' holds {values.type} values, which release.csv cannot"
                " hold.",
                f"Turn them into text, or leave the column out: --id {column.name}.",
            )
        if pa.types.is_binary(values.type):
            as_text(values, column.name)
        if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
            as_days(values, column.name)


def publish(
    table: pa.Table,
    schema: Schema,
    codes: Codes,
    published: Cover,
    links: Links,
    least_total: int | None = None,
) -> tuple[pa.Table, tuple[PublishedColumn, ...], CodedTable]:
    """Build the released table: generalized cells, and the true records' other columns.

    Also returns the distinct cells of columns that have few. With ``least_total`` the counts of
    values are published as well, none of them smaller than that.
    """
    cover_row_of_row = published.row_of[links.position_of_row]
    original_of_row = links.original_of_row
    described: list[PublishedColumn] = []
    arrays: list[pa.ChunkedArray] = []
    coded: dict[str, CodedCells] = {}
    generalized = {
        domain.name: (place, domain, cells)
        for place, (domain, cells) in enumerate(zip(codes.domains, published.cells, strict=True))
    }
    for column in schema.columns:
        if column.role.removed:
            continue
        if column.role is Role.QUASI_IDENTIFYING:
            place, domain, cells = generalized[column.name]
            totals = None
            if least_total is not None:
                totals = Totals.of(domain, codes.matrix[:, place], least_total)
            described.append(PublishedColumn.of_domain(domain, totals))
            found = CodedCells.of(cells, domain, cover_row_of_row)
            if found is not None:
                coded[column.name] = found
            arrays.append(_published_cells(cells, domain, cover_row_of_row, found))
        else:
            values = table.column(column.name)
            unchanged = PublishedColumn.of_unchanged(column.name, column.role, values)
            described.append(unchanged)
            if column.role is Role.SENSITIVE:
                values = as_counted(values)
            arrays.append(reordered(values, unchanged.value_type, original_of_row))
    fields = [column.field() for column in described]
    released = pa.table(arrays, schema=pa.schema(fields))
    return released, tuple(described), CodedTable(released, coded)


def reordered(
    values: pa.ChunkedArray, value_type: pa.DataType, rows: Int32Array
) -> pa.ChunkedArray:
    """Return the values of each released row, in chunks of at most 2 GB of text each."""
    wide = _WIDE_TYPES.get(value_type, value_type)  # all of the text together may exceed 2 GB
    values = pc.cast(values, wide)
    return pa.chunked_array(
        [
            pc.cast(chunk, value_type)
            for first in range(0, len(rows), _ROWS_PER_CHUNK)
            for chunk in values.take(pa.array(rows[first : first + _ROWS_PER_CHUNK])).chunks
        ],
        value_type,
    )


_WIDE_TYPES = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def _published_cells(
    cells: CoverCells, domain: Domain, rows: Int32Array, coded: CodedCells | None
) -> pa.ChunkedArray:
    """The cells of each released row, decoded in chunks so that no list array grows too long."""
    return pa.chunked_array(
        [
            cells.take(rows[first : first + _ROWS_PER_CHUNK]).decode(domain)
            if coded is None
            else coded.rows(first, first + _ROWS_PER_CHUNK)
            for first in range(0, len(rows), _ROWS_PER_CHUNK)
        ]
    )


def check_published(
    schema: Schema, published: Sequence[PublishedColumn], links: Links
) -> dict[str, object]:
    """Check invariant 5: identifying columns are removed, and rows are in uniformly random order.

    Such an order reveals nothing. Returns what was measured, or raises `PrivacyError`.
    """
    names = {column.name for column in published}
    identifying = schema.removed
    if names & identifying:
        raise PrivacyError("Invariant 5: an identifying column is still in the release.")
    generalized = {column.name for column in published if column.form is not None}
    if generalized != {column.name for column in schema.with_role(Role.QUASI_IDENTIFYING)}:
        raise PrivacyError("Invariant 5: a quasi-identifier is not generalized.")
    if not is_order(links.position_of_row):
        raise PrivacyError("Invariant 5: the rows of the release are not an order of the records.")
    return {"identifying_columns": len(identifying), "row_order": "uniformly random"}
