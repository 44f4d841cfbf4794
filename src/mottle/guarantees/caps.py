"""Bounds that the owner sets for sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mottle.errors import UsageError
from mottle.guarantees._numbers import checked_share, rounded_up
from mottle.guarantees.base import Guarantee, GuaranteeOption, register
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import ADVERSARY, NO_TENDENCY
from mottle.utils.lazy import lazy_module
from mottle.utils.option_values import as_number, as_pairs

if TYPE_CHECKING:
    import numpy as np

    from mottle.encoding.sensitive import SensitiveValues
    from mottle.typing import Float64Array
else:
    np = lazy_module("numpy")  # the command line reads the options of guarantees without it

_NOT_ON_CERTIFICATE = (
    "The certificate does not say which sensitive values have caps of their own: give the caps"
    " again (--cap, --cap-rest) to have them checked."
)


@register
@dataclass(frozen=True)
class Caps(Guarantee):
    """The user's own bounds on the confidence with which sensitive values can be inferred.

    ``shares`` names values as text; all others are bounded by ``default``.

    >>> Caps({"HIV": 0.05}, default=0.5).shares
    {'HIV': 0.05}
    """

    shares: Mapping[str, float]
    default: float = 1.0

    name: ClassVar[str] = "caps"
    requires: ClassVar[Capability] = Capability.OWN_CAPS
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption(
            "cap",
            list[str],
            "Highest confidence in a sensitive value. Repeatable.",
            metavar="VALUE=SHARE",
        ),
        GuaranteeOption("cap_rest", float, "Highest confidence in all other sensitive values."),
    )

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Caps | None:
        caps, rest = given["cap"], given["cap_rest"]
        if not caps and rest is None:
            return None
        shares = {
            value: as_number("--cap", value, share)
            for value, share in as_pairs("--cap", caps, "VALUE=SHARE").items()
        }
        return cls(shares, default=1.0 if rest is None else rest)

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> str:
        return _NOT_ON_CERTIFICATE

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        caps = ["--cap", "VALUE=SHARE"] if described["values"] else []
        return [*caps, "--cap-rest", f"{described['default']:g}"]

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        return (
            "The owner set bounds for the confidence with which sensitive values can be inferred by"
            f" anyone who knows {known}, {NO_TENDENCY}: {described['values']} values have a bound"
            f" of their own (the lowest is {100 * described['lowest']:.3g} %), for all others it is"
            f" {100 * described['default']:.3g} %."
        )

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        return (
            "Among the records that may be a person's, no sensitive value is more frequent than the"
            f" cap that the owner set for it ({described['values']} values have their own, from"
            f" {described['lowest']:g}; all others {described['default']:g})."
        )

    def __post_init__(self) -> None:
        for value, share in {**self.shares, "default": self.default}.items():
            checked_share(f"The cap of {value}", share)

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.shares.items())), self.default))

    def caps(self, values: SensitiveValues) -> Float64Array:
        if values.joint:
            return np.ones(len(values.counts))  # each column has its own bounds
        labels = [values.label(value) for value in range(len(values.counts))]
        return np.array([self.shares.get(label, self.default) for label in labels], np.float64)

    def check_values(self, sensitive: Sequence[SensitiveValues]) -> None:
        _check_known(self.shares, sensitive)

    def remedy(self, values: SensitiveValues, value: int) -> str:
        share = float(values.counts[value] / values.rows)
        return f"The smallest feasible cap for the most frequent one is {rounded_up(share):g}."

    def describe(self) -> dict[str, object]:
        lowest = min([*self.shares.values(), self.default])
        return {
            "name": self.name,
            "short": f"its cap (the lowest is {lowest:g})",
            "values": len(self.shares),
            "lowest": lowest,
            "default": self.default,
            "statement": (
                f"{ADVERSARY.capitalize()} can infer no sensitive value of a person with a"
                " confidence above the"
                f" cap that the owner set for it ({len(self.shares)} values have their own, from"
                f" {lowest:g}; all others {self.default:g})."
            ),
        }


def _check_known(shares: Mapping[str, float], sensitive: Sequence[SensitiveValues]) -> None:
    """Refuse caps for values that no sensitive column has: a misspelt cap protects no one."""
    single = [values for values in sensitive if not values.joint]
    known = {values.label(value) for values in single for value in range(len(values.counts))}
    for value in shares:
        if single and value not in known:
            raise UsageError(
                f"No sensitive column has the value '{value}' that a cap names.",
                f"Check its spelling among the {len(known):,} values of the sensitive columns.",
            )
