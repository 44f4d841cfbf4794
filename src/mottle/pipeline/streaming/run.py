"""One run in chunks on one machine, from the input to the files of the release."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from mottle._version import __version__
from mottle.guarantees.base import Guarantee
from mottle.io.atomic_write import translating_os_errors
from mottle.io.databases import redacted
from mottle.io.owner_key import owner_key
from mottle.io.read_set_release import load_any_release
from mottle.io.work_folder import run_folder, work_folder
from mottle.pipeline.chunked.contents import Contents
from mottle.pipeline.chunked.driver import drive
from mottle.pipeline.chunked.memory import memory_bytes
from mottle.pipeline.chunked.write import write_files
from mottle.pipeline.destination import Destination
from mottle.pipeline.owner import described_columns
from mottle.pipeline.progress import Clock
from mottle.pipeline.release import Release
from mottle.pipeline.settings import Settings
from mottle.pipeline.streaming.engine import StreamingEngine


@dataclass(frozen=True)
class Limits:
    """What decides how many rows are worked on at once."""

    memory: int  # bytes
    chunk_rows: int | None

    @classmethod
    def of(cls, memory: str | int, chunk_rows: int | None) -> Self:
        """Read the options."""
        return cls(memory_bytes(memory), chunk_rows)


def run_in_stream(
    contents: Contents,
    guarantee: Guarantee,
    settings: Settings,
    destination: Destination,
    limits: Limits,
    clock: Clock,
    *,
    key: str | Path | bytes | None,
    work: str | Path | None,
) -> Release:
    """Anonymize in chunks and publish, or resume what an interrupted run has begun.

    Parameters
    ----------
    contents : Contents
        The input: a table or sets.
    guarantee : Guarantee
        What the release has to promise.
    settings : Settings
        The options, checked for runs in chunks.
    destination : Destination
        Where the release goes.
    limits : Limits
        The memory.
    clock : Clock
        Times the stages.
    key : str, Path or bytes, optional
        The owner's key.
    work : str or Path, optional
        Where the private folder for intermediate rows is made.

    Returns
    -------
    Release
        The release, backed by what was written.
    """
    command = _key(contents, guarantee, settings, limits, destination)
    root = work_folder(work, published=destination.published)
    note = {
        "command": f"{contents.command} {redacted(contents.named) or 'rows'} to"
        f" {destination.named}",
        "target": destination.named,
    }
    with translating_os_errors(root), run_folder(root, command, note) as stage:
        is_published = destination.recover(stage)
        if is_published and destination.published is not None:
            return contents.as_release(load_any_release(destination.published, in_memory=False))
        if not is_published:
            destination.check()
        with closing(
            StreamingEngine(stage, guarantee, settings, limits.memory, limits.chunk_rows, clock)
        ) as engine:
            opened = engine.open(contents)
            covering = contents.schema.covering(opened.types.names)
            fingerprint = None
            if key is not None:
                owned = contents.owned(owner_key(key), opened)
                cut = {"name": "streaming", "memory": limits.memory, "rows": limits.chunk_rows}
                engine.use_secret(
                    owned.secret(contents.schema_of_key(opened), guarantee, settings, cut)
                )
                fingerprint = owned.fingerprint(engine.secret)
            elif destination.companions.private is not None:
                fingerprint = contents.owned(b"", opened).fingerprint(engine.secret)
            done = drive(
                engine,
                covering,
                guarantee,
                settings,
                engine.secret,
                clock,
                to_count=contents.columns_to_count(opened),
                numbered=destination.companions.numbered,
                kind=contents.kind,
            )
        if is_published:  # and its run was killed before it ended
            certificate = done.certificate
        else:
            with destination.publishing(stage) as outgoing:
                certificate = write_files(
                    engine.rows_in_order(done.plan),
                    contents.release_of(done.plan.fields.empty_table(), done.plan.columns, None),
                    done.certificate,
                    outgoing,
                    companions=destination.companions,
                    original=lambda: contents.original(opened),
                    blocks=[part.blocks for part in done.parts],
                    fingerprint=fingerprint,
                    reading=contents.reading,
                    text=destination.published is not None,
                    on_progress=partial(clock.report_share, "write", done.plan.rows),
                )
                engine.check_input()  # an internal report has read it again
        clock.report_end()
    rows = destination.rows(done.plan.fields, certificate)
    return contents.release_of(rows, done.plan.columns, certificate)


def _key(
    contents: Contents,
    guarantee: Guarantee,
    settings: Settings,
    limits: Limits,
    destination: Destination,
) -> str:
    """Identify the command of an interrupted run; the input's content is compared later."""
    schema = contents.schema
    columns = described_columns(schema, [column.name for column in schema.columns])
    stated = [schema.rest, schema.unit, schema.rules]
    options = (
        settings,
        limits.memory,
        limits.chunk_rows,
        contents.reading,
        destination.named,
        destination.companions.numbered,
        *contents.recognized_by,
    )
    words = [__version__, contents.named, columns, stated, repr(guarantee), repr(options)]
    return hashlib.sha256(json.dumps(words, default=str).encode()).hexdigest()[:32]
