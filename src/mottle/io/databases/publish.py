"""The steps that store a release in one transaction, the same for every database."""

from __future__ import annotations

import json

import pyarrow as pa

from mottle.errors import DataError, StorageError
from mottle.io.databases.base import Transaction
from mottle.io.databases.identifiers import ReleaseNames, TableName, check_distinct
from mottle.io.databases.table_layout import NewTable
from mottle.io.write_release import another_draw_refused, may_replace
from mottle.release.certificate import Certificate
from mottle.release.rows import Rows

__all__ = ["dry_run", "publish", "stored_certificate"]


def publish(
    transaction: Transaction,
    rows: Rows,
    sensitive: pa.Table | None,
    certificate: Certificate,
    table: str,
    *,
    overwrite: bool,
    another_draw: bool = False,
) -> ReleaseNames:
    """Write the tables, the view and the certificate, then commit.

    Parameters
    ----------
    transaction : Transaction
        An open transaction.
    rows : Rows
        The typed cells.
    sensitive : pyarrow.Table or None
        The sensitive values of a release that publishes them separately.
    certificate : Certificate
        The certificate of the release.
    table : str
        ``table`` or ``schema.table``.
    overwrite : bool
        Replace an earlier release, and nothing but a release.
    another_draw : bool
        Whether the earlier release may have had no seed; see `mottle.Release.save`.

    Returns
    -------
    ReleaseNames
        The names that the release has taken.

    Raises
    ------
    StorageError
        A name is taken, or the database refuses a statement.
    UsageError
        Names are not valid, too long, or not distinct in the database.
    DataError
        The database cannot hold a value of the release.
    """
    names = ReleaseNames(transaction.qualify(TableName.parse(table)))
    main = NewTable.of(rows, transaction.store)
    tables = {names.table: main}
    if sensitive is not None:
        tables[names.sensitive] = NewTable.of(sensitive, transaction.store)
    for new in tables.values():
        check_distinct(
            [column.name for column in new.columns],
            longest=transaction.longest_name,
            ignores_case=transaction.ignores_case,
        )
    _drop_earlier_release(transaction, names, overwrite=overwrite, another_draw=another_draw)
    for name, new in tables.items():
        transaction.create_table(name, new)
    transaction.create_readable(names, main)
    transaction.create_certificate(
        names.certificate, json.dumps(certificate.to_dict(), ensure_ascii=False)
    )
    transaction.commit()
    return names


def dry_run(
    transaction: Transaction, table: str, *, overwrite: bool, another_draw: bool = False
) -> ReleaseNames:
    """Do what needs privileges, without committing it: raises what `publish` would raise.

    Parameters
    ----------
    transaction : Transaction
        An open transaction, which is not committed.
    table : str
        ``table`` or ``schema.table``.
    overwrite : bool
        Whether an earlier release may be replaced.
    another_draw : bool
        As for `publish`.

    Returns
    -------
    ReleaseNames
        The names that the release would take.

    Raises
    ------
    StorageError
        A name is taken, or the database refuses a statement.
    UsageError
        Names are not valid or too long.
    """
    names = ReleaseNames(transaction.qualify(TableName.parse(table)))
    _drop_earlier_release(transaction, names, overwrite=overwrite, another_draw=another_draw)
    transaction.rehearse(names.table)
    return names


def stored_certificate(transaction: Transaction, table: str) -> str | None:
    """Read the certificate of the release in a database.

    Parameters
    ----------
    transaction : Transaction
        An open transaction, which is not committed.
    table : str
        ``table`` or ``schema.table``.

    Returns
    -------
    str or None
        JSON; None if there is no release.
    """
    names = ReleaseNames(transaction.qualify(TableName.parse(table)))
    if names.certificate.name not in transaction.existing(names):
        return None
    return _certificate_of(transaction, names)


def _drop_earlier_release(
    transaction: Transaction, names: ReleaseNames, *, overwrite: bool, another_draw: bool
) -> None:
    """Drop an earlier release if ``overwrite``; never a table that is not a release.

    Rows in a database have no checksums, so a release without a seed counts as another draw.
    """
    check_distinct(
        names.kinds, longest=transaction.longest_name, ignores_case=transaction.ignores_case
    )
    existing = transaction.existing(names)
    if not existing:
        return
    if not overwrite:
        raise StorageError(
            f"The database already has {', '.join(sorted(existing))}.",
            "Choose another --to-table, or replace the release with --overwrite.",
        )
    is_release = names.certificate.name in existing
    kinds = names.kinds | {names.readable.name: transaction.readable_kind}
    if not is_release or any(kinds[name] != kind for name, kind in existing.items()):
        raise StorageError(
            f"{names.table} in the database is not a release that mottle wrote.",
            "Choose another --to-table; --overwrite replaces only releases.",
        )
    if not another_draw and not _has_seed(transaction, names):
        raise another_draw_refused(str(names.table), comparable=False)
    for name, kind in kinds.items():
        if name in existing:
            transaction.drop(kind, TableName(name, names.table.schema))


def _has_seed(transaction: Transaction, names: ReleaseNames) -> bool:
    """Whether the release in the database is an experiment, which its certificate says."""
    try:
        return may_replace(Certificate.from_json(_certificate_of(transaction, names) or ""), None)
    except DataError:
        return False


def _certificate_of(transaction: Transaction, names: ReleaseNames) -> str | None:
    return transaction.text(f"SELECT {transaction.certificate_text} FROM {names.certificate.sql}")
