"""Connections to SQL Server: the settings of its ODBC driver."""

from __future__ import annotations

from mottle.io.databases.odbc.address import Settings

__all__ = ["connection_string"]


def connection_string(settings: Settings) -> str:
    """Return the settings of SQL Server's ODBC driver.

    Parameters
    ----------
    settings : Settings
        The parts of the address; options behind the ? are passed on.

    Returns
    -------
    str
        ``name=value;`` for every setting.

    Examples
    --------
    >>> connection_string(Settings("db.example", "1434", "clinic", (("Encrypt", "yes"),)))
    'Server=db.example,1434;Database=clinic;Encrypt=yes;'
    """
    server = settings.host or "localhost"
    if settings.port:
        server += f",{settings.port}"
    parts = {"Server": server, "Database": settings.database}
    parts |= {key: value for key, value in settings.options if key != "driver"}
    return "".join(f"{name}={value};" for name, value in parts.items() if value)
