"""Where a release is written: a folder or a database, with the report and the owner's files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from mottle.errors import UsageError
from mottle.io.atomic_write import ensure_absent, move_complete, staged
from mottle.io.databases import (
    DatabaseTable,
    check_database_target,
    redacted,
    write_stored_rows,
)
from mottle.io.owner_key import check_key_path
from mottle.io.write_release import (
    CERTIFICATE,
    CSV,
    FILES,
    PARQUET,
    REPORT,
    check_private_path,
    check_replaceable,
)
from mottle.release.certificate import Certificate
from mottle.release.rows import Rows, RowsElsewhere, StoredRows
from mottle.report.report import InternalReport

LINK_FILE, INTERNAL = "links.parquet", "internal.html"  # names inside the hidden folder


@dataclass(frozen=True)
class Companions:
    """What is written in addition to the rows: the report, and what is for the owner only."""

    report: bool = True
    private: Path | None = None
    internal: InternalReport | None = None

    @property
    def numbered(self) -> bool:
        """Whether rows have to carry their number in the input."""
        return self.private is not None or (self.internal is not None and self.internal.examples)

    @property
    def secrets(self) -> dict[str, Path]:
        """The owner's files, by their name inside the hidden folder, and where they are moved."""
        places = {LINK_FILE: self.private} if self.private is not None else {}
        return places | ({} if self.internal is None else {INTERNAL: self.internal.path})


@dataclass(frozen=True)
class Destination:
    """Where a release is written."""

    output: Path | DatabaseTable
    companions: Companions
    overwrite: bool
    another_draw: bool = False
    key: object = None  # the owner's key file, if there is one

    @classmethod
    def of(
        cls,
        output: str | Path | DatabaseTable,
        *,
        report: bool,
        private: str | Path | None,
        internal: InternalReport | None,
        overwrite: bool,
        another_draw: bool = False,
        key: object = None,
    ) -> Destination:
        """Make a destination from the arguments of a run; databases have no reports."""
        companions = Companions(report, None if private is None else Path(private), internal)
        if not isinstance(output, DatabaseTable):
            return cls(Path(output), companions, overwrite, another_draw, key)
        if internal is not None:
            raise UsageError(
                "An internal report is written for a release in a folder, not in a database.",
                "Name a folder with --output, or leave the report out.",
            )
        return cls(output, replace(companions, report=False), overwrite, another_draw, key)

    @property
    def folder(self) -> Path:
        """Where the run works: the folder, or the current folder for a database."""
        return Path.cwd() if isinstance(self.output, DatabaseTable) else self.output

    @property
    def named(self) -> str:
        """The name by which an interrupted run is recognized; without a password."""
        if isinstance(self.output, DatabaseTable):
            return redacted(f"{self.output.url} {self.output.table}")
        return ""

    def check(self) -> None:
        """Raise before a long run the errors that `publish` would raise after it."""
        if isinstance(self.output, DatabaseTable):
            check_database_target(
                self.output.url,
                self.output.table,
                overwrite=self.overwrite,
                another_draw=self.another_draw,
            )
        else:
            ensure_absent(self.output, FILES, overwrite=self.overwrite)
            check_key_path(self.key, self.output)
            if self.key is None:
                check_replaceable(self.output, another_draw=self.another_draw)
        secrets = list(self.companions.secrets.values())
        for path in secrets:
            self._check_secret(path)
        if len({path.resolve() for path in secrets}) < len(secrets):
            raise UsageError(
                f"{secrets[0]} cannot be both the link file and the internal report.",
                "Name two files.",
            )

    def _check_secret(self, path: Path) -> None:
        if isinstance(self.output, Path):
            check_private_path(path, self.output, overwrite=self.overwrite)
        ensure_absent(path.parent, [path.name], overwrite=self.overwrite)

    def publish(self, stage: Path, certificate: Certificate) -> None:
        """Move the complete files out of the hidden folder, all or none."""
        if isinstance(self.output, DatabaseTable):
            with self._links(stage / LINK_FILE):
                write_stored_rows(
                    StoredRows(stage / PARQUET),
                    certificate,
                    self.output,
                    overwrite=self.overwrite,
                    another_draw=self.another_draw,
                )
            return
        check_replaceable(self.output, certificate, another_draw=self.another_draw)
        written = [PARQUET, CSV, *([REPORT] if self.companions.report else []), CERTIFICATE]
        obsolete = [name for name in FILES if name not in written]
        move_complete(stage, written, obsolete, self.companions.secrets)

    def rows(self, schema: pa.Schema, certificate: Certificate) -> Rows:
        """Return the rows of a release that was published here."""
        if isinstance(self.output, DatabaseTable):
            return RowsElsewhere(self.named, schema, certificate.rows)
        return StoredRows(self.output / PARQUET)

    @contextmanager
    def _links(self, file: Path) -> Iterator[None]:
        """Publish the link file if the release is stored."""
        private = self.companions.private
        if private is None:
            yield
            return
        with staged(private.parent, [private.name], overwrite=self.overwrite) as stage:
            shutil.move(file, stage / private.name)
            yield
