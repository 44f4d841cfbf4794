"""The sensitive adversary: how far the values on a person's matches reveal the own value.

With the links, the matches are the graph's edges, and shares among them are probabilities: they are
judged directly. So are shares among equal records, where all records come in groups of equal ones.
Otherwise the matches are all records that contain the person. A share among those is not a
probability (for every graph that fits, the posterior is within the cap, and not knowing the graph
only averages such posteriors), so there the guesses it leads to are judged. Where sensitive values
correlate with quasi-identifiers, such guesses also learn from the other people. They break a
guarantee if they are right more often than the caps allow *and* more often than guesses from the
other people of the table alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mottle.audit.base import register
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge
from mottle.audit.sensitive.baseline import baseline_correctness
from mottle.audit.sensitive.published_values import SensitiveAttribute
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
    measure_along_edges,
    measure_by_containment,
    measure_groups,
)
from mottle.audit.view import Evidence, View
from mottle.typing import Float64Array, Int32Array, Int64Array

_ROUNDING = 1e-9  # tolerance for shares that equal their cap up to floating-point error
_EXPOSED = 0.1  # the share of all people who count as the most exposed


@register(
    "sensitive",
    title="infers the sensitive value from the records that may be a person's",
    assumes="knows everybody's quasi-identifiers; along edges, also the algorithm and its graph",
    seconds=70,
)
def sensitive(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Measure shares, then guesses, for every sensitive column and the joint values of several.

    Guesses are judged only where neither links nor groups are known.
    """
    subgraph = evidence.subgraph
    groups = None if subgraph is not None else _groups_of_equals(view, evidence)
    for attribute, own in zip(view.sensitive, evidence.own_codes, strict=True):
        name = attribute.name
        if subgraph is not None:
            along, _ = measure_along_edges(
                subgraph.edges, attribute.sensitive_codes[subgraph.records], attribute.reference
            )
            yield _by_shares(name, attribute, along, "edges of the graph", subgraph.facts(len(own)))
        elif attribute.capped and groups is not None:
            within = measure_groups(groups, attribute.sensitive_codes, attribute.reference)
            yield _by_shares(name, attribute, within, "groups of equal records", {})
        found = _by_guesses(name, view, evidence, attribute, own)
        judged = subgraph is None and groups is None
        yield found if judged else replace(found, passed=None)


def _groups_of_equals(view: View, evidence: Evidence) -> Int64Array | None:
    """For each record: its group, if all records form groups of equals that are large enough."""
    published = next(
        (attribute.groups for attribute in view.sensitive if attribute.groups is not None), None
    )
    if published is not None:
        return np.unique(published, return_inverse=True)[1].ravel()
    capped = [attribute.reference.caps.max() for attribute in view.sensitive if attribute.capped]
    least = max([evidence.k or 2, *(int(np.ceil(1 / cap - _ROUNDING)) for cap in capped)])
    index = view.index
    if index.multiplicities.min() < least:
        return None
    return index.box_of


def _by_shares(
    name: str,
    attribute: SensitiveAttribute,
    measured: Float64Array,
    matches: str,
    examined: dict[str, object],
) -> Outcome:
    """Compare shares that are probabilities with the caps; for information without caps."""
    facts = {
        "columns": list(attribute.columns),
        "matches": matches,
        **examined,
        **achieved(measured, attribute),
    }
    if not attribute.capped:
        highest = float(measured[:, SHARE].max())
        measure = f"{name}: highest share among a person's matches"
        return Outcome(measure, highest, details=facts, public=True)
    ratios = measured[:, RATIO]
    beyond = int(np.count_nonzero(ratios > 1 + _ROUNDING))
    facts["people_beyond_cap" if matches.startswith("edges") else "groups_beyond_cap"] = beyond
    return Outcome(
        f"{name}: highest share of a {'value' if 0 in attribute.levels else 'group'} as a part of"
        " its cap",
        float(ratios.max()),
        1,
        beyond == 0,
        facts,
        public=True,
    )


