"""Conditions: what the value of a column has to be, and how plain Python says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from mottle.errors import UsageError, did_you_mean

Where: TypeAlias = Mapping[str, Any]  # column → value, (low, high), values, None or Condition
Conditions: TypeAlias = tuple["Condition", ...]  # all of them hold


@dataclass(frozen=True)
class Condition:
    """What the value of one column has to be.

    A known value satisfies it when it lies between ``low`` and ``high`` (as far as given), is one
    of ``values`` (if given) and none of ``excluded``. In a column with a hierarchy, values and
    excluded may be nodes, which stand for everything below them. A set of items satisfies it when
    it holds one of ``values`` (if given) and none of ``excluded``.

    >>> Condition(low=30, high=40, high_open=True)  # from 30 to below 40
    Condition(low=30, high=40, low_open=False, high_open=True, values=None, excluded=(),
     known=True, missing=False)
    """

    low: Any = None
    high: Any = None
    low_open: bool = False  # low itself does not satisfy it
    high_open: bool = False
    values: tuple[Any, ...] | None = None
    excluded: tuple[Any, ...] = ()
    known: bool = True  # whether a known value can satisfy it
    missing: bool = False  # whether the missing value satisfies it

    @property
    def compares(self) -> bool:
        """Whether values have to lie in an order to decide it."""
        return self.low is not None or self.high is not None

    @classmethod
    def of(cls, wanted: object, column: str = "") -> Condition:
        """Read what a person writes: a value, (low, high), a list or set of values, or None.

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
                    f"The condition on column '{column}' has {len(wanted)} parts in brackets.",
                    "Write (low, high) for a range, and a list for one of several values.",
                )
            return cls(low=wanted[0], high=wanted[1])
        if isinstance(wanted, Sequence | Set) and not isinstance(wanted, str | bytes):
            known = tuple(value for value in wanted if value is not None)
            return cls(values=known, missing=len(known) < len(wanted))
        return cls(values=(wanted,))


def read_where(where: Where | None, columns: Iterable[str]) -> dict[str, Conditions]:
    """The conditions by column, after checking that all columns are there."""
    known = list(columns)
    if where is None:
        return {}
    if not isinstance(where, Mapping):
        raise UsageError(
            f"A {type(where).__name__} is no condition.",
            'Write a dictionary such as {"age": (30, 40), "sex": "female"}.',
        )
    conditions: dict[str, Conditions] = {}
    for name, wanted in where.items():
        check_column(name, known)
        is_several = isinstance(wanted, tuple) and any(
            isinstance(part, Condition) for part in wanted
        )
        parts = wanted if is_several else (wanted,)
        conditions[name] = tuple(Condition.of(part, name) for part in parts)
    return conditions


def check_column(name: object, known: Sequence[str]) -> None:
    """Raise unless there is such a column."""
    if name not in known:
        raise UsageError(f"The release has no column '{name}'.", did_you_mean(str(name), known))
