"""Anonymization methods: one file per published algorithm, found here by name.

A method is a pure function from codes and a guarantee to a generalization graph. Adding one means
adding one file to this folder that registers it; nothing else changes.
"""

from __future__ import annotations

import importlib
import pkgutil

from mottle.errors import UsageError, did_you_mean
from mottle.methods._registry import Arrangement, Draw, Effort, Method, SetColumns, registered

__all__ = ["Arrangement", "Draw", "Effort", "Method", "SetColumns", "get", "registered"]

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")


def get(name: str) -> Method:
    """The method registered under ``name``.

    >>> get("nh").paper
    'NH10'
    >>> get("nhh")
    Traceback (most recent call last):
    mottle.errors.UsageError: There is no method 'nhh'. Did you mean 'nh'?
    """
    try:
        return registered()[name]
    except KeyError:
        raise UsageError(
            f"There is no method '{name}'.", did_you_mean(name, registered())
        ) from None
