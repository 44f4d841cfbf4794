"""The command ``mottle anonymize``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from mottle.audit import AUDITS
from mottle.cli._engine_options import EngineOption, Input, MasterOption, MemoryOption, Scale
from mottle.cli._options import (
    Anonymity,
    AsJson,
    Cap,
    CapRest,
    Delimiter,
    Diversity,
    Encoding,
    Enhanced,
    Likeness,
    Missing,
    Overwrite,
    Private,
    Quote,
    Seconds,
    Seed,
    UnsafeRandomization,
    Walk,
)
from mottle.cli._schema_options import guarantee_from_options, schema_from_options
from mottle.cli._sources import (
    Data,
    QueryOption,
    TableOption,
    Target,
    arguments_of_source,
    read_source,
)
from mottle.cli._terminal import progress_bar, show_release
from mottle.cli.audit import BROKEN
from mottle.cli.report import InternalFile, NoReport, ReportOptions, WithExamples
from mottle.io.batch_source import TextOptions
from mottle.pipeline.anonymize import Progress, anonymize


def anonymize_command(
    context: typer.Context,
    data: Data,
    table: TableOption = None,
    query: QueryOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the release.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="Database for the release, instead of a folder.")
    ] = None,
    to_table: Annotated[str | None, typer.Option(help="Table for the release, with --to.")] = None,
    k: Anonymity = None,
    l_: Diversity = None,
    beta: Likeness = None,
    enhanced: Enhanced = False,
    cap: Cap = None,
    cap_rest: CapRest = None,
    schema: Annotated[Path | None, typer.Option(help="mottle.toml with the columns.")] = None,
    qi: Annotated[list[str] | None, typer.Option(help="Quasi-identifiers: a,b,c.")] = None,
    sensitive: Annotated[list[str] | None, typer.Option(help="Sensitive columns: a,b.")] = None,
    id_: Annotated[
        list[str] | None, typer.Option("--id", help="Identifying columns, removed: a,b.")
    ] = None,
    insensitive: Annotated[list[str] | None, typer.Option(help="Insensitive columns: a,b.")] = None,
    rest: Annotated[str | None, typer.Option(help="Role of all columns not named.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=KIND, such as postcode=prefix: docs/guide.md. Repeatable."),
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option(help="COLUMN=WEIGHT of its loss. Repeatable.")
    ] = None,
    order: Annotated[
        list[str] | None, typer.Option(help="COLUMN=lowest,…,highest. Repeatable.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option(help="COLUMN=FILE in ARX's layout. Repeatable.")
    ] = None,
    separator: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=; between the items of sets that are text. Repeatable."),
    ] = None,
    breaks: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=20,50: bins of a sensitive number begin there. Repeatable."),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=10: so many quantile bins of a sensitive number. Repeatable."),
    ] = None,
    method: Annotated[str, typer.Option(help="See 'mottle methods'.")] = "auto",
    seconds: Seconds = None,
    representation: Annotated[
        str, typer.Option(help="range, or set: every column as a set of values.")
    ] = "range",
    walk: Walk = "closed",
    seed: Seed = None,
    private: Private = None,
    unsafe_paper_randomization: UnsafeRandomization = False,
    audit: Annotated[
        str, typer.Option(help="basic, or full: play all adversaries against the release.")
    ] = AUDITS[0],
    no_totals: Annotated[
        bool,
        typer.Option("--no-totals", help="Do not say how often values occur (docs/queries.md)."),
    ] = False,
    no_report: NoReport = False,
    internal_report: InternalFile = None,
    report_examples: WithExamples = False,
    engine: EngineOption = None,
    memory: MemoryOption = None,
    master: MasterOption = None,
    overwrite: Overwrite = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Anonymize DATA and write release.parquet, release.csv, report.html and certificate.json."""
    guarantee = guarantee_from_options(k, l_, beta, enhanced, cap, cap_rest)
    named = {"--qi": qi, "--sensitive": sensitive, "--id": id_, "--insensitive": insensitive}
    details = {"--kind": kind, "--weight": weight, "--order": order, "--hierarchy": hierarchy}
    details |= {"--separator": separator, "--breaks": breaks, "--bins": bins}
    columns = schema_from_options(schema, named | details, rest)
    target = Target.of(output, to, to_table)
    reports = ReportOptions.of(no_report, internal_report, report_examples)
    refused = {"--audit full": audit == "full"}
    refused |= {"--unsafe-paper-randomization": unsafe_paper_randomization}
    scale = Scale.of(engine, memory, master, refused)
    source = arguments_of_source(data, table, query)
    began = time.perf_counter()
    if scale is not None:
        text = TextOptions(delimiter, quote, encoding, tuple(missing or ()))
        with progress_bar() as tell:
            certificate = scale.anonymize(
                Input(data, table, query, text),
                columns,
                guarantee,
                target.place,
                overwrite=overwrite,
                report=reports.publishable,
                private=private,
                internal=reports.internal_report(None, source, context),
                progress=tell,
                method=method,
                representation=representation,
                walk=walk,
                effort=seconds,
                seed=seed,
                totals=not no_totals,
            )
        show_release(certificate, target, private, began, as_json)
        reports.tell(as_json)
        return
    target.check(private, overwrite=overwrite, internal=internal_report)
    with progress_bar() as tell:
        original = read_source(
            data,
            table,
            query,
            delimiter=delimiter,
            quote=quote,
            encoding=encoding,
            missing=missing or (),
        )
        read = time.perf_counter() - began
        release = anonymize(
            original,
            columns,
            guarantee,
            method=method,
            representation=representation,
            walk=walk,
            effort=seconds,
            seed=seed,
            progress=tell,
            unsafe_paper_randomization=unsafe_paper_randomization,
            audit=audit,
            totals=not no_totals,
        )
        release.certificate["seconds"] = {"read": round(read, 4), **release.certificate["seconds"]}
        tell(Progress("write", release.gcp))
        certificate = target.save(
            release,
            private,
            overwrite=overwrite,
            report=reports.publishable,
            internal=reports.internal_report(original, source, context),
        )
    show_release(certificate, target, private, began, as_json)
    reports.tell(as_json)
    if audit == "full" and not certificate["audit"]["passed"]:
        raise typer.Exit(BROKEN)
