"""Shows an audit in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from mottle.audit.report import AuditReport, Finding
from mottle.cli._console import Console

BROKEN = 6  # exit code: an adversary achieved more than the guarantee allows

_VERDICTS = {
    True: Text("within", style="green"),
    False: Text("BROKEN", style="bold red"),
    None: Text("–"),
}


def show_report(report: AuditReport, out: Console, title: str) -> None:
    """Print a table of all findings, and the verdict."""
    promised = "no guarantee" if report.guarantee is None else report.guarantee["short"]
    shown = Table(
        title=f"{title}: {report.rows:,} {report.subject}, {promised}", title_justify="left"
    )
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
        broken = Text("The guarantee is broken", style="bold red")
        out.print(broken.append(f" by: {names}.", style="not bold default"))


def _verdict(finding: Finding) -> Text:
    if "does_not_apply" in finding.details:
        return Text("does not apply")
    return Text("not played") if _why_not(finding) else _VERDICTS[finding.passed]


def _why_not(finding: Finding) -> str:
    """Why an adversary was not played."""
    why = finding.details.get("not_played", finding.details.get("not_searched", ""))
    return str(why)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
