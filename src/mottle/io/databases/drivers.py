"""Database drivers, imported when a database is first used.

This is the only way in which drivers are loaded: importing mottle loads none of them, and a driver
that is not installed is reported together with the extra that installs it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from mottle.errors import UsageError

__all__ = ["Driver"]


@dataclass(frozen=True)
class Driver:
    """The Python package through which a database is reached."""

    package: str  # as pip knows it
    module: str  # what is imported
    errors: str  # the module with the driver's exceptions
    extra: str | None = None  # of mottle; None when mottle itself requires the package

    def load(self) -> Any:
        """Import the driver.

        Returns
        -------
        module
            The driver's module.

        Raises
        ------
        UsageError
            The package is not installed.
        """
        return self._import(self.module)

    def load_errors(self) -> Any:
        """Import the module with the driver's exceptions.

        Returns
        -------
        module
            The module whose ``Error`` is the base of all exceptions of the driver.

        Raises
        ------
        UsageError
            The package is not installed.
        """
        return self._import(self.errors)

    def _import(self, module: str) -> Any:
        try:
            return importlib.import_module(module)
        except ImportError:
            wanted = f"mottle[{self.extra}]" if self.extra else self.package
            raise UsageError(
                f"The package {self.package} is not installed.",
                f"Install the database drivers: pip install '{wanted}'.",
            ) from None
