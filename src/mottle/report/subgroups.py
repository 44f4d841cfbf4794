"""Who pays: the loss of people's own records by subgroup, for the owner's internal report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes, Domain
from mottle.encoding.encode import encode
from mottle.release.certificate import ReleaseKind
from mottle.release.data import ReleaseData
from mottle.report.reproduce import schema_of
from mottle.schema.model import Representation, Role
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

MOST_GROUPS = 8  # of one column
MOST_SHOWN = 12
LEAST_ROWS = 20  # of a group
MOST_ROWS = 300_000  # of tables that are looked at
_NOTICEABLE = 1.1  # times the mean loss, from which on a correction is named


@dataclass(frozen=True)
class SubgroupLoss:
    """The loss of a subgroup's own records; never to be published."""

    column: str
    group: str  # values of the original
    rows: int
    loss: float  # mean over its rows
    times: float  # compared with all rows
    most_in: str  # the column in which it loses most, compared with all rows
    importance: float | None  # of that column, to try; None: the group loses no more than others


def subgroup_losses(release: ReleaseData, original: pa.Table) -> list[SubgroupLoss]:
    """Measure which subgroups lose most.

    Parameters
    ----------
    release : ReleaseData
        A release of a table, with the owner's links.
    original : pyarrow.Table
        The rows that it describes.

    Returns
    -------
    list of SubgroupLoss
        Those that lose most, compared with all rows; empty without links.
    """
    links, certificate = release.links, release.certificate
    if links is None or certificate.kind is not ReleaseKind.TABLE:
        return []
    if original.num_rows != links.graph.records or original.num_rows > MOST_ROWS:
        return []
    schema = schema_of(release).with_rest(Role.INSENSITIVE)
    if schema.per_person is not None:
        return []
    schema = schema.covering(original.column_names)
    codes = encode(
        original, schema, Representation(certificate.parameters.representation or "range")
    )
    covered = cover(links.graph, codes)
    owner = links.graph.members[links.truth]  # by position: the original whose record it is
    by_column = np.empty((len(codes.domains), codes.records))
    for place, (cells, domain) in enumerate(zip(covered.cells, codes.domains, strict=True)):
        by_column[place, owner] = cells.ncp(domain)[covered.row_of]
    weights = np.array([domain.column.importance for domain in codes.domains])
    found = [
        _loss_of(domain.name, label, members, by_column, weights, codes)
        for place, domain in enumerate(codes.domains)
        for label, members in _groups(codes.matrix[:, place], domain, original)
    ]
    return sorted(found, key=lambda each: -each.times)[:MOST_SHOWN]


def _loss_of(
    column: str,
    label: str,
    members: BoolArray,
    by_column: Float64Array,
    weights: Float64Array,
    codes: Codes,
) -> SubgroupLoss:
    own, everybody = by_column[:, members].mean(axis=1), by_column.mean(axis=1)
    loss, mean = np.average(own, weights=weights), np.average(everybody, weights=weights)
    times = float(loss / mean) if mean > 0 else 1.0
    beyond = weights * (own - everybody)
    most = int(np.argmax(beyond))
    ratio = float(own[most] / everybody[most]) if everybody[most] > 0 else 1.0
    return SubgroupLoss(
        column=column,
        group=label,
        rows=int(np.count_nonzero(members)),
        loss=float(loss),
        times=times,
        most_in=codes.domains[most].name,
        importance=round(float(weights[most]) * ratio, 1) if times >= _NOTICEABLE else None,
    )


def _groups(
    codes: Int32Array, domain: Domain, original: pa.Table
) -> Iterator[tuple[str, BoolArray]]:
    """Rows by value, or by quarters of the rows where there are many values."""
    present, counts = np.unique(codes, return_counts=True)
    values = original.column(domain.name)
    if len(present) <= MOST_GROUPS:
        for code, count in zip(present, counts, strict=True):
            if count >= LEAST_ROWS:
                yield _label(values, codes, int(code)), codes == code
        return
    ends = present[np.searchsorted(np.cumsum(counts), len(codes) * np.arange(1, 5) / 4 - 0.5)]
    low = -1
    for end in dict.fromkeys(ends.tolist()):
        members = (codes > low) & (codes <= end)
        if np.count_nonzero(members) >= LEAST_ROWS:
            first = int(codes[members].min())
            ranged = f"{_label(values, codes, first)} … {_label(values, codes, end)}"
            yield ranged, members
        low = end


def _label(values: pa.ChunkedArray, codes: Int32Array | Int64Array, code: int) -> str:
    """A value that has a code."""
    value = values[int(np.argmax(codes == code))].as_py()
    return "missing" if value is None else str(value)
