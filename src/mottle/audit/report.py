"""The findings of an audit: what each adversary achieved and what the guarantee allows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mottle.release.unit_words import about
from mottle.schema.model import Unit
from mottle.utils.html import html_table

FOR_OWNER = "for_owner"  # details with what columns of the original determine
WARNINGS = "warnings"  # among these: sentences for people
OF_PEOPLE = ("people", "same_person")  # adversaries who know which rows belong together


@dataclass(frozen=True)
class Outcome:
    """One result of one adversary, in numbers; it contains no cell values.

    Attributes
    ----------
    measure : str
        What is compared.
    achieved : float or None
        What the adversary achieved; None when it could not be played.
    allowed : float or None
        What the guarantee allows; None when the guarantee does not cover the measure.
    passed : bool or None
        Whether the guarantee holds; None when the result is for information only.
    details : mapping
        Further figures, by name.
    public : bool
        Whether all of this, the verdict included, follows from the release, its certificate,
        everybody's quasi-identifiers and the graph: what the adversary of the proofs knows. Only
        then may a certificate state it. Whatever was judged by the true assignment or by anybody's
        own sensitive value is the owner's, which is the default.
    """

    measure: str
    achieved: float | None
    allowed: float | None = None
    passed: bool | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    public: bool = False


@dataclass(frozen=True)
class Finding:
    """An outcome together with the adversary that produced it.

    Attributes
    ----------
    adversary, title, assumes : str
        The adversary's name, what it does, and what it is assumed to know.
    measure, achieved, allowed, passed, details, public
        As for `Outcome`.
    """

    adversary: str
    title: str
    assumes: str
    measure: str
    achieved: float | None
    allowed: float | None
    passed: bool | None
    details: Mapping[str, Any]
    public: bool = False

    @classmethod
    def of(cls, adversary: str, title: str, assumes: str, outcome: Outcome) -> Finding:
        """Attribute an outcome to an adversary.

        Parameters
        ----------
        adversary, title, assumes : str
            The adversary's name, what it does, and what it is assumed to know.
        outcome : Outcome
            What it achieved.

        Returns
        -------
        Finding
        """
        return cls(
            adversary=adversary,
            title=title,
            assumes=assumes,
            measure=outcome.measure,
            achieved=outcome.achieved,
            allowed=outcome.allowed,
            passed=outcome.passed,
            details=outcome.details,
            public=outcome.public,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the finding in JSON types; numbers that are not finite become null.

        Returns
        -------
        dict
        """
        return _as_json(asdict(self))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class AuditReport:
    """All findings about one release.

    Attributes
    ----------
    rows : int
        The number of rows of the original table.
    guarantee : mapping or None
        The guarantee that has to hold, as described on a certificate.
    findings : tuple of Finding
        The findings, in the order in which the adversaries were played.
    notes : tuple of str
        Notes on how the inputs were read.
    seconds : mapping of str to float
        Time taken by each adversary.
    subject : str
        What the rows are taken for: "people", "rows", "households", or "rows of 20 people".
    """

    rows: int
    guarantee: Mapping[str, Any] | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    subject: str = "people"  # what the rows are taken for

    def about(self, protects: Unit, subject: str = "") -> AuditReport:
        """Return the report in words about rows or households, where rows are not people.

        Parameters
        ----------
        protects : Unit
            What is protected.
        subject : str
            What the rows are taken for, if more can be said.

        Returns
        -------
        AuditReport
            The same figures. Adversaries who count people keep their words; they are left out
            where they do not apply.
        """
        if protects is Unit.PERSON:
            return self
        worded = about(protects)
        findings = tuple(
            finding
            if finding.adversary in OF_PEOPLE
            else replace(
                finding,
                title=worded(finding.title),
                assumes=worded(finding.assumes),
                measure=worded(finding.measure),
                details={
                    name: worded(value) if isinstance(value, str) else value
                    for name, value in finding.details.items()
                },
            )
            for finding in self.findings
            if not (finding.adversary in OF_PEOPLE and "does_not_apply" in finding.details)
        )
        return replace(self, findings=findings, subject=subject or worded("people"))

    def about_rows(self, subject: str = "rows") -> AuditReport:
        """Return the report in words about rows, where rows are not people.

        Parameters
        ----------
        subject : str
            What the rows are taken for.

        Returns
        -------
        AuditReport
            The same figures.
        """
        return self.about(Unit.ROW, subject)

    @property
    def passed(self) -> bool:
        """Whether no adversary exceeded what the guarantee allows."""
        return all(finding.passed is not False for finding in self.findings)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The findings that break the guarantee."""
        return tuple(finding for finding in self.findings if finding.passed is False)

    def of(self, adversary: str) -> tuple[Finding, ...]:
        """Return the findings of one adversary.

        Parameters
        ----------
        adversary : str
            The adversary's name.

        Returns
        -------
        tuple of Finding
            Empty when the adversary was not played.
        """
        return tuple(finding for finding in self.findings if finding.adversary == adversary)

    def to_dict(self) -> dict[str, Any]:
        """Return the report in JSON types; it contains no cell values.

        Returns
        -------
        dict
        """
        report = {
            "passed": self.passed,
            "rows": self.rows,
            "guarantee": self.guarantee,
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
        }
        return _as_json(report)  # type: ignore[no-any-return]

    def _repr_html_(self) -> str:
        """Return the verdicts as a table, for notebooks; without details and cell values."""
        words = {True: "holds", False: "FAILS", None: "for information"}
        rows = [
            (
                each.title,
                each.measure,
                _shown(each.achieved),
                _shown(each.allowed),
                words[each.passed],
            )
            for each in self.findings
        ]
        header = ("adversary", "measure", "achieved", "allowed", "verdict")
        return html_table(header, rows, f"Audit of {self.rows:,} rows: {words[self.passed]}")

    def to_json(self) -> str:
        """Return the report as JSON text.

        Returns
        -------
        str
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)


def _shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.4g}"


def _as_json(value: Any) -> Any:
    """Convert a value to JSON types; numbers have six digits, those not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): _as_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    number = float(value)
    return round(number, 6) if math.isfinite(number) else None
