"""The audit on a certificate: what a run's own measurements show, or all adversaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from mottle.audit.base import ADVERSARIES
from mottle.audit.report import AuditReport, Finding, Outcome
from mottle.audit.run import audit_release
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.release.certificate import AUDITS, AuditSummary, Check, FindingFacts
from mottle.release.data import ReleaseData
from mottle.schema.model import Schema


@dataclass(frozen=True)
class Matches:
    """How many matches persons have along a graph's edges."""

    fewest: int
    mean: float
    marketer: float  # mean chance that a guess among a person's matches is right


def basic_audit(
    matches: Matches | None,
    records: int,
    demand: Demand,
    guarantee: Guarantee,
    checks: Sequence[Check],
) -> AuditSummary:
    """Matches and shares along the graph's edges, without looking at the release again.

    They are what an adversary who knows the algorithm starts from. That the release is what the
    graph says is what the run's invariants check; a full audit looks at the release itself. The
    numbers may be sums over parts of the table. ``matches`` is None where quasi-identifiers are
    published as they are, so that matches hide nobody.
    """
    outcomes: dict[str, Outcome] = {}
    if matches is not None:
        outcomes["linkage"] = _linkage(matches, demand.degree)
    if demand.capped:
        outcomes["sensitive"] = _sensitive(next(check for check in checks if check.invariant == 4))
    findings = [
        Finding.of(name, ADVERSARIES[name].title, "knows the algorithm and its graph", outcome)
        for name, outcome in outcomes.items()
    ]
    report = AuditReport(records, guarantee.describe(), tuple(findings))
    return _certified(report, AUDITS[0])


def full_audit(
    table: pa.Table, release: ReleaseData, schema: Schema, guarantee: Guarantee
) -> AuditSummary:
    """All adversaries against a release that is still in memory."""
    report = audit_release(table, release, schema=schema, guarantee=guarantee)
    return _certified(report, AUDITS[1])


def _certified(report: AuditReport, level: str) -> AuditSummary:
    """A report as part of a certificate, which says by itself what is promised and of how many."""
    facts = report.to_dict()
    timed = {"seconds": facts["seconds"]} if report.seconds else {}
    return AuditSummary(
        level=level,
        passed=facts["passed"],
        findings=tuple(FindingFacts.model_validate(finding) for finding in facts["findings"]),
        **timed,
    )


def _linkage(matches: Matches, degree: int) -> Outcome:
    return Outcome(
        "fewest matches of a person along the graph",
        matches.fewest,
        degree,
        matches.fewest >= degree,
        {
            "mean_matches": matches.mean,
            "prosecutor": {"highest": 1 / matches.fewest},
            "marketer": matches.marketer,
        },
    )


def _sensitive(check: Check) -> Outcome:
    measured = check.measured
    return Outcome(
        "highest share of a sensitive value as a part of its cap",
        measured.highest_share_of_cap,
        1,
        check.passed,
        {"individuals": measured.individuals, "capped_values": measured.capped_values},
    )
