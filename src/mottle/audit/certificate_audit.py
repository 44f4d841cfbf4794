"""The audit on a certificate: from a run's own measurements, or by playing all adversaries.

A certificate is public. It states the findings that are (`Outcome.public`); of all others, which
were judged by the true assignment, it states together one thing: whether the guarantee held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mottle.audit.base import ADVERSARIES
from mottle.audit.report import AuditReport, Finding, Outcome
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.release.certificate import AUDITS, AuditSummary, Check, FindingFacts, OwnerVerdict
from mottle.schema.model import Unit


@dataclass(frozen=True)
class Matches:
    """The number of matches that people have along a graph's edges.

    Attributes
    ----------
    fewest : int
        The fewest matches of any person.
    mean : float
        The mean number of matches.
    marketer : float
        The mean probability that a guess among a person's matches is right.
    """

    fewest: int
    mean: float
    marketer: float


def basic_audit(
    matches: Matches | None,
    records: int,
    demand: Demand,
    guarantee: Guarantee,
    checks: Sequence[Check],
    *,
    unit: Unit | None = None,
) -> AuditSummary:
    """Audit a run by the matches and shares along its graph's edges.

    These are what an adversary who knows the algorithm starts from. The release itself is not read
    again: that it agrees with the graph is checked by the run's invariants, and a full audit looks
    at the release itself.

    Parameters
    ----------
    matches : Matches or None
        The matches of all people, possibly totalled over parts of the table; None where
        quasi-identifiers are published unchanged, so that matches hide nobody.
    records : int
        The number of published records.
    demand : Demand
        What the guarantee asks of the graph.
    guarantee : Guarantee
        What is promised.
    checks : sequence of Check
        The checks of the run's invariants, as on the certificate.
    unit : Unit, optional
        What is protected: people by default.

    Returns
    -------
    AuditSummary
        The ``audit`` section of the certificate.
    """
    outcomes: dict[str, Outcome] = {}
    if matches is not None:
        outcomes["linkage"] = _linkage(matches, demand.degree)
    shares = next((check for check in checks if check.invariant == 6), None)
    if shares is not None:
        outcomes["people"] = _people(shares, demand.degree)
    if demand.capped:
        outcomes["sensitive"] = _sensitive(next(check for check in checks if check.invariant == 4))
    findings = [
        Finding.of(name, ADVERSARIES[name].title, "knows the algorithm and its graph", outcome)
        for name, outcome in outcomes.items()
    ]
    report = AuditReport(records, guarantee.describe(), tuple(findings))
    counted = Unit.ROW if shares is not None else unit or Unit.PERSON
    return public_audit(report.about(counted) if counted != Unit.PERSON else report, AUDITS[0])


def public_audit(report: AuditReport, level: str) -> AuditSummary:
    """Return what a certificate may state of an audit.

    Parameters
    ----------
    report : AuditReport
        The audit, as its owner sees it.
    level : str
        "basic" or "full".

    Returns
    -------
    AuditSummary
        The ``audit`` section of the certificate: the public findings, and one verdict on all others
        together. How long adversaries took is left out, because that may depend on the true
        assignment as well.
    """
    shown = [finding for finding in report.findings if finding.public]
    kept = [finding for finding in report.findings if not finding.public]
    played = dict.fromkeys(
        finding.adversary
        for finding in kept
        if finding.achieved is not None and _is_judged(finding.adversary)
    )
    verdict = OwnerVerdict(
        adversaries=tuple(played), passed=all(finding.passed is not False for finding in kept)
    )
    facts = [finding.to_dict() for finding in shown]
    for each in facts:
        del each["public"]
    return AuditSummary(
        level=level,
        passed=report.passed,
        findings=tuple(FindingFacts.model_validate(each) for each in facts),
        owner=verdict if played else None,
    )


def _is_judged(name: str) -> bool:
    """Whether an adversary is judged by the guarantee; one that is not registered is."""
    adversary = ADVERSARIES.get(name)
    return adversary is None or adversary.judged


def _linkage(matches: Matches, degree: int) -> Outcome:
    """The fewest matches, compared with the promised degree."""
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
        public=True,
    )


def _people(check: Check, k: int) -> Outcome:
    return Outcome(
        "largest share of one person among a record's candidates",
        check.measured.facts["largest_share"],
        1 / k,
        check.passed,
        public=True,
    )


def _sensitive(check: Check) -> Outcome:
    measured = check.measured
    return Outcome(
        "highest share of a sensitive value as a part of its cap",
        measured.highest_share_of_cap,
        1,
        check.passed,
        {"individuals": measured.individuals, "capped_values": measured.capped_values},
        public=True,
    )
