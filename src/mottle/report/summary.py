"""The first page of a report: what whoever signs for a release has to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mottle.release.certificate import Certificate, ReleaseKind
from mottle.release.evidence_facts import RiskFigures
from mottle.release.limits import INFERENCE
from mottle.release.unit_words import words_about
from mottle.report.svg import percent
from mottle.report.wording import limits
from mottle.schema.context import Context
from mottle.schema.model import Role

_MOST_NAMES = 10  # of columns that are listed
_MOST_LIMITS = 7  # that are listed on the first page
_FATES = (
    "generalized",
    "sensitive, as they are",
    "as they are",
    "as pseudonyms",
    "shifted",
    "removed",
)  # of columns

# The limits in a few words; those without words here are only listed further below.
_SHORT = {
    "nothing_promised": "anything: not all checks passed",
    "draw_can_be_repeated": "anything against whoever knows the seed that was given",
    INFERENCE: "a bound on what can be inferred about sensitive values",
    "decisions_can_be_replayed": "the bounds on inference against whoever replays the method’s"
    " decisions",
    "correlations_known_beforehand": "the bounds on inference against whoever knows beforehand how"
    " sensitive values go with quasi-identifiers",
    "method_of_others": "that the method’s decisions give nothing away: it is not part of mottle",
    "quasi_identifiers_published": "to hide who is in the table: quasi-identifiers are exact",
    "membership": "to hide that a certain person is in the table",
    "similar_values": "to protect similar sensitive values together",
    "other_releases": "anything about several releases of the same people together",
    "records_recognized_together": "to hide which records are one person’s where a value that is"
    " published as it is gives it away",
    "people_with_several_rows": "anything about somebody who has several rows",
    "one_row_each": "anything more about somebody who has several rows: each is taken for a person",
    "columns_published_as_they_are": "protection against whoever knows columns that are published"
    " as they are",
    "pseudonyms": "that pseudonyms are anonymous by themselves",
}


@dataclass(frozen=True)
class RiskLine:
    """One measure of risk, before and after, as text."""

    title: str
    known_as: str
    before: str
    after: str


@dataclass(frozen=True)
class Summary:
    """What the first page says beyond the promises themselves.

    Attributes
    ----------
    released : str
        What was released.
    columns : list of tuple of str and str
        What happened to columns, and their names.
    not_promised : list of str
        What is not promised, in a few words each.
    inference_not_bounded : bool
        Whether nothing bounds what can be learned about sensitive values.
    risk : list of RiskLine
        Measures before and after; empty on certificates of earlier versions.
    some_higher_after : bool
        Whether one of these measures is higher after, because many people were alike.
    known_record : str
        What one known record gives away; empty likewise.
    context : list of tuple of str and str
        What the owner states, with what is left to be stated.
    """

    released: str
    columns: list[tuple[str, str]]
    not_promised: list[str]
    inference_not_bounded: bool
    risk: list[RiskLine]
    some_higher_after: bool
    known_record: str
    context: list[tuple[str, str]]


def summary_of(certificate: Certificate) -> Summary:
    """Return the facts of the first page.

    Parameters
    ----------
    certificate : Certificate
        The certificate.

    Returns
    -------
    Summary
        The facts, worded.
    """
    found = [limit.code for limit in limits(certificate)]
    worded = words_about(certificate.protects)
    known = certificate.known_record
    return Summary(
        released=_released(certificate),
        columns=list(_columns(certificate)),
        not_promised=[worded(_SHORT[code]) for code in found if code in _SHORT][:_MOST_LIMITS],
        inference_not_bounded=INFERENCE in found,
        risk=_risk(certificate),
        some_higher_after=_some_higher_after(certificate),
        known_record="" if known is None else worded(known.statement),
        context=_context(certificate.context),
    )


def _released(certificate: Certificate) -> str:
    rows = f"{certificate.rows:,}"
    match certificate.kind:
        case ReleaseKind.SETS:
            return f"{rows} sets of {certificate.items or 0:,} different items"
        case ReleaseKind.TWO_TABLES:
            return f"{rows} records with exact quasi-identifiers, and sensitive values by group"
        case ReleaseKind.TABLE:
            return f"A table of {rows} records"


def _columns(certificate: Certificate) -> Sequence[tuple[str, str]]:
    """What happened to the columns, each with as many names as fit."""
    named: dict[str, list[str]] = {}
    exact = certificate.kind is ReleaseKind.TWO_TABLES
    for column in certificate.columns:
        if column.role.removed:
            what = "removed"
        elif column.role is Role.QUASI_IDENTIFYING and not exact:
            what = "generalized"
        elif column.role is Role.SENSITIVE and not exact:
            what = "sensitive, as they are"
        elif column.role is Role.PSEUDONYM:
            what = "as pseudonyms"
        elif column.role is Role.SHIFTED:
            what = "shifted"
        else:
            what = "as they are"
        named.setdefault(what, []).append(column.name)
    return [
        (f"{what} ({len(named[what])})", _listed(named[what])) for what in _FATES if what in named
    ]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return shown if more <= 0 else f"{shown} and {more} more"


def _risk(certificate: Certificate) -> list[RiskLine]:
    risk = certificate.risk
    if risk is None:
        return []
    worded = words_about(certificate.protects)
    lines = (
        ("people whom nobody equals", "unique", "unique"),
        ("highest chance to be found, of those known to be in it", "prosecutor", None),
        ("the same on average", "prosecutor, mean", "prosecutor_mean"),
        ("of those not known to be in it, at most", "journalist", "journalist_at_most"),
        ("share of records that are attributed rightly", "marketer", "marketer"),
    )
    return [
        RiskLine(
            worded(title),
            known_as,
            _share(risk.before, field or "prosecutor_highest"),
            _share(risk.after, field or "prosecutor_highest"),
        )
        for title, known_as, field in lines
    ]


def _some_higher_after(certificate: Certificate) -> bool:
    """Whether a measure of risk is higher after than before."""
    risk = certificate.risk
    if risk is None or risk.before is None:
        return False
    before, after = risk.before.to_dict(), risk.after.to_dict()
    return any((after.get(name) or 0) > (share or 0) + 5e-4 for name, share in before.items())


def _share(figures: RiskFigures | None, field: str) -> str:
    value = None if figures is None else getattr(figures, field)
    return "not measured" if value is None else percent(value)


def _context(stated: Context | None) -> list[tuple[str, str]]:
    context = stated or Context()
    day = context.review_by
    entries = {
        "Purpose": context.purpose or "",
        "Recipients": "; ".join(context.recipients),
        "Controls": "; ".join(context.controls),
        **({"Adversaries": "; ".join(context.adversaries)} if context.adversaries else {}),
        "Reviewer": context.reviewer or "",
        "Review by": "" if day is None else f"{day.day} {day:%B %Y}",
    }
    return list(entries.items())
