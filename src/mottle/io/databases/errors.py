"""Errors that all databases have in common; each database translates those of its driver itself."""

from __future__ import annotations

from collections.abc import Sequence

from mottle.errors import UsageError, did_you_mean

__all__ = ["no_such_table", "nothing_written"]


def no_such_table(shown: str, table: str, known: Sequence[str]) -> UsageError:
    """Make the error for a table that a database does not have.

    Parameters
    ----------
    shown : str
        The address of the database, without its password.
    table : str
        The name that was not found.
    known : sequence of str
        The names of all tables.

    Returns
    -------
    UsageError
        With the closest name, or the names that there are.
    """
    remedy = did_you_mean(table, known) if known else "It has no tables."
    return UsageError(f"{shown} has no table '{table}'.", remedy)


def nothing_written(writing: bool) -> str:
    """Return the sentence that ends messages about a failed write; empty when reading.

    >>> nothing_written(True), nothing_written(False)
    (' Nothing was written.', '')
    """
    return " Nothing was written." if writing else ""
