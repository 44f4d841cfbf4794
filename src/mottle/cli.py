"""The command line: reads options, calls the public API, prints results."""

from __future__ import annotations

import functools
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.logging import RichHandler
from rich.progress import Progress as ProgressBar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import mottle
from mottle import coding, compilation, hierarchy, hierarchy_lint, methods
from mottle.assignment import WALKS
from mottle.audit import AUDITS
from mottle.cli_audit import BROKEN, audit_command, show_certified
from mottle.cli_compare import compare_command
from mottle.cli_options import guarantee_from_options, schema_from_options
from mottle.cli_parameters import (
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
    Quote,
)
from mottle.cli_places import (
    Data,
    DiscreetGroup,
    QueryOption,
    TableOption,
    Target,
    arguments_of_source,
    name_of_source,
    read_source,
)
from mottle.cli_query import query_command, sample_command
from mottle.cli_report import (
    InternalFile,
    NoReport,
    ReportOptions,
    WithExamples,
    report_command,
)
from mottle.cli_scale import EngineOption, Estimate, Input, MasterOption, MemoryOption, Scale
from mottle.cli_sets import command as sets_command
from mottle.cli_sets import list_methods as list_set_methods
from mottle.demonstration import DEMO_ROWS, prepare
from mottle.errors import MottleError, SchemaError, UsageError
from mottle.guarantees import KAnonymity
from mottle.inspection import inspect as inspect_table
from mottle.io.batches import TextOptions
from mottle.io.databases import redacted
from mottle.io.read import read_table
from mottle.io.staging import staged
from mottle.pipeline import STAGES, Progress, anonymize
from mottle.schema import Column, Role
from mottle.values import as_text

app = typer.Typer(
    cls=DiscreetGroup,
    pretty_exceptions_show_locals=False,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Anonymize tables: provable k-anonymity, far less information lost.",
)
out = Console()
err = Console(stderr=True)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

INTERRUPTED = 130


def main() -> None:
    """Entry point of the ``mottle`` command."""
    app(prog_name="mottle")


def _reporting_errors(
    command: Callable[Arguments, Result],
) -> Callable[Arguments, Result]:
    """Print errors as what is wrong and what to do, and exit with their code."""

    @functools.wraps(command)
    def run(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        handler = RichHandler(console=err, show_time=False, show_path=False, markup=False)
        logging.basicConfig(level=logging.WARNING, handlers=[handler], format="%(message)s")
        try:
            return command(*args, **options)
        except MottleError as error:
            err.print("[bold red]Error:[/] ", end="")
            for line in filter(None, (error.problem, error.remedy)):
                err.print(redacted(line), markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            err.print("Interrupted: nothing was written.")
            raise typer.Exit(INTERRUPTED) from None

    return run


def _version(asked: bool) -> None:
    if asked:
        print(f"mottle {mottle.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options before the command."""


@app.command("anonymize")
@_reporting_errors
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
        typer.Option(help="COLUMN=number|date|category|ordered|hierarchy. Repeatable."),
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
    breaks: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=20,50: bins of a sensitive number begin there. Repeatable."),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=10: so many quantile bins of a sensitive number. Repeatable."),
    ] = None,
    method: Annotated[str, typer.Option(help="See 'mottle methods'.")] = "auto",
    seconds: Annotated[
        float | None,
        typer.Option(help="Seconds for improving the result.", show_default="while it pays"),
    ] = None,
    representation: Annotated[
        str, typer.Option(help="range, or set: every column as a set of values.")
    ] = "range",
    walk: Annotated[
        str, typer.Option(help=f"How the true assignment is drawn: {', '.join(WALKS)}.")
    ] = "closed",
    seed: Annotated[
        int | None, typer.Option(help="Repeatable randomness, for experiments only.")
    ] = None,
    private: Annotated[
        Path | None, typer.Option(help="Also write the owner's secret link file here.")
    ] = None,
    unsafe_paper_randomization: Annotated[
        bool,
        typer.Option(
            "--unsafe-paper-randomization",
            help="Draw by the papers' walk although it leaks sensitive values; experiments only.",
        ),
    ] = False,
    audit: Annotated[
        str, typer.Option(help="basic, or full: play all adversaries against the release.")
    ] = AUDITS[0],
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
    details |= {"--breaks": breaks, "--bins": bins}
    columns = schema_from_options(schema, named | details, rest)
    target = Target.of(output, to, to_table)
    reports = ReportOptions.of(no_report, internal_report, report_examples)
    refused = {
        "--to": to, "--private": private, "--internal-report": internal_report,
        "--audit full": audit == "full", "--unsafe-paper-randomization": unsafe_paper_randomization,
    }  # fmt: skip
    scale = Scale.of(engine, memory, master, refused)
    began = time.perf_counter()
    if scale is not None and output is not None:
        text = TextOptions(delimiter, quote, encoding, tuple(missing or ()))
        with _progress_bar() as tell:
            certificate = scale.anonymize(
                Input(data, table, query, text), columns, guarantee, output, overwrite=overwrite,
                progress=tell, method=method, representation=representation, walk=walk,
                effort=seconds, seed=seed,
            )  # fmt: skip
        _show_release(certificate, target, None, began, as_json)
        return
    target.check(private, overwrite=overwrite, internal=internal_report)
    with _progress_bar() as tell:
        original = read_source(
            data, table, query,
            delimiter=delimiter, quote=quote, encoding=encoding, missing=missing or (),
        )  # fmt: skip
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
        )
        release.certificate["seconds"] = {"read": round(read, 4), **release.certificate["seconds"]}
        tell(Progress("write", release.gcp))
        source = arguments_of_source(data, table, query)
        certificate = target.save(
            release,
            private,
            overwrite=overwrite,
            report=reports.publishable,
            internal=reports.internal_report(original, source, context),
        )
    _show_release(certificate, target, private, began, as_json)
    if internal_report is not None and not as_json:
        out.print(f"Internal report: {internal_report} (keep it secret)", highlight=False)
    if audit == "full" and not certificate["audit"]["passed"]:
        raise typer.Exit(BROKEN)


