"""Bounds for groups of similar sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mottle.errors import UsageError, did_you_mean
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


@register
@dataclass(frozen=True)
class GroupCaps(Guarantee):
    """Bounds on the confidence with which a group of similar sensitive values can be inferred.

    Groups come from the schema: the nodes of a sensitive column's hierarchy, level 1 right above
    the values, or its ``groups``, which are level 1. ``shares`` bounds the groups of a column on
    all levels (``"diagnosis"``) or on one (``"diagnosis:2"``, which then counts for that level).
    Values are bounded by other guarantees, for instance ``LDiversity(3) & GroupCaps(…)``.

    >>> GroupCaps({"diagnosis": 0.5, "diagnosis:2": 0.7}).shares
    {'diagnosis': 0.5, 'diagnosis:2': 0.7}
    """

    shares: Mapping[str, float]

    name: ClassVar[str] = "group caps"
    requires: ClassVar[Capability] = Capability.GROUP_CAPS
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption(
            "group_cap",
            list[str],
            "Highest confidence in a group of similar values of a sensitive column, which has a"
            " hierarchy or groups; COLUMN:2=SHARE for level 2 only. Repeatable.",
            metavar="COLUMN=SHARE",
        ),
    )

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> GroupCaps | None:
        if not given["group_cap"]:
            return None
        pairs = as_pairs("--group-cap", given["group_cap"], "COLUMN=SHARE")
        return cls(
            {where: as_number("--group-cap", where, share) for where, share in pairs.items()}
        )

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> GroupCaps:
        return cls(dict(described["shares"]))

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        pairs = [f"{where}={share:g}" for where, share in described["shares"].items()]
        return [word for pair in pairs for word in ("--group-cap", pair)]

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        bounds = [
            f"{100 * share:.3g} % for {_in_words(where)}"
            for where, share in described["shares"].items()
        ]
        return (
            f"Similar values are protected together: anyone who knows {known}, {NO_TENDENCY}, can"
            " infer a group of similar sensitive values with a confidence of at most"
            f" {', '.join(bounds)}."
        )

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        bounds = [
            f"{100 * share:.3g} % for {_in_words(where)}"
            for where, share in described["shares"].items()
        ]
        return (
            "Of the records that may be a person's, those whose values belong to one group of"
            f" similar values are at most {', '.join(bounds)}."
        )

    def __post_init__(self) -> None:
        if not self.shares:
            raise UsageError("Group caps name no column.", "Write for instance {'diagnosis': 0.5}.")
        for where, share in self.shares.items():
            checked_share(f"The group cap of {where}", share)

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.shares.items())))

    def group_caps(self, groups: SensitiveValues) -> Float64Array:
        cap = 1.0
        if not groups.joint:
            bounds = [self._bound(groups.columns[0], level) for level in groups.levels if level]
            cap = min([bound for bound in bounds if bound is not None], default=1.0)
        return np.full(len(groups.counts), cap)

    def _bound(self, column: str, level: int) -> float | None:
        """The bound of a level, or None where there is none."""
        return self.shares.get(f"{column}:{level}", self.shares.get(column))

    def check_values(self, sensitive: Sequence[SensitiveValues]) -> None:
        single = {values.columns[0]: values for values in sensitive if not values.joint}
        for where in self.shares if single else ():
            column, level = _column_and_level(where, single)
            if column not in single:
                raise UsageError(
                    f"A group cap names column '{column}', which is not sensitive.",
                    did_you_mean(column, sorted(single)),
                )
            values = single[column]
            levels = {0, *values.levels, *(each for of in values.groups for each in of.levels)}
            if len(levels) == 1:
                raise UsageError(
                    f"Column '{column}' has a group cap but no groups of similar values.",
                    f"Give them by --hierarchy {column}=FILE, or in mottle.toml as"
                    f" groups.NAME = [VALUES] under [columns.{column}].",
                )
            if level is not None and level not in levels - {0}:
                raise UsageError(
                    f"The groups of column '{column}' have no level {level}.",
                    f"Its levels are 1 to {max(levels)}, without the root.",
                )

    def remedy(self, values: SensitiveValues, value: int) -> str:
        smallest = rounded_up(float(values.counts[value] / values.rows))
        if smallest >= 1:
            return "No cap is feasible: all values that occur are in one group."
        return f"The smallest feasible group cap is {smallest:g}."

    def describe(self) -> dict[str, object]:
        shares = dict(self.shares)
        bounds = ", ".join(f"{share:g} for {_in_words(where)}" for where, share in shares.items())
        return {
            "name": self.name,
            "short": ", ".join(f"{where} ≤ {share:g}" for where, share in shares.items()),
            "shares": shares,
            "statement": (
                f"{ADVERSARY.capitalize()} can infer that a person's sensitive value belongs to a"
                f" certain group of similar values with a confidence of at most {bounds}."
            ),
        }


def _column_and_level(where: str, known: Mapping[str, object]) -> tuple[str, int | None]:
    """The column and the level that a key of ``shares`` names; None for all levels."""
    column, colon, level = where.rpartition(":")
    if where in known or not colon or not level.isdecimal():
        return where, None
    return column, int(level)


def _in_words(where: str) -> str:
    """A key of ``shares`` as a part of a sentence."""
    column, level = _column_and_level(where, {})
    return f"groups of '{column}'{'' if level is None else f' on level {level}'}"
