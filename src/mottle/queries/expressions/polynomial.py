"""Numbers that are sums of products of columns, such as ``income * 12 + age``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from mottle.errors import UsageError

Product = frozenset[str]  # the columns that are multiplied; empty for a constant


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of columns, each column at most once in a product.

    Such a function is largest and smallest at corners of a box, and its mean and mean square
    follow from the first two moments of the columns.
    """

    terms: Mapping[Product, Fraction]

    @classmethod
    def of(cls, value: object) -> Polynomial:
        """Return a constant, or a polynomial unchanged.

        >>> Polynomial.of(2).constant
        Fraction(2, 1)
        """
        if isinstance(value, Polynomial):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
            raise UsageError(
                "Text, dates and truth values cannot be added up or multiplied.",
                "Count the records instead, or compare the column with a value.",
            )
        try:
            return cls({Product(): Fraction(value)})
        except (ValueError, OverflowError):
            raise UsageError("A number of the expression is not finite.") from None

    @classmethod
    def of_column(cls, name: str) -> Polynomial:
        """Return a column itself."""
        return cls({Product((name,)): Fraction(1)})

    @property
    def columns(self) -> list[str]:
        """The columns that occur, sorted."""
        return sorted({name for product in self.terms for name in product})

    @property
    def constant(self) -> Fraction:
        """The summand without columns."""
        return self.terms.get(Product(), Fraction(0))

    @property
    def only_column(self) -> str | None:
        """The column, if the polynomial is one and nothing else."""
        terms = {product: factor for product, factor in self.terms.items() if factor}
        (product, factor), *rest = terms.items() or [(Product(), Fraction(0))]
        return next(iter(product)) if not rest and len(product) == 1 and factor == 1 else None

    def __add__(self, other: Polynomial) -> Polynomial:
        products = [*self.terms, *(product for product in other.terms if product not in self.terms)]
        zero = Fraction(0)
        return Polynomial(
            {one: self.terms.get(one, zero) + other.terms.get(one, zero) for one in products}
        )

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Product, Fraction] = {}
        for one, factor in self.terms.items():
            for two, other_factor in other.terms.items():
                if one & two:
                    raise UsageError(
                        f"Column '{min(one & two)}' is multiplied by itself.",
                        "Estimates support products of different columns and of numbers; stddev"
                        " and variance measure how a column varies.",
                    )
                terms[one | two] = terms.get(one | two, Fraction(0)) + factor * other_factor
        return Polynomial(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial({product: -factor for product, factor in self.terms.items()})

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __truediv__(self, other: Polynomial) -> Polynomial:
        if other.columns or not other.constant:
            raise UsageError(
                "An expression is divided by a column, or by zero.",
                "Divide by a number: income / 12.",
            )
        return Polynomial({one: factor / other.constant for one, factor in self.terms.items()})
