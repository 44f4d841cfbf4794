"""The owner's questions, as the section on accuracy answers them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from mottle.errors import MottleError
from mottle.evaluation.answers import Answer, answer, truth_of
from mottle.evaluation.original_rows import Original
from mottle.evaluation.release_rows import first_rows
from mottle.queries import Queries
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData

MOST_ROWS = 1 << 20  # records of a release whose questions are answered
_MOST_SHOWN = 20  # rows of an answer


@dataclass(frozen=True)
class AskedQuestion:
    """A question of the owner and its answer."""

    sql: str
    answer: Answer | None  # None: the release cannot answer it
    why_not: str = ""


def answered_questions(
    release: ReleaseData, certificate: Certificate, original: Original | None
) -> list[AskedQuestion]:
    """Answer the questions that the owner states in ``[context]``.

    Parameters
    ----------
    release : ReleaseData
        The release.
    certificate : Certificate
        Its certificate, which holds the questions.
    original : Original or None
        The original, for an internal report.

    Returns
    -------
    list of AskedQuestion
        The answers, in the order of the questions.
    """
    asked = () if certificate.context is None else certificate.context.questions
    if not asked:
        return []
    if release.num_rows > MOST_ROWS:
        why = f"Releases of more than {MOST_ROWS:,} records are asked by mottle query."
        return [AskedQuestion(sql, None, why) for sql in asked]
    queries = Queries.of(first_rows(release, MOST_ROWS))
    source = None if original is None else original.source
    truth = truth_of(source, queries) if isinstance(source, pa.Table) else None
    return [_answered(queries, sql, truth) for sql in asked]


def _answered(queries: Queries, sql: str, truth: Queries | None) -> AskedQuestion:
    try:
        return AskedQuestion(sql, answer(queries, sql, truth=truth, most=_MOST_SHOWN))
    except MottleError as error:  # about a column that this release does not have
        return AskedQuestion(sql, None, error.problem)
