"""Releases of two tables (Anatomy): quasi-identifiers with groups, sensitive values by group.

The first table has the exact quasi-identifiers and insensitive columns of every record and the
number of its group; the second has the count of each sensitive value in each group. A reader can
see who is in the table, but not which sensitive value of the group belongs to which record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np
import pyarrow as pa

from mottle.encoding.encode import codes_of_values
from mottle.encoding.sensitive import as_counted
from mottle.errors import PrivacyError, UsageError
from mottle.graph.model import is_order
from mottle.release.certificate import Certificate, ReleaseKind, SensitiveTable
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.release.publish import reordered
from mottle.schema.model import Role, Schema
from mottle.typing import Int64Array

INSTEAD = "exact quasi-identifiers with a group number; sensitive values by group in a second table"
_DISCLOSURE = (
    "The exact quasi-identifiers are published: whoever knows those of a person learns that the"
    " person is in the table, and the person's insensitive values."
)
_NOTES = (
    f"PRESENCE IS DISCLOSED. {_DISCLOSURE} Only which sensitive value is whose is hidden.",
    "GCP and NCP are those of the groups as if they were generalized, for comparison with other"
    " methods; the published quasi-identifiers themselves are exact.",
)


def publish_two_tables(
    table: pa.Table, schema: Schema, links: Links
) -> tuple[pa.Table, tuple[PublishedColumn, ...], pa.Table]:
    """Build the table of quasi-identifiers, its columns, and the table of sensitive values.

    Groups are numbered as they first appear in the rows, whose order is random.
    """
    for column in schema.columns:
        if column.coarsening is not None:
            raise UsageError(
                f"Column '{column.name}' is to be made coarser, but this method publishes"
                " quasi-identifiers as they are.",
                "Choose another method, or leave snap, breaks, top, bottom and granularity out.",
            )
    originals = links.original_of_row
    groups = _groups_of_rows(links)
    number = pa.array(groups)
    name = _unused("group", table.column_names)
    described = []
    arrays = []
    for column in schema.columns:
        if not column.role.removed and column.role is not Role.SENSITIVE:
            values = table.column(column.name)
            described.append(PublishedColumn.of_unchanged(column.name, column.role, values))
            arrays.append(reordered(values, described[-1].value_type, originals))
    described.append(_plain(name, number.type))
    released = pa.table([*arrays, number], schema=_schema_of(described))
    return released, tuple(described), _sensitive_table(table, schema, links, groups, name)


def check_two_tables(
    schema: Schema, published: pa.Table, sensitive: pa.Table, links: Links
) -> dict[str, object]:
    """Check invariant 5: no identifying column, and no sensitive value in the table of records.

    Returns what was measured, or raises `PrivacyError`.
    """
    identifying = schema.removed
    if identifying & {*published.column_names, *sensitive.column_names}:
        raise PrivacyError("Invariant 5: an identifying column is still in the release.")
    hidden = {column.name for column in schema.with_role(Role.SENSITIVE)}
    if hidden & set(published.column_names):
        raise PrivacyError("Invariant 5: a sensitive column is next to the quasi-identifiers.")
    if not is_order(links.position_of_row):
        raise PrivacyError("Invariant 5: the rows of the release are not an order of the records.")
    return {
        "identifying_columns": len(identifying),
        "row_order": "uniformly random",
        "groups": _check_groups(published, sensitive, links),
    }


def _check_groups(published: pa.Table, sensitive: pa.Table, links: Links) -> int:
    """Check that both tables have the groups of the method; return the number of groups."""
    numbers = published.column(-1).to_numpy()
    sizes = np.bincount(numbers)
    counts = sensitive.column(-1).to_numpy()
    counted = np.bincount(sensitive.column(0).to_numpy(), counts, len(sizes))
    if not np.array_equal(sizes, counted):
        raise PrivacyError("Invariant 5: the two tables do not agree on the sizes of groups.")
    pairs = int(np.unique(np.stack([numbers, links.block_of_row]), axis=1).shape[1])
    if not pairs == len(links.graph.degrees) == len(sizes) - 1:  # group numbers begin with 1
        raise PrivacyError("Invariant 5: the published groups are not the groups of the method.")
    return pairs


def add_disclosure_notice(certificate: Certificate, sensitive: pa.Table) -> Certificate:
    """Return the certificate with what two tables disclose, and the facts of the second table."""
    claim = certificate.guarantee
    columns = tuple(PublishedColumn.of_field(described).facts for described in sensitive.schema)
    return certificate.with_changes(
        kind=ReleaseKind.TWO_TABLES,
        guarantee=claim.model_copy(update={"statement": f"{claim.statement} {_DISCLOSURE}"}),
        sensitive_table=SensitiveTable(rows=sensitive.num_rows, columns=columns),
        notes=(*_NOTES, *certificate.notes),
    )


def _sensitive_table(
    table: pa.Table, schema: Schema, links: Links, groups: Int64Array, name: str
) -> pa.Table:
    """The count of each value in each group: one row for each, by group and then by value."""
    columns = [
        column.model_copy(update={"kind": None}) for column in schema.with_role(Role.SENSITIVE)
    ]
    codes = [codes_of_values(table.column(column.name), column)[0] for column in columns]
    originals = links.original_of_row
    keys = np.stack([groups, *(values[originals] for values in codes)], axis=1)
    distinct, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    described = [_plain(name, pa.int64())]
    arrays: list[pa.Array | pa.ChunkedArray] = [pa.array(distinct[:, 0])]
    for column in columns:
        values = table.column(column.name)
        described.append(PublishedColumn.of_unchanged(column.name, Role.SENSITIVE, values))
        counted = as_counted(values)
        arrays.append(reordered(counted, described[-1].value_type, originals[first]))
    described.append(_plain(_unused("count", [one.name for one in described]), pa.int64()))
    return pa.table([*arrays, pa.array(counts)], schema=_schema_of(described))


def _groups_of_rows(links: Links) -> Int64Array:
    """The number of every row's group, from 1 on in the order in which groups first appear."""
    blocks, first, inverse = np.unique(links.block_of_row, return_index=True, return_inverse=True)
    number = np.empty(len(blocks), np.int64)
    number[np.argsort(first)] = np.arange(1, len(blocks) + 1)
    return number[inverse]


def _plain(name: str, value_type: pa.DataType) -> PublishedColumn:
    return PublishedColumn(name, Role.INSENSITIVE, None, None, value_type)


def _schema_of(described: Sequence[PublishedColumn]) -> pa.Schema:
    return pa.schema([column.field() for column in described])


def _unused(name: str, used: Iterable[str]) -> str:
    """``name``, or name_2, name_3, … if a column already has that name."""
    candidates = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(candidate for candidate in candidates if candidate not in set(used))
