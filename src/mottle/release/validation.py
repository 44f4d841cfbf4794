"""Checks of releases that others may have written, before anything is computed from them.

A release is read as what its certificate and metadata say it is. Here the rows are compared with
that: as many rows as certified, the certified columns, and cells that a release can have. Buffers
have been validated by `mottle.utils.untrusted.arrow` before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from mottle.errors import DataError, MottleError
from mottle.guarantees.from_certificate import guarantee_on
from mottle.release.certificate import Certificate, ColumnFacts, ReleaseKind, RiskFacts
from mottle.release.column import PublishedColumn
from mottle.schema.columns import Objective
from mottle.utils.arrow import check_numbers

__all__ = ["check_cells", "check_certificate", "check_described", "check_release"]

MOST_ROWS = 10**15  # more than anybody has
MOST_FACTORS = 20  # of a calibration, by number of columns
LARGEST_FACTOR = 1e9
MOST_LIMITS = 1000


def check_release(
    batches: Iterable[pa.RecordBatch | pa.Table],
    columns: Sequence[PublishedColumn],
    certificate: Certificate | None,
    source: str,
) -> None:
    """Check all rows of a release.

    Parameters
    ----------
    batches : iterable of pa.RecordBatch or pa.Table
        The rows.
    columns : sequence of PublishedColumn
        The columns.
    certificate : Certificate or None
        What the rows are certified to be, if there is a certificate.
    source : str
        The file, for messages.

    Raises
    ------
    DataError
        There are no rows, or other ones than certified, or a cell that no release can have.
    """
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        check_cells(batch, columns, source)
    if rows == 0:
        raise DataError(f"{source} has no rows.", "A release has at least one.")
    if certificate is not None:
        if certificate.rows != rows:
            raise DataError(
                f"{source} has {rows:,} rows, and its certificate says {certificate.rows:,}.",
                "The files do not belong together.",
            )
        check_described(columns, certificate.columns, source)


def check_certificate(certificate: Certificate, source: str) -> Certificate:
    """Check that the entries of a certificate can be true.

    Parameters
    ----------
    certificate : Certificate
        Entries of the right types.
    source : str
        The file, for the message.

    Returns
    -------
    Certificate
        The same.

    Raises
    ------
    DataError
        A number is one that no run measures, or the guarantee is none that exists.
    """
    of_sets = certificate.kind is ReleaseKind.SETS
    shares = [certificate.gcp, *certificate.ncp.values()]
    wrong = {
        "rows": certificate.rows < 1 or certificate.rows > MOST_ROWS,
        "items": (of_sets and certificate.items is None) or (certificate.items or 0) < 0,
        "degree": not 0 <= certificate.degree.min <= certificate.degree.max <= MOST_ROWS,
        "columns": any(
            (facts.importance or 1.0) <= 0
            or not 0 <= (facts.nodes or 0) <= MOST_ROWS
            or not 0 <= (facts.node_loss or 0.0) <= 1
            for facts in certificate.columns
        ),
        "gcp": any(share is not None and not 0 <= share <= 1.000001 for share in shares),
        "objective": certificate.objective is not None
        and (
            certificate.objective.name not in list(Objective)
            or not 0 <= certificate.objective.loss <= MOST_ROWS
        ),
        "error_rate": not 0 <= (certificate.error_rate or 0.0) <= MOST_ROWS,
        "flipped": not 0 <= (certificate.flipped or 0.0) <= MOST_ROWS,
        "sensitive": any(
            entry.values < 0 or not 0 <= entry.largest_share <= 1 for entry in certificate.sensitive
        ),
        "calibration": not _can_be_true(certificate),
        "risk": not _are_chances(certificate.risk),
        "known_record": certificate.known_record is not None
        and not 0 <= (certificate.known_record.others or 0) <= MOST_ROWS,
        "limits": len(certificate.limits) > MOST_LIMITS,
        "seconds": any(not 0 <= time <= MOST_ROWS for time in certificate.seconds.values()),
    }
    found = [name for name, is_wrong in wrong.items() if is_wrong]
    try:
        guarantee_on({"guarantee": certificate.guarantee.to_dict()})
    except (MottleError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        found.append("guarantee")
    if found:
        raise DataError(
            f"{source} is not a certificate written by mottle: entry '{found[0]}' has a value that"
            " it cannot have."
        )
    return certificate


def _can_be_true(certificate: Certificate) -> bool:
    """Whether the factors of a calibration are ones that a run measures."""
    stated = certificate.calibration
    if stated is None:
        return True
    lists = (stated.counts, stated.sums, stated.averages)
    factors = [factor for one in (*stated.counts, stated.sums, stated.averages) for factor in one]
    pairs = stated.pair_factors
    by_column = (stated.columns, stated.column_factors, *pairs.values())
    factors += [factor for named in by_column for factor in named.values()]
    factors += [] if stated.coefficients is None else [stated.coefficients]
    described = {facts.name for facts in certificate.columns}
    return (
        all(1 <= len(one) <= MOST_FACTORS for one in lists)
        and all(0 <= factor <= LARGEST_FACTOR for factor in factors)
        and 1 <= stated.records <= MOST_ROWS
        and 1 <= stated.questions <= MOST_ROWS
        and all(described.issuperset(named) for named in (*by_column, pairs))
    )


def _are_chances(risk: RiskFacts | None) -> bool:
    """Whether all figures of a risk are shares."""
    if risk is None:
        return True
    stated = [*risk.after.to_dict().values()]
    stated += [] if risk.before is None else [*risk.before.to_dict().values()]
    return all(share is None or 0 <= share <= 1 for share in stated)


def check_described(
    columns: Sequence[PublishedColumn], described: Sequence[ColumnFacts], source: str
) -> None:
    """Check that a certificate describes the columns of a file.

    Parameters
    ----------
    columns : sequence of PublishedColumn
        The columns of the file.
    described : sequence of ColumnFacts
        Those of the certificate; columns without a type were not published.
    source : str
        The file, for the message.

    Raises
    ------
    DataError
        They differ.
    """
    stated = {facts.name for facts in described if facts.type is not None}
    names = [column.name for column in columns]
    if len(set(names)) < len(names) or (stated and stated != set(names)):
        raise DataError(
            f"{source} has other columns than its certificate describes.",
            "The files do not belong together.",
        )


def check_cells(
    rows: pa.RecordBatch | pa.Table, columns: Sequence[PublishedColumn], source: str
) -> None:
    """Check the cells of some rows.

    Parameters
    ----------
    rows : pa.RecordBatch or pa.Table
        The rows.
    columns : sequence of PublishedColumn
        The columns.
    source : str
        The file, for messages.

    Raises
    ------
    DataError
        A cell is none that a release can have.
    """
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    for column in columns:
        if column.form is None:
            _check_unchanged(table.column(column.name), column.name, source)
            continue
        for chunk in table.column(column.name).chunks:
            flaw = column.form.flaw(chunk, column) if len(chunk) else None
            if flaw is not None:
                raise DataError(
                    f"{source}: column '{column.name}' has {flaw}.",
                    "No release of mottle has such a cell.",
                )


def _check_unchanged(values: pa.ChunkedArray, name: str, source: str) -> None:
    """Check a column that was published as it is: its numbers can be computed with."""
    try:
        check_numbers(values, name)
    except DataError as error:
        raise DataError(f"{source}: {error.problem}") from None
