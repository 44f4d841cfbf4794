"""k-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

from mottle.errors import GuaranteeError, UsageError
from mottle.guarantees._numbers import check_whole
from mottle.guarantees.base import Guarantee


@dataclass(frozen=True)
class KAnonymity(Guarantee):
    """Nobody is linked to a published record with probability above 1/k (NH10, Definition 2).

    >>> KAnonymity(10)
    KAnonymity(k=10)
    >>> KAnonymity(1)
    Traceback (most recent call last):
    mottle.errors.UsageError: k = 1 hides nobody. Choose k of at least 2 (5, 10 or 20 are common).
    """

    k: int

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        if self.k < 2:
            raise UsageError(
                f"k = {self.k} hides nobody.",
                "Choose k of at least 2 (5, 10 or 20 are common).",
            )

    @property
    def degree(self) -> int:
        return self.k

    @property
    def about_values(self) -> bool:
        return False

    def check_feasible(self, rows: int) -> None:
        super().check_feasible(rows)
        if rows < self.k:
            raise GuaranteeError(
                f"k = {self.k} cannot be met by a table of {rows} rows.",
                f"The largest feasible k is {rows}.",
            )

    def describe(self) -> dict[str, object]:
        return {
            "name": "k-anonymity",
            "short": f"k = {self.k}",
            "k": self.k,
            "statement": (
                f"Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                f" links a person to a published record with probability at most 1/{self.k}."
            ),
        }
