"""The audit on a certificate: from a run's own measurements, or by playing all adversaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.audit.base import registered
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
    two_tables: bool,
) -> dict[str, Any]:
    """Audit a run by the matches and shares along its graph's edges.

    These are what an adversary who knows the algorithm starts from. The release itself is not read
    again: that it agrees with the graph is checked by the run's invariants, and a full audit looks
    at the release itself.

    Parameters
    ----------
    graph : Graph
        The generalization graph of the run.
    demand : Demand
        What the guarantee asks of the graph.
    guarantee : Guarantee
        What is promised.
    checks : sequence of mapping
        The checks of the run's invariants, as on the certificate.
    two_tables : bool
        Whether quasi-identifiers are published unchanged, with sensitive values in a second table;
        matches then hide nobody and are not certified.

    Returns
    -------
    dict
        The ``audit`` section of the certificate.
    """
    matches = None if two_tables else Matches.of(graph)
    return summed_audit(matches, graph.records, demand, guarantee, checks)


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

    @classmethod
    def of(cls, graph: Graph) -> Matches:
        """Count the matches of a graph.

        Parameters
        ----------
        graph : Graph
            A regular generalization graph.

        Returns
        -------
        Matches
        """
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
    """Make a basic audit from figures that may have been totalled over parts of the table.

    Parameters
    ----------
    matches : Matches or None
        The matches of all people; None when matches are not certified.
    records : int
        The number of published records.
    demand : Demand
        What the guarantee asks of the graph.
    guarantee : Guarantee
        What is promised.
    checks : sequence of mapping
        The checks of the run's invariants, as on the certificate.

    Returns
    -------
    dict
        The ``audit`` section of the certificate.
    """
    outcomes: dict[str, Outcome] = {}
    if matches is not None:
        outcomes["linkage"] = _linkage(matches, demand.degree)
    if demand.capped:
        outcomes["sensitive"] = _sensitive(next(c for c in checks if c["invariant"] == 4))
    adversaries = registered()
    findings = [
        Finding.of(name, adversaries[name].title, "knows the algorithm and its graph", outcome)
        for name, outcome in outcomes.items()
    ]
    report = AuditReport(records, guarantee.describe(), tuple(findings))
    return _certificate_section(report, AUDITS[0])


def full_audit(
    table: pa.Table, release: Release, schema: Schema, guarantee: Guarantee
) -> dict[str, Any]:
    """Play all adversaries against a release that is still in memory.

    Parameters
    ----------
    table : pyarrow.Table
        The original table.
    release : Release
        The release made from it, with its links.
    schema : Schema
        The schema of the run.
    guarantee : Guarantee
        What is promised.

    Returns
    -------
    dict
        The ``audit`` section of the certificate.
    """
    report = audit_release(table, release, schema=schema, guarantee=guarantee)
    return _certificate_section(report, AUDITS[1])


def _certificate_section(report: AuditReport, level: str) -> dict[str, Any]:
    """The report as a section of a certificate, which itself states guarantee and rows."""
    facts = report.to_dict()
    return {"level": level, "passed": facts["passed"], "findings": facts["findings"]} | (
        {"seconds": facts["seconds"]} if report.seconds else {}
    )


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
    )


def _sensitive(check: Mapping[str, Any]) -> Outcome:
    """The shares of sensitive values, as the check of invariant 4 measured them."""
    measured = check["measured"]
    return Outcome(
        "highest share of a sensitive value as a part of its cap",
        measured["highest_share_of_cap"],
        1,
        bool(check["passed"]),
        {"individuals": measured["individuals"], "capped_values": measured["capped_values"]},
    )
