"""Modules that are imported when they are first used: the one mechanism for a fast start.

Numba, SciPy and other large libraries take longer to import than most commands take to run. A
module that needs code built on them, but is itself imported at start-up, names it like this, so
that type checkers and import contracts see an ordinary import::

    if TYPE_CHECKING:
        from mottle.itemsets import columns as item_columns
    else:
        item_columns = lazy_module("mottle.itemsets.columns")
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    """Stands for a module until one of its names is used."""

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self.__name__), attribute)


def lazy_module(name: str) -> ModuleType:
    """Import a module on the first use of one of its names.

    Parameters
    ----------
    name : str
        Full name of the module.

    Returns
    -------
    ModuleType
        An object that has the module's names as attributes.

    Examples
    --------
    >>> fractions = lazy_module("fractions")
    >>> fractions.Fraction(2, 4)
    Fraction(1, 2)
    """
    return _LazyModule(name)
