"""The adversary who recognizes a person's rows: records with the same unchanged values.

Where a value is published as it is and only one person has it, several records with that value are
that person's. Whoever takes records with equal values for one person's keeps, of the candidates for
each, the people who are candidates for all of them; these may be few, or one. k does not bound
this: it bounds what is known about a record by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from mottle.audit.base import register
from mottle.audit.links.edges import Subgraph
from mottle.audit.report import FOR_OWNER, WARNINGS, Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge_shared
from mottle.audit.view import Evidence, View
from mottle.schema.model import Role
from mottle.typing import Int32Array, Int64Array
from mottle.utils.dependence import coded

# Times the allowed share of right guesses from which on it is a breach and not, as in any useful
# table, a weak relation between the rows of a person.
_BREACH = 2.0
_MEASURE = "right guesses of whose records they are, by {} column{}"


@register(
    "same_person",
    title="takes records with equal unchanged values for one person's",
    assumes="knows everybody's quasi-identifiers, which rows belong to the same person, the"
    " algorithm and its graph; expects that a person's rows have the same unchanged values",
    seconds=2,
)
def same_person(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Guess whose several records are; judged by the links."""
    unchanged = [column for column in view.release.columns if column.form is None]
    why = ""
    if view.whose is None or np.bincount(view.whose).max() < 2:
        why = "nobody is known to have several rows"
    elif not unchanged or view.release.sensitive is not None:
        why = "no column is published as it is beside the generalized ones"
    if why:
        measure = _MEASURE.format("unchanged", "s")
        yield Outcome(measure, None, details={"does_not_apply": why}, public=True)
        return
    assert view.whose is not None
    for role in (Role.PSEUDONYM, Role.SHIFTED, Role.INSENSITIVE, Role.SENSITIVE):
        names = [column.name for column in unchanged if column.role is role]
        if not names:
            continue
        measure = _MEASURE.format(role, "s" if len(names) > 1 else "")
        if evidence.subgraph is None:
            yield Outcome(measure, None, details={"not_played": "needs the private link file"})
            continue
        tried = [[name] for name in names] + ([names] if len(names) > 1 else [])
        played = [
            _play(view, evidence, evidence.subgraph, view.whose, each, len(tried)) for each in tried
        ]
        best = max(played, key=lambda accuracy: accuracy.right - accuracy.allowed)
        if best.guesses == 0:
            why = "no person is a candidate for all records that share a value"
            yield Outcome(measure, None, details={"does_not_apply": why})
            continue
        passed = None
        if role is not Role.SENSITIVE and evidence.guarantee is not None:
            passed = best.passed if best.right > _BREACH * best.allowed else True
        warned = [
            f"Records with the same {_named(each)} are often one person's: taken together, they"
            f" are attributed to the right one in {accuracy.right:.0%} of the cases,"
            f" {accuracy.allowed:.0%} without. Remove or coarsen what only one person has."
            for each, accuracy in zip(tried, played, strict=True)
            if accuracy.passed is False
        ]
        details = {**best.facts(), FOR_OWNER: {WARNINGS: warned}}
        yield Outcome(measure, best.right, best.allowed, passed, details)


def _named(columns: Sequence[str]) -> str:
    return f"'{columns[0]}'" if len(columns) == 1 else f"{len(columns)} columns together"


def _play(
    view: View,
    evidence: Evidence,
    subgraph: Subgraph,
    whose: Int32Array,
    names: Sequence[str],
    trials: int,
) -> GuessAccuracy:
    """Guess a person for every group of records with equal values, where candidates remain."""
    edges = subgraph.edges
    values = _joint(view.release.table, names)[subgraph.records]
    groups, group_of, sizes = np.unique(values, return_inverse=True, return_counts=True)
    group_of = group_of.ravel()
    most = int(np.bincount(whose).max())
    tried = (sizes >= 2) & (sizes <= most)  # nobody has more rows than that
    person = whose[subgraph.people]
    # (group, person) by record, each once; a person who occurs as often as the group has records
    # is a candidate for all of them
    pairs = np.unique(
        np.stack([edges.published.astype(np.int64), person[edges.originals].astype(np.int64)]),
        axis=1,
    )
    of_group = group_of[pairs[0]]
    kept = tried[of_group]
    key = of_group[kept] * (int(whose.max()) + 1) + pairs[1][kept]
    found, times = np.unique(key, return_counts=True)
    group, candidate = np.divmod(found, int(whose.max()) + 1)
    fits = times == sizes[group]
    group, candidate = group[fits], candidate[fits]
    if len(group) == 0:
        return GuessAccuracy(0, 0.0, 0.0, 0.0)
    order = np.lexsort((np.random.default_rng(view.seed).random(len(group)), group))
    first = np.append(0, np.flatnonzero(np.diff(group[order])) + 1)
    guess = np.full(len(groups), -1, np.int64)
    guess[group[order[first]]] = candidate[order[first]]
    records = np.flatnonzero(guess[group_of] >= 0)
    truth = edges.truth[records]
    right = guess[group_of[records]] == person[truth]
    k = evidence.k or int(edges.degrees.min())
    clusters = group_of[records].astype(np.int64)  # of a group, all guesses are right or none
    return judge_shared(right, np.full(len(records), 1 / k), clusters, trials)


def _joint(table: pa.Table, names: Sequence[str]) -> Int64Array:
    """One code for every combination of values."""
    codes = np.zeros(table.num_rows, np.int64)
    for name in names:
        column = coded(table.column(name))
        if column is not None:
            codes = codes * column.size + column.codes
            codes = np.unique(codes, return_inverse=True)[1].ravel()
    return codes
