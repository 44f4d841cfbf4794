"""Shows what was released."""

from __future__ import annotations

import time
from pathlib import Path

from rich.table import Table

from mottle.audit.report import AuditReport
from mottle.cli._audit_report import show_report
from mottle.cli._console import Console, print_json
from mottle.cli._sources import Target
from mottle.cli.options.output import ReportOptions
from mottle.release.certificate import Certificate, UnitFacts
from mottle.report.wording import checks
from mottle.schema.model import Unit

out = Console()


def show_release(
    certificate: Certificate,
    target: Target,
    private: Path | None,
    began: float,
    as_json: bool,
    audited: AuditReport | None = None,
) -> None:
    """Print what was released, for people or for programs.

    ``audited`` is a full audit of the run, with what only its owner may see.
    """
    if as_json:
        print_json(certificate.to_json())
    else:
        show_result(certificate, target, private, time.perf_counter() - began)
        if audited is not None:
            show_report(audited, out, "Audit, for the owner")


def show_result(
    certificate: Certificate, target: Target, private: Path | None, seconds: float
) -> None:
    """Print a short table of what was done and where the files are."""
    guarantee = certificate.guarantee
    shown = Table(title="Released", title_justify="left", show_header=False)
    shown.add_row("rows", f"{certificate.rows:,}")
    if certificate.unit is not None:
        shown.add_row("one row is", one_row(certificate.unit))
    shown.add_row("guarantee", f"{guarantee.name}, {guarantee.short}")
    method = certificate.method
    picked = "" if method.picked is None else f"{method.picked}, picked by "
    shown.add_row("method", f"{picked}{method.name} ({method.paper})")
    shown.add_row("information lost (GCP)", f"{certificate.loss:.2%}")
    for name, loss in certificate.ncp.items():
        shown.add_row(f"  {name}", f"{loss:.2%}")
    held = [passed for _, passed in checks(certificate)]  # as the report counts them
    shown.add_row("checks", f"{sum(held)} of {len(held)} hold")
    shown.add_row("time", f"{seconds:.1f} s")
    shown.add_row(*target.shown(certificate))
    if private is not None:
        shown.add_row("private links", f"{private} (keep it secret)")
    out.print(shown)
    for note in certificate.notes:
        out.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)


def one_row(unit: UnitFacts) -> str:
    """Say in a few words what one row is taken for."""
    if unit.protects is Unit.ROW:
        return "a record: rows are protected"
    if unit.protects is Unit.HOUSEHOLD:
        return "a household: households are protected"
    if unit.column is None:
        return "taken for a person (no column says whose it is)"
    if unit.per_person is not None:
        return f"a person, made of all rows with the same '{unit.column}'"
    if unit.largest_share is None:
        return f"a person, by '{unit.column}'"
    return (
        f"one of a person's, by '{unit.column}': {unit.people:,} people with up to"
        f" {unit.most_rows:,} rows; k counts people"
    )


def announce(reports: ReportOptions, key: Path | None, as_json: bool) -> None:
    """Print where the owner's key and the internal report are, unless the output is JSON."""
    texts = ["" if key is None else f"Key: {key} (keep it, and keep it secret)"]
    for text in filter(None, [*texts, reports.announcement()]):
        if not as_json:
            out.print(text, highlight=False, markup=False, soft_wrap=True)


def print_command(command: str) -> None:
    """Print a command for people to copy."""
    out.print(f"  {command}", highlight=False, markup=False, soft_wrap=True)
