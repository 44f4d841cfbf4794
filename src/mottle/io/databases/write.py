"""Releases into a database: tables, a readable view and the certificate, all or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mottle.io.databases.identifiers import ReleaseNames
from mottle.io.databases.publish import dry_run, publish, stored_certificate
from mottle.io.databases.url import parse, redacted
from mottle.io.link_file import write_links
from mottle.io.link_history import history_metadata
from mottle.io.write_release import links_of, private_links, release_number
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.release.rows import Rows

__all__ = [
    "DatabaseTable",
    "check_database_target",
    "release_at",
    "write_database",
    "write_stored_rows",
]


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database, as the destination of a release."""

    url: str  # may hold a password, so it is not shown as it is
    table: str  # table or schema.table

    def __repr__(self) -> str:
        return f"DatabaseTable({redacted(self.url)!r}, {self.table!r})"


def write_database(
    release: ReleaseData,
    url: str | Path,
    table: str,
    *,
    private: str | Path | None = None,
    overwrite: bool = False,
    another_draw: bool = False,
) -> list[str]:
    """Store a release as tables, in one transaction: all of it appears or nothing.

    ``table`` holds the typed cells, ``table_readable`` is a view with the cells of ``release.csv``
    and ``table_certificate`` holds the certificate; ``table_sensitive`` holds the sensitive values
    of a release that publishes them separately.

    Parameters
    ----------
    release : Release or SetRelease
        What `mottle.anonymize` or `mottle.anonymize_sets` returned.
    url : str or Path
        The database, as in `read_database`; a file that does not exist is created.
    table : str
        ``table`` or ``schema.table``.
    private : str or Path, optional
        A local file for the owner's links.
    overwrite : bool
        Replace an earlier release, and nothing but a release.
    another_draw : bool
        Says that the earlier release was never published; without it, only a release with a seed
        is replaced.

    Returns
    -------
    list of str
        The names of the tables and the view that were written.

    Raises
    ------
    StorageError
        A name is taken, a privilege is missing, or the connection is lost.
    UsageError
        The URL or a name is not valid, a driver is not installed, or another release would be
        replaced by another draw.
    DataError
        The database cannot hold a value of the release.

    Examples
    --------
    >>> import mottle, tempfile
    >>> people = mottle.datasets.population(100, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(5), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_database(release, f"duckdb:///{folder}/open.duckdb", "people")
    ['people', 'people_readable', 'people_certificate']
    """
    address = parse(url)
    links = None if private is None else links_of(release)
    with (
        private_links(
            private,
            lambda path: (
                None
                if links is None
                else write_links(links, path, release.reading, history_metadata(links))
            ),
            overwrite=overwrite,
            place=redacted(f"{url} {table}"),
            certificate=release.certificate,
            current=lambda: release_at(url, table),
        ),
        address.database.transaction(address) as transaction,
    ):
        names = publish(
            transaction,
            release.stored,
            release.sensitive,
            release.certificate,
            table,
            overwrite=overwrite,
            another_draw=another_draw,
        )
    return _written(names, two_tables=release.sensitive is not None)


def write_stored_rows(
    rows: Rows,
    certificate: Certificate,
    place: DatabaseTable,
    *,
    overwrite: bool = False,
    another_draw: bool = False,
) -> list[str]:
    """Store a release whose rows come in batches, as `write_database` does, in one transaction.

    Parameters
    ----------
    rows : Rows
        The typed cells.
    certificate : Certificate
        The certificate of the release.
    place : DatabaseTable
        The destination.
    overwrite : bool
        Replace an earlier release, and nothing but a release.
    another_draw : bool
        Says that the earlier release was never published; without it, only a release with a seed
        is replaced.

    Returns
    -------
    list of str
        The names of the tables and the view that were written.

    Raises
    ------
    StorageError, UsageError, DataError
        As `write_database`.
    """
    address = parse(place.url)
    with address.database.transaction(address) as transaction:
        names = publish(
            transaction,
            rows,
            None,
            certificate,
            place.table,
            overwrite=overwrite,
            another_draw=another_draw,
        )
    return _written(names, two_tables=False)


def release_at(url: str | Path, table: str) -> str:
    """Return the number of the release in a database, as `write_release.release_number` does.

    Parameters
    ----------
    url : str or Path
        The database.
    table : str
        ``table`` or ``schema.table``.

    Returns
    -------
    str
        The number; empty if there is no release.
    """
    address = parse(url)
    with address.database.transaction(address) as transaction:
        certificate = stored_certificate(transaction, table)
    return "" if certificate is None else release_number(certificate)


def check_database_target(
    url: str | Path, table: str, *, overwrite: bool, another_draw: bool = False
) -> None:
    """Raise before a long run what `write_database` would raise after it.

    Connection, privileges and names are tried out in a transaction that is rolled back.

    Parameters
    ----------
    url : str or Path
        The database.
    table : str
        ``table`` or ``schema.table``.
    overwrite : bool
        Whether an earlier release may be replaced.
    another_draw : bool
        As for `write_database`.

    Raises
    ------
    StorageError
        A name is taken, a privilege is missing, or the database cannot be reached.
    UsageError
        The URL or a name is not valid, or a driver is not installed.
    """
    address = parse(url)
    with address.database.transaction(address) as transaction:
        dry_run(transaction, table, overwrite=overwrite, another_draw=another_draw)


def _written(names: ReleaseNames, *, two_tables: bool) -> list[str]:
    """The names that a release has taken."""
    written = [names.table, names.readable, names.certificate]
    if two_tables:
        written.append(names.sensitive)
    return [name.name for name in written]
