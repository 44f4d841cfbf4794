"""The command ``mottle anonymize``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import typer

from mottle.audit.report import AuditReport
from mottle.cli._audit_report import BROKEN
from mottle.cli._engine_options import Engine, Input, Scale
from mottle.cli._progress import progress_bar
from mottle.cli._terminal import announce, show_release
from mottle.cli.commands import Anonymize
from mottle.guarantees.base import Guarantee
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.io.successor import check_not_continued
from mottle.pipeline.anonymize import anonymize
from mottle.pipeline.over_time import CHANGED, LEAVERS
from mottle.pipeline.progress import Progress
from mottle.release.certificate import Certificate
from mottle.schema.model import Role, Schema
from mottle.utils.compiling.ahead import compiled_ahead
from mottle.utils.lazy import lazy_module
from mottle.utils.lean_process import leave_out_unused

if TYPE_CHECKING:
    from mottle.audit import earlier
    from mottle.pipeline import suggest as suggesting
else:
    earlier = lazy_module("mottle.audit.earlier")
    suggesting = lazy_module("mottle.pipeline.suggest")


def run(command: Anonymize) -> None:
    """Anonymize a table and write the release, in memory or with another engine."""
    scale = Scale.of(
        command.scale.engine,
        command.scale.memory,
        command.scale.master,
        {
            "--audit full": command.audit == "full",
            "--max-loss": command.guarantee.max_loss,
            "--unsafe-paper-randomization": command.effort.unsafe_paper_randomization,
            "--same": command.over_time.same,
            "--previous": command.over_time.previous,
            "--set": command.effort.settings,
            "--order-by": command.effort.order_by,
        },
        command.scale.work,
    )
    began = time.perf_counter()
    if scale is None or scale.engine is Engine.STREAMING:  # Spark converts to pandas
        leave_out_unused()
    if scale is None:
        with compiled_ahead(*_known_kernels(command)):
            certificate, audited = _in_memory(command, began)
    else:
        certificate, audited = _in_chunks(command, scale), None
    target = command.destination.target
    show_release(certificate, target, command.private, began, command.as_json, audited)
    announce(command.reports, command.effort.key, command.as_json)
    audit = certificate.audit
    if command.audit == "full" and audit is not None and not audit.passed:
        raise typer.Exit(BROKEN)


def _known_kernels(command: Anonymize) -> tuple[str, ...]:
    """The run in the list of kernels that compiles the same as this one, if there is one."""
    if command.objective is not None:
        return ()
    if command.chosen_method != "auto":
        return (command.chosen_method,)
    return ("buckets",) if command.columns.schema.with_role(Role.SENSITIVE) else ("freeform",)


def _schema(command: Anonymize) -> Schema:
    """The schema, with reading options as typed, or else as in mottle.toml."""
    schema = command.columns.schema
    schema = schema.with_context(command.reports.context(schema.context))
    return schema.with_reading(command.source.options.over(schema.reading))


def _in_memory(command: Anonymize, began: float) -> tuple[Certificate, AuditReport | None]:
    """Anonymize the whole table at once; returns the certificate as written, and a full audit."""
    schema = _schema(command)
    target = command.destination.target
    target.check(
        command.private,
        overwrite=command.overwrite,
        another_draw=command.another_draw,
        internal=command.reports.internal_report,
        key=command.effort.key,
        previous=command.over_time.previous,
    )
    effort, previous = command.effort, command.over_time.previous
    if previous is not None and not command.another_draw and effort.key is None is effort.seed:
        check_not_continued(previous)  # without key or seed it will be another release
    source = command.source.arguments(command.data)
    with progress_bar(effort.seconds, keeps_best=_keeps_best(command)) as on_progress:
        original = command.source.read(command.data, schema.reading)
        read = time.perf_counter() - began
        guarantee, note = _guarantee(command, original, schema, on_progress)
        release = anonymize(
            original,
            schema,
            guarantee,
            method=command.chosen_method,
            options=command.effort.options,
            representation=command.representation,
            objective=command.objective,
            walk=command.effort.walk,
            effort=command.effort.seconds,
            seed=command.effort.seed,
            key=command.effort.key,
            progress=on_progress,
            unsafe_paper_randomization=command.effort.unsafe_paper_randomization,
            audit=command.audit,
            totals=not command.no_totals,
            same=command.over_time.same,
            previous=command.over_time.previous,
            leavers=command.over_time.leavers or LEAVERS[0],
            changed=command.over_time.changed or CHANGED[0],
            least_newcomers=command.over_time.least_newcomers,
            few_remain=command.over_time.few_remain,
        )
        release = release.with_notes(*note).with_seconds(read=read)
        on_progress(Progress("write", release.gcp))
        certificate = target.save(
            release,
            command.private,
            overwrite=command.overwrite,
            another_draw=command.another_draw,
            report=not command.reports.no_report,
            internal=None
            if command.reports.internal_report is None
            else command.reports.internal(
                earlier.described_by(original, release.links), source, command.typed
            ),
        )
        return certificate, release.audited


def _keeps_best(command: Anonymize) -> bool:
    """Whether Ctrl-C ends improving and keeps what was reached; a keyed run has to repeat."""
    return command.chosen_method in ("auto", "freeform", "buckets") and command.effort.key is None


def _guarantee(
    command: Anonymize, original: pa.Table, schema: Schema, on_progress: Callable[[Progress], None]
) -> tuple[Guarantee, tuple[str, ...]]:
    """The guarantee as typed, or the strongest k within the loss budget and a note on it."""
    budget = command.guarantee.max_loss
    if budget is None:
        return command.guarantee.needed, ()
    found = suggesting.suggest(
        original,
        schema,
        max_loss=budget,
        method=command.chosen_method,
        representation=command.representation,
        objective=command.objective,
        progress=on_progress,
    )
    chosen = found.needed
    assert isinstance(chosen, KAnonymity)
    typer.echo(f"k = {chosen.k}: the strongest within a loss of {budget:.2%}.", err=True)
    people = "" if schema.person is None else " and who has which rows"
    note = (
        f"k = {chosen.k} was chosen as the strongest whose preview loses at most {budget:.2%}. The"
        f" choice follows from quasi-identifiers{people} alone."
    )
    return chosen, (note,)


def _in_chunks(command: Anonymize, scale: Scale) -> Certificate:
    """Anonymize with another engine; returns the certificate as written."""
    options, schema = command.source, _schema(command)
    source = options.arguments(command.data)
    with progress_bar() as on_progress:
        return scale.anonymize(
            Input(command.data, options.table, options.query, schema.reading),
            schema,
            command.guarantee.needed,
            command.destination.target.place,
            overwrite=command.overwrite,
            another_draw=command.another_draw,
            report=not command.reports.no_report,
            private=command.private,
            internal=command.reports.internal(None, source, command.typed),
            progress=on_progress,
            method=command.chosen_method,
            representation=command.representation,
            objective=command.objective,
            walk=command.effort.walk,
            effort=command.effort.seconds,
            seed=command.effort.seed,
            key=command.effort.key,
            totals=not command.no_totals,
        )
