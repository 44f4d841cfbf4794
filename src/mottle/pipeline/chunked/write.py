"""Writes the files of a release that was made in chunks, reading its rows once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from mottle.errors import PrivacyError
from mottle.io.batch_source import Source
from mottle.io.write_release import (
    PARQUET,
    REPORT,
    write_certificate,
    write_rows,
    write_secretly,
)
from mottle.itemsets.data import ItemSets
from mottle.pipeline.chunked.link_column import LinkWriter
from mottle.pipeline.destination import INTERNAL, LINK_FILE, Companions, Outgoing
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.release.formula_guard import GUARD
from mottle.release.rows import StoredRows
from mottle.report.body import EXAMPLES
from mottle.report.report import page_of
from mottle.schema.reading import ReadOptions
from mottle.utils.table_digest import Fingerprint


def write_files(
    tables: Iterable[pa.Table],
    release: ReleaseData,
    certificate: Certificate,
    outgoing: Outgoing,
    *,
    companions: Companions | None = None,
    original: Callable[[], Source | ItemSets] | None = None,
    blocks: Sequence[int] = (),
    fingerprint: Fingerprint | None = None,
    reading: ReadOptions | None = None,
    text: bool = True,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Certificate:
    """Write the rows of a release, its reports and its certificate.

    Parameters
    ----------
    tables : iterable of pa.Table
        The rows in the order of the release. They carry the owner's links in an additional column
        if the companions need them.
    release : ReleaseData
        The release without rows and certificate.
    certificate : Certificate
        The certificate without checksums.
    outgoing : Outgoing
        Where the files go; it gets the certificate.
    companions : Companions, optional
        What is written in addition; by default nothing.
    original : callable, optional
        Returns the original with which an internal report compares the release.
    blocks : sequence of int
        The number of blocks of the graph of every chunk, for the links.
    fingerprint : Fingerprint, optional
        By which the original is recognized, for the links.
    reading : ReadOptions, optional
        How the original was read, for the links and the reports.
    text : bool
        Whether a CSV file is written.
    on_progress : callable
        Called with the number of rows written so far.

    Returns
    -------
    Certificate
        As written.

    Raises
    ------
    PrivacyError
        There are more or fewer rows than the certificate states.
    """
    companions = companions or Companions(report=False)
    folder, links = outgoing.folder, None
    if companions.numbered:
        links = LinkWriter(outgoing.owner[LINK_FILE], blocks, fingerprint, reading)
    began = time.perf_counter()
    written = write_rows(
        tables if links is None else _without_links(tables, links),
        release.stored.schema,
        release.coded_text_of,
        folder,
        text=text,
        on_progress=on_progress,
    )
    if links is not None:
        links.close()
    if written.rows != certificate.rows:
        raise PrivacyError("Invariant 5: the release has more or fewer rows than the table.")
    certificate = certificate.with_changes(
        seconds={**certificate.seconds, "write": round(time.perf_counter() - began, 4)},
        formula_guard=GUARD,
        sha256=written.sha256 if text else {},
    )
    people = [] if links is None else links.examples
    rows = StoredRows(folder / PARQUET)
    release = replace(release, stored=rows, certified=certificate, reading=reading)
    _write_reports(outgoing, release, companions, original, people)
    write_certificate(certificate, folder)
    outgoing.certificate = certificate
    return certificate


def _without_links(tables: Iterable[pa.Table], links: LinkWriter) -> Iterator[pa.Table]:
    """Remove the links from the rows and write them."""
    for table in tables:
        links.add(table.columns[-1], EXAMPLES)
        yield table.remove_column(table.num_columns - 1)


def _write_reports(
    outgoing: Outgoing,
    release: ReleaseData,
    companions: Companions,
    original: Callable[[], Source | ItemSets] | None,
    people: Sequence[int],
) -> None:
    """Write the public report and the owner's, from the rows that have been written."""
    certificate = release.certificate
    if companions.report:
        (outgoing.folder / REPORT).write_text(page_of(release)(certificate), encoding="utf-8")
    if companions.internal is not None:
        assert original is not None
        owner = companions.internal.owner_of(original(), people)
        write_secretly(page_of(release, owner)(certificate), outgoing.owner[INTERNAL])
