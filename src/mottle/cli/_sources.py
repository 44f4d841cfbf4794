"""Sources and destinations of commands: files, folders and databases, without passwords."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from mottle.errors import UsageError
from mottle.io import databases
from mottle.io.atomic_write import check_writable, ensure_absent
from mottle.io.read_sets import read_sets
from mottle.io.read_table import read_table
from mottle.io.release_input import refuse_generalized_cells
from mottle.io.write_release import CERTIFICATE, REPORT, check_paths, recover_owner_files
from mottle.itemsets.data import ItemSets
from mottle.pipeline.release import Release
from mottle.release.certificate import Certificate
from mottle.schema.reading import ReadOptions

if TYPE_CHECKING:
    from mottle.cli.options.data import SetSourceOptions, SourceOptions
    from mottle.report import InternalReport


def read_source_of_sets(data: str, options: SetSourceOptions, encoding: str | None) -> ItemSets:
    """Read sets from a file or, with a table or a query, from a database."""
    source: pa.Table | str = data
    if databases.is_database(data):
        source = databases.read_database(data, table=options.table, query=options.query)
    else:
        _refuse_table_or_query(data, options)
    return read_sets(
        source,
        column=options.column,
        record=options.record,
        item=options.item,
        separator=options.separator,
        label=options.label,
        encoding=encoding,
    )


def read_source(
    data: str, options: SourceOptions, remembered: ReadOptions | None = None
) -> pa.Table:
    """Read a file or, with a table or a query, from a database.

    ``remembered`` are reading options of a mottle.toml or a link file; typed ones replace them.
    """
    reading = options.options.over(remembered or ReadOptions())
    if not databases.is_database(data):
        _refuse_table_or_query(data, options)
        return read_table(data, **reading.model_dump())
    for name in options.options.given:
        if name not in ("missing", "allow_generalized"):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for text files, not for databases.", "Leave it out.")
    table = databases.read_database(
        data, table=options.table, query=options.query, missing=reading.missing
    )
    if not reading.allow_generalized:
        refuse_generalized_cells(table, title_of_source(data, options.table))
    return table


def _refuse_table_or_query(data: str, options: SourceOptions | SetSourceOptions) -> None:
    """Raise an error if a part of a database is asked for; ``data`` is none."""
    if options.table is not None or options.query is not None:
        option = "--table" if options.query is None else "--query"
        raise UsageError(
            f"{option} is for databases, and {data} is not one.", f"Leave {option} out."
        )


def title_of_source(data: str, table: str | None) -> str:
    """Return a title for what was read."""
    if not databases.is_database(data):
        return Path(data).name
    return table if table is not None else "query"


def arguments_of_source(data: str, table: str | None, query: str | None) -> str:
    """Write the source as on a command line, without its password."""
    words = [databases.parse(data).shown if databases.is_database(data) else data]
    for option, value in (("--table", table), ("--query", query)):
        words += [] if value is None else [option, value]
    return shlex.join(words)


@dataclass(frozen=True)
class Target:
    """Where a release is written: a folder or a database."""

    folder: Path | None
    url: str
    table: str

    @property
    def place(self) -> Path | databases.DatabaseTable:
        """The destination as runs in chunks take it."""
        if self.folder is not None:
            return self.folder
        return databases.DatabaseTable(self.url, self.table)

    def check(
        self,
        private: Path | None,
        *,
        overwrite: bool,
        another_draw: bool = False,
        internal: Path | None = None,
        key: Path | None = None,
        previous: Path | None = None,
    ) -> None:
        """Raise before a long run the errors that `save` would raise after it."""
        if self.folder is not None:
            check_paths(
                self.folder,
                private,
                overwrite=overwrite,
                another_draw=another_draw,
                internal=internal,
                key=key,
                previous=previous,
            )
            return
        if internal is not None:
            raise UsageError(
                "--internal-report is for a release in a folder, not in a database.",
                "Name a folder with --output, or leave the report out.",
            )
        if private is not None:
            recover_owner_files(
                [private],
                databases.redacted(f"{self.url} {self.table}"),
                lambda: databases.release_at(self.url, self.table),
            )
            ensure_absent(private.parent, [private.name], overwrite=overwrite)
            check_writable(private.parent)
        databases.check_database_target(
            self.url, self.table, overwrite=overwrite, another_draw=another_draw
        )

    def save(
        self,
        release: Release,
        private: Path | None,
        *,
        overwrite: bool,
        another_draw: bool = False,
        report: bool = True,
        internal: InternalReport | None = None,
    ) -> Certificate:
        """Write everything or nothing; returns the certificate as written."""
        return release.save(
            self.place,
            private=private,
            overwrite=overwrite,
            another_draw=another_draw,
            report=report,
            internal=internal,
        )

    def shown(self, certificate: Certificate) -> tuple[str, str]:
        """Describe what was written, and where."""
        if self.folder is not None:
            report = [REPORT] if (self.folder / REPORT).exists() else []
            files = ", ".join([*certificate.sha256, *report, CERTIFICATE])
            return "files", f"{self.folder}/: {files}"
        endings = ["", "_readable", "_certificate"]
        endings += ["_sensitive"] if certificate.sensitive_table is not None else []
        tables = ", ".join(self.table + ending for ending in endings)
        return "tables", f"{databases.parse(self.url).shown}: {tables}"
