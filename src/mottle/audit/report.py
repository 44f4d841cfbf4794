"""What an audit found: per adversary what it achieved against what the guarantee allows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Outcome:
    """One result of one adversary, in numbers; no cell values."""

    measure: str  # what is compared
    achieved: float | None  # what the adversary got; None when it could not be played
    allowed: float | None = None  # what the guarantee allows; None when it says nothing about it
    passed: bool | None = None  # None: for information only
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """An outcome together with whose it is."""

    adversary: str
    title: str
    assumes: str
    measure: str
    achieved: float | None
    allowed: float | None
    passed: bool | None
    details: Mapping[str, Any]

    @classmethod
    def of(cls, adversary: str, title: str, assumes: str, outcome: Outcome) -> Finding:
        """Say whose outcome it is."""
        return cls(
            adversary=adversary,
            title=title,
            assumes=assumes,
            measure=outcome.measure,
            achieved=outcome.achieved,
            allowed=outcome.allowed,
            passed=outcome.passed,
            details=outcome.details,
        )

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON can hold it; what is not finite becomes null."""
        return _plain(asdict(self))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class AuditReport:
    """All findings about one release."""

    rows: int
    guarantee: Mapping[str, Any] | None  # what was to be held, as on the certificate
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)  # by adversary

    @property
    def passed(self) -> bool:
        """Whether no adversary got beyond what the guarantee allows."""
        return all(finding.passed is not False for finding in self.findings)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The findings that break the guarantee."""
        return tuple(finding for finding in self.findings if finding.passed is False)

    def of(self, adversary: str) -> tuple[Finding, ...]:
        """The findings of one adversary."""
        return tuple(finding for finding in self.findings if finding.adversary == adversary)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it; it holds no cell values."""
        report = {
            "passed": self.passed,
            "rows": self.rows,
            "guarantee": self.guarantee,
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
        }
        return _plain(report)  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """A value in the types of JSON; numbers to six digits, infinite ones as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    number = float(value)
    return round(number, 6) if math.isfinite(number) else None