def _show_release(
    certificate: dict[str, Any], target: Target, private: Path | None, began: float, as_json: bool
) -> None:
    """Print what was released, for people or for programs."""
    if as_json:
        print(json.dumps(certificate, indent=2, ensure_ascii=False))
    else:
        _show_result(certificate, target, private, time.perf_counter() - began)
        show_certified(certificate, out)


app.command("audit")(_reporting_errors(audit_command))
app.command("query")(_reporting_errors(query_command))
app.command("sample")(_reporting_errors(sample_command))
app.command("report")(_reporting_errors(report_command))
app.command("compare")(_reporting_errors(compare_command))


@app.command("inspect")
@_reporting_errors
def inspect_command(
    data: Data,
    table: TableOption = None,
    query: QueryOption = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the proposed schema.")
    ] = Path("mottle.toml"),
    overwrite: Overwrite = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Propose a role and a kind for every column and write a commented mottle.toml to edit."""
    examined = read_source(
        data, table, query,
        delimiter=delimiter, quote=quote, encoding=encoding, missing=missing or (),
    )  # fmt: skip
    found = inspect_table(examined)
    with staged(output.parent, [output.name], overwrite=overwrite) as stage:
        (stage / output.name).write_text(found.to_toml(), encoding="utf-8")
    if as_json:
        print(json.dumps({**asdict(found), "schema": str(output)}, indent=2, ensure_ascii=False))
        return
    shown = Table(title=f"{name_of_source(data, table)}: {found.rows:,} rows", title_justify="left")
    for heading in ("column", "type", "distinct", "missing", "unique rows", "role", "kind"):
        shown.add_column(heading, justify="right" if heading in _NUMBERS else "left")
    for column in found.columns:
        shown.add_row(
            column.name,
            column.type,
            f"{column.distinct:,}",
            f"{column.nulls:,}",
            f"{column.unique_share:.1%}",
            str(column.role),
            str(column.kind or ""),
        )
    out.print(shown)
    out.print(
        f"The proposed quasi-identifiers together single out [bold]{found.unique_share:.1%}[/] of"
        f" the rows; {found.below_five_share:.1%} share theirs with fewer than four others."
    )
    out.print(f"Wrote {output}. Check every role, then:", highlight=False)
    source = arguments_of_source(data, table, query)
    _print_command(f"mottle anonymize {source} --schema {output} --k 10 -o released")


_NUMBERS = ("distinct", "missing", "unique rows")


@app.command("methods")
@_reporting_errors
def methods_command(
    sets: Annotated[bool, typer.Option("--sets", help="Those for set-valued data.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the methods: what each gives, its paper and its cost."""
    if sets:
        list_set_methods(as_json, out)
        return
    known = methods.registered().values()
    if as_json:
        described = [
            {
                "name": method.name,
                "title": method.title,
                "gives": [guarantee.__name__ for guarantee in method.guarantees],
                "paper": method.paper,
                "cost": method.cost,
            }
            for method in known
        ]
        print(json.dumps(described, indent=2, ensure_ascii=False))
        return
    shown = Table("method", "what it does", "gives", "paper", "cost")
    for method in known:
        gives = ", ".join(guarantee.__name__ for guarantee in method.guarantees)
        shown.add_row(method.name, method.title, gives, method.paper, method.cost)
    out.print(shown)


