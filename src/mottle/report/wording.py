"""Guarantees, checks and limits in plain words, for people who have not read the papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mottle.release.certificate import Certificate, GuaranteeClaim
from mottle.schema.model import Role

CHECKS = {
    "regular": "Everybody can be hidden among as many records as promised, without exception.",
    "covered": "Every published cell contains the values of all people the record may belong to.",
    "possible worlds": "Every published record allows the sets of all people it may belong to.",
    "one-to-one": "Every person is in the release exactly once.",
    "within caps": "No sensitive value is more frequent among the records that may be somebody's"
    " than its bound allows.",
    "anonymous": "Identifying columns are gone, and the order of the rows was drawn at random.",
}


@dataclass(frozen=True)
class Promise:
    """One guarantee, worded for a data-protection officer."""

    title: str
    plain_text: str
    formal: str


def promises(guarantee: GuaranteeClaim, *, of_sets: bool = False) -> list[Promise]:
    """The guarantees of a certificate, one by one."""
    known = "all items of that person" if of_sets else _GENERALIZED
    return [_promise(part, known) for part in guarantee.each]


_GENERALIZED = "everything that the generalized columns say about that person"


def _promise(part: GuaranteeClaim, known: str) -> Promise:
    title = f"{part.name}, {part.short}"
    return Promise(title, _plain(part.facts, known) or part.statement, part.statement)


def _plain(part: Mapping[str, Any], known: str) -> str:
    if "k" in part:
        k = part["k"]
        return (
            f"Nobody can tell which record is whose. Somebody who knows that a certain person is in"
            f" the table, and {known}, still"
            f" finds at least {k} records that may be theirs, and cannot do better than guess: the"
            f" chance of being right is at most 1 in {k} ({100 / k:.3g} %)."
        )
    if "l" in part:
        return (
            f"Nobody can tell what is sensitive about a person. Somebody who knows {known}"
            " can believe in no sensitive value with"
            f" more than 1 in {part['l']} ({100 / part['l']:.3g} %)."
        )
    if "beta" in part:
        return (
            "The release changes what one may suspect about a person only so far. A sensitive value"
            f" may seem at most {1 + part['beta']:g} times as likely for a certain person as it is"
            " in the whole table; rare values stay unlikely for everybody."
        )
    if "lowest" in part:
        return (
            f"The owner set bounds for what may be believed: {part['values']} sensitive values have"
            f" a bound of their own (the lowest is {100 * part['lowest']:.3g} %), all others may be"
            f" believed with {100 * part['default']:.3g} % at most."
        )
    return ""


def checks(certificate: Certificate) -> list[tuple[str, bool]]:
    """What was checked, and whether it holds; without checks that do not apply."""
    return [
        (CHECKS.get(check.name, check.name), check.passed)
        for check in certificate.checks
        if check.measured.capped_values != 0
    ]


_UNCHANGED = (
    "Columns published as they are must not be known to an adversary from elsewhere. Whether"
    " that is so is the owner's judgement; no software can check it."
)


def limits(certificate: Certificate) -> Iterator[str]:
    """What is not promised, stated explicitly because readers may otherwise assume it."""
    if all("k" in part.facts for part in certificate.guarantee.each):
        yield (
            "What most of a person's candidates have in common can be read off them. k-anonymity"
            " hides which record is whose, and nothing else; ℓ-diversity or β-likeness bound what"
            " can be learned about sensitive values."
        )
    yield (
        "Somebody who already knows the true records of other people in the table has fewer"
        " candidates left for the rest."
    )
    yield (
        "The promise is about this release. Several releases about the same people, taken together,"
        " can say more than each of them."
    )
    if any(column.role in (Role.SENSITIVE, Role.INSENSITIVE) for column in certificate.columns):
        yield _UNCHANGED
    yield (
        "What is true of groups of people remains true: that smokers fall ill more often can be"
        " learned from any useful release, and applies to every smoker."
    )


def warnings(certificate: Certificate) -> Iterator[str]:
    """Reasons not to publish."""
    for note in certificate.notes:
        if "Do not publish" in note:
            yield note
    if certificate.audit is not None and not certificate.audit.passed:
        yield "The audit found an adversary who gets beyond what the guarantee allows."
    if not all(check.passed for check in certificate.checks):
        yield "Not all checks passed."
