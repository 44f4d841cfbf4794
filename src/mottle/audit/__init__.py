"""What an adversary can make of a release: one file per adversary, seeing only what it sees.

``mottle.audit(original, release)`` plays them all, see `audit_release`. Adding an adversary means
adding one file to this folder that registers it; nothing else changes.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import ModuleType
from typing import Any

from mottle.audit._registry import Adversary, registered
from mottle.audit._report import AuditReport, Finding, Outcome
from mottle.audit.containment import assignment_graph
from mottle.audit.effective import (
    Verdict,
    effective_matches,
    match_different_assignments,
    verify,
)

__all__ = [
    "AUDITS",
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
    "summed_audit",
    "verify",
]

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")

from mottle.audit._certified import (  # noqa: E402 - after all
    AUDITS,
    Matches,
    basic_audit,
    full_audit,
    summed_audit,
)
from mottle.audit._run import audit_release  # noqa: E402


class _CallableModule(ModuleType):
    """Lets ``mottle.audit(…)`` be called although the adversaries live in ``mottle.audit``."""

    def __call__(self, original: object, release: object, **options: Any) -> AuditReport:
        return audit_release(original, release, **options)


sys.modules[__name__].__class__ = _CallableModule
