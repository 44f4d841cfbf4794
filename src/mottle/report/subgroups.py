"""Who pays: the loss of the records that may be people's, by subgroup, for the internal report.

A person's loss is the mean over all records that may be hers, so that it follows from the graph and
does not depend on which of them is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes, Domain
from mottle.encoding.encode import encode
from mottle.release.certificate import ReleaseKind
from mottle.release.data import ReleaseData
from mottle.release.limits import bounds_inference
from mottle.release.links import Links
from mottle.release.named_nodes import codes_as_published
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
    """The loss of a subgroup's records; never to be published: groups are named by values."""

    column: str
    group: str  # values of the original
    rows: int
    loss: float  # mean over its rows
    times: float  # compared with all rows
    most_in: str  # the column in which it loses most, compared with all rows
    # Of that column, to try. None: the group loses no more than others, or sensitive values are
    # bounded, so that the graph, and a choice by its losses, would depend on them as well.
    importance: float | None


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
    codes = codes_as_published(codes, release)
    by_column = _losses(links, codes)
    weights = np.array([domain.column.importance for domain in codes.domains])
    found = [
        _loss_of(domain.name, label, members, by_column, weights, codes)
        for place, domain in enumerate(codes.domains)
        for label, members in _groups(codes.matrix[:, place], domain, original)
    ]
    if bounds_inference(certificate):
        found = [replace(each, importance=None) for each in found]
    return sorted(found, key=lambda each: -each.times)[:MOST_SHOWN]


def _losses(links: Links, codes: Codes) -> Float64Array:
    """[columns, originals]: the mean loss of the records that may be each original."""
    covered = cover(links.graph, codes)
    of_row = covered.row_of[links.position_of_row]
    by_row = np.stack(
        [
            cells.ncp(domain)[of_row]
            for cells, domain in zip(covered.cells, codes.domains, strict=True)
        ]
    )
    sums, matches = np.zeros_like(by_row), np.zeros(codes.records)
    for batch in links.batches():
        published, original = (batch.column(name).to_numpy() for name in ("published", "original"))
        matches += np.bincount(original, minlength=codes.records)
        for place, lost in enumerate(by_row):
            sums[place] += np.bincount(original, lost[published], codes.records)
    return np.asarray(sums / matches)


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
