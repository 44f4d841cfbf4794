"""A bound on what one known record gives away about others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mottle.errors import UsageError
from mottle.guarantees._numbers import check_whole
from mottle.guarantees.base import Guarantee, GuaranteeOption, register
from mottle.guarantees.capability import Capability


@register
@dataclass(frozen=True)
class KnownRecords(Guarantee):
    """Whoever knows one true record, her own for instance, learns at most ``others`` further ones.

    Methods that permute buckets publish all records of a bucket by one draw, so that one known
    record gives away the others of its bucket. This bounds how many there are. It is written along
    with a guarantee about sensitive values: ``LDiversity(3) & KnownRecords(15)``. Without it,
    `buckets` bounds them by `mottle.guarantees.demand.KNOWN_RECORDS`.

    >>> KnownRecords(15)
    KnownRecords(others=15)
    """

    others: int

    name: ClassVar[str] = "known records"
    requires: ClassVar[Capability] = Capability.KNOWN_RECORDS
    options: ClassVar[tuple[GuaranteeOption, ...]] = (
        GuaranteeOption(
            "known_records",
            int,
            "Whoever knows one true record, her own for instance, learns at most this many others;"
            " fewer cost more loss.",
        ),
    )
    symbol: ClassVar[str] = "others"

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> KnownRecords | None:
        return None if given["known_records"] is None else cls(given["known_records"])

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> KnownRecords:
        return cls(described["others"])

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        return ["--known-records", f"{described['others']:g}"]

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        return str(described["statement"])

    def __post_init__(self) -> None:
        check_whole("The number of known records", self.others)
        if self.others < 1:
            raise UsageError(
                f"{self.others} is no bound on what one known record gives away: with ℓ = 2 it"
                " always gives away one other.",
                "Choose at least 1.",
            )

    @property
    def about_values(self) -> bool:
        return False

    @property
    def known_records(self) -> int:
        return self.others

    def describe(self) -> dict[str, object]:
        return {
            "name": self.name,
            "short": f"at most {self.others:,} others",
            "others": self.others,
            "statement": (
                "Whoever knows one true record, her own for instance, can learn at most"
                f" {self.others:,} others from it."
            ),
        }
