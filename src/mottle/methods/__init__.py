"""Anonymization methods: one file per published algorithm, found here by name.

A method is a pure function from codes and a guarantee to a generalization graph. Adding one means
adding one file to this folder that registers it; nothing else changes.
"""

from __future__ import annotations

from mottle.guarantees.decisions import DecidesBy
from mottle.methods.base import (
    METHODS,
    Arrangement,
    Chunking,
    Draw,
    Method,
    MethodContext,
    SetColumns,
    registered,
)

__all__ = [
    "Arrangement",
    "Chunking",
    "DecidesBy",
    "Draw",
    "Method",
    "MethodContext",
    "SetColumns",
    "get",
    "registered",
]


def get(name: str) -> Method:
    """Return the method that is registered under a name.

    Parameters
    ----------
    name : str
        A name that ``mottle methods`` lists.

    Returns
    -------
    Method
        What it gives, its paper, its cost, and the function that runs it.

    Raises
    ------
    UsageError
        There is no such method; the message suggests similar names.

    Examples
    --------
    >>> get("nh").paper
    'NH10'
    >>> get("nhh")
    Traceback (most recent call last):
    mottle.errors.UsageError: There is no method 'nhh'. Did you mean 'nh'?
    """
    return METHODS.get_named(name)
