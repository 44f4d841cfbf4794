"""The command ``mottle anonymize``."""

from __future__ import annotations

import time

import typer

from mottle.cli._engine_options import Input, Scale
from mottle.cli._terminal import announce, progress_bar, show_release
from mottle.cli.audit import BROKEN
from mottle.cli.commands import Anonymize
from mottle.io.batch_source import TextOptions
from mottle.pipeline.anonymize import anonymize
from mottle.pipeline.progress import Progress
from mottle.release.certificate import Certificate


def run(asked: Anonymize) -> None:
    """Anonymize a table and write the release, in memory or with another engine."""
    scale = Scale.of(
        asked.scale.engine,
        asked.scale.memory,
        asked.scale.master,
        {
            "--audit full": asked.audit == "full",
            "--unsafe-paper-randomization": asked.effort.unsafe_paper_randomization,
        },
    )
    began = time.perf_counter()
    if scale is None:
        certificate = _in_memory(asked, began)
    else:
        certificate = _in_chunks(asked, scale)
    show_release(certificate, asked.destination.target, asked.private, began, asked.as_json)
    announce(asked.reports, asked.as_json)
    if certificate.audit is not None and not certificate.audit.passed:
        raise typer.Exit(BROKEN)


def _in_memory(asked: Anonymize, began: float) -> Certificate:
    """Anonymize the whole table at once; returns the certificate as written."""
    target = asked.destination.target
    target.check(asked.private, overwrite=asked.overwrite, internal=asked.reports.internal_report)
    source = asked.source.arguments(asked.data)
    with progress_bar() as on_progress:
        original = asked.source.read(asked.data)
        read = time.perf_counter() - began
        release = anonymize(
            original,
            asked.columns.schema,
            asked.guarantee.needed,
            method=asked.method,
            representation=asked.representation,
            walk=asked.effort.walk,
            effort=asked.effort.seconds,
            seed=asked.effort.seed,
            progress=on_progress,
            unsafe_paper_randomization=asked.effort.unsafe_paper_randomization,
            audit=asked.audit,
            totals=not asked.no_totals,
        )
        release = release.with_seconds(read=read)
        on_progress(Progress("write", release.gcp))
        return target.save(
            release,
            asked.private,
            overwrite=asked.overwrite,
            report=not asked.reports.no_report,
            internal=asked.reports.internal(original, source, asked.typed),
        )


def _in_chunks(asked: Anonymize, scale: Scale) -> Certificate:
    """Anonymize with another engine; returns the certificate as written."""
    options = asked.source
    text = TextOptions(
        options.delimiter, options.quote, options.encoding, tuple(options.missing or ())
    )
    source = options.arguments(asked.data)
    with progress_bar() as on_progress:
        return scale.anonymize(
            Input(asked.data, options.table, options.query, text),
            asked.columns.schema,
            asked.guarantee.needed,
            asked.destination.target.place,
            overwrite=asked.overwrite,
            report=not asked.reports.no_report,
            private=asked.private,
            internal=asked.reports.internal(None, source, asked.typed),
            progress=on_progress,
            method=asked.method,
            representation=asked.representation,
            walk=asked.effort.walk,
            effort=asked.effort.seconds,
            seed=asked.effort.seed,
            totals=not asked.no_totals,
        )
