"""What an adversary can make of a release: one file per adversary, seeing only what it sees."""

from mottle.audit.containment import assignment_graph
from mottle.audit.effective import (
    Verdict,
    effective_matches,
    match_different_assignments,
    verify,
)

__all__ = [
    "Verdict",
    "assignment_graph",
    "effective_matches",
    "match_different_assignments",
    "verify",
]
