"""Expressions as trees, and their value where it is known which values the columns have.

An expression is evaluated on a *combination*: for every column the class of values that its value
belongs to (`mottle.queries.expressions.value_classes`). Classes are as fine as the tests of the
query, so a test is true or false on all of a class, or NULL on the class of the missing value, and
SQL's three-valued logic applies as it stands.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from mottle.errors import UsageError
from mottle.queries.conditions import Condition
from mottle.queries.expressions.polynomial import Polynomial


class Setting(Protocol):
    """What is known of a column's value on a combination."""

    @property
    def is_missing(self) -> bool:
        """Whether it is missing."""

    def test(self, condition: Condition) -> bool | None:
        """Return whether it satisfies a condition; None for NULL."""

    def look_up(self, table: str, attribute: str) -> object:
        """Return what a code list says about it."""

    def value(self) -> object:
        """Return the value, or the column as a polynomial."""


Combination = Mapping[str, Setting]  # by column


class Expression(Protocol):
    """A node of the tree."""

    def value(self, at: Combination) -> Any:
        """Return the value on a combination: None, bool, text, a number, or a `Polynomial`."""

    def parts(self) -> tuple[Expression, ...]:
        """Return the expressions that it is made of."""


def walk(expression: Expression) -> Iterator[Expression]:
    """Iterate over an expression and everything that it is made of."""
    yield expression
    for part in expression.parts():
        yield from walk(part)


@dataclass(frozen=True)
class Literal:
    """A value that the query states."""

    stated: object

    def value(self, at: Combination) -> Any:
        """The value itself."""
        return self.stated

    def parts(self) -> tuple[Expression, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class Reference:
    """A column of the release."""

    column: str

    def value(self, at: Combination) -> Any:
        """Its value."""
        return at[self.column].value()

    def parts(self) -> tuple[Expression, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class Lookup:
    """What a code list says about the value of a column; NULL if it does not list the value."""

    column: str
    table: str
    attribute: str

    def value(self, at: Combination) -> Any:
        """The attribute."""
        return at[self.column].look_up(self.table, self.attribute)

    def parts(self) -> tuple[Expression, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class Test:
    """A comparison of a column with stated values."""

    column: str
    condition: Condition

    def value(self, at: Combination) -> bool | None:
        """Whether the column satisfies the condition."""
        return at[self.column].test(self.condition)

    def parts(self) -> tuple[Expression, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class HoldsItems(Test):
    """Whether a set holds at least one of stated items: ``contains(items, 'bread')``."""


@dataclass(frozen=True)
class IsNull:
    """IS NULL."""

    operand: Expression

    def value(self, at: Combination) -> bool:
        """Whether the operand is NULL."""
        if isinstance(self.operand, Reference):
            return at[self.operand.column].is_missing
        return self.operand.value(at) is None

    def parts(self) -> tuple[Expression, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True)
class Not:
    """NOT."""

    operand: Expression

    def value(self, at: Combination) -> bool | None:
        """The opposite; NULL stays NULL."""
        truth = self.operand.value(at)
        return None if truth is None else not truth

    def parts(self) -> tuple[Expression, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True)
class Connected:
    """Expressions joined by AND (``decisive`` is False) or by OR (``decisive`` is True)."""

    operands: tuple[Expression, ...]
    decisive: bool  # the truth of one operand that decides

    def value(self, at: Combination) -> bool | None:
        """The truth, by SQL's three-valued logic."""
        truths = [operand.value(at) for operand in self.operands]
        if any(truth is self.decisive for truth in truths):
            return self.decisive
        return None if None in truths else not self.decisive

    def parts(self) -> tuple[Expression, ...]:
        """The operands."""
        return self.operands


@dataclass(frozen=True)
class Case:
    """CASE WHEN … THEN … ELSE … END."""

    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression = field(default_factory=lambda: Literal(None))

    def value(self, at: Combination) -> Any:
        """The result of the first branch whose condition is true."""
        for condition, result in self.branches:
            if condition.value(at) is True:
                return result.value(at)
        return self.default.value(at)

    def parts(self) -> tuple[Expression, ...]:
        """Conditions and results."""
        return (*(part for branch in self.branches for part in branch), self.default)


_ARITHMETIC: dict[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers joined by +, -, * or /."""

    symbol: str
    left: Expression
    right: Expression

    def value(self, at: Combination) -> Polynomial | None:
        """The result; NULL if one of them is NULL."""
        left, right = self.left.value(at), self.right.value(at)
        if left is None or right is None:
            return None
        return _ARITHMETIC[self.symbol](Polynomial.of(left), Polynomial.of(right))

    def parts(self) -> tuple[Expression, ...]:
        """Both numbers."""
        return (self.left, self.right)


ARITHMETIC = tuple(_ARITHMETIC)

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Compared:
    """A comparison of derived values: results of CASE, attributes of code lists."""

    symbol: str
    left: Expression
    right: Expression

    def value(self, at: Combination) -> bool | None:
        """The truth; NULL if one of them is NULL."""
        left, right = (_comparable(part.value(at)) for part in (self.left, self.right))
        if left is None or right is None:
            return None
        if isinstance(left, Fraction) != isinstance(right, Fraction):
            raise UsageError(
                "A number is compared with text.",
                "Write text in quotes and numbers without, in the types of CASE and code list.",
            )
        if self.symbol not in ("=", "<>") and not isinstance(left, Fraction):
            raise unordered("The result of CASE or of a code list")
        return _COMPARISONS[self.symbol](left, right)

    def parts(self) -> tuple[Expression, ...]:
        """Both sides."""
        return (self.left, self.right)


def unordered(what: str) -> UsageError:
    """An error about text that is compared by <, >, or BETWEEN."""
    return UsageError(
        f"{what} is text without an order, which <, > and BETWEEN cannot compare.",
        "Name the values: IN ('60-69', '70-79').",
    )


def _comparable(value: Any) -> Any:
    """Numbers as exact numbers; dates as text; everything else unchanged."""
    if isinstance(value, Polynomial):
        if value.columns:
            raise UsageError(
                "An expression over columns is compared with a value.",
                "Compare the column itself: income > 1000 instead of income * 12 > 12000.",
            )
        return value.constant
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | Decimal | Fraction):
        return Fraction(value)
    return str(value)
