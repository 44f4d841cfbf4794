"""Anonymization methods: one file per published algorithm, found here by name.

A method is a pure function from codes and a guarantee to a generalization graph. Adding one means
adding one file to this folder that registers it; nothing else changes.
"""

from __future__ import annotations

from mottle.methods.base import (
    METHODS,
    Arrangement,
    Draw,
    Method,
    MethodContext,
    SetColumns,
    registered,
)

__all__ = ["Arrangement", "Draw", "Method", "MethodContext", "SetColumns", "get", "registered"]


def get(name: str) -> Method:
    """Return the method registered under ``name``.

    Parameters
    ----------
    name : str
        Name of the method, as listed by `registered`.

    Returns
    -------
    Method
        The registered method.

    Raises
    ------
    UsageError
        If there is no method of that name.

    Examples
    --------
    >>> get("nh").paper
    'NH10'
    >>> get("nhh")
    Traceback (most recent call last):
    mottle.errors.UsageError: There is no method 'nhh'. Did you mean 'nh'?
    """
    return METHODS.get_named(name)
