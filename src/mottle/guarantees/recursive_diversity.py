"""Recursive (c, ℓ)-diversity, by the caps that imply it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mottle.errors import UsageError
from mottle.guarantees._numbers import check_whole, finite
from mottle.guarantees.base import Guarantee, GuaranteeOption, register
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import ADVERSARY, NO_TENDENCY
from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np

    from mottle.encoding.sensitive import SensitiveValues
    from mottle.typing import Float64Array
else:
    np = lazy_module("numpy")  # the command line reads the options of guarantees without it

# How much the cap stays below its limit: the definition says "less than", and counts of matches are
# rounded down only after adding `mottle.guarantees.demand.ROUNDING`.
_STRICTLY = 1e-6


@register
@dataclass(frozen=True)
class RecursiveDiversity(Guarantee):
    """The likeliest value is less likely than c times all but the ℓ - 1 likeliest (FAST07 §2.3).

    With the beliefs in descending order r₁ ≥ r₂ ≥ …, recursive (c, ℓ)-diversity is
    r₁ < c·(r_ℓ + r_{ℓ+1} + …). Capping every value below c / (1 + c·(ℓ - 1)) implies it, and no
    higher cap for all values does; see docs/guarantees.md.

    >>> RecursiveDiversity(2, 3)
    RecursiveDiversity(c=2.0, l=3)
    >>> round(RecursiveDiversity(2, 3).cap, 4)
    0.4
    """

    c: float
    l: int  # noqa: E741 - the papers' name

    name: ClassVar[str] = "recursive (c, ℓ)-diversity"
    requires: ClassVar[Capability] = Capability.OWN_CAPS
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption(
            "recursive",
            str,
            "Recursive (c, l)-diversity: the likeliest value is less likely than c times all but"
            " the l - 1 likeliest.",
            metavar="C,L",
        ),
    )

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> RecursiveDiversity | None:
        if given["recursive"] is None:
            return None
        constant, _, diversity = str(given["recursive"]).partition(",")
        try:
            return cls(float(constant), int(diversity))
        except ValueError:
            raise UsageError(
                "--recursive takes a number c and a whole number ℓ.", "Write --recursive 2,3."
            ) from None

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> RecursiveDiversity:
        return cls(described["c"], described["l"])

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        return ["--recursive", f"{described['c']:g},{described['l']:g}"]

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        return (
            f"For anyone who knows {known}, {NO_TENDENCY}, the most likely sensitive value of a"
            f" person is less likely than {described['c']:g} times all values but the"
            f" {described['l'] - 1} most likely together, and less likely than"
            f" {100 * described['cap']:.3g} %."
        )

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        return (
            "Of the records that may be a person's, fewer show the most frequent value than"
            f" {described['c']:g} times those that show all but the {described['l'] - 1} most"
            " frequent ones."
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", finite("c of recursive (c, ℓ)-diversity", self.c))
        check_whole("ℓ of recursive (c, ℓ)-diversity", self.l)
        if self.c <= 0 or self.l < 2:
            raise UsageError(
                "Recursive (c, ℓ)-diversity needs c above 0 and ℓ of at least 2.",
                "Write for instance --recursive 2,3.",
            )

    @property
    def cap(self) -> float:
        """The limit that every belief has to stay below."""
        return self.c / (1 + self.c * (self.l - 1))

    def caps(self, values: SensitiveValues) -> Float64Array:
        return np.full(len(values.counts), self.cap * (1 - _STRICTLY))

    def remedy(self, values: SensitiveValues, value: int) -> str:
        share = values.counts[value] / values.rows
        room = 1 - share * (self.l - 1)
        if room <= 0:
            return f"No c is feasible for ℓ = {self.l}: choose a smaller ℓ."
        return (
            "It is kept by capping every value below c / (1 + c·(ℓ - 1)); with"
            f" ℓ = {self.l}, c must be above {share / room:.4g}."
        )

    def describe(self) -> dict[str, object]:
        return {
            "name": self.name,
            "short": f"c = {self.c:g}, ℓ = {self.l}",
            "c": self.c,
            "l": self.l,
            "cap": self.cap,
            "statement": (
                f"For {ADVERSARY} the most likely sensitive value of a person is less likely than"
                f" {self.c:g} times all values but the {self.l - 1} most likely together; none is"
                f" believed with {self.cap:.4g} or more."
            ),
        }
