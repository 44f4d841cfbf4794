"""What the report of a table says of its rows."""

from __future__ import annotations

from collections.abc import Sequence

from mottle import methods
from mottle.errors import UsageError
from mottle.evaluation.original_rows import Original
from mottle.evaluation.query_accuracy import MOST_ASKED, measure_accuracy
from mottle.evaluation.release_rows import first_rows
from mottle.itemsets.data import ItemSets
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.report.body import Body, Examples, Owner, shown
from mottle.report.columns import describe_columns
from mottle.report.reproduce import command_of, schema_of


def table_body(release: ReleaseData, certificate: Certificate, owner: Owner | None) -> Body:
    """Columns, questions, examples, and how to make the release again."""
    original = None if owner is None else _original(owner, release)
    sampled = original is None and release.num_rows > MOST_ASKED
    return Body(
        of_sets=False,
        method=_method(certificate),
        columns=describe_columns(release, None if original is None else original.tallies()),
        accuracy=measure_accuracy(release, original),
        asked_of=MOST_ASKED if sampled else None,
        command=command_of(certificate) if owner is None or not owner.command else owner.command,
        schema=_toml(release),
        examples=None
        if original is None or owner is None or owner.examples is None
        else _examples(original, owner.examples, release),
    )


def _original(owner: Owner, release: ReleaseData) -> Original:
    if owner.original is None or isinstance(owner.original, ItemSets):
        raise UsageError(
            "`original` must be a table, because this release was made from a table.",
            "Give the table.",
        )
    return Original.of(owner.original, release)


def _method(certificate: Certificate) -> str:
    """What the method does; where one was picked automatically, that one."""
    known = methods.registered().get(certificate.method.used)
    return certificate.method.title if known is None else known.title


def _examples(original: Original, people: Sequence[int], release: ReleaseData) -> Examples:
    """Ten people's rows beside their records; the first of the release, whose order is random."""
    headings = [column.name for column in release.columns]
    first = first_rows(release, max(len(people), 1))
    published = first.slice(0, len(people)).to_text()
    originals = original.rows(people, [column.name for column in original.columns])
    pairs = [
        (
            [shown(before.get(name)) for name in headings],
            [shown(after[name]) for name in headings],
        )
        for before, after in zip(originals, published.to_pylist(), strict=True)
    ]
    return Examples(headings, pairs)


def _toml(release: ReleaseData) -> str:
    """mottle.toml without the explanations at its beginning."""
    text = schema_of(release).to_toml()
    return text[text.index("[columns") :].strip() + "\n"
