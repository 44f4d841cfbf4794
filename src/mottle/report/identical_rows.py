"""What a checker that counts equal published rows makes of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.set_release import SetReleaseData
from mottle.schema.model import Role
from mottle.utils.arrow import numbered

MOST_COUNTED_ROWS = 262_144  # of a part, equal rows cannot be counted


@dataclass(frozen=True)
class IdenticalRows:
    """How many published records are equal in all columns that an adversary may know."""

    fewest: int  # records of the smallest group of equal ones: what such a checker calls k
    alone: int  # records that no other equals
    groups: int
    records: int
    example: str  # SQL that counts the records that may be one person's; empty for sets


def identical_rows(release: ReleaseData) -> IdenticalRows | None:
    """Count equal records of a release.

    Parameters
    ----------
    release : ReleaseData
        The release.

    Returns
    -------
    IdenticalRows or None
        The counts; None for releases that are too large, and for those of two tables, whose
        quasi-identifiers are exact.
    """
    if release.num_rows > MOST_COUNTED_ROWS or release.certificate.sensitive_table is not None:
        return None
    known = [column for column in release.columns if column.role is Role.QUASI_IDENTIFYING]
    unchanged = {column.name for column in release.columns} - {column.name for column in known}
    counts: dict[tuple[object, ...], int] = {}
    for part in release.tables(1 << 16):
        text = release.text_of(part)
        names = [name for name in text.column_names if name not in unchanged]
        cells = numbered(text.select(names))
        grouped = cells.group_by(cells.column_names).aggregate([([], "count_all")])
        values = [grouped.column(name).to_pylist() for name in cells.column_names]
        for key, times in zip(
            zip(*values, strict=True), grouped.column("count_all").to_pylist(), strict=True
        ):
            counts[key] = counts.get(key, 0) + times
    sizes = np.fromiter(counts.values(), np.int64, len(counts))
    return IdenticalRows(
        fewest=int(sizes.min()),
        alone=int(np.count_nonzero(sizes == 1)),
        groups=len(sizes),
        records=int(sizes.sum()),
        example="" if isinstance(release, SetReleaseData) else _example(known),
    )


def _example(known: Sequence[PublishedColumn]) -> str:
    """Count the records that may be a person's, by the cells of up to three columns."""
    conditions = [
        _CONDITIONS[str(column.form)].format(_quoted(column.name))
        for column in known
        if str(column.form) in _CONDITIONS
    ]
    if not conditions:
        return ""
    more = [] if len(conditions) <= 3 else ["…"]
    return (
        "SELECT count(*) FROM 'release.parquet'\nWHERE "
        + "\n  AND ".join([*conditions[:3], *more])
        + ";"
    )


# By form of the cells; a missing value is left aside.
_CONDITIONS = {
    "range": "VALUE BETWEEN {0}.lo AND {0}.hi",
    "set": "list_contains({0}, VALUE)",
}


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'
