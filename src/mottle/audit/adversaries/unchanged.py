"""The unchanged-columns adversary: what columns that are published as they are give away.

Insensitive and sensitive columns stay with their true record. Whoever knows how they relate to
quasi-identifiers, as everybody knows that a birth year tells an age, rules out candidates whose
quasi-identifiers do not fit. How they relate is learned from the original, for each record without
its own row: this is public knowledge, not memory of this table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from mottle.audit.base import register
from mottle.audit.links.edges import Subgraph
from mottle.audit.report import FOR_OWNER, WARNINGS, Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge
from mottle.audit.view import Evidence, View
from mottle.release.unchanged import measure_unchanged, warnings_about
from mottle.schema.model import Role
from mottle.typing import Float64Array, Int64Array
from mottle.utils.dependence import MOST_ROWS, ColumnCodes, Dependence, coded, information

_LEAST_INFORMATION = 0.02  # of a pair of columns, below which it says nothing reliable


@register(
    "unchanged",
    title="narrows candidates by what unchanged columns say about quasi-identifiers",
    assumes="knows everybody's matches, and how unchanged columns usually relate to them",
    seconds=8,
)
def unchanged(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Guess the true original of records among their candidates; judged by the links."""
    roles = {
        column.name: column.role
        for column in view.release.columns
        if column.form is None and not column.role.keyed  # the original has other values
    }
    known = view.people.column_names
    why = "" if roles else "no column is published as it is"
    if view.release.sensitive is not None:
        why = "two tables publish quasi-identifiers exactly, so there is nothing to narrow"
    if why:
        measure, facts = "right guesses by unchanged columns", {"does_not_apply": why}
        yield Outcome(measure, None, details=facts, public=True)
        return
    found = measure_unchanged(evidence.original, roles, known)
    own: dict[str, object] = {
        "rows_examined": found.examined,
        "columns": {one.columns[0]: _described(one) for one in found.single},
        WARNINGS: warnings_about(found),
    }
    if found.together is not None:
        own["together"] = _described(found.together)
    for role in (Role.INSENSITIVE, Role.SENSITIVE):
        names = [name for name, of in roles.items() if of is role]
        if not names:
            continue
        measure = f"right guesses by {role} columns"
        if evidence.subgraph is None:
            why = "needs the private link file"
            yield Outcome(measure, None, details={"not_played": why, FOR_OWNER: own})
        else:
            accuracy, used = _guesses(view, evidence, evidence.subgraph, names)
            passed = None
            if role is Role.INSENSITIVE and evidence.guarantee is not None:
                passed = accuracy.passed if _gives_away(found, names) else True
            details = {**accuracy.facts(), FOR_OWNER: {"used": used, **own}}
            yield Outcome(measure, accuracy.right, accuracy.allowed, passed, details)
        own = {}


def _gives_away(found: Dependence, names: Sequence[str]) -> bool:
    """Whether one of the columns, or all insensitive ones together, determine a quasi-identifier.

    Weaker relations are part of any useful table: guesses may profit from them without a breach.
    """
    alone = [one for one in found.single if one.columns[0] in names]
    joint = [] if found.together is None else [found.together]
    return any(told.is_strong for one in [*alone, *joint] for told in one.determines)


def _described(one: object) -> dict[str, object]:
    """What was measured of a column, or of several; no values."""
    facts = asdict(one)  # type: ignore[call-overload]
    return {
        "singles_out": facts["singles_out"],
        "determines": {entry.pop("column"): entry for entry in facts["determines"]},
    }


def _guesses(
    view: View, evidence: Evidence, subgraph: Subgraph, names: Sequence[str]
) -> tuple[GuessAccuracy, dict[str, str]]:
    """Guess the likeliest candidate of every record, or of a sample of them."""
    edges = subgraph.edges
    records = np.arange(edges.records)
    if len(records) > MOST_ROWS:
        random = np.random.default_rng(view.seed)
        records = np.sort(random.choice(len(records), MOST_ROWS, replace=False))
    degrees = edges.degrees[records]
    begins = np.cumsum(degrees) - degrees
    flat = np.repeat(edges.offsets[records] - begins, degrees) + np.arange(degrees.sum())
    candidates = subgraph.people[edges.originals[flat]]
    record = np.repeat(np.arange(len(records)), degrees)
    truth = subgraph.people[edges.truth[records]]
    # Equally likely candidates: a random one, so that their order has no influence.
    score = np.random.default_rng(view.seed).random(len(flat)) * 1e-9
    used = {}
    targets = {
        name: column.coarse()
        for name in view.people.column_names
        if (column := coded(view.people.column(name))) is not None
    }
    for name in names:
        column = coded(evidence.original.column(name))
        if column is None or not targets:
            continue
        column = column.coarse()
        told = {of: information(column, target) for of, target in targets.items()}
        best = max(told, key=lambda of: told[of])
        if told[best] >= _LEAST_INFORMATION:
            used[name] = best
            score += _fit(column, targets[best], truth, candidates, record)
    highest = np.maximum.reduceat(score, begins)
    guess = np.flatnonzero(score == highest[record])
    right = np.zeros(len(records), np.bool_)
    right[record[guess]] = candidates[guess] == truth[record[guess]]
    return judge(right, 1 / degrees, edges.clusters[edges.truth[records]]), used


def _fit(
    column: ColumnCodes,
    target: ColumnCodes,
    truth: Int64Array,
    candidates: Int64Array,
    record: Int64Array,
) -> Float64Array:
    """How much likelier a record's value is for each of its candidates, as a logarithm.

    Counts are those of all rows but the record's own.
    """
    pairs = np.bincount(
        column.codes * target.size + target.codes, minlength=column.size * target.size
    ).reshape(column.size, target.size)
    shares = (np.bincount(column.codes, minlength=column.size) + 1) / (len(column.codes) + 1)
    totals = np.bincount(target.codes, minlength=target.size)
    value, of = column.codes[truth][record], target.codes[candidates]
    own = of == target.codes[truth][record]
    expected = shares[value]
    fitted: Float64Array = np.log(pairs[value, of] - own + expected) - np.log(
        (totals[of] - own + 1) * expected
    )
    return fitted
