"""Errors of SQL Server that are met while connecting."""

from __future__ import annotations

__all__ = ["CONNECTING"]

# Part of the driver's message, the text that replaces it, and what to do. The message itself is
# never repeated.
CONNECTING = (
    (
        "Native error: 18456",
        "the server refuses this user and password",
        "Check the user, and the password in SQLCMDPASSWORD or the URL.",
    ),
    ("Native error: 4060", "the server has no such database", "Check the database."),
    (
        "certificate verify failed",
        "the server's certificate is not trusted",
        "Install its certificate, or add ?TrustServerCertificate=yes in a network you trust.",
    ),
    ("State: HYT00", "the server did not answer in time", "Check host, port and network."),
    ("State: 08001", "no server listens there", "Check host, port and network."),
)
