"""k-anonymity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

from mottle.errors import GuaranteeError, UsageError
from mottle.guarantees._numbers import check_whole
from mottle.guarantees.base import Guarantee, GuaranteeOption, register
from mottle.guarantees.capability import Capability


@register
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

    name: ClassVar[str] = "k-anonymity"
    requires: ClassVar[Capability] = Capability.K_ANONYMITY
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption("k", int, "Every person matches at least k records.", short="-k"),
        GuaranteeOption(
            "max_risk", float, "Instead of k: the highest risk, such as 0.09, for which k = 12."
        ),
    )
    symbol: ClassVar[str] = "k"

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> KAnonymity | None:
        risk = given.get("max_risk")
        if risk is None:
            return None if given["k"] is None else cls(given["k"])
        if given["k"] is not None:
            raise UsageError(
                "--k and --max-risk say the same thing: the highest risk is 1/k.",
                "Give one of them.",
            )
        return cls.of_risk(risk)

    @classmethod
    def of_risk(cls, risk: float) -> KAnonymity:
        """Return the weakest k-anonymity under which no risk is above a threshold.

        Parameters
        ----------
        risk : float
            The highest probability of a link, above 0 and at most 0.5.

        Returns
        -------
        KAnonymity
            With the least k for which 1/k is at most ``risk``.

        Raises
        ------
        UsageError
            The risk is not such a probability.

        Examples
        --------
        >>> KAnonymity.of_risk(0.09), KAnonymity.of_risk(0.2)
        (KAnonymity(k=12), KAnonymity(k=5))
        """
        if not isinstance(risk, int | float) or isinstance(risk, bool) or not 0 < risk <= 0.5:
            raise UsageError(
                "The highest risk must be above 0 and at most 0.5.",
                "For instance 0.09, for which k = 12.",
            )
        return cls(ceil(1 / Fraction(repr(float(risk)))))

    def of_risk_in_words(self, risk: float) -> str:
        """Say why this k belongs to a highest risk, and not the one below.

        Parameters
        ----------
        risk : float
            The highest risk.

        Returns
        -------
        str
            A sentence.

        Examples
        --------
        >>> KAnonymity(12).of_risk_in_words(0.09)
        'k = 12, not 11: 1/12 = 0.08333 is at most 0.09, and 1/11 = 0.09091 is more.'
        """
        weaker = self.k - 1
        why = f"1/{self.k} = {1 / self.k:.4g} is at most {risk:g}"
        if weaker < 2:
            return f"k = {self.k}: {why}."
        return f"k = {self.k}, not {weaker}: {why}, and 1/{weaker} = {1 / weaker:.4g} is more."

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> KAnonymity:
        return cls(described["k"])

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        return ["--k", f"{described['k']:g}"]

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        k = described["k"]
        return (
            "Which record belongs to whom stays open. Anyone who knows that a certain person is in"
            f" the table, and {known}, but nothing else about them, still finds at least {k}"
            " records that may be theirs, and cannot do better than guess: the"
            f" chance of being right is at most 1 in {k} ({100 / k:.3g} %)."
        )

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        return f"Every person may be any of at least {described['k']} published records."

    def statement_on_people(self, described: Mapping[str, Any]) -> str:
        return (
            "Anyone who knows the quasi-identifiers of everyone in the table, which rows belong to"
            " the same person, and the algorithm, takes a published record for one of a person's"
            f" with probability at most 1/{self.k}, all rows of the person together."
        )

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
            "name": self.name,
            "short": f"k = {self.k}",
            "k": self.k,
            "statement": (
                "Anyone who knows the quasi-identifiers of everyone in the table, and the"
                " algorithm, links a person to a published record with probability at most"
                f" 1/{self.k}."
            ),
        }
