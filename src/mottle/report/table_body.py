"""What the report of a table says about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from mottle.errors import MottleError, UsageError
from mottle.evaluation.original_rows import Original
from mottle.evaluation.query_accuracy import MOST_QUERIED_ROWS, measure_accuracy
from mottle.evaluation.release_rows import first_rows
from mottle.itemsets.data import ItemSets
from mottle.methods.base import METHODS
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.release.per_person import original_of
from mottle.report.body import Body, Examples, Owner, cell_text
from mottle.report.columns import describe_columns
from mottle.report.identical_rows import identical_rows
from mottle.report.questions import answered_questions
from mottle.report.reproduce import command_of, schema_comments, schema_of
from mottle.report.subgroups import SubgroupLoss, subgroup_losses
from mottle.risk.report import RiskReport
from mottle.schema.model import Schema
from mottle.utils.lazy import lazy_module
from mottle.utils.steps import Announced

if TYPE_CHECKING:
    from mottle.risk import measure as risk_measure
else:  # for internal reports alone
    risk_measure = lazy_module("mottle.risk.measure")

MOST_RISK_ROWS = 300_000  # rows up to which an internal report measures risks


STEPS = ("columns", "accuracy", "questions", "risk", "subgroups", "equal rows")


def table_body(
    release: ReleaseData, certificate: Certificate, owner: Owner | None, steps: Announced
) -> Body:
    """Gather columns, query accuracy, examples, and how to reproduce the release."""
    steps.begin("columns", "Describing columns")
    original = None if owner is None else _original(owner, release)
    sampled = original is None and release.num_rows > MOST_QUERIED_ROWS
    columns = describe_columns(release, None if original is None else original.tallies())
    steps.begin("accuracy", "Asking counts")
    accuracy = measure_accuracy(release, original)
    steps.begin("questions", "Asking own questions")
    questions = answered_questions(release, certificate, original)
    risk: RiskReport | None = None
    subgroups: Sequence[SubgroupLoss] = ()
    if original is not None:
        steps.begin("risk", "Measuring risks")
        risk = _risk(original, release)
        steps.begin("subgroups", "Groups that lose most")
        subgroups = _subgroups(original, release)
    steps.begin("equal rows", "Counting equal rows")
    return Body(
        of_sets=False,
        method=_method(certificate),
        columns=columns,
        accuracy=accuracy,
        questions=questions,
        queried_rows=MOST_QUERIED_ROWS if sampled else None,
        command=command_of(certificate) if owner is None or not owner.command else owner.command,
        schema=_toml(release),
        examples=None
        if original is None or owner is None or owner.examples is None
        else _examples(original, owner.examples, release),
        risk=risk,
        subgroups=subgroups,
        identical=identical_rows(release),
    )


def _original(owner: Owner, release: ReleaseData) -> Original:
    if owner.original is None or isinstance(owner.original, ItemSets):
        raise UsageError(
            "The original must be a table, because this release was made from a table.",
            "Give the table.",
        )
    original = owner.original
    if isinstance(original, pa.Table):
        original, _ = original_of(original, release.certified)
    return Original.of(original, release)


def _risk(original: Original, release: ReleaseData) -> RiskReport | None:
    """The risks before and after; None for tables that are not in memory, or too large."""
    table = original.source
    if not isinstance(table, pa.Table) or table.num_rows > MOST_RISK_ROWS:
        return None
    try:
        return risk_measure.measure_risk(table, release=release)
    except MottleError:  # a figure that cannot be measured must not cost the release
        return None


def _subgroups(original: Original, release: ReleaseData) -> Sequence[SubgroupLoss]:
    """Who loses most; nothing for tables that are not in memory, and without links."""
    table = original.source
    if not isinstance(table, pa.Table):
        return ()
    try:
        return subgroup_losses(release, table)
    except MottleError:  # a figure that cannot be measured must not cost the release
        return ()


def _method(certificate: Certificate) -> str:
    """What the method does; for an automatic choice, the method that was picked."""
    known = METHODS.get(certificate.method.used)
    return certificate.method.title if known is None else known.title


def _examples(original: Original, people: Sequence[int], release: ReleaseData) -> Examples:
    """Ten people's rows and their records: the first of the release, whose order is random."""
    headings = [column.name for column in release.columns]
    first = first_rows(release, max(len(people), 1))
    published = first.slice(0, len(people)).to_text()
    originals = original.rows(people, [column.name for column in original.columns])
    pairs = [
        (
            [cell_text(before.get(name)) for name in headings],
            [cell_text(after[name]) for name in headings],
        )
        for before, after in zip(originals, published.to_pylist(), strict=True)
    ]
    return Examples(headings, pairs)


def _toml(release: ReleaseData) -> str:
    """The text of mottle.toml without the explanations at its beginning."""
    schema = schema_of(release)
    if release.reading is not None:
        schema = schema.with_reading(release.reading)
    text = schema.to_toml(schema_comments(release.certificate))
    return text.removeprefix(Schema(columns=()).to_toml()).strip() + "\n"
