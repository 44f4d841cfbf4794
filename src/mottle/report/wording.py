"""Guarantees, checks and limits in plain words, for people who have not read the papers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mottle.guarantees.base import described_as
from mottle.release.certificate import Certificate, GuaranteeClaim, LimitFacts
from mottle.release.limits import limits_of

CHECKS = {
    "regular": "Everybody can be hidden among as many records as promised, without exception.",
    "covered": "Every published cell contains the values of all people the record may belong to.",
    "possible worlds": "Every published record allows the sets of all people it may belong to.",
    "one-to-one": "Every original record is in the release exactly once.",
    "within caps": "No sensitive value is more frequent among the records that may be somebody's"
    " than its bound allows.",
    "anonymous": "Columns named identifying are gone, and the order of the rows was drawn at"
    " random.",
    "people": "Of the rows that a record may be, no more are one person's than promised.",
}


@dataclass(frozen=True)
class Promise:
    """One guarantee, worded for a data-protection officer."""

    title: str
    plain_text: str
    formal: str


def promises(certificate: Certificate, *, of_sets: bool = False) -> list[Promise]:
    """The guarantees of a certificate, one by one."""
    known = "all items of that person" if of_sets else _GENERALIZED
    return [_promise(part, certificate, known) for part in certificate.guarantee.each]


def unit(certificate: Certificate) -> str:
    """What one row is taken for; empty on certificates that do not say."""
    return "" if certificate.unit is None else certificate.unit.statement


_GENERALIZED = "everything that the generalized columns say about that person"
_NOTHING = "Nothing is promised, because not all checks passed."


def _promise(part: GuaranteeClaim, certificate: Certificate, known: str) -> Promise:
    kind = described_as(part.name)
    if not _checks_passed(certificate):
        plain = _NOTHING
    elif kind is None:
        plain = part.statement
    elif certificate.method.decided_by_both:
        plain = kind.text_on_matches(part.to_dict())
    else:
        plain = kind.plain_text(part.to_dict(), known)
        if certificate.unit is not None and certificate.unit.largest_share is not None:
            plain += (
                " People are counted, not rows: the chance that a record is one of a person's is"
                " that small for all rows of the person together."
            )
    return Promise(f"{part.name}, {part.short}", plain, part.statement)


def holds_against(certificate: Certificate, *, of_sets: bool = False) -> str:
    """Against whom the promises hold, or do not."""
    known = "the items" if of_sets else "the generalized columns"
    if not _checks_passed(certificate):
        return _NOTHING
    if certificate.method.decided_by_both:
        return (
            "This is a property of the published records. It does not hold as a bound on what can"
            " be inferred by somebody who knows this software and"
            f" {known} of everybody in the table: the method decided by these and by sensitive"
            " values together, and replaying its decisions may tell more (minimality attack)."
        )
    return (
        "This holds against somebody who knows this software, its settings and"
        f" {known} of everybody in the table, but not the random numbers that were drawn."
    )


def _checks_passed(certificate: Certificate) -> bool:
    return all(check.passed for check in certificate.checks)


def checks(certificate: Certificate) -> list[tuple[str, bool]]:
    """What was checked, and whether it holds; without checks that do not apply."""
    return [
        (CHECKS.get(check.name, check.name), check.passed)
        for check in certificate.checks
        if check.measured.capped_values != 0
    ]


def limits(certificate: Certificate) -> list[LimitFacts]:
    """What is not promised; of certificates of earlier versions as far as it can be told."""
    return list(certificate.limits or limits_of(certificate))


def warnings(certificate: Certificate) -> Iterator[str]:
    """Reasons not to publish."""
    for note in certificate.notes:
        if "Do not publish" in note:
            yield note
    if certificate.audit is not None and not certificate.audit.passed:
        yield "The audit found an adversary who gets beyond what the guarantee allows."
    if not _checks_passed(certificate):
        yield "Not all checks passed."
