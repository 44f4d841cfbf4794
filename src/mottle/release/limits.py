"""What a release does not promise and what was not examined, as codes with words.

Readers may otherwise assume it. Codes stay the same over versions, so that programs can look for
them; docs/certificate.md lists all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from mottle.guarantees.base import described_as
from mottle.guarantees.capability import Capability
from mottle.release.certificate import (
    AUDITS,
    OWNER_KEY,
    AuditSummary,
    Certificate,
    KnownRecordFacts,
    LimitFacts,
    MethodFacts,
    ReleaseKind,
)
from mottle.release.unit_words import words_about
from mottle.schema.model import Role, Unit

__all__ = ["INFERENCE", "bounds_inference", "known_record", "limits_of", "with_audit"]

INFERENCE = "inference_not_bounded"
_NOT_ATTACKED = "finished_files_not_attacked"
_UNCHANGED = (
    "Columns published as they are must not be known to an adversary from elsewhere. Whether"
    " that is so is the owner's judgement; no software can check it. Nor must they give away"
    " generalized columns, as a year of birth gives away an age."
)


def bounds_inference(certificate: Certificate) -> bool:
    """Return whether a guarantee bounds what can be learned about sensitive values.

    Parameters
    ----------
    certificate : Certificate
        The certificate.

    Returns
    -------
    bool
        False for k-anonymity alone.
    """
    kinds = [described_as(part.name) for part in certificate.guarantee.each]
    return any(kind is None or kind.requires is not Capability.K_ANONYMITY for kind in kinds)


def known_record(method: MethodFacts) -> KnownRecordFacts:
    """State how many others one known true record gives away.

    Parameters
    ----------
    method : MethodFacts
        The method that arranged the records, and the facts about its decisions.

    Returns
    -------
    KnownRecordFacts
        The bound, or that there is none.
    """
    others = method.facts.get("known_records")
    if not isinstance(others, int):
        return KnownRecordFacts(
            statement="How many other records can be recognized by somebody who knows one true"
            " record, her own for instance, is not bounded. There is at least one candidate fewer"
            " for others who share candidates with it."
        )
    return KnownRecordFacts(
        others=others,
        statement="Whoever knows one true record, her own for instance, can learn at most"
        f" {others:,} {'other' if others == 1 else 'others'} from it.",
    )


def limits_of(
    certificate: Certificate, *, similar_values: bool = False, method_of_others: bool = False
) -> tuple[LimitFacts, ...]:
    """Return what a release does not promise, and what was not examined.

    Parameters
    ----------
    certificate : Certificate
        The other entries of the certificate.
    similar_values : bool
        Whether a column of many values is protected value by value alone.
    method_of_others : bool
        Whether the method comes from another distribution.

    Returns
    -------
    tuple of LimitFacts
        The most important ones first.
    """
    worded = words_about(certificate.protects)
    found = _limits(certificate, similar_values=similar_values, method_of_others=method_of_others)
    return tuple(LimitFacts(code=code, statement=worded(statement)) for code, statement in found)


def with_audit(certificate: Certificate, audit: AuditSummary) -> Certificate:
    """Return a copy with another audit, and with limits that follow from it.

    Parameters
    ----------
    certificate : Certificate
        The certificate of a release that was attacked after it was made.
    audit : AuditSummary
        What the adversaries achieved.

    Returns
    -------
    Certificate
        The changed copy.
    """
    kept = tuple(limit for limit in certificate.limits if limit.code != _NOT_ATTACKED)
    limits = kept if audit.level == AUDITS[1] else certificate.limits
    return certificate.with_changes(audit=audit, limits=limits)


def _limits(
    certificate: Certificate, *, similar_values: bool, method_of_others: bool
) -> Iterator[tuple[str, str]]:
    roles = {column.role for column in certificate.columns}
    unit = certificate.unit
    if any(not check.passed for check in certificate.checks):
        yield "nothing_promised", "Nothing is promised, because not all checks passed."
    if certificate.seed is not None:
        yield (
            "draw_can_be_repeated",
            "A seed was given: anyone who knows it can repeat the draw and undo the anonymization.",
        )
    if method_of_others:
        yield (
            "method_of_others",
            "The method is not part of mottle. The checks were made as on any release; that the"
            " method's decisions give nothing away is stated by its authors and not proved.",
        )
    if not bounds_inference(certificate):
        yield (
            INFERENCE,
            "What most of a person's candidates have in common can be read off them. k-anonymity"
            " hides which record is whose, and nothing else; ℓ-diversity or β-likeness bound what"
            " can be learned about sensitive values.",
        )
    elif certificate.method.decided_by_both:
        yield (
            "decisions_can_be_replayed",
            "The method decided by quasi-identifiers and sensitive values together. Whoever knows"
            " the algorithm and replays its decisions may infer more than the bounds say.",
        )
    else:
        yield (
            "correlations_known_beforehand",
            "The bounds on sensitive values hold against whoever knows how often values occur, not"
            " how they go with quasi-identifiers. Whoever assumes that similar people have similar"
            " values may infer more.",
        )
        if known_record(certificate.method).others is not None and not _one_try(certificate):
            yield (
                "runs_repeated",
                "A run of this method may fail, and publishes nothing then. If it was repeated"
                " until one succeeded, beliefs may exceed the bounds by as much as the chance of"
                " failure, about one in a hundred. With an owner's key there is one try.",
            )
    if certificate.kind is ReleaseKind.TWO_TABLES:
        yield (
            "quasi_identifiers_published",
            "Quasi-identifiers are published as they are: the release shows who is in the table.",
        )
    else:
        yield (
            "membership",
            "That a certain person is in the table is not hidden from somebody who suspects it.",
        )
    if similar_values:
        yield (
            "similar_values",
            "A column has many sensitive values, each bounded by itself: what several of them have"
            " in common may be inferred with more confidence.",
        )
    yield (
        "known_records",
        "Somebody who already knows the true records of other people in the table has fewer"
        " candidates left for the rest.",
    )
    yield (
        "other_releases",
        "The promise is about this release. Several releases about the same people, taken together,"
        " can say more than each of them.",
    )
    if unit is not None and unit.largest_share is not None:
        yield (
            "records_recognized_together",
            "Records that can be recognized as one person's, because only that person has a value"
            " that is published as it is, can be taken together: fewer people fit all of them than"
            " each of them.",
        )
    if unit is not None and unit.protects is Unit.ROW:
        yield (
            "people_with_several_rows",
            "Rows are protected, each by itself. Nothing is promised about somebody who has"
            " several.",
        )
    elif unit is not None and unit.column is None:
        yield (
            "one_row_each",
            "Every row is taken for a person of its own. No column was named that says whose row it"
            " is, so whether somebody has several was not examined.",
        )
    yield (
        "roles_of_columns",
        "What somebody may know about a person, and what is sensitive, is the owner's judgement;"
        " it was not examined.",
    )
    if roles & {Role.SENSITIVE, Role.INSENSITIVE}:
        yield "columns_published_as_they_are", _UNCHANGED + _singled_out(certificate)
    if Role.PSEUDONYM in roles:
        yield (
            "pseudonyms",
            "A pseudonym is not anonymous by itself: whoever has the key knows whose it is.",
        )
    if certificate.risk is not None and certificate.risk.after.prosecutor_mean is None:
        yield (
            "mean_risk",
            "The table was processed in chunks, and rows of a person can be in several of them: the"
            " highest risk after was measured, the mean over all people was not.",
        )
    yield (
        "population",
        "How many people outside the table are alike was not examined. Figures are those of people"
        " known to be in it, and not lower than those of others.",
    )
    if certificate.audit is not None and certificate.audit.level == AUDITS[0]:
        yield (
            _NOT_ATTACKED,
            "No adversary was played against the finished files; what adversaries can start from"
            " was measured while the release was made.",
        )
    yield (
        "truths_about_groups",
        "What is true of groups of people remains true: that smokers fall ill more often can be"
        " learned from any useful release, and applies to every smoker.",
    )


def _one_try(certificate: Certificate) -> bool:
    """Whether the same command fails the same way again."""
    return certificate.parameters.randomness == OWNER_KEY


def _singled_out(certificate: Certificate) -> str:
    """How many rows unchanged columns single out, if the certificate says so."""
    unchanged = certificate.unchanged
    if unchanged is None:
        return ""
    shares = [*unchanged.singles_out.values(), unchanged.together or 0.0]
    return (
        f" Whoever knew all of them could find {max(shares):.1%} of the records by them alone,"
        f" because no other of {unchanged.rows:,} rows examined has the same values."
    )
