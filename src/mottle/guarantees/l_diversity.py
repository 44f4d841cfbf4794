"""ℓ-diversity in its strict form: a bound on frequencies, not a count of distinct values."""

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
class LDiversity(Guarantee):
    """Nobody's sensitive value is known with probability above 1/ℓ (NH10, Definition 9).

    This is the strict reading (frequency), not merely ℓ distinct values.

    >>> LDiversity(3)
    LDiversity(l=3)
    """

    l: int  # noqa: E741 - the papers' name

    name: ClassVar[str] = "ℓ-diversity"
    requires: ClassVar[Capability] = Capability.EQUAL_CAPS
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption(
            "l", int, "No sensitive value can be inferred with confidence above 1/l.", short="-l"
        ),
    )
    symbol: ClassVar[str] = "ℓ"

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> LDiversity | None:
        return None if given["l"] is None else cls(given["l"])

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> LDiversity:
        return cls(described["l"])

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        return ["--l", f"{described['l']:g}"]

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        return (
            f"A person's sensitive value stays open. Anyone who knows {known},"
            f" {NO_TENDENCY}, can infer no sensitive value with a confidence above"
            f" 1 in {described['l']} ({100 / described['l']:.3g} %)."
        )

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        share = f"1 in {described['l']} ({100 / described['l']:.3g} %)"
        return f"Of the records that may be a person's, at most {share} show the same value."

    def __post_init__(self) -> None:
        check_whole("ℓ", self.l)
        if self.l < 2:
            raise UsageError(
                f"ℓ = {self.l} protects no sensitive value.",
                "Choose ℓ of at least 2 (3 to 5 are common).",
            )

    def caps(self, values: SensitiveValues) -> Float64Array:
        return np.full(len(values.counts), 1 / self.l)

    def remedy(self, values: SensitiveValues, value: int) -> str:
        largest = values.rows // int(values.counts[value])
        if largest < 2:
            return "No ℓ is feasible: more than half of the rows share that value."
        return f"The largest feasible ℓ is {largest}."

    def describe(self) -> dict[str, object]:
        return {
            "name": self.name,
            "short": f"ℓ = {self.l}",
            "l": self.l,
            "statement": (
                f"{ADVERSARY.capitalize()} can infer no sensitive value of a person with a"
                " confidence above"
                f" 1/{self.l}."
            ),
        }