def _by_guesses(
    name: str, view: View, evidence: Evidence, attribute: SensitiveAttribute, own_codes: Int32Array
) -> Outcome:
    """Measure how often the best guess is right, overall and among the most exposed."""
    place = view.index.place_of
    measured, guesses = measure_by_containment(view.index, attribute.mixtures, attribute.reference)
    measured, guesses = measured[place], guesses[place]
    own = own_codes[view.examined]
    links = evidence.one_to_one_edges
    clusters = view.neighbourhoods if links is None else links.clusters[view.examined]
    baselines = baseline_correctness(view.columns, own_codes, len(attribute.reference.overall))
    exposed = np.argsort(-measured[:, RATIO], kind="stable")
    exposed = exposed[: int(np.ceil(_EXPOSED * len(exposed)))]
    everybody = np.arange(len(own))
    tried: dict[str, GuessAccuracy] = {}
    baseline: dict[str, float] = {}
    without_own: dict[str, float] = {}
    for strategy, guess in (("likeliest", LIKELIEST), ("most gained", MOST_GAINED)):
        right_without_own = _without_own_record(measured, guesses, own, guess)
        for group, people in (("everybody", everybody), ("most exposed tenth", exposed)):
            guessed = guesses[people, guess]
            has_guess = guessed >= 0
            about = people[has_guess]
            attack = f"{strategy} value, {group}"
            caps = attribute.reference.caps[guessed[has_guess]]
            baseline[attack] = max(
                _mean(right[view.examined[about]]) for right in baselines.values()
            )
            without_own[attack] = _mean(right_without_own[about])
            baseline_is_higher = baseline[attack] > _mean(caps)
            tried[attack] = judge(
                guessed[has_guess] == own[about],
                np.full(len(about), baseline[attack]) if baseline_is_higher else caps,
                clusters[about],
            )
    worst = max(tried.values(), key=lambda found: found.right - found.allowed)
    verdicts = [found.passed for found in tried.values()]
    facts = {
        **view.sampling_facts(),
        "columns": list(attribute.columns),
        "matches": "by containment",
        "guesses": {
            attack: {
                **found.facts(),
                "told_by_others": baseline[attack],
                "right_without_own_record": without_own[attack],
            }
            for attack, found in tried.items()
        },
        "right_without_own_record": without_own["likeliest value, everybody"],
        "shares": achieved(measured, attribute),
    }
    overall = tried["likeliest value, everybody"]
    if not attribute.capped:
        return Outcome(f"{name}: right guesses by containment", overall.right, details=facts)
    passed = False if False in verdicts else (True if True in verdicts else None)
    return Outcome(
        f"{name}: right guesses by containment", worst.right, worst.allowed, passed, facts
    )


def _mean(values: Float64Array) -> float:
    """The mean of some values, 0 if there are none."""
    return float(values.mean()) if len(values) else 0.0


def _without_own_record(
    measured: Float64Array, guesses: Int32Array, own: Int32Array, guess: int
) -> Float64Array:
    """For each person: the probability that a guess is right without the person's own record.

    That is what can be learned about a person from the others alone; the own record can only have
    made the difference where its value leads by one record.
    """
    likeliest = guesses[:, LIKELIEST]
    right = (guesses[:, guess] == own) & (guesses[:, guess] == likeliest)
    lead = measured[:, MARGIN]
    still_right = np.where(lead > 1.5, 1.0, np.where(lead > 0.5, 0.5, 0.0))
    return np.asarray(right * still_right, np.float64)


def achieved(measured: Float64Array, attribute: SensitiveAttribute) -> dict[str, object]:
    """The level of each privacy notion that the mixtures achieve, the worst over all people.

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
        "delta": of_present if fewest == len(attribute.reference.overall) else np.inf,
        "delta_of_present_values": of_present,
    }
