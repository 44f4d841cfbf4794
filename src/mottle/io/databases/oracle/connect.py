"""Connections to Oracle: the settings of its ODBC driver."""

from __future__ import annotations

from mottle.io.databases.odbc.address import Settings

__all__ = ["connection_string"]


def connection_string(settings: Settings) -> str:
    """Return the settings of Oracle's ODBC driver.

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
    >>> connection_string(Settings("db.example", "", "clinic", ()))
    'Dbq=db.example:1521/clinic;'
    """
    place = f"{settings.host or 'localhost'}:{settings.port or '1521'}/{settings.database}"
    options = {key: value for key, value in settings.options if key != "driver"}
    return "".join(f"{name}={value};" for name, value in ({"Dbq": place} | options).items())
