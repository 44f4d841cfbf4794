"""Optional packages, imported when they are first used.

This is the only way in which drivers of databases, readers of other programs' files and what draws
charts of comparisons are loaded: importing mottle loads none of them, and one that is not installed
is reported together with the extra that installs it.
"""

from __future__ import annotations

import importlib
from typing import Any

from mottle.errors import UsageError

__all__ = ["load_optional"]


def load_optional(module: str, package: str, wanted: str) -> Any:
    """Import a module of a package that may not be installed.

    Parameters
    ----------
    module : str
        What is imported.
    package : str
        The package, as pip knows it.
    wanted : str
        What is given to pip to install it.

    Returns
    -------
    module
        The module.

    Raises
    ------
    UsageError
        The package is not installed.

    Examples
    --------
    >>> load_optional("no_such_module", "no-such-package", "mottle[none]")
    Traceback (most recent call last):
    mottle.errors.UsageError: The package no-such-package is not installed. Install it with: ...
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UsageError(
            f"The package {package} is not installed.",
            f"Install it with: pip install '{wanted}'.",
        ) from None
