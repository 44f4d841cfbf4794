"""The command ``mottle anonymize-sets``."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from mottle.cli._options import (
    Anonymity,
    AsJson,
    Cap,
    CapRest,
    Diversity,
    Enhanced,
    Item,
    ItemsColumn,
    Label,
    Likeness,
    Overwrite,
    Private,
    Record,
    Seconds,
    Seed,
    Separator,
    UnsafeRandomization,
    Walk,
)
from mottle.cli._schema_options import guarantee_from_options
from mottle.cli._terminal import out, progress_bar
from mottle.cli.report import InternalFile, NoReport, ReportOptions, WithExamples
from mottle.evaluation.set_release import SetComparison, compare_sets
from mottle.io.read_sets import read_sets
from mottle.io.write_release import REPORT, check_paths
from mottle.methods.sets import SetMethod, registered
from mottle.pipeline.anonymize_sets import anonymize_sets
from mottle.pipeline.progress import Progress
from mottle.release.certificate import Certificate


def anonymize_sets_command(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            help="Transaction file, one set per line, or a table with --column or --record."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the release.")],
    k: Anonymity = None,
    l_: Diversity = None,
    beta: Likeness = None,
    enhanced: Enhanced = False,
    cap: Cap = None,
    cap_rest: CapRest = None,
    column: ItemsColumn = None,
    separator: Separator = None,
    record: Record = None,
    item: Item = None,
    label: Label = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a transaction file.")] = None,
    method: Annotated[str, typer.Option(help="See 'mottle methods --sets'.")] = "auto",
    seconds: Seconds = None,
    walk: Walk = "closed",
    seed: Seed = None,
    private: Private = None,
    unsafe_paper_randomization: UnsafeRandomization = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Compare counts with those in the original.")
    ] = False,
    no_report: NoReport = False,
    internal_report: InternalFile = None,
    report_examples: WithExamples = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Anonymize sets of items: baskets, diagnoses, places; write a release as for tables."""
    guarantee = guarantee_from_options(k, l_, beta, enhanced, cap, cap_rest)
    reports = ReportOptions.of(no_report, internal_report, report_examples)
    check_paths(output, private, overwrite=overwrite, internal=internal_report)
    began = time.perf_counter()
    with progress_bar() as tell:
        sets = read_sets(
            data,
            column=column,
            record=record,
            item=item,
            separator=separator,
            label=label,
            encoding=encoding,
        )
        read = time.perf_counter() - began
        release = anonymize_sets(
            sets,
            guarantee,
            method=method,
            walk=walk,
            effort=seconds,
            seed=seed,
            progress=tell,
            unsafe_paper_randomization=unsafe_paper_randomization,
        )
        release = release.with_seconds(read=read)
        tell(Progress("write", release.error_rate))
        certificate = release.save(
            output,
            private=private,
            overwrite=overwrite,
            report=reports.publishable,
            internal=reports.internal_report(sets, str(data), context),
        )
        measured = compare_sets(sets, release) if measure else None
    if as_json:
        more = {} if measured is None else {"measured": asdict(measured)}
        shown = certificate.to_dict() | more
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    out.print(_result(certificate, output, private, measured, time.perf_counter() - began))
    for note in certificate.notes:
        out.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)
    reports.tell(as_json)


def _result(
    certificate: Certificate,
    output: Path,
    private: Path | None,
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
    report = [REPORT] if (output / REPORT).exists() else []
    files = ", ".join([*certificate.sha256, *report, "certificate.json"])
    shown.add_row("files", f"{output}/: {files}")
    if private is not None:
        shown.add_row("private links", f"{private} (keep it secret)")
    return shown


def list_methods(as_json: bool) -> None:
    """Show the methods for sets."""
    if as_json:
        described = [
            {
                "name": method.name,
                "title": method.title,
                "gives": _gives(method),
                "paper": method.paper,
                "cost": method.cost,
            }
            for method in registered().values()
        ]
        print(json.dumps(described, indent=2, ensure_ascii=False))
        return
    shown = Table("method", "what it does", "gives", "paper", "cost")
    for method in registered().values():
        gives = ", ".join(_gives(method))
        shown.add_row(method.name, method.title, gives, method.paper, method.cost)
    out.print(shown)


def _gives(method: SetMethod) -> list[str]:
    return [guarantee.__name__ for guarantee in method.guarantees]
