"""On what data a method based its decisions, as the certificate states it for the audit."""

from __future__ import annotations

# For methods that decide by both: an adversary who knows the decisions can use them for the
# minimality attack.
DECIDES_BY_BOTH = {"decides_by": "quasi-identifiers and sensitive values together"}


def decides_by_both(decision: str) -> dict[str, str]:
    """Describe a decision by quasi-identifiers and sensitive values together.

    Parameters
    ----------
    decision : str
        The decision that looks at both.

    Returns
    -------
    dict
        Entries of the certificate.
    """
    return {**DECIDES_BY_BOTH, "mixed_decision": decision}
