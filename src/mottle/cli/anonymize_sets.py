"""The command ``mottle anonymize-sets``."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

from rich.table import Table

from mottle.cli._console import print_json
from mottle.cli._engine_options import Input, Scale
from mottle.cli._progress import progress_bar
from mottle.cli._sources import arguments_of_source, read_source_of_sets
from mottle.cli._terminal import announce, out
from mottle.cli.commands import AnonymizeSets
from mottle.evaluation.set_release import SetComparison, compare_sets
from mottle.pipeline.anonymize_sets import anonymize_sets
from mottle.pipeline.chunked.sets.input import SetLayout
from mottle.pipeline.progress import Progress
from mottle.release.certificate import Certificate
from mottle.schema.reading import ReadOptions
from mottle.utils.compiling.ahead import compiled_ahead


def run(command: AnonymizeSets) -> None:
    """Anonymize sets of items and write the release, in memory or with another engine."""
    scale = Scale.of(
        command.scale.engine,
        command.scale.memory,
        command.scale.master,
        {
            "--measure": command.measure,
            "--unsafe-paper-randomization": command.effort.unsafe_paper_randomization,
            "--set": command.effort.settings,
        },
        command.scale.work,
    )
    began = time.perf_counter()
    if scale is None:
        with compiled_ahead("sets" if command.method in ("auto", "freeform") else command.method):
            certificate, measured = _in_memory(command, began)
    else:
        certificate, measured = _in_chunks(command, scale), None
    if command.as_json:
        more = {} if measured is None else {"measured": asdict(measured)}
        shown = certificate.to_dict() | more
        print_json(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    out.print(_result(command, certificate, measured, time.perf_counter() - began))
    for note in certificate.notes:
        out.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)
    announce(command.reports, command.effort.key, command.as_json)


def _in_chunks(command: AnonymizeSets, scale: Scale) -> Certificate:
    """Anonymize with another engine; returns the certificate as written."""
    source, effort, reports = command.source, command.effort, command.reports
    layout = SetLayout(
        source.column, source.record, source.item, source.separator, source.label, command.encoding
    )
    with progress_bar() as on_progress:
        return scale.anonymize(
            Input(command.data, source.table, source.query, ReadOptions()),
            layout,
            command.guarantee.needed,
            command.destination.target.place,
            overwrite=command.overwrite,
            another_draw=command.another_draw,
            report=not reports.no_report,
            private=command.private,
            internal=reports.internal(None, _arguments(command), command.typed),
            progress=on_progress,
            method=command.method,
            walk=effort.walk,
            effort=effort.seconds,
            seed=effort.seed,
            key=effort.key,
            totals=not command.no_totals,
            context=reports.context(),
            item_hierarchy=command.item_hierarchy,
            node_holders=command.node_holders,
        )


def _in_memory(command: AnonymizeSets, began: float) -> tuple[Certificate, SetComparison | None]:
    """Anonymize all sets at once; returns the certificate as written, and what was measured."""
    reports = command.reports
    target = command.destination.target
    target.check(
        command.private,
        overwrite=command.overwrite,
        another_draw=command.another_draw,
        internal=reports.internal_report,
        key=command.effort.key,
    )
    effort = command.effort
    keeps_best = command.method in ("auto", "freeform") and effort.key is None
    with progress_bar(effort.seconds, keeps_best=keeps_best) as on_progress:
        sets = read_source_of_sets(command.data, command.source, command.encoding)
        read = time.perf_counter() - began
        release = anonymize_sets(
            sets,
            command.guarantee.needed,
            method=command.method,
            options=command.effort.options,
            walk=command.effort.walk,
            effort=command.effort.seconds,
            seed=command.effort.seed,
            key=command.effort.key,
            totals=not command.no_totals,
            progress=on_progress,
            unsafe_paper_randomization=command.effort.unsafe_paper_randomization,
            context=reports.context(),
            item_hierarchy=command.item_hierarchy,
            node_holders=command.node_holders,
        )
        release = release.with_seconds(read=read)
        on_progress(Progress("write", release.error_rate))
        certificate = target.save(
            release,
            command.private,
            overwrite=command.overwrite,
            another_draw=command.another_draw,
            report=not reports.no_report,
            internal=reports.internal(sets, _arguments(command), command.typed),
        )
        measured = None
        if command.measure:
            measured = compare_sets(sets, release, **command.items_of_counts)
    return certificate, measured


def _arguments(command: AnonymizeSets) -> str:
    return arguments_of_source(command.data, command.source.table, command.source.query)


def _result(
    command: AnonymizeSets,
    certificate: Certificate,
    measured: SetComparison | None,
    seconds: float,
) -> Table:
    """A short table of what was done and where the files are."""
    guarantee, method = certificate.guarantee, certificate.method
    picked = "" if method.picked is None else f"{method.picked}, picked by "
    passed = sum(check.passed for check in certificate.checks)
    shown = Table(title="Released", title_justify="left", show_header=False)
    shown.add_row("records", f"{certificate.rows:,}")
    shown.add_row("different items", f"{certificate.items:,}")
    shown.add_row("guarantee", f"{guarantee.name}, {guarantee.short}")
    shown.add_row("method", f"{picked}{method.name} ({method.paper})")
    shown.add_row("error rate (ER): bits wrong per item held", f"{certificate.loss:.2%}")
    if measured is not None:
        shown.add_row("query error, items present", f"{measured.query_error_present:.4%}")
        shown.add_row("query error, items absent", f"{measured.query_error_absent:.4%}")
        shown.add_row("item frequencies wrong by", f"{measured.item_frequency_error:.2%}")
        shown.add_row("support of frequent pairs wrong by", f"{measured.pair_support_error:.2%}")
    shown.add_row("invariants", f"{passed} of {len(certificate.checks)} hold")
    shown.add_row("time", f"{seconds:.1f} s")
    shown.add_row(*command.destination.target.shown(certificate))
    if command.private is not None:
        shown.add_row("private links", f"{command.private} (keep it secret)")
    return shown
