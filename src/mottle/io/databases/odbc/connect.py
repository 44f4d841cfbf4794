"""Connections through ODBC."""

from __future__ import annotations

from typing import Any

from mottle.errors import UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.odbc.address import Settings
from mottle.io.databases.odbc.dialect import OdbcDialect
from mottle.io.databases.odbc.errors import connection_error, is_driver_absent

__all__ = ["connect"]

_SECONDS = 30  # until a server has to have answered


def connect(dialect: OdbcDialect, address: Address) -> Any:
    """Open a connection with the first driver that is installed.

    Parameters
    ----------
    dialect : OdbcDialect
        The database system.
    address : Address
        The database; ``?driver=NAME`` chooses the driver.

    Returns
    -------
    arrow_odbc.Connection
        The connection, in which every statement is committed by itself.

    Raises
    ------
    UsageError
        arrow-odbc or the driver of the database is not installed.
    StorageError
        The server cannot be reached or refuses the connection.
    """
    package = dialect.driver.load()
    settings = Settings.of(address.location, dialect.password_variable)
    own = settings.option("driver")
    for name in dialect.odbc_drivers if own is None else (own,):
        try:
            return package.connect(
                f"Driver={{{name}}};{dialect.connection_string(settings)}",
                user=settings.user,
                password=settings.password,
                login_timeout_sec=_SECONDS,
            )
        except package.Error as error:
            if not is_driver_absent(str(error)):
                raise connection_error(dialect, address, str(error)) from None
    wanted = f"called '{own}'" if own is not None else f"for {dialect.title}"
    raise UsageError(
        f"There is no ODBC driver {wanted} on this machine.",
        f"Install it ({dialect.odbc_package}); if odbcinst -q -d lists it under another name, add"
        " ?driver=NAME to the address.",
    )
