"""The command ``mottle audit``: play adversaries against a release and say how far they got."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mottle.audit import AuditReport, Finding, audit_release, registered
from mottle.audit.run import SAMPLE
from mottle.cli._options import Delimiter, Encoding, Missing, Quote
from mottle.cli._schema_options import guarantee_from_options
from mottle.cli._sources import QueryOption, TableOption, read_source
from mottle.errors import UsageError
from mottle.release.certificate import AUDITS, Certificate
from mottle.schema.model import Schema

BROKEN = 6  # exit code: an adversary got beyond the guarantee

_VERDICTS = {True: "[green]within[/]", False: "[bold red]BROKEN[/]", None: "–"}


def audit_command(
    original: Annotated[
        str, typer.Argument(help="The table the release was made from: file or database.")
    ],
    release: Annotated[
        Path, typer.Argument(help="Release folder or file, or another tool's file (--schema).")
    ],
    table: TableOption = None,
    query: QueryOption = None,
    private: Annotated[Path | None, typer.Option(help="The owner's secret link file.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="mottle.toml; needed for other tools' releases and bins.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", "-k", help="What has to hold, if not the certificate's.")
    ] = None,
    l_: Annotated[int | None, typer.Option("--l", "-l", help="As for anonymize.")] = None,
    beta: Annotated[float | None, typer.Option(help="As for anonymize.")] = None,
    enhanced: Annotated[bool, typer.Option("--enhanced", help="As for anonymize.")] = False,
    cap: Annotated[list[str] | None, typer.Option(help="As for anonymize. Repeatable.")] = None,
    cap_rest: Annotated[float | None, typer.Option(help="As for anonymize.")] = None,
    adversary: Annotated[
        list[str] | None,
        typer.Option(help=f"Only these: {', '.join(registered())}. Repeatable."),
    ] = None,
    sample: Annotated[
        int, typer.Option(help="Examine everybody up to so many people, a sample above.")
    ] = SAMPLE,
    seed: Annotated[int, typer.Option(help="For choosing the sample.")] = 0,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Attack RELEASE with all that ORIGINAL tells; exit code 6 if the guarantee is broken."""
    asked = (k, l_, beta, cap_rest)
    guarantee = None
    if cap or enhanced or any(option is not None for option in asked):
        guarantee = guarantee_from_options(k, l_, beta, enhanced, cap, cap_rest)
    if sample < 1:
        raise UsageError("--sample must be at least 1.")
    examined = read_source(
        original,
        table,
        query,
        delimiter=delimiter,
        quote=quote,
        encoding=encoding,
        missing=missing or (),
    )
    report = audit_release(
        examined,
        release,
        schema=None if schema is None else Schema.read(schema),
        private=private,
        guarantee=guarantee,
        adversaries=adversary or None,
        sample=sample,
        seed=seed,
    )
    if as_json:
        print(report.to_json())
    else:
        show_report(report, Console(), release.name)
    if not report.passed:
        raise typer.Exit(BROKEN)


def show_report(report: AuditReport, out: Console, title: str) -> None:
    """A table of all findings for people, and the verdict."""
    promised = "no guarantee" if report.guarantee is None else report.guarantee["short"]
    shown = Table(title=f"{title}: {report.rows:,} people, {promised}", title_justify="left")
    for heading in ("adversary", "what it got", "achieved", "allowed", "verdict"):
        shown.add_column(heading, justify="right" if heading in ("achieved", "allowed") else "left")
    before = ""
    for finding in report.findings:
        name = "" if finding.adversary == before else finding.adversary
        before = finding.adversary
        shown.add_row(
            name,
            finding.measure,
            _number(finding.achieved),
            _number(finding.allowed),
            _verdict(finding),
        )
    out.print(shown)
    for finding in report.findings:
        if why := _why_not(finding):
            others = [other for other in report.of(finding.adversary) if not _why_not(other)]
            what = f"{finding.adversary} ({finding.measure})" if others else finding.adversary
            line = f"{what} was not played: {why}."
            out.print(line, markup=False, highlight=False, soft_wrap=True)
        elif "does_not_apply" in finding.details:
            line = f"{finding.adversary} does not apply: {finding.details['does_not_apply']}."
            out.print(line, markup=False, highlight=False, soft_wrap=True)
    for note in report.notes:
        out.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)
    if report.passed:
        out.print("No adversary got beyond what the guarantee allows.")
    else:
        names = ", ".join(dict.fromkeys(finding.adversary for finding in report.failed))
        out.print(f"[bold red]The guarantee is broken[/] by: {names}.")


def show_certified(certificate: Certificate, out: Console) -> None:
    """What a full audit of a run found; nothing after a basic one."""
    audit = certificate.audit
    if audit is None or audit.level != AUDITS[1]:
        return
    findings = tuple(Finding(**finding.to_dict()) for finding in audit.findings)
    claim = certificate.guarantee.to_dict()
    show_report(AuditReport(certificate.rows, claim, findings), out, "Audit")


def _verdict(finding: Finding) -> str:
    if "does_not_apply" in finding.details:
        return "does not apply"
    return "not played" if _why_not(finding) else _VERDICTS[finding.passed]


def _why_not(finding: Finding) -> str:
    """Why an adversary was not played."""
    why = finding.details.get("not_played", finding.details.get("not_searched", ""))
    return str(why)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
