"""All errors that mottle raises on purpose: what is wrong, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "DataError",
    "GuaranteeError",
    "MottleError",
    "PrivacyError",
    "SchemaError",
    "StorageError",
    "UsageError",
]


class MottleError(Exception):
    """Base of all errors that mottle raises on purpose.

    The message is the problem followed by the remedy. Neither may contain a cell value of the
    input, because messages end up in logs that are not protected as the data are.

    Parameters
    ----------
    problem : str
        What is wrong and where: a column, an option, a file.
    remedy : str
        What to do about it; empty where nothing can be said in general.

    Examples
    --------
    >>> error = UsageError("There is no method 'nhh'.", "Did you mean 'nh'?")
    >>> print(error)
    There is no method 'nhh'. Did you mean 'nh'?
    >>> error.problem, error.exit_code
    ("There is no method 'nhh'.", 2)
    """

    exit_code = 1  # of the command line

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem} {remedy}".strip())
        self.problem = problem
        self.remedy = remedy


class UsageError(MottleError):
    """An option or argument that cannot be right, whatever the data."""

    exit_code = 2


class SchemaError(UsageError):
    """A schema that contradicts itself or the table it describes."""


class GuaranteeError(MottleError):
    """The guarantee asked for cannot be met on this table."""

    exit_code = 3


class DataError(MottleError):
    """The input cannot be read as a table, or holds values that cannot be anonymized as asked."""

    exit_code = 4


class StorageError(MottleError):
    """Reading or writing failed: missing file, permissions, full disk."""

    exit_code = 5


class PrivacyError(MottleError):
    """An invariant does not hold: a defect in mottle, and therefore nothing is published."""

    exit_code = 70


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the closest known name, or list what there is.

    Parameters
    ----------
    name : str
        What was given.
    known : Iterable[str]
        The names that would have been right.

    Returns
    -------
    str
        One sentence, to be used as an error's remedy. It lists at most 20 names; empty if there are
        none.

    Examples
    --------
    >>> did_you_mean("gendr", ["age", "gender"])
    "Did you mean 'gender'?"
    >>> did_you_mean("zip", ["age", "gender"])
    'Known: age, gender.'
    """
    names = list(known)
    if not names:
        return ""
    lowered = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    if close:
        return f"Did you mean '{lowered[close[0]]}'?"
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"Known: {shown}."
