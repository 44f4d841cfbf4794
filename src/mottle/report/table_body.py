"""What the report of a table says of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mottle.errors import UsageError
from mottle.evaluation.original_rows import Original
from mottle.evaluation.query_accuracy import MOST_ASKED, measure_accuracy
from mottle.evaluation.release_rows import ReleaseRows
from mottle.itemsets.data import ItemSets
from mottle.methods.base import METHODS
from mottle.report.body import Body, Examples, Owner, shown
from mottle.report.columns import describe_columns
from mottle.report.reproduce import command_of, schema_of


def table_body(parts: ReleaseRows, certificate: Mapping[str, Any], owner: Owner | None) -> Body:
    """Columns, questions, examples, and how to make the release again."""
    original = None if owner is None else _original(owner, parts)
    sampled = original is None and parts.rows > MOST_ASKED
    return Body(
        of_sets=False,
        method=_method(certificate),
        columns=describe_columns(parts, None if original is None else original.tallies()),
        accuracy=measure_accuracy(parts, original),
        asked_of=MOST_ASKED if sampled else None,
        command=command_of(certificate) if owner is None or not owner.command else owner.command,
        schema=_toml(parts),
        examples=None
        if original is None or owner is None or owner.examples is None
        else _examples(original, owner.examples, parts),
    )


def _original(owner: Owner, parts: ReleaseRows) -> Original:
    if owner.original is None or isinstance(owner.original, ItemSets):
        raise UsageError("The original of a release of a table is a table.", "Give the table.")
    return Original.of(owner.original, parts)


def _method(certificate: Mapping[str, Any]) -> str:
    """What the method does; where one was picked automatically, that one."""
    facts = certificate["method"]
    known = METHODS.get(str(facts.get("picked", facts["name"])))
    return str(facts["title"]) if known is None else known.title


def _examples(original: Original, people: Sequence[int], parts: ReleaseRows) -> Examples:
    """Ten people's rows beside their records; the first of the release, whose order is random."""
    headings = [column.name for column in parts.columns]
    published = parts.first(max(len(people), 1)).slice(0, len(people)).to_text()
    originals = original.rows(people, [column.name for column in original.columns])
    pairs = [
        (
            [shown(before.get(name)) for name in headings],
            [shown(after[name]) for name in headings],
        )
        for before, after in zip(originals, published.to_pylist(), strict=True)
    ]
    return Examples(headings, pairs)


def _toml(parts: ReleaseRows) -> str:
    """mottle.toml without the explanations at its beginning."""
    text = schema_of(parts).to_toml()
    return text[text.index("[columns") :].strip() + "\n"
