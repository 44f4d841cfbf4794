"""β-likeness, plain and enhanced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mottle.errors import UsageError
from mottle.guarantees._numbers import finite
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
class BetaLikeness(Guarantee):
    """Belief in a sensitive value grows by no more than the factor 1 + β (HET, Definition 4).

    ``enhanced`` bounds the factor by 1 + min(β, -ln φ), so that frequent values (share φ) stay
    well below certainty.

    >>> BetaLikeness(2)
    BetaLikeness(beta=2.0, enhanced=False)
    """

    beta: float
    enhanced: bool = False

    name: ClassVar[str] = "β-likeness"
    also_called: ClassVar[tuple[str, ...]] = ("enhanced β-likeness",)
    requires: ClassVar[Capability] = Capability.SHARE_CAPS
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption(
            "beta", float, "Belief in a sensitive value grows by at most the factor 1 + beta."
        ),
        GuaranteeOption(
            "enhanced", bool, "Enhanced beta-likeness: less growth for frequent values."
        ),
    )
    symbol: ClassVar[str] = "β"

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> BetaLikeness | None:
        if given["beta"] is not None:
            return cls(given["beta"], bool(given.get("enhanced")))
        if given.get("enhanced"):
            raise UsageError(
                "--enhanced belongs to --beta.", "Write for instance --beta 2 --enhanced."
            )
        return None

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> BetaLikeness:
        return cls(described["beta"], described["enhanced"])

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        words = ["--beta", f"{described['beta']:g}"]
        return [*words, "--enhanced"] if described.get("enhanced") else words

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        return (
            "The release bounds how much more can be suspected about a person. To anyone who knows"
            f" {known}, {NO_TENDENCY}, a sensitive value seems at most"
            f" {1 + described['beta']:g} times as likely for a certain person as it is in the whole"
            " table."
        )

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        frequent = " (less for frequent values)" if described.get("enhanced") else ""
        return (
            "Among the records that may be a person's, no sensitive value is more than"
            f" {1 + described['beta']:g} times as frequent as in the whole table{frequent}."
        )

    @property
    def belief_growth(self) -> float:
        return self.beta

    @property
    def depends_on_shares(self) -> bool:
        return True

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", finite("β", self.beta))
        if self.beta < 0:
            raise UsageError("β must be 0 or more.", "1 to 5 are common; 0 allows no gain at all.")

    def caps(self, values: SensitiveValues) -> Float64Array:
        share = values.counts / values.rows
        growth = np.minimum(self.beta, -np.log(share)) if self.enhanced else self.beta
        return np.minimum((1 + growth) * share, 1.0)

    def describe(self) -> dict[str, object]:
        called = self.also_called[0] if self.enhanced else self.name
        return {
            "name": called,
            "short": f"β = {self.beta:g}",
            "beta": self.beta,
            "enhanced": self.enhanced,
            "statement": (
                f"{ADVERSARY.capitalize()} can infer no sensitive value of a person with a"
                " confidence above"
                f" {1 + self.beta:g} times its share in the whole table"
                + (" (less for frequent values)." if self.enhanced else ".")
            ),
        }
