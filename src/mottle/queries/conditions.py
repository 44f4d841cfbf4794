"""Conditions on column values, and how they are written in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from mottle.errors import UsageError, did_you_mean

Where: TypeAlias = Mapping[str, Any]  # column → value, (low, high), values, None or Condition
Conditions: TypeAlias = tuple["Condition", ...]  # a value has to satisfy all of them


@dataclass(frozen=True)
class Condition:
    """A condition on the value of one column.

    A known value satisfies the condition if it lies between ``low`` and ``high`` (where given), is
    one of ``values`` (if given) and none of ``excluded``. In a column with a hierarchy, ``values``
    and ``excluded`` may name inner nodes, which stand for all values below them. A set of items
    satisfies the condition if it holds at least one of ``values`` (if given) and none of
    ``excluded``.

    Parameters
    ----------
    low, high : object, optional
        Ends of a range. None leaves that side unbounded.
    low_open, high_open : bool, default False
        Whether the end itself does not satisfy the condition.
    values : tuple, optional
        The values (or nodes, or items) of which the value has to be one. None allows all.
    excluded : tuple, default ()
        Values (or nodes, or items) that do not satisfy the condition.
    known : bool, default True
        Whether a known value can satisfy the condition at all.
    missing : bool, default False
        Whether the missing value satisfies the condition.

    Examples
    --------
    >>> Condition(low=30, high=40, high_open=True)  # from 30 to below 40
    Condition(low=30, high=40, low_open=False, high_open=True, values=None, excluded=(),
     known=True, missing=False)
    """

    low: Any = None
    high: Any = None
    low_open: bool = False
    high_open: bool = False
    values: tuple[Any, ...] | None = None
    excluded: tuple[Any, ...] = ()
    known: bool = True
    missing: bool = False

    @property
    def has_range(self) -> bool:
        """Whether the condition has a lower or upper end, so that values must have an order."""
        return self.low is not None or self.high is not None

    @classmethod
    def of(cls, wanted: object, column: str = "") -> Condition:
        """Make a condition from plain Python.

        Parameters
        ----------
        wanted : object
            A value; a tuple ``(low, high)`` for a range; a list or set of values; None for the
            missing value; or a `Condition`, which is returned unchanged.
        column : str, optional
            Name of the column, for error messages.

        Returns
        -------
        Condition

        Raises
        ------
        UsageError
            If a tuple does not have two elements.

        Examples
        --------
        >>> Condition.of((30, None)).low, Condition.of(["a", None]).missing, Condition.of(3).values
        (30, True, (3,))
        """
        if isinstance(wanted, Condition):
            return wanted
        if wanted is None:
            return cls(known=False, missing=True)
        if isinstance(wanted, tuple):
            if len(wanted) != 2:
                raise UsageError(
                    f"The condition on column '{column}' is a tuple of {len(wanted)} elements.",
                    "Write (low, high) for a range, and a list for one of several values.",
                )
            return cls(low=wanted[0], high=wanted[1])
        if isinstance(wanted, Sequence | Set) and not isinstance(wanted, str | bytes):
            values = tuple(value for value in wanted if value is not None)
            return cls(values=values, missing=len(values) < len(wanted))
        return cls(values=(wanted,))


def parse_where(where: Where | None, columns: Iterable[str]) -> dict[str, Conditions]:
    """Return the conditions by column, after checking that all columns exist."""
    names = list(columns)
    if where is None:
        return {}
    if not isinstance(where, Mapping):
        raise UsageError(
            f"A {type(where).__name__} is not a valid condition.",
            'Write a dictionary such as {"age": (30, 40), "sex": "female"}.',
        )
    conditions: dict[str, Conditions] = {}
    for name, wanted in where.items():
        check_column(name, names)
        is_several = isinstance(wanted, tuple) and any(
            isinstance(part, Condition) for part in wanted
        )
        parts = wanted if is_several else (wanted,)
        conditions[name] = tuple(Condition.of(part, name) for part in parts)
    return conditions


def check_column(name: object, columns: Sequence[str]) -> None:
    """Raise a `UsageError` unless there is a column of this name."""
    if name not in columns:
        raise UsageError(f"The release has no column '{name}'.", did_you_mean(str(name), columns))
