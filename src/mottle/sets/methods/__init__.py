"""Methods for sets: one file per algorithm, found here by name, as in `mottle.methods`."""

from __future__ import annotations

import importlib
import pkgutil

from mottle.sets.methods._registry import SetMethod, method_for, registered

__all__ = ["SetMethod", "method_for", "registered"]

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")
