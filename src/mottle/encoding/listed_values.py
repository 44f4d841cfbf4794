"""Quasi-identifiers whose cells list exact values of other people, since hardly two are equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mottle.encoding.domain import Domain
from mottle.kinds.forms.base import Form

__all__ = ["listed_values", "listed_words", "lists_exact_values"]

_MANY = 1_000  # values of a column of which a set says little
_SOME = 20  # a column of fewer values is not one in which hardly two people are equal
_NEARLY_UNIQUE = 0.5  # different values per row


def lists_exact_values(values: int, rows: int) -> bool:
    """Tell whether sets of the values of a column are lists of what single people have.

    Parameters
    ----------
    values : int
        The number of different values.
    rows : int
        The number of rows.

    Returns
    -------
    bool
        Whether there are thousands of values, or nearly as many as rows.

    Examples
    --------
    >>> [lists_exact_values(*case) for case in ((12, 20), (900, 1000), (900, 9000), (3000, 9000))]
    [False, True, False, True]
    """
    return values > _MANY or (values > _SOME and values > _NEARLY_UNIQUE * rows)


def listed_values(domains: Iterable[Domain], rows: int) -> Iterator[str]:
    """Say which quasi-identifiers are published as lists of exact values of other people.

    Parameters
    ----------
    domains : iterable of Domain
        The quasi-identifiers.
    rows : int
        The number of rows of the whole table.

    Yields
    ------
    str
        A sentence about a column, without values.
    """
    for domain in domains:
        if domain.form is Form.SET and lists_exact_values(domain.size, rows):
            yield listed_words(domain.name, domain.size, rows)


def listed_words(name: str, values: int, rows: int) -> str:
    """Say what cells of such a column are, and what to do about it."""
    return (
        f"Column '{name}' has {values:,} different values in {rows:,} rows: cells list exact values"
        " of others, which have little in common, and its loss is no measure of what a cell says."
        " Give it a kind with an order, a hierarchy or another role, or leave it out."
    )
