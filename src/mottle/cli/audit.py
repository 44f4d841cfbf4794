"""The command ``mottle audit``: run adversaries against a release and show what they achieved."""

from __future__ import annotations

import pyarrow as pa
import typer
from rich.table import Table
from rich.text import Text

from mottle.audit import AuditReport, EarlierRelease, Finding
from mottle.cli._console import Console, print_json
from mottle.cli.commands import Audit
from mottle.errors import UsageError
from mottle.io.link_file import LinkFile
from mottle.io.read_set_release import holds_sets
from mottle.io.read_sets import read_sets
from mottle.itemsets.data import ItemSets
from mottle.pipeline.replay import audit_and_replay
from mottle.schema.reading import ReadOptions

BROKEN = 6  # exit code: an adversary achieved more than the guarantee allows

_VERDICTS = {
    True: Text("within", style="green"),
    False: Text("BROKEN", style="bold red"),
    None: Text("–"),
}


def run(command: Audit) -> None:
    """Run adversaries against a release; exit code 6 if its guarantee is broken."""
    schema = command.columns.schema if command.columns.given else None
    report = audit_and_replay(
        _original(command, command.original),
        command.release,
        schema=schema,
        private=command.private,
        guarantee=command.guarantee.guarantee,
        adversaries=command.adversary or None,
        sample=command.sample,
        seed=command.seed,
        earlier=_earlier(command),
        same=command.earlier.same,
    )
    if command.as_json:
        print_json(report.to_json())
    else:
        show_report(report, Console(), command.release.name)
    if not report.passed:
        raise typer.Exit(BROKEN)


def _earlier(command: Audit) -> list[EarlierRelease]:
    """Read the tables of earlier releases as the original is read."""
    options = command.earlier
    return [
        EarlierRelease(
            release,
            _original(command, options.earlier_original[place])
            if options.earlier_original
            else None,
            options.earlier_private[place] if options.earlier_private else None,
        )
        for place, release in enumerate(options.earlier or [])
    ]


def _original(command: Audit, original: str) -> pa.Table | ItemSets:
    """Read what the release was made from."""
    sets = command.sets
    if holds_sets(command.release):
        return read_sets(
            original,
            column=sets.column,
            record=sets.record,
            item=sets.item,
            separator=sets.item_separator,
            label=sets.label,
            encoding=command.source.encoding,
        )
    if sets.given:
        raise UsageError(
            "--column, --record, --item, --sensitive-label and --item-separator are for releases of"
            " sets, and this is a release of a table.",
            "Leave them out.",
        )
    return command.source.read(original, _remembered(command))


def _remembered(command: Audit) -> ReadOptions | None:
    """How the original was read: from mottle.toml, or else from the owner's link file."""
    if command.columns.schema_file is not None:
        return command.columns.schema.reading
    return None if command.private is None else LinkFile(command.private).reading


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
