"""What the report of a table says about its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mottle import methods
from mottle.errors import UsageError
from mottle.evaluation.original_rows import Original
from mottle.evaluation.query_accuracy import MOST_QUERIED_ROWS, measure_accuracy
from mottle.evaluation.release_rows import ReleaseRows
from mottle.itemsets.data import ItemSets
from mottle.report.body import Body, Examples, Owner, cell_text
from mottle.report.columns import describe_columns
from mottle.report.reproduce import command_of, schema_of


def table_body(parts: ReleaseRows, certificate: Mapping[str, Any], owner: Owner | None) -> Body:
    """Gather columns, query accuracy, examples, and how to reproduce the release."""
    original = None if owner is None else _original(owner, parts)
    sampled = original is None and parts.rows > MOST_QUERIED_ROWS
    return Body(
        of_sets=False,
        method=_method(certificate),
        columns=describe_columns(parts, None if original is None else original.tallies()),
        accuracy=measure_accuracy(parts, original),
        queried_rows=MOST_QUERIED_ROWS if sampled else None,
        command=command_of(certificate) if owner is None or not owner.command else owner.command,
        schema=_toml(parts),
        examples=None
        if original is None or owner is None or owner.examples is None
        else _examples(original, owner.examples, parts),
    )


def _original(owner: Owner, parts: ReleaseRows) -> Original:
    if owner.original is None or isinstance(owner.original, ItemSets):
        raise UsageError(
            "The original must be a table, because this release was made from a table.",
            "Give the table.",
        )
    return Original.of(owner.original, parts)


def _method(certificate: Mapping[str, Any]) -> str:
    """What the method does; for an automatic choice, the method that was picked."""
    facts = certificate["method"]
    known = methods.registered().get(str(facts.get("picked", facts["name"])))
    return str(facts["title"]) if known is None else known.title


def _examples(original: Original, people: Sequence[int], parts: ReleaseRows) -> Examples:
    """Ten people's rows and their records: the first of the release, whose order is random."""
    headings = [column.name for column in parts.columns]
    published = parts.first(max(len(people), 1)).slice(0, len(people)).to_text()
    originals = original.rows(people, [column.name for column in original.columns])
    pairs = [
        (
            [cell_text(before.get(name)) for name in headings],
            [cell_text(after[name]) for name in headings],
        )
        for before, after in zip(originals, published.to_pylist(), strict=True)
    ]
    return Examples(headings, pairs)


def _toml(parts: ReleaseRows) -> str:
    """The text of mottle.toml without the explanations at its beginning."""
    text = schema_of(parts).to_toml()
    return text[text.index("[columns") :].strip() + "\n"
