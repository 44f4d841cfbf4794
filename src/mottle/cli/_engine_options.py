"""Engines for tables that do not fit into memory, as ``mottle anonymize`` runs them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import typer

from mottle.cli._sources import arguments_of_source
from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.io import databases
from mottle.io.databases import DatabaseTable
from mottle.io.work_folder import work_folder
from mottle.pipeline.chunked.memory import DEFAULT_MEMORY
from mottle.pipeline.progress import Progress
from mottle.release.certificate import Certificate
from mottle.schema.model import Schema, parse_word
from mottle.schema.reading import ReadOptions
from mottle.utils.lazy import lazy_module
from mottle.utils.paths import resolved

if TYPE_CHECKING:
    from mottle.pipeline import spark, streaming
    from mottle.pipeline.chunked.sets.input import SetLayout
    from mottle.report import InternalReport
else:
    spark = lazy_module("mottle.pipeline.spark")
    streaming = lazy_module("mottle.pipeline.streaming")

DEFAULT_MASTER = "local[*]"

_WAYS_OUT = {
    "--audit full": "Leave it out, and run 'mottle audit DATA RELEASE' on the finished release, on"
    " a machine whose memory holds both.",
}


class Engine(StrEnum):
    """How rows are moved."""

    MEMORY = "memory"
    STREAMING = "streaming"
    SPARK = "spark"


@dataclass(frozen=True)
class Input:
    """The input as the command line names it."""

    data: str
    table: str | None
    query: str | None
    text: ReadOptions

    def reader(self) -> str | pa.RecordBatchReader:
        """Return a path, or the batches of a database."""
        if not databases.is_database(self.data):
            if self.table is not None or self.query is not None:
                raise UsageError(
                    f"--table and --query are for databases, and {self.data} is not one.",
                    "Leave them out.",
                )
            return self.data
        return databases.database_batches(self.data, table=self.table, query=self.query)

    @property
    def name(self) -> str:
        """The name by which an interrupted run is recognized; without a password."""
        if not databases.is_database(self.data):
            return str(resolved(self.data))
        return arguments_of_source(self.data, self.table, self.query)


@dataclass(frozen=True)
class Scale:
    """The engine for a table that is worked on in chunks, and its limits."""

    engine: Engine
    memory: str
    master: str
    work: Path | None = None

    @classmethod
    def of(
        cls,
        engine: str | None,
        memory: str | None,
        master: str | None,
        refused: Mapping[str, Any],
        work: Path | None = None,
    ) -> Scale | None:
        """Read the options; return None when the table is worked on in memory.

        ``refused`` are options that do not work in chunks, with their values.
        """
        try:
            default = Engine.MEMORY if memory is None else Engine.STREAMING
            chosen = default if engine is None else parse_word(Engine, engine)
        except ValueError as error:
            raise UsageError(f"{error}.") from None
        if memory is not None and chosen is not Engine.STREAMING:
            raise UsageError(
                f"--memory is for the engine 'streaming', not for '{chosen}'.",
                "Leave one of them out; Spark has its own settings for memory.",
            )
        if master is not None and chosen is not Engine.SPARK:
            raise UsageError("--master is for Spark.", "Add --engine spark.")
        if chosen is Engine.MEMORY:
            if work is not None:
                raise UsageError(
                    "--work is for runs in chunks; in memory there are no intermediate files.",
                    "Leave --work out, or give --memory.",
                )
            return None
        for option, value in refused.items():
            if value:
                raise UsageError(
                    f"{option} needs the whole table in memory; the engine '{chosen}' works in"
                    " chunks.",
                    _WAYS_OUT.get(
                        option, f"Leave {option} out, or leave out --engine and --memory."
                    ),
                )
        return cls(chosen, memory or DEFAULT_MEMORY, master or DEFAULT_MASTER, work)

    def anonymize(
        self,
        source: Input,
        what: Schema | SetLayout,
        guarantee: Guarantee,
        output: Path | DatabaseTable,
        *,
        overwrite: bool,
        another_draw: bool,
        report: bool,
        private: Path | None,
        internal: InternalReport | None,
        progress: Callable[[Progress], None],
        **options: Any,
    ) -> Certificate:
        """Write the release to ``output``; returns its certificate.

        ``what`` is a schema for a table, and says where the sets are for sets.
        """
        written: dict[str, Any] = {
            "overwrite": overwrite,
            "another_draw": another_draw,
            "report": report,
            "internal": internal,
            "work": self.work,
            "progress": progress,
        }
        published = output if isinstance(output, Path) else None
        with self._intermediate_rows(published):
            return self._anonymize(source, what, guarantee, output, private, written | options)

    @contextmanager
    def _intermediate_rows(self, published: Path | None) -> Iterator[None]:
        """Say where intermediate rows lie, and remove an empty folder at the end."""
        place = work_folder(self.work, published=published)
        typer.echo(f"Intermediate rows: {place} (private; removed at the end)", err=True)
        try:
            yield
        finally:
            with suppress(OSError):
                place.rmdir()  # if nothing was left in it

    def _anonymize(
        self,
        source: Input,
        what: Schema | SetLayout,
        guarantee: Guarantee,
        output: Path | DatabaseTable,
        private: Path | None,
        options: dict[str, Any],
    ) -> Certificate:
        if self.engine is Engine.STREAMING:
            options |= {"memory": self.memory, "source": source.name, "private": private}
            try:
                if isinstance(what, Schema):
                    return streaming.anonymize(
                        source.reader(), what, guarantee, output, text=source.text, **options
                    ).certificate
                return streaming.anonymize_sets(
                    source.reader(), guarantee, output, **asdict(what), **options
                ).certificate
            except KeyboardInterrupt:
                typer.echo(
                    "Finished chunks are kept in the work folder: the same command resumes from"
                    " them, mottle clean removes them.",
                    err=True,
                )
                raise
        internal = options["internal"]
        if private is not None or (internal is not None and internal.examples):
            option = "--private" if private is not None else "--report-examples"
            raise UsageError(
                f"{option} needs the number of each row in the input, which rows in Spark do not"
                " have.",
                f"Leave {option} out, or use the engine 'streaming'.",
            )
        options |= {"master": self.master, "source": source.name}
        if isinstance(what, Schema):
            return spark.anonymize_file(
                source.reader(), what, guarantee, output, text=source.text, **options
            ).certificate
        return spark.anonymize_sets_file(
            source.reader(), what, guarantee, output, **options
        ).certificate


class TimeEstimate:
    """Estimates the remaining time of a stage that works in parts, for a progress bar."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = 0.0
        self._share = 0.0

    def of(self, progress: Progress) -> str:
        """Describe the share that is done, and about how long the rest of the stage takes."""
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._began = progress.stage, now
            self._share = progress.share or 0.0  # the part that an earlier run did takes no time
        if progress.share is None:
            return ""
        done = progress.share - self._share
        left = (now - self._began) * (1 - progress.share) / done if done > 0 else 0.0
        return f" {progress.share:.0%}{time_left(left)}"


def time_left(seconds: float | None) -> str:
    """Write about how long something will still take, if that is known and worth saying.

    >>> time_left(42), time_left(0.3), time_left(None)
    (', about 42 s left', '', '')
    """
    return "" if seconds is None or seconds < 1 else f", about {duration(seconds)} left"


def duration(seconds: float) -> str:
    """Write seconds in a unit that suits their number.

    >>> duration(42), duration(200), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
