"""Errors of Oracle that are met while connecting."""

from __future__ import annotations

__all__ = ["CONNECTING"]

# Part of the driver's message, the text that replaces it, and what to do. The message itself is
# never repeated.
CONNECTING = (
    (
        "ORA-01017",
        "the server refuses this user and password",
        "Check the user, and the password in ORACLE_PASSWORD or the URL.",
    ),
    ("ORA-12514", "the server has no such service", "Check the service: oracle://HOST/SERVICE."),
    ("ORA-12541", "no server listens there", "Check host, port and network."),
    ("ORA-12170", "the server did not answer in time", "Check host, port and network."),
    ("ORA-28000", "the account is locked", "Ask the administrator."),
)
