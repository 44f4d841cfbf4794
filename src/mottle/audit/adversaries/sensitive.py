"""Sensitive linkage: how far the values published on a person's matches give the own one away.

With the links the matches are the graph's edges, and shares among them are probabilities: they are
judged directly. So are shares among equal records, where all records come in groups of equals.
Otherwise the matches are all records that contain the person. A share among those is no probability
(for every graph that fits, the posterior is within the cap, and not knowing the graph only averages
such posteriors), so there the guesses it leads to are judged. Where sensitive values follow
quasi-identifiers, such guesses learn from the others as well. They break a guarantee if they are
right more often than the caps allow *and* than what the other people of the table tell anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mottle.audit.base import register
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge
from mottle.audit.sensitive.baseline import told_by_others
from mottle.audit.sensitive.published_values import Seen
from mottle.audit.sensitive.shares import (
    DISTANCE,
    DISTINCT,
    ENHANCED,
    ENTROPY,
    GAIN,
    LIKELIEST,
    LOG_RATIO,
    MARGIN,
    MOST_GAINED,
    RATIO,
    SHARE,
    along_edges,
    by_containment,
    by_group,
)
from mottle.audit.view import Evidence, View
from mottle.typing import Float64Array, Int32Array, Int64Array

_ROUNDING = 1e-9  # shares that equal their cap but for floating point are within it
_EXPOSED = 0.1  # the part of all people who count as the most exposed


@register(
    "sensitive",
    title="reads the sensitive value off the records that may be a person's",
    assumes="knows everybody's quasi-identifiers; along edges, the algorithm and its graph too",
)
def sensitive(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """For every sensitive column (and the joint values of several): shares, then guesses.

    Guesses are judged only where neither links nor groups are known.
    """
    part = evidence.part
    groups = None if part is not None else _groups_of_equals(view, evidence)
    for seen, own in zip(view.sensitive, evidence.own, strict=True):
        name = " × ".join(seen.columns)
        if part is not None:
            along, _ = along_edges(part.edges, seen.sensitive_codes[part.records], seen.values)
            yield _by_shares(name, seen, along, "edges of the graph", part.facts(len(own)))
        elif seen.capped and groups is not None:
            within = by_group(groups, seen.sensitive_codes, seen.values)
            yield _by_shares(name, seen, within, "groups of equal records", {})
        found = _by_guesses(name, view, evidence, seen, own)
        judged = part is None and groups is None
        yield found if judged else replace(found, passed=None)


def _groups_of_equals(view: View, evidence: Evidence) -> Int64Array | None:
    """By record: its group, if all records come in groups of equals large enough to be meant so."""
    apart = next((seen.groups for seen in view.sensitive if seen.groups is not None), None)
    if apart is not None:
        return np.unique(apart, return_inverse=True)[1].ravel()
    capped = [seen.values.caps.max() for seen in view.sensitive if seen.capped]
    least = max([evidence.k or 2, *(int(np.ceil(1 / cap - _ROUNDING)) for cap in capped)])
    index = view.index
    if index.multiplicities.min() < least:
        return None
    return index.box_of


def _by_shares(
    name: str, seen: Seen, measured: Float64Array, matches: str, examined: dict[str, object]
) -> Outcome:
    """Shares that are probabilities against the caps; without caps, for information."""
    facts = {
        "columns": list(seen.columns),
        "matches": matches,
        **examined,
        **achieved(measured, seen),
    }
    if not seen.capped:
        highest = float(measured[:, SHARE].max())
        return Outcome(f"{name}: highest share among a person's matches", highest, details=facts)
    ratios = measured[:, RATIO]
    beyond = int(np.count_nonzero(ratios > 1 + _ROUNDING))
    facts["people_beyond_cap" if matches.startswith("edges") else "groups_beyond_cap"] = beyond
    return Outcome(
        f"{name}: highest share of a value as a part of its cap",
        float(ratios.max()),
        1,
        beyond == 0,
        facts,
    )


def _by_guesses(
    name: str, view: View, evidence: Evidence, seen: Seen, everybodys: Int32Array
) -> Outcome:
    """How often the best guess is right, overall and among the most exposed."""
    place = view.index.place_of
    measured, guesses = by_containment(view.index, seen.mixtures, seen.values)
    measured, guesses = measured[place], guesses[place]
    own = everybodys[view.examined]
    links = evidence.links
    clusters = view.neighbours if links is None else links.clusters[view.examined]
    others = told_by_others(view.columns, everybodys, len(seen.values.overall))
    exposed = np.argsort(-measured[:, RATIO], kind="stable")
    exposed = exposed[: int(np.ceil(_EXPOSED * len(exposed)))]
    everybody = np.arange(len(own))
    tried: dict[str, GuessAccuracy] = {}
    told: dict[str, float] = {}
    without: dict[str, float] = {}
    for strategy, guess in (("likeliest", LIKELIEST), ("most gained", MOST_GAINED)):
        alone = _without_own_record(measured, guesses, own, guess)
        for whom, people in (("everybody", everybody), ("most exposed tenth", exposed)):
            guessed = guesses[people, guess]
            some = guessed >= 0
            about = people[some]
            way = f"{strategy} value, {whom}"
            caps = seen.values.caps[guessed[some]]
            told[way] = max(_mean(right[view.examined[about]]) for right in others.values())
            without[way] = _mean(alone[about])
            known = told[way] > _mean(caps)
            tried[way] = judge(
                guessed[some] == own[about],
                np.full(len(about), told[way]) if known else caps,
                clusters[about],
            )
    worst = max(tried.values(), key=lambda found: found.right - found.allowed)
    verdicts = [found.passed for found in tried.values()]
    facts = {
        **view.sampling(),
        "columns": list(seen.columns),
        "matches": "by containment",
        "guesses": {
            way: {
                **found.facts(),
                "told_by_others": told[way],
                "right_without_own_record": without[way],
            }
            for way, found in tried.items()
        },
        "right_without_own_record": without["likeliest value, everybody"],
        "shares": achieved(measured, seen),
    }
    overall = tried["likeliest value, everybody"]
    if not seen.capped:
        return Outcome(f"{name}: right guesses by containment", overall.right, details=facts)
    passed = False if False in verdicts else (True if True in verdicts else None)
    return Outcome(
        f"{name}: right guesses by containment", worst.right, worst.allowed, passed, facts
    )


def _mean(values: Float64Array) -> float:
    return float(values.mean()) if len(values) else 0.0


def _without_own_record(
    measured: Float64Array, guesses: Int32Array, own: Int32Array, guess: int
) -> Float64Array:
    """By person: how surely a guess would be right if the own record were left out.

    That is what can be learned about a person from the others alone; the own record can only have
    made the difference where its value leads by one record.
    """
    likeliest = guesses[:, LIKELIEST]
    right = (guesses[:, guess] == own) & (guesses[:, guess] == likeliest)
    lead = measured[:, MARGIN]
    sure = np.where(lead > 1.5, 1.0, np.where(lead > 0.5, 0.5, 0.0))
    return np.asarray(right * sure, np.float64)


def achieved(measured: Float64Array, seen: Seen) -> dict[str, object]:
    """What the mixtures of all people achieve of each notion: the worst over people.

    δ-disclosure bounds |ln| of every value's gain, so it is infinite where a mixture lacks a value.
    """
    share = float(measured[:, SHARE].max())
    fewest = int(measured[:, DISTINCT].min())
    of_present = float(measured[:, LOG_RATIO].max())
    return {
        "highest_share": share,
        "l": 1 / share if share else None,
        "distinct_l": fewest,
        "entropy_l": float(np.exp(measured[:, ENTROPY].min())),
        "beta": max(float(measured[:, GAIN].max()) - 1, 0.0),
        "enhanced_beta": float(measured[:, ENHANCED].max()),
        "t": float(measured[:, DISTANCE].max()),
        "delta": of_present if fewest == len(seen.values.overall) else np.inf,
        "delta_of_present_values": of_present,
    }
