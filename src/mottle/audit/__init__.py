"""What an adversary can make of a release: one file per adversary, seeing only what it sees.

``mottle.audit_release(original, release)`` plays them all, see `audit_release`. Adding an adversary
means adding one file to this folder that registers it; nothing else changes.
"""

from __future__ import annotations

from mottle.audit.base import Adversary, registered
from mottle.audit.containment.assignment_graph import assignment_graph
from mottle.audit.containment.effective_matches import (
    Verdict,
    effective_matches,
    match_different_assignments,
    verify,
)
from mottle.audit.report import AuditReport, Finding, Outcome

__all__ = [
    "Adversary",
    "AuditReport",
    "Finding",
    "Matches",
    "Outcome",
    "Verdict",
    "assignment_graph",
    "audit_release",
    "basic_audit",
    "effective_matches",
    "full_audit",
    "match_different_assignments",
    "registered",
    "verify",
]


from mottle.audit.certificate_audit import Matches, basic_audit, full_audit
from mottle.audit.run import audit_release
