"""What a method decided by, in the words of the certificate, which tell which attacks apply."""

from __future__ import annotations

# For methods whose decisions an adversary who knows them can use for the minimality attack.
DECIDES_BY_BOTH = {"decides_by": "quasi-identifiers and sensitive values together"}


def decides_by_both(decision: str) -> dict[str, str]:
    """Facts for the certificate of a method that looks at both.

    Parameters
    ----------
    decision : str
        Which decision does so.

    Returns
    -------
    dict
        Entries of the certificate.
    """
    return {**DECIDES_BY_BOTH, "mixed_decision": decision}
