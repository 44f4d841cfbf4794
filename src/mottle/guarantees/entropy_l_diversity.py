"""Entropy ℓ-diversity, by the caps that imply it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mottle.errors import UsageError
from mottle.guarantees._numbers import check_whole
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


@register
@dataclass(frozen=True)
class EntropyLDiversity(Guarantee):
    """Beliefs about anybody's sensitive value have an entropy of at least log ℓ (FAST07 §2.3).

    Every value is capped at 1/ℓ, which implies it; a single lower bound on entropy would let one
    value be believed far above that. See docs/guarantees.md.

    >>> EntropyLDiversity(3)
    EntropyLDiversity(l=3)
    """

    l: int  # noqa: E741 - the papers' name

    name: ClassVar[str] = "entropy ℓ-diversity"
    requires: ClassVar[Capability] = Capability.EQUAL_CAPS
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption(
            "entropy_l", int, "Beliefs in sensitive values have an entropy of at least log(l)."
        ),
    )
    symbol: ClassVar[str] = "ℓ"

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> EntropyLDiversity | None:
        return None if given["entropy_l"] is None else cls(given["entropy_l"])

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> EntropyLDiversity:
        return cls(described["entropy_l"])

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        return ["--entropy-l", f"{described['entropy_l']:g}"]

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        number = described["entropy_l"]
        return (
            f"Anyone who knows {known}, {NO_TENDENCY}, stays as uncertain about a person's"
            f" sensitive value as between {number} equally likely ones, and believes none with more"
            f" than 1 in {number} ({100 / number:.3g} %)."
        )

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        number = described["entropy_l"]
        return (
            "The sensitive values of the records that may be a person's have an entropy of at"
            f" least log {number}, and at most 1 in {number} show the same value."
        )

    def __post_init__(self) -> None:
        check_whole("ℓ of entropy ℓ-diversity", self.l)
        if self.l < 2:
            raise UsageError(
                f"Entropy ℓ-diversity with ℓ = {self.l} protects no sensitive value.",
                "Choose ℓ of at least 2 (3 to 5 are common).",
            )

    def caps(self, values: SensitiveValues) -> Float64Array:
        return np.full(len(values.counts), 1 / self.l)

    def remedy(self, values: SensitiveValues, value: int) -> str:
        largest = values.rows // int(values.counts[value])
        if largest < 2:
            return "No ℓ is feasible: more than half of the rows share that value."
        return f"It is kept by capping every value at 1/ℓ; the largest feasible ℓ is {largest}."

    def describe(self) -> dict[str, object]:
        return {
            "name": self.name,
            "short": f"ℓ = {self.l}",
            "entropy_l": self.l,
            "statement": (
                f"Whatever {ADVERSARY} believes about the sensitive value of a person, these"
                f" beliefs have an entropy of at least log {self.l}, and none is above 1/{self.l}."
            ),
        }
