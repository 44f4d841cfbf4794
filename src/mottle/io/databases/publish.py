"""A release into a database: the same steps whatever the database, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from mottle.errors import StorageError
from mottle.io.databases.identifiers import ReleaseNames, TableName, refuse_collisions
from mottle.io.databases.table_layout import NewTable, Published, Stored
from mottle.release.certificate import Certificate
from mottle.release.rows import Rows


class Store(Protocol):
    """An open transaction of one database; undone unless it is committed."""

    longest_name: int | None  # in bytes
    ignoring_case: bool  # whether Age and age are one name
    certificate_type: str
    certificate_value: str  # SQL for the one value that is handed in

    def run(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement."""

    def locate(self, name: TableName) -> TableName:
        """The table with the schema it gets into."""

    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Which of the names are taken: "table", "view" or something else."""

    def store(self, column: Published) -> Stored:
        """How a published column is stored."""

    def fill(self, name: TableName, new: NewTable) -> None:
        """Make a table and put all rows into it."""

    def commit(self) -> None:
        """Make everything visible at once."""


def publish(
    store: Store,
    rows: Rows,
    sensitive: pa.Table | None,
    certificate: Certificate,
    table: str,
    *,
    overwrite: bool,
) -> ReleaseNames:
    """Write the tables, the view and the certificate, then commit.

    ``sensitive`` are the sensitive values of a release that publishes them apart.
    """
    names = ReleaseNames(store.locate(TableName.parse(table)))
    main = NewTable.of(rows, store.store)
    tables = {names.table: main}
    if sensitive is not None:
        tables[names.sensitive] = NewTable.of(sensitive, store.store)
    for new in tables.values():
        refuse_collisions(
            [column.name for column in new.columns],
            longest=store.longest_name,
            ignoring_case=store.ignoring_case,
        )
    _make_room(store, names, overwrite=overwrite)
    for name, new in tables.items():
        store.fill(name, new)
    store.run(f"CREATE VIEW {names.readable.sql} AS SELECT {main.readable} FROM {names.table.sql}")
    store.run(f"CREATE TABLE {names.certificate.sql} (certificate {store.certificate_type})")
    store.run(
        f"INSERT INTO {names.certificate.sql} VALUES ({store.certificate_value})",
        [json.dumps(certificate.to_dict(), ensure_ascii=False)],
    )
    store.commit()
    return names


def dry_run(store: Store, table: str, *, overwrite: bool) -> ReleaseNames:
    """Do what needs privileges, without committing it: raises what `publish` would raise."""
    names = ReleaseNames(store.locate(TableName.parse(table)))
    _make_room(store, names, overwrite=overwrite)
    store.run(f"CREATE TABLE {names.table.sql} (rehearsal integer)")
    return names


def _make_room(store: Store, names: ReleaseNames, *, overwrite: bool) -> None:
    """Drop an earlier release if that was asked for; never a table that is none."""
    refuse_collisions(names.kinds, longest=store.longest_name, ignoring_case=store.ignoring_case)
    existing = store.existing(names)
    if not existing:
        return
    if not overwrite:
        raise StorageError(
            f"The database already has {', '.join(sorted(existing))}.",
            "Choose another --to-table, or replace the release with --overwrite.",
        )
    is_release = names.certificate.name in existing
    if not is_release or any(names.kinds[name] != kind for name, kind in existing.items()):
        raise StorageError(
            f"{names.table} in the database is not a release that mottle wrote.",
            "Choose another --to-table; --overwrite replaces only releases.",
        )
    for name, kind in names.kinds.items():
        if name in existing:
            store.run(f"DROP {kind.upper()} {TableName(name, names.table.schema).sql}")
