"""What a release promises: typed guarantees that travel with it."""

from __future__ import annotations

from dataclasses import dataclass

from mottle.errors import GuaranteeError, UsageError


@dataclass(frozen=True)
class KAnonymity:
    """Nobody is linked to a published record with probability above 1/k (NH10, Definition 2).

    >>> KAnonymity(10)
    KAnonymity(k=10)
    >>> KAnonymity(1)
    Traceback (most recent call last):
    mottle.errors.UsageError: k = 1 hides nobody. Choose k of at least 2 (5, 10 or 20 are common).
    """

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int):
            raise UsageError(f"k must be a whole number, not {type(self.k).__name__}.")
        if self.k < 2:
            raise UsageError(
                f"k = {self.k} hides nobody.",
                "Choose k of at least 2 (5, 10 or 20 are common).",
            )

    @property
    def degree(self) -> int:
        """How many originals each published record must be able to stand for."""
        return self.k

    def check_feasible(self, rows: int) -> None:
        """Raise `GuaranteeError` when a table of ``rows`` records cannot have this guarantee."""
        if rows < 2:
            raise GuaranteeError(
                "A table of one row cannot be anonymized: its record has nobody to hide among.",
                "Give more rows.",
            )
        if rows < self.k:
            raise GuaranteeError(
                f"k = {self.k} cannot be met by a table of {rows} rows.",
                f"The largest feasible k is {rows}.",
            )

    def describe(self) -> dict[str, object]:
        """The guarantee as it stands on the certificate."""
        return {
            "name": "k-anonymity",
            "k": self.k,
            "statement": (
                f"Whoever knows the quasi-identifiers of everybody in the table, and the algorithm,"
                f" links a person to a published record with probability at most 1/{self.k}."
            ),
        }
