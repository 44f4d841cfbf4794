"""Adversaries that attack a release, one module each, and the audit that runs them.

`audit_release` runs every registered adversary against a release. To add an adversary, add one
module to `mottle.audit.adversaries` that registers it; nothing else changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mottle.utils.lazy import lazy_attributes

if TYPE_CHECKING:
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
else:  # a run that is not audited needs neither SciPy's graphs nor the containment index
    _MATCHES = "mottle.audit.containment.effective_matches"
    _PLACES = {
        "Adversary": "mottle.audit.base:Adversary",
        "AuditReport": "mottle.audit.report:AuditReport",
        "EarlierRelease": "mottle.audit.earlier:EarlierRelease",
        "Finding": "mottle.audit.report:Finding",
        "Matches": "mottle.audit.certificate_audit:Matches",
        "Outcome": "mottle.audit.report:Outcome",
        "Verdict": f"{_MATCHES}:Verdict",
        "assignment_graph": "mottle.audit.containment.assignment_graph:assignment_graph",
        "audit_release": "mottle.audit.run:audit_release",
        "basic_audit": "mottle.audit.certificate_audit:basic_audit",
        "effective_matches": f"{_MATCHES}:effective_matches",
        "match_different_assignments": f"{_MATCHES}:match_different_assignments",
        "public_audit": "mottle.audit.certificate_audit:public_audit",
        "registered": "mottle.audit.base:registered",
        "verify": f"{_MATCHES}:verify",
    }
    __getattr__, __dir__ = lazy_attributes(__name__, _PLACES)

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
