"""Checklists for a report: what a release shows, and what its owner has to state.

Lines are in our own words and name what such a framework asks about; they are no substitute for its
text. A line says where an answer stands or that the owner has to give it. None is a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mottle.release.certificate import AUDITS, Certificate
from mottle.release.limits import bounds_inference
from mottle.report.wording import checks
from mottle.schema.context import CHECKLISTS, Context

__all__ = ["Checklist", "ChecklistLine", "checklists_of"]

TO_BE_STATED = "to be stated by the owner"
_NOTHING = "nothing is promised, because not all checks passed"


@dataclass(frozen=True)
class ChecklistLine:
    """One question of a checklist, and where its answer stands."""

    asks: str
    answer: str  # "shown by FIELD: …" or "to be stated by the owner"
    shown: bool  # whether the certificate shows it


@dataclass(frozen=True)
class Checklist:
    """A checklist with its lines."""

    name: str
    title: str
    lines: tuple[ChecklistLine, ...]


_Fact = Callable[[Certificate], str]  # what the certificate says; empty: nothing


def _unit(certificate: Certificate) -> str:
    return "" if certificate.unit is None else certificate.unit.statement


def _risk_after(certificate: Certificate) -> str:
    if certificate.risk is None:
        return ""
    after, before = certificate.risk.after, certificate.risk.before
    was = "" if before is None else f"; before: {before.prosecutor_highest:.3g}"
    return f"highest chance {after.prosecutor_highest:.3g}{was}"


def _marketer(certificate: Certificate) -> str:
    risk = certificate.risk
    if risk is None or risk.after.marketer is None:
        return ""
    before = None if risk.before is None else risk.before.marketer
    was = "" if before is None else f"; before: {before:.3g}"
    return f"{risk.after.marketer:.3g}{was}"


def _journalist(certificate: Certificate) -> str:
    if certificate.risk is None:
        return ""
    return f"at most {certificate.risk.after.journalist_at_most:.3g}"


def _guarantee(certificate: Certificate) -> str:
    if any(not check.passed for check in certificate.checks):
        return _NOTHING
    asked = f"{certificate.guarantee.name}, {certificate.guarantee.short}"
    if certificate.method.decided_by_both:
        asked += ", of shares among a person’s matches; beliefs are not bounded"
    if certificate.seed is not None:
        asked += "; not against whoever knows the seed that was given"
    return asked


def _columns(certificate: Certificate) -> str:
    return f"the roles of {len(certificate.columns):,} columns, as the owner named them"


def _removed(certificate: Certificate) -> str:
    names = [column.name for column in certificate.columns if column.role.removed]
    if not names:
        return "the owner named no column identifying"
    return f"{len(names):,} columns that the owner named identifying were removed"


def _method(certificate: Certificate) -> str:
    return f"{certificate.method.used}, decides by {certificate.method.decides_by}"


def _limits(certificate: Certificate) -> str:
    return f"{len(certificate.limits):,} codes with words" if certificate.limits else ""


def _loss(certificate: Certificate) -> str:
    if certificate.gcp is not None:
        return f"GCP {certificate.gcp:.3g}"
    return "" if certificate.error_rate is None else f"error rate {certificate.error_rate:.3g}"


def _audit(certificate: Certificate) -> str:
    audit = certificate.audit
    if audit is None:
        return ""
    found = "beyond" if not audit.passed else "within"
    if audit.level == AUDITS[0]:
        return (
            f"the run’s own measurements are {found} what the guarantee allows; no adversary was"
            " played against the finished files"
        )
    return f"what the adversaries that were played achieved is {found} what the guarantee allows"


def _checks(certificate: Certificate) -> str:
    held = [passed for _, passed in checks(certificate)]  # as the first page counts them
    return f"{sum(held)} of {len(held)} hold"


def _known_record(certificate: Certificate) -> str:
    return "" if certificate.known_record is None else certificate.known_record.statement


def _inference(certificate: Certificate) -> str:
    if not bounds_inference(certificate):
        return "it does not bound inference"
    stated = _guarantee(certificate)
    caps = sum(bool(entry.columns) for entry in certificate.sensitive)
    if stated == _NOTHING:
        return stated
    return f"{stated} ({caps:,} protected); limits say against whom it does not hold"


def _unchanged(certificate: Certificate) -> str:
    stated = certificate.unchanged
    if stated is None:
        return ""
    highest = max([*stated.singles_out.values(), stated.together or 0.0])
    return f"they single out at most {highest:.1%} of {stated.rows:,} rows"


def _history(certificate: Certificate) -> str:
    history = certificate.history
    if history is None:
        return ""
    return f"release {history.release} of a chain; releases outside it were not examined"


def _versions(certificate: Certificate) -> str:
    return f"mottle {certificate.mottle}, {len(certificate.sha256):,} checksums"


def _dates(certificate: Certificate) -> str:
    names = [column.name for column in certificate.columns if column.role == "shifted"]
    return f"{len(names):,} columns of dates shifted" if names else ""


def _stated(entry: str) -> _Fact:
    """What the owner stated of a context."""

    def text(certificate: Certificate) -> str:
        value = getattr(certificate.context or Context(), entry)
        return "; ".join(value) if isinstance(value, tuple) else str(value or "")

    return text


# By checklist: its title and its lines, each with the field that may show it and what it says.
_LISTS: dict[str, tuple[str, tuple[tuple[str, str, _Fact | None], ...]]] = {
    "iso27559": (
        "Themes of ISO/IEC 27559 (a framework for de-identification)",
        (
            ("What the data are used for", "context.purpose", _stated("purpose")),
            ("Who receives them", "context.recipients", _stated("recipients")),
            ("What recipients are bound to", "context.controls", _stated("controls")),
            (
                "How likely recipients are to try, and what they know besides",
                "context.adversaries",
                _stated("adversaries"),
            ),
            ("What one row stands for", "unit", _unit),
            ("Which columns identify, directly or together with others", "columns", _columns),
            ("How easily a person is found, before and after", "risk", _risk_after),
            ("Which threshold of risk is acceptable, and why", "", None),
            ("By which technique and with which strength", "guarantee", _guarantee),
            ("How the technique decides", "method", _method),
            ("What can be learned about attributes", "guarantee", _inference),
            ("What is left of the usefulness", "gcp", _loss),
            ("What remains open", "limits", _limits),
            ("Whether somebody tried to break it", "audit", _audit),
            ("Who answers for it", "context.reviewer", _stated("reviewer")),
            ("When it is looked at again", "context.review_by", _stated("review_by")),
            ("What is done if people are identified all the same", "", None),
        ),
    ),
    "wp216": (
        "Themes of Opinion 05/2014 (WP 216) on anonymisation techniques",
        (
            ("Singling out: the chance that a person is found", "risk.after", _risk_after),
            (
                "Linking: records of the same person in this release and in others",
                "history",
                _history,
            ),
            ("Linking: what one known record gives away", "known_record", _known_record),
            ("Inference: what can be deduced about an attribute", "guarantee", _inference),
            ("Columns that are published as they are", "unchanged", _unchanged),
            ("Which technique, and its parameters", "guarantee", _guarantee),
            ("Which direct identifiers were removed", "columns", _removed),
            ("Who might try, by which means and at which cost", "", None),
            ("Whether the original is kept, and who can reach it", "", None),
            ("That the purpose is compatible with that of collection", "", None),
            ("What is left open", "limits", _limits),
            ("When the risk is examined again", "context.review_by", _stated("review_by")),
        ),
    ),
    "ema": (
        "Themes of the EMA’s policy 0070 guidance on anonymising clinical reports",
        (
            ("How the data are to be used", "context.purpose", _stated("purpose")),
            ("Which direct identifiers were removed", "columns", _removed),
            ("Which variables are quasi-identifiers", "columns", _columns),
            ("Highest risk of a participant", "risk.after.prosecutor_highest", _risk_after),
            ("Mean risk over participants", "risk.after.marketer", _marketer),
            ("Risk of somebody not known to take part", "risk.after", _journalist),
            ("Which threshold applies to public disclosure (0.09 is common)", "", None),
            ("How dates are treated", "columns", _dates),
            ("Which technique, and why it was chosen", "method", _method),
            ("What the technique costs in usefulness", "gcp", _loss),
            ("Rare conditions and small populations", "", None),
            ("Free text and narratives", "", None),
            ("What was tested after anonymization", "audit", _audit),
        ),
    ),
    "hipaa": (
        "Themes of the HIPAA Privacy Rule’s expert determination (45 CFR 164.514(b)(1))",
        (
            ("Who the expert is, with which knowledge", "context.reviewer", _stated("reviewer")),
            ("Who is expected to receive the data", "context.recipients", _stated("recipients")),
            ("What they reasonably have besides", "", None),
            ("Which direct identifiers were removed", "columns", _removed),
            ("Which columns could be matched with other sources", "columns", _columns),
            ("How distinguishable people are, before and after", "risk", _risk_after),
            ("By which method the risk was lowered", "guarantee", _guarantee),
            ("That the risk is very small, and why", "", None),
            ("Columns that are published as they are", "unchanged", _unchanged),
            ("What was checked before anything was written", "checks", _checks),
            ("How the files that were examined are recognized", "sha256", _versions),
            ("Until when the determination holds", "context.review_by", _stated("review_by")),
            ("What recipients are bound to", "context.controls", _stated("controls")),
        ),
    ),
}


def checklists_of(certificate: Certificate, names: Sequence[str] = ()) -> list[Checklist]:
    """Return the checklists that are asked for, filled in from the certificate.

    Parameters
    ----------
    certificate : Certificate
        The certificate.
    names : sequence of str, optional
        Names of checklists; by default those of the certificate's context.

    Returns
    -------
    list of Checklist
        Each line says which field shows the answer, or that the owner has to state it.
    """
    stated = () if certificate.context is None else certificate.context.checklists
    wanted = [name for name in CHECKLISTS if name in (tuple(names) or stated)]
    return [Checklist(name, _LISTS[name][0], tuple(_lines(certificate, name))) for name in wanted]


def _lines(certificate: Certificate, name: str) -> Iterator[ChecklistLine]:
    for asks, field, fact in _LISTS[name][1]:
        found = "" if fact is None else fact(certificate)
        answer = f"shown by {field}: {found}" if found else TO_BE_STATED
        yield ChecklistLine(asks, answer, bool(found))
