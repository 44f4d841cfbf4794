"""How a method decided, in the words of the certificate; an auditor sees which attacks apply."""

from __future__ import annotations

# For methods of which an adversary who knows them may try the minimality attack.
DECIDES_BY_BOTH = {"decides_by": "quasi-identifiers and sensitive values together"}


def decides_by_both(decision: str) -> dict[str, str]:
    """Facts for the certificate: decisions look at both, and which decision does."""
    return {**DECIDES_BY_BOTH, "mixed_decision": decision}
