"""Bounds on how far belief in a sensitive value may fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mottle.errors import UsageError
from mottle.guarantees._numbers import finite
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
    "The certificate does not say in which sensitive values belief may not fall: give them again"
    " (--max-drop) to have them checked."
)


@register
@dataclass(frozen=True)
class MaxDrop(Guarantee):
    """Belief in a sensitive value falls by at most a part of its share (HET, footnote 3).

    ``drops`` names values as text. With ``{"employed": 0.5}`` anybody is believed to be employed
    with at least half of the share of the employed in the table: the release shows nobody to be
    without a job. The other values together are capped at what that leaves; see
    docs/guarantees.md.

    >>> MaxDrop({"employed": 0.5}).drops
    {'employed': 0.5}
    """

    drops: Mapping[str, float]

    name: ClassVar[str] = "bound on the drop of belief"
    requires: ClassVar[Capability] = Capability.GROUP_CAPS
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption(
            "max_drop",
            list[str],
            "Belief in a sensitive value falls by at most this part of its share in the table."
            " Repeatable.",
            metavar="VALUE=PART",
        ),
    )

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> MaxDrop | None:
        if not given["max_drop"]:
            return None
        pairs = as_pairs("--max-drop", given["max_drop"], "VALUE=PART")
        return cls({value: as_number("--max-drop", value, drop) for value, drop in pairs.items()})

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> str:
        return _NOT_ON_CERTIFICATE

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        return ["--max-drop", "VALUE=PART"]

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        return (
            f"Nobody is shown to be without {_values(described)} that the owner chose: to anyone"
            f" who knows {known}, {NO_TENDENCY}, each stays at least"
            f" {100 * (1 - described['highest']):.3g} % as likely for every person as it is in the"
            " whole table."
        )

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        return (
            f"Among the records that may be a person's, {_values(described)} that the owner chose"
            f" {'are' if described['values'] > 1 else 'is'} at least {1 - described['highest']:g}"
            " times as frequent as in the whole table."
        )

    def __post_init__(self) -> None:
        if not self.drops:
            raise UsageError(
                "A bound on the drop of belief names no value.",
                "Write for instance {'employed': 0.5}.",
            )
        for value, drop in self.drops.items():
            if not 0 <= finite(f"The drop of {value}", drop) < 1:
                raise UsageError(
                    f"The drop of {value} must be at least 0 and below 1.",
                    "0.5 lets belief fall to half of the value's share in the table.",
                )

    @property
    def depends_on_shares(self) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.drops.items())))

    def divisions(self, values: SensitiveValues) -> tuple[SensitiveValues, ...]:
        if values.joint:
            return ()  # each column has its own values
        labels = [values.label(value) for value in range(len(values.counts))]
        return tuple(
            values.set_apart(value) for value, label in enumerate(labels) if label in self.drops
        )

    def group_caps(self, groups: SensitiveValues) -> Float64Array:
        caps = np.ones(len(groups.counts))
        if groups.apart in self.drops and len(caps) > 1:
            share = groups.counts[0] / groups.rows
            caps[1] = 1 - (1 - self.drops[groups.apart]) * share
        return caps

    def check_values(self, sensitive: Sequence[SensitiveValues]) -> None:
        single = [values for values in sensitive if not values.joint]
        known = {values.label(value) for values in single for value in range(len(values.counts))}
        for value in self.drops:
            if single and value not in known:
                raise UsageError(
                    f"No sensitive column has the value '{value}' that --max-drop names.",
                    f"Check its spelling among the {len(known):,} values of the sensitive columns.",
                )

    def remedy(self, values: SensitiveValues, value: int) -> str:
        return "Allow belief in the value to fall further: a number nearer to 1."

    def describe(self) -> dict[str, object]:
        highest = max(self.drops.values())
        described = {
            "name": self.name,
            "short": f"a drop of {highest:g}",
            "values": len(self.drops),
            "highest": highest,
        }
        return {
            **described,
            "statement": (
                f"{ADVERSARY.capitalize()} believes of every person in {_values(described)} that"
                f" the owner chose with a confidence of at least {1 - highest:g} times"
                f" {'their shares' if len(self.drops) > 1 else 'its share'} in the whole table."
            ),
        }


def _values(described: Mapping[str, Any]) -> str:
    """How many values are meant, as a part of a sentence."""
    number = described["values"]
    return f"each of the {number} values" if number > 1 else "the value"
