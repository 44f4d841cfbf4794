"""Adversaries that attack a release, one module each, and the audit that runs them.

`audit_release` runs every registered adversary against a release. To add an adversary, add one
module to `mottle.audit.adversaries` that registers it; nothing else changes.
"""

from __future__ import annotations

from mottle.audit.base import Adversary, registered
from mottle.audit.certificate_audit import Matches, basic_audit, public_audit
from mottle.audit.containment.assignment_graph import assignment_graph
from mottle.audit.containment.effective_matches import (
    Verdict,
    effective_matches,
    match_different_assignments,
    verify,
)
from mottle.audit.earlier import EarlierRelease
from mottle.audit.report import AuditReport, Finding, Outcome
from mottle.audit.run import audit_release

__all__ = [
    "Adversary",
    "AuditReport",
    "EarlierRelease",
    "Finding",
    "Matches",
    "Outcome",
    "Verdict",
    "assignment_graph",
    "audit_release",
    "basic_audit",
    "effective_matches",
    "match_different_assignments",
    "public_audit",
    "registered",
    "verify",
]
