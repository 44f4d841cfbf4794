"""Errors of MariaDB that are met while connecting."""

from __future__ import annotations

__all__ = ["CONNECTING"]

_NETWORK = "Check host, port and network."

# Part of the driver's message, the text that replaces it, and what to do. The message itself is
# never repeated.
CONNECTING = (
    (
        "Native error: 1045",
        "the server refuses this user and password",
        "Check the user, and the password in MYSQL_PWD or the URL.",
    ),
    ("Native error: 1698", "the server refuses this user and password", "Check user and password."),
    ("Native error: 1049", "the server has no such database", "Check the database."),
    ("Native error: 1044", "this user may not use the database", "Ask for the privilege."),
    ("Native error: 1040", "the server has no connection left", "Try again later."),
    ("Native error: 2002", "no server listens there", "Check host, port or socket."),
    ("Native error: 2003", "no server listens there", _NETWORK),
    ("Native error: 2005", "the host is not known", "Check the host."),
    ("Native error: 2026", "the encrypted connection failed", "Check the options of SSL."),
)
