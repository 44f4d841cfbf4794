"""Methods for sets: one file per algorithm, registered by name as in `mottle.methods`."""

from __future__ import annotations

from mottle.methods.sets.base import SetMethod, method_for, registered

__all__ = ["SetMethod", "method_for", "registered"]
