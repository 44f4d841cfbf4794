"""Connections to MariaDB: the settings of its ODBC driver."""

from __future__ import annotations

from mottle.io.databases.odbc.address import Settings

__all__ = ["connection_string"]


def connection_string(settings: Settings) -> str:
    """Return the settings of MariaDB's ODBC driver.

    Parameters
    ----------
    settings : Settings
        The parts of the address; ``?socket=PATH`` names a socket of this machine, other options
        are passed on (``?sslverify=1``).

    Returns
    -------
    str
        ``name=value;`` for every setting.

    Examples
    --------
    >>> connection_string(Settings("db.example", "3307", "clinic", ()))
    'Server=db.example;Port=3307;Database=clinic;Charset=utf8mb4;'
    """
    parts = {"Socket": settings.option("socket")}
    if parts["Socket"] is None:
        parts = {"Server": settings.host or "localhost", "Port": settings.port}
    parts |= {"Database": settings.database, "Charset": "utf8mb4"}
    parts |= {key: value for key, value in settings.options if key not in ("socket", "driver")}
    return "".join(f"{name}={value};" for name, value in parts.items() if value)
