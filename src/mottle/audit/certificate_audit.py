"""The audit on a certificate: what a run's own measurements show, or all adversaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.audit.base import ADVERSARIES
from mottle.audit.report import AuditReport, Finding, Outcome
from mottle.audit.run import audit_release
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.release.data import Release
from mottle.schema.model import Schema

AUDITS = ("basic", "full")


def basic_audit(
    graph: Graph,
    demand: Demand,
    guarantee: Guarantee,
    checks: Sequence[Mapping[str, Any]],
    *,
    apart: bool,
) -> dict[str, Any]:
    """Matches and shares along the graph's edges, without looking at the release again.

    They are what an adversary who knows the algorithm starts from. That the release is what the
    graph says is what the run's invariants check; a full audit looks at the release itself.
    ``apart``: quasi-identifiers are published as they are, so matches hide nobody.
    """
    matches = None if apart else Matches.of(graph)
    return summed_audit(matches, graph.records, demand, guarantee, checks)


@dataclass(frozen=True)
class Matches:
    """How many matches persons have along a graph's edges."""

    fewest: int
    mean: float
    marketer: float  # mean chance that a guess among a person's matches is right

    @classmethod
    def of(cls, graph: Graph) -> Matches:
        """Count them."""
        sizes, degrees = graph.sizes, graph.degrees.astype(np.float64)
        return cls(
            fewest=int(graph.degrees.min()),
            mean=float((sizes * degrees).sum() / graph.records),
            marketer=float((sizes / degrees).sum() / graph.records),
        )


def summed_audit(
    matches: Matches | None,
    records: int,
    demand: Demand,
    guarantee: Guarantee,
    checks: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """A basic audit from numbers that may have been summed up over parts of the table."""
    outcomes: dict[str, Outcome] = {}
    if matches is not None:
        outcomes["linkage"] = _linkage(matches, demand.degree)
    if demand.capped:
        outcomes["sensitive"] = _sensitive(next(c for c in checks if c["invariant"] == 4))
    findings = [
        Finding.of(name, ADVERSARIES[name].title, "knows the algorithm and its graph", outcome)
        for name, outcome in outcomes.items()
    ]
    report = AuditReport(records, guarantee.describe(), tuple(findings))
    return _certified(report, AUDITS[0])


def full_audit(
    table: pa.Table, release: Release, schema: Schema, guarantee: Guarantee
) -> dict[str, Any]:
    """All adversaries against a release that is still in memory."""
    report = audit_release(table, release, schema=schema, guarantee=guarantee)
    return _certified(report, AUDITS[1])


def _certified(report: AuditReport, level: str) -> dict[str, Any]:
    """A report as part of a certificate, which says by itself what is promised and of how many."""
    facts = report.to_dict()
    return {"level": level, "passed": facts["passed"], "findings": facts["findings"]} | (
        {"seconds": facts["seconds"]} if report.seconds else {}
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


def _sensitive(check: Mapping[str, Any]) -> Outcome:
    measured = check["measured"]
    return Outcome(
        "highest share of a sensitive value as a part of its cap",
        measured["highest_share_of_cap"],
        1,
        bool(check["passed"]),
        {"individuals": measured["individuals"], "capped_values": measured["capped_values"]},
    )
