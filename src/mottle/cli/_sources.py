"""Where commands read and write: files, folders and databases, named without their passwords."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer
from typer.core import TyperGroup

from mottle.errors import UsageError
from mottle.io import databases
from mottle.io.atomic_write import ensure_absent
from mottle.io.read_table import read_table
from mottle.io.write_release import CERTIFICATE, REPORT, check_paths
from mottle.pipeline.release import Release
from mottle.release.certificate import Certificate

if TYPE_CHECKING:
    from mottle.report import InternalReport

ARGUMENTS = "mottle.arguments"  # of the command line, in the context's notes
_IS_URL = re.compile(r"[A-Za-z][\w+.-]+:/")
_Misuse: type[Exception] = typer.BadParameter.__mro__[1]  # the class of all wrong usage

Data = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet or Arrow file; or a database: postgresql://…, or an SQLite or"
        " DuckDB file, with --table or --query."
    ),
]
TableOption = Annotated[
    str | None, typer.Option("--table", help="Table of a database to read: table or schema.table.")
]
QueryOption = Annotated[
    str | None, typer.Option("--query", help="SELECT statement to read from a database.")
]


class DiscreetGroup(TyperGroup):
    """Commands whose complaints about arguments do not repeat the passwords in them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the arguments as they were typed, for reports."""
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except _Misuse as error:
            error.message = databases.redacted(error.message)  # type: ignore[attr-defined]
            raise


def read_source(
    data: str,
    table: str | None,
    query: str | None,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> pa.Table:
    """Read a file or, with a table or a query, from a database."""
    if not databases.is_database(data):
        if table is not None or query is not None:
            option = "--table" if query is None else "--query"
            raise UsageError(
                f"{option} is for databases, and {data} is none.", f"Leave {option} out."
            )
        return read_table(
            data, delimiter=delimiter, quote=quote, encoding=encoding, missing=missing
        )
    for option, value in (("--delimiter", delimiter), ("--quote", quote), ("--encoding", encoding)):
        if value is not None:
            raise UsageError(f"{option} is for text files, not for databases.", "Leave it out.")
    return databases.read_database(data, table=table, query=query, missing=missing)


def name_of_source(data: str, table: str | None) -> str:
    """A title for what was read."""
    if not databases.is_database(data):
        return Path(data).name
    return table if table is not None else "query"


def arguments_of_source(data: str, table: str | None, query: str | None) -> str:
    """The source as it is written in a command line, without its password."""
    words = [databases.parse(data).shown if databases.is_database(data) else data]
    for option, value in (("--table", table), ("--query", query)):
        words += [] if value is None else [option, value]
    return shlex.join(words)


@dataclass(frozen=True)
class Target:
    """Where a release goes: a folder or a database."""

    folder: Path | None
    url: str
    table: str

    @classmethod
    def of(cls, output: Path | None, to: str | None, to_table: str | None) -> Target:
        """From the options; exactly one place has to be named."""
        if (output is None) == (to is None):
            raise UsageError(
                "Where should the release go?",
                "Give either a folder, with --output, or a database, with --to and --to-table.",
            )
        if output is not None and _IS_URL.match(str(output)):
            raise UsageError(
                "--output is a folder, not an address.", "Name a database with --to and --to-table."
            )
        if (to is None) != (to_table is None):
            raise UsageError("--to and --to-table go together.", "Give both.")
        return cls(output, to or "", to_table or "")

    @property
    def place(self) -> Path | databases.DatabaseTable:
        """The place as runs in chunks take it."""
        if self.folder is not None:
            return self.folder
        return databases.DatabaseTable(self.url, self.table)

    def check(self, private: Path | None, *, overwrite: bool, internal: Path | None = None) -> None:
        """Raise before a long run what `save` would raise after it."""
        if self.folder is not None:
            check_paths(self.folder, private, overwrite=overwrite, internal=internal)
            return
        if internal is not None:
            raise UsageError(
                "--internal-report goes with a folder, not with a database.",
                "Name a folder with --output, or leave the report out.",
            )
        if private is not None:
            ensure_absent(private.parent, [private.name], overwrite=overwrite)
        databases.check_database_target(self.url, self.table, overwrite=overwrite)

    def save(
        self,
        release: Release,
        private: Path | None,
        *,
        overwrite: bool,
        report: bool = True,
        internal: InternalReport | None = None,
    ) -> Certificate:
        """Write everything or nothing; returns the certificate as written."""
        return release.save(
            self.place, private=private, overwrite=overwrite, report=report, internal=internal
        )

    def shown(self, certificate: Certificate) -> tuple[str, str]:
        """What was written, and where, for people."""
        if self.folder is not None:
            report = [REPORT] if (self.folder / REPORT).exists() else []
            files = ", ".join([*certificate.sha256, *report, CERTIFICATE])
            return "files", f"{self.folder}/: {files}"
        endings = ["", "_readable", "_certificate"]
        endings += ["_sensitive"] if certificate.sensitive_table is not None else []
        tables = ", ".join(self.table + ending for ending in endings)
        return "tables", f"{databases.parse(self.url).shown}: {tables}"
