"""Where a release is written: a folder or a database, with the report and the owner's files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from mottle.errors import UsageError
from mottle.io.atomic_write import check_writable, ensure_absent, publication, write_atomic
from mottle.io.databases import (
    DatabaseTable,
    check_database_target,
    redacted,
    release_at,
    write_stored_rows,
)
from mottle.io.work_folder import PUBLISHED
from mottle.io.write_release import (
    CERTIFICATE,
    CSV,
    FILES,
    LIST,
    PARQUET,
    REPORT,
    SIGNATURE,
    check_paths,
    check_replaceable,
    private_links,
    recover_owner_files,
    recover_release,
    release_in,
    release_number,
)
from mottle.release.certificate import Certificate
from mottle.release.rows import Rows, RowsElsewhere, StoredRows
from mottle.report.report import InternalReport
from mottle.utils.paths import resolved
from mottle.utils.private_folders import new_private_file

LINK_FILE, INTERNAL = "links.parquet", "internal.html"  # what the owner's files are called in a run


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
        """The owner's files and where they go."""
        places = {LINK_FILE: self.private} if self.private is not None else {}
        return places | ({} if self.internal is None else {INTERNAL: self.internal.path})


@dataclass
class Outgoing:
    """Where the files of a release are written before they are published."""

    folder: Path
    owner: dict[str, Path] = field(default_factory=dict)  # LINK_FILE and INTERNAL
    certificate: Certificate | None = None  # set by whoever has written them


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
    def published(self) -> Path | None:
        """The folder that is published; None for a database."""
        return None if isinstance(self.output, DatabaseTable) else self.output

    @property
    def named(self) -> str:
        """Where the release goes; without a password."""
        if isinstance(self.output, DatabaseTable):
            return redacted(f"{self.output.url} {self.output.table}")
        return str(resolved(self.output))

    def current(self) -> str:
        """Return the number of the release that is there now; empty if there is none."""
        if isinstance(self.output, DatabaseTable):
            return release_at(self.output.url, self.output.table)
        return release_in(self.output)

    def recover(self, work: Path) -> bool:
        """Finish what killed runs have begun with the files of this run.

        Returns whether the run that has left the folder ``work`` had published its release.
        """
        owner = self.companions.secrets.values()
        if isinstance(self.output, Path):
            recover_release(self.output, owner)
        else:
            recover_owner_files(owner, self.named, self.current)
        note = work / PUBLISHED
        return note.exists() and note.read_text(encoding="utf-8") == self.current()

    def check(self) -> None:
        """Raise before a long run the errors that `publishing` would raise after it."""
        secrets = self.companions.secrets
        if isinstance(self.output, Path):
            check_paths(
                self.output,
                secrets.get(LINK_FILE),
                overwrite=self.overwrite,
                another_draw=self.another_draw,
                internal=secrets.get(INTERNAL),
                key=self.key,
            )
            return
        check_database_target(
            self.output.url,
            self.output.table,
            overwrite=self.overwrite,
            another_draw=self.another_draw,
        )
        for path in secrets.values():
            ensure_absent(path.parent, [path.name], overwrite=self.overwrite)
            check_writable(path.parent)

    @contextmanager
    def publishing(self, work: Path) -> Iterator[Outgoing]:
        """Yield where files are written; at the end they are published, all or none.

        ``work`` is the private folder of the run. Rows that go to a database wait there.
        """
        if isinstance(self.output, DatabaseTable):
            outgoing = Outgoing(work, {LINK_FILE: work / LINK_FILE})
            new_private_file(work / PARQUET)
            yield outgoing
            certificate = _noted(outgoing, work)
            with private_links(
                self.companions.private,
                partial(_move, work / LINK_FILE),
                overwrite=self.overwrite,
                place=self.named,
                certificate=certificate,
                current=self.current,
            ):
                write_stored_rows(
                    StoredRows(work / PARQUET),
                    certificate,
                    self.output,
                    overwrite=self.overwrite,
                    another_draw=self.another_draw,
                )
            return
        written = [PARQUET, CSV, *([REPORT] if self.companions.report else []), CERTIFICATE]
        secrets = self.companions.secrets
        with publication(
            self.output,
            written,
            obsolete=[name for name in (*FILES, LIST, SIGNATURE) if name not in written],
            overwrite=self.overwrite,
            owner=list(secrets.values()),
            current=self.current,
        ) as staging:
            places = {name: staging.owner[path] for name, path in secrets.items()}
            outgoing = Outgoing(staging.folder, {LINK_FILE: work / LINK_FILE, **places})
            yield outgoing
            certificate = _noted(outgoing, work)
            check_replaceable(self.output, certificate, another_draw=self.another_draw)
            staging.sha256 = dict(certificate.sha256)
            staging.release = release_number(certificate.to_json())

    def rows(self, schema: pa.Schema, certificate: Certificate) -> Rows:
        """Return the rows of a release that was published here."""
        if isinstance(self.output, DatabaseTable):
            return RowsElsewhere(self.named, schema, certificate.rows)
        return StoredRows(self.output / PARQUET)


def _noted(outgoing: Outgoing, work: Path) -> Certificate:
    """Note in the run's folder which release is about to be published."""
    certificate = outgoing.certificate
    assert certificate is not None, "the files are written before they are published"
    write_atomic(work / PUBLISHED, release_number(certificate.to_json()))
    return certificate


def _move(file: Path, place: Path) -> None:
    shutil.move(file, place)
