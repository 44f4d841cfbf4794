"""Database drivers, imported when a database is first used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mottle.utils.optional import load_optional

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
        wanted = f"mottle[{self.extra}]" if self.extra else self.package
        return load_optional(module, self.package, wanted)