@app.command("lint-hierarchy")
@_reporting_errors
def lint_hierarchy_command(
    file: Annotated[Path, typer.Argument(help="Hierarchy in ARX's CSV layout.")],
    data: Annotated[Path | None, typer.Option(help="Table whose values must be leaves.")] = None,
    column: Annotated[str | None, typer.Option(help="Column of the table.")] = None,
    as_json: AsJson = False,
) -> None:
    """Name everything that is wrong with a hierarchy file; exit code 4 if it cannot be used."""
    if (data is None) != (column is None):
        raise UsageError("--data and --column go together.")
    values = None
    if data is not None and column is not None:
        table = read_table(data)
        if column not in table.column_names:
            raise SchemaError(
                f"The table has no column '{column}'.",
                mottle.errors.did_you_mean(column, table.column_names),
            )
        coding.kind_of(table.schema.field(column).type, Column(name=column, role=Role.SENSITIVE))
        distinct = as_text(table.column(column).unique().drop_null(), column)
        values = distinct.to_pylist()
    findings = hierarchy_lint.lint(hierarchy.read_rows(file), values=values, name=file.name)
    errors = [found for found in findings if found.severity is hierarchy_lint.Severity.ERROR]
    if as_json:
        print(json.dumps([asdict(found) for found in findings], indent=2, ensure_ascii=False))
    else:
        for found in findings:
            out.print(f"{found.severity}: {found.message}", markup=False, highlight=False)
        out.print(f"{len(errors)} errors, {len(findings) - len(errors)} warnings in {file}.")
    if errors:
        raise typer.Exit(mottle.DataError.exit_code)


@app.command("demo")
@_reporting_errors
def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the demo.")] = Path(
        "mottle-demo"
    ),
    rows: Annotated[int, typer.Option(help="People to generate.")] = DEMO_ROWS,
    k: Annotated[int, typer.Option("--k", "-k", help="Everybody hides among k records.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Generate a population, anonymize it and show what happened."""
    guarantee = KAnonymity(k)
    began = time.perf_counter()
    with _progress_bar() as tell:
        demo = prepare(output, rows)
        release = anonymize(demo.table, demo.schema, guarantee, progress=tell)
        homogeneous = anonymize(demo.table, demo.schema, guarantee, method="hp", progress=tell)
        tell(Progress("write", release.gcp))
        certificate = release.save(demo.release, overwrite=True)
    if as_json:
        print(json.dumps(certificate, indent=2, ensure_ascii=False))
        return
    for title, table in (
        ("Original (generated people)", demo.table),
        ("Release (other records, in an order that tells nothing)", release.to_text()),
    ):
        shown = Table(*_SHOWN, title=title, title_justify="left", box=box.SIMPLE)
        for row in table.select(_SHOWN).slice(0, 6).to_pylist():
            shown.add_row(*("" if value is None else str(value) for value in row.values()))
        out.print(shown)
    _show_result(certificate, Target(demo.release, "", ""), None, time.perf_counter() - began)
    assert release.gcp is not None
    assert homogeneous.gcp is not None
    out.print(
        f"Groups of identical ranges (NH10's HP) would lose {homogeneous.gcp:.2%} instead of"
        f" {release.gcp:.2%}."
    )
    out.print(f"The input and its schema are in {output} as well. Again, by hand:")
    _print_command(f"mottle anonymize {demo.data} --schema {demo.schema_file} --k {k} -o released")


_SHOWN = ["age", "sex", "origin", "workclass", "diagnosis"]


def _print_command(command: str) -> None:
    out.print(f"  {command}", highlight=False, markup=False, soft_wrap=True)


def _show_result(
    certificate: dict[str, Any], target: Target, private: Path | None, seconds: float
) -> None:
    """A short table of what was done and where the files are."""
    guarantee = certificate["guarantee"]
    shown = Table(title="Released", title_justify="left", show_header=False)
    shown.add_row("rows", f"{certificate['rows']:,}")
    shown.add_row("guarantee", f"{guarantee['name']}, {guarantee['short']}")
    method = certificate["method"]
    picked = f"{method['picked']}, picked by " if "picked" in method else ""
    shown.add_row("method", f"{picked}{method['name']} ({method['paper']})")
    shown.add_row("information lost (GCP)", f"{certificate['gcp']:.2%}")
    for name, loss in certificate["ncp"].items():
        shown.add_row(f"  {name}", f"{loss:.2%}")
    passed = sum(check["passed"] for check in certificate["checks"])
    shown.add_row("invariants", f"{passed} of {len(certificate['checks'])} hold")
    shown.add_row("time", f"{seconds:.1f} s")
    shown.add_row(*target.shown(certificate))
    if private is not None:
        shown.add_row("private links", f"{private} (keep it secret)")
    out.print(shown)
    for note in certificate["notes"]:
        out.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _progress_bar() -> Iterator[Callable[[Progress], None]]:
    """Show the stages of a run on the terminal; silent when it is none."""
    if not compilation.done_before():
        err.print("Compiling the numeric kernels, once on this machine (about half a minute) …")
    bar = ProgressBar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    with bar:
        task = bar.add_task("read", total=len(STAGES))
        estimate = Estimate()

        def tell(progress: Progress) -> None:
            loss = "" if progress.gcp is None else f"  GCP {progress.gcp:.4f}"
            bar.update(task, description=f"{progress.stage}{estimate.of(progress)}{loss}")

        yield tell


app.command("anonymize-sets")(_reporting_errors(sets_command(_progress_bar, out)))


if __name__ == "__main__":
    main()
