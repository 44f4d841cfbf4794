"""The learning adversary: predicts sensitive values from similar people (HET §6).

The attacks are naïve Bayes on counts of the records whose cells contain a value (Cormode), classic
and with Laplace's correction; gradient boosting on possible worlds of the records; and deFinetti
(Kifer), which learns iteratively from everybody's exact quasi-identifiers which of the values on a
person's matches is the likeliest. The share of the most common value, and the accuracy of the same
learner on the original, are reported for comparison.

Learning that professors have doctorates is what releases are for, and works equally well on people
who are not in the table. No guarantee rules it out: caps bound what a person's *own* matches
reveal. The learners are therefore trained twice, each time without the records of one half of the
people. They break a release if they are right about people whose records they saw more often than
each of these allows: the caps, the accuracy on people whose records they did not see, and the
combination of both (beliefs learned from the originals of others, weighted by the shares on the
person's matches as far as these keep the caps). deFinetti has no such comparison and is for
information.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mottle.audit.base import register
from mottle.audit.links.edges import Edges
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge_seen
from mottle.audit.sensitive.learners import (
    boosting_probabilities,
    counts_by_containment,
    log_likelihoods,
    mixtures_of_points,
    sample_possible_world,
)
from mottle.audit.sensitive.published_values import SensitiveAttribute
from mottle.audit.view import Evidence, View
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_MOST_VALUES = 200  # distinct values up to which an attribute is attacked
_SAMPLE = 8_000  # records that boosting learns from, and people that it guesses
_MOST_PEOPLE = 100_000  # people that naïve Bayes and deFinetti guess
_EXPOSED = 0.1  # the share of people who count as the most exposed
_ROUNDS = 8  # iterations of deFinetti
_ALPHAS = {"naïve Bayes": 0.0, "naïve Bayes, Laplace": 1.0}


class _Guesses(NamedTuple):
    """The guesses of one attack about some people."""

    people: Int64Array
    guesses: Int32Array
    gain: Float64Array  # belief in the guess, divided by its share in the whole table
    unseen: Int32Array | None = None  # guesses learned without the person's own record


@register(
    "learning",
    title="learns from the release to predict people's sensitive values",
    assumes="knows everybody's quasi-identifiers; does not know the algorithm; expects that similar"
    " people have similar values",
    seconds=50,
)
def learning(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Play all attacks on every sensitive attribute that has few enough values."""
    for attribute, own in zip(view.sensitive, evidence.own_codes, strict=True):
        name = attribute.name
        measure = f"{name}: right guesses by learning"
        if len(attribute.reference.overall) > _MOST_VALUES:
            why = {"not_played": f"more than {_MOST_VALUES} different values"}
            yield Outcome(measure, None, details=why)
            continue
        yield _play(measure, view, evidence, attribute, own)


def _play(
    measure: str, view: View, evidence: Evidence, attribute: SensitiveAttribute, own: Int32Array
) -> Outcome:
    """Play all attacks on one attribute, and judge those that allow a comparison."""
    generator = np.random.default_rng(view.seed)
    people = _sample(view.people.num_rows, _MOST_PEOPLE, generator)
    half = _halves(view, evidence, generator)
    attacks = _bayes(view, attribute, people, half)
    attacks["gradient boosting"] = _boosting(view, attribute, half, generator)
    predicted = attacks["gradient boosting"].people
    beliefs = _beliefs_from_originals(view, attribute, own, predicted, generator)
    attacks["deFinetti"] = _definetti(view, attribute, people)
    clusters = _clusters(view, evidence)
    judged: dict[str, _Judged] = {}
    combined = None
    if evidence.subgraph is not None and half is not None:
        combined = _combined_belief(evidence.subgraph.edges, attribute, predicted, beliefs)
        judged = {
            name: _judge(attack, own, attribute, clusters, combined)
            for name, attack in attacks.items()
            if attack.unseen is not None
        }
    facts: dict[str, Any] = {
        "columns": list(attribute.columns),
        "individuals": view.people.num_rows,
        "attacks": {name: _facts(attack, own, attribute) for name, attack in attacks.items()},
        "majority": float(attribute.reference.overall.max()),
        "gradient boosting on the original": float(
            (beliefs.argmax(axis=1) == own[predicted]).mean()
        ),
        "others_and_matches_together": combined,
    }
    for name, found in judged.items():
        facts["attacks"][name] |= {
            "right_if_own_record_unseen": found.unseen,
            "caps_of_guesses": found.caps,
            "sigma": found.accuracy.sigma,
        }
    best = max(float((attack.guesses == own[attack.people]).mean()) for attack in attacks.values())
    if not attribute.capped or not judged:
        return Outcome(measure, best, details=facts)
    verdicts = [found.accuracy.passed for found in judged.values()]
    worst = max(
        (found.accuracy for found in judged.values()),
        key=lambda accuracy: (accuracy.passed is False, accuracy.right - accuracy.allowed),
    )
    passed = False if False in verdicts else (True if True in verdicts else None)
    return Outcome(measure, worst.right, worst.allowed, passed, facts)


def _sample(count: int, most: int, generator: np.random.Generator) -> Int64Array:
    """All numbers below ``count``, or ``most`` of them drawn at random."""
    if count <= most:
        return np.arange(count)
    return np.sort(generator.choice(count, most, replace=False))


# ---------------------------------------------------------------------------------------- judging


class _Halves(NamedTuple):
    """Records and people split into two halves, each person in the half of their own record."""

    of_record: BoolArray
    of_person: BoolArray


def _halves(view: View, evidence: Evidence, generator: np.random.Generator) -> _Halves | None:
    """Split everybody into halves; None where it is not known which record is whose."""
    subgraph = evidence.subgraph
    if (
        subgraph is None
        or evidence.one_to_one_edges is None
        or len(subgraph.people) < view.people.num_rows
    ):
        return None
    of_record = generator.permutation(view.records) % 2 == 0
    of_person = np.empty(view.people.num_rows, np.bool_)
    of_person[evidence.one_to_one_edges.truth] = of_record
    return _Halves(of_record, of_person)


class _Judged(NamedTuple):
    """The verdict on one attack."""

    accuracy: GuessAccuracy
    unseen: float  # share of right guesses about people whose own record was not seen
    caps: float  # mean cap of the guessed values


def _judge(
    attack: _Guesses,
    own: Int32Array,
    attribute: SensitiveAttribute,
    clusters: Int64Array,
    combined: float,
) -> _Judged:
    """Compare right guesses about people whose records were seen with what is allowed."""
    assert attack.unseen is not None
    own = own[attack.people]
    unseen = attack.unseen == own
    caps = attribute.reference.caps[attack.guesses]
    accuracy = judge_seen(
        attack.guesses == own,
        unseen,
        caps,
        clusters[attack.people],
        combined=combined,
        trials=len(_ALPHAS) + 1,
    )
    return _Judged(accuracy, float(unseen.mean()), float(caps.mean()))


def _clusters(view: View, evidence: Evidence) -> Int64Array:
    """For each person: the cluster whose records are drawn together, if it is known."""
    if evidence.one_to_one_edges is not None:
        return evidence.one_to_one_edges.clusters
    return np.arange(view.people.num_rows)


def _facts(attack: _Guesses, own: Int32Array, attribute: SensitiveAttribute) -> dict[str, Any]:
    """The accuracy, and for the most exposed its lift over their values' overall shares."""
    right = attack.guesses == own[attack.people]
    exposed = np.argsort(-attack.gain, kind="stable")
    exposed = exposed[: int(np.ceil(_EXPOSED * len(exposed)))]
    usual = float(attribute.reference.overall[attack.guesses[exposed]].mean())
    return {
        "people": len(right),
        "right": float(right.mean()),
        "right_of_most_exposed": float(right[exposed].mean()),
        "lift_of_most_exposed": float(right[exposed].mean()) / usual if usual else None,
    }


def _best(scores: Float64Array, attribute: SensitiveAttribute) -> tuple[Int32Array, Float64Array]:
    """The likeliest value of every row of probabilities, and its gain over the whole table."""
    guesses = np.argmax(scores, axis=1).astype(np.int32)
    usual = np.maximum(attribute.reference.overall[guesses], 1e-12)
    return guesses, scores[np.arange(len(guesses)), guesses] / usual


def _normalize(logs: Float64Array, attribute: SensitiveAttribute) -> Float64Array:
    """Turn logarithms into probabilities; the overall shares where every value is impossible."""
    highest = logs.max(axis=1, keepdims=True)
    possible = np.isfinite(highest)
    scores = np.exp(logs - np.where(possible, highest, 0.0))
    scores = np.where(possible, scores, attribute.reference.overall)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


# ---------------------------------------------------------------------------------------- attacks


def _join_halves(
    people: Int64Array, by_half: list[tuple[Int32Array, Float64Array]], half: _Halves | None
) -> _Guesses:
    """Join the guesses of models trained on either half, or take those of the only model."""
    if half is None:
        return _Guesses(people, *by_half[0])
    own_half = half.of_person[people]
    guesses, gain = (np.where(own_half, by_half[1][part], by_half[0][part]) for part in (0, 1))
    unseen = np.where(own_half, by_half[0][0], by_half[1][0])
    return _Guesses(people, guesses.astype(np.int32), gain, unseen.astype(np.int32))


def _bayes(
    view: View, attribute: SensitiveAttribute, people: Int64Array, half: _Halves | None
) -> dict[str, _Guesses]:
    """Naïve Bayes exactly as HET §6 defines it, classic and corrected."""
    counted = [_count_values(view, attribute, train) for train in _training_sets(half)]
    return {
        name: _join_halves(
            people,
            [
                _best(
                    _normalize(log_likelihoods(view.columns, *known, alpha, people), attribute),
                    attribute,
                )
                for known in counted
            ],
            half,
        )
        for name, alpha in _ALPHAS.items()
    }


def _training_sets(half: _Halves | None) -> list[BoolArray | None]:
    """The records that each model is trained on: all, or either half."""
    return [None] if half is None else [~half.of_record, half.of_record]


def _count_values(
    view: View, attribute: SensitiveAttribute, train: BoolArray | None
) -> tuple[list[Float64Array], Float64Array]:
    """For each quasi-identifier: records by contained code and value; and records by value."""
    mixtures = attribute.mixtures
    if train is not None:
        number = np.flatnonzero(train)
        keep = csr_array((np.ones(len(number)), (number, number)), shape=(len(train), len(train)))
        mixtures = (keep @ mixtures).tocsr()
    totals: Float64Array = np.asarray(mixtures.sum(axis=0), np.float64).ravel()
    return [counts_by_containment(column, mixtures) for column in view.columns], totals


def _draw_values(
    attribute: SensitiveAttribute, records: Int64Array, generator: np.random.Generator
) -> Int32Array:
    """The values of some records; where published by group, one drawn from each one's group."""
    codes = attribute.sensitive_codes[records]
    if attribute.groups is None:
        return codes
    sums: Float64Array = np.cumsum(attribute.mixtures[records].toarray(), axis=1)
    drawn = generator.random((len(records), 1)) * sums[:, -1:]
    return np.asarray((drawn > sums).sum(axis=1), np.int32)


def _boosting(
    view: View, attribute: SensitiveAttribute, half: _Halves | None, generator: np.random.Generator
) -> _Guesses:
    """Gradient boosting on a possible world of the records."""
    people = _sample(view.people.num_rows, _SAMPLE, generator)
    codes = np.stack([column.codes[people] for column in view.columns], axis=1)
    features = codes.astype(np.float64)
    kinds = len(attribute.reference.overall)
    records = np.flatnonzero(attribute.sensitive_codes >= 0)

    def guesses_of(train: BoolArray | None) -> tuple[Int32Array, Float64Array]:
        known = records if train is None else records[train[records]]
        known = known[_sample(len(known), _SAMPLE, generator)]
        rows = sample_possible_world(view.columns, known, generator)
        values = _draw_values(attribute, known, generator)
        return _best(boosting_probabilities(rows, values, features, view.seed, kinds), attribute)

    return _join_halves(people, [guesses_of(train) for train in _training_sets(half)], half)


def _beliefs_from_originals(
    view: View,
    attribute: SensitiveAttribute,
    own: Int32Array,
    people: Int64Array,
    generator: np.random.Generator,
) -> Float64Array:
    """Probabilities [people, values] from boosting that was trained on others' originals."""
    codes = np.stack([column.codes for column in view.columns], axis=1).astype(np.float64)
    side = generator.permutation(len(own)) % 2 == 0
    beliefs = np.tile(attribute.reference.overall, (len(people), 1))
    for train in (False, True):
        known, tested = np.flatnonzero(side == train), np.flatnonzero(side[people] != train)
        if len(known) and len(tested):
            known = known[_sample(len(known), _SAMPLE, generator)]
            beliefs[tested] = boosting_probabilities(
                codes[known], own[known], codes[people[tested]], view.seed, beliefs.shape[1]
            )
    return beliefs


def _combined_belief(
    edges: Edges, attribute: SensitiveAttribute, people: Int64Array, beliefs: Float64Array
) -> float:
    """The mean belief that is allowed to anyone who knows the others and a person's matches.

    Beliefs learned from others are weighted by the shares of values among a person's matches, as
    far as the caps allow these; what is beyond a cap counts as unknown.
    """
    starts, records = edges.matches
    matches = csr_array((np.ones(len(records)), records, starts), shape=(edges.records,) * 2)
    shares: Float64Array = (matches[people] @ attribute.mixtures).toarray()
    shares /= np.maximum(np.diff(starts)[people], 1)[:, None]
    shares = np.minimum(shares, attribute.reference.caps)
    shares += np.maximum(1 - shares.sum(axis=1, keepdims=True), 0.0) * attribute.reference.overall
    weighted = beliefs * shares
    return float((weighted.max(axis=1) / np.maximum(weighted.sum(axis=1), 1e-300)).mean())


def _definetti(view: View, attribute: SensitiveAttribute, people: Int64Array) -> _Guesses:
    """Start from the values on everybody's matches, and reweight them by what is learned.

    This is Kifer's attack, with naïve Bayes (Laplace) on exact quasi-identifiers, for matches by
    containment instead of groups: belief in a value = its share on the matches × the likelihood
    of the person's quasi-identifiers given the value.
    """
    index = view.full_index
    shares = mixtures_of_points(index, attribute.mixtures)[index.place_of[people]]
    totals = shares.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, shares / np.maximum(totals, 1e-12), attribute.reference.overall)
    beliefs = shares
    for _ in range(_ROUNDS):
        count = beliefs.sum(axis=0)
        logs = np.zeros_like(beliefs)
        for column in view.columns:
            codes = column.codes[people]
            present, rows = np.unique(codes, return_inverse=True)
            shape = (len(present), len(people))
            belongs = csr_array(
                (np.ones(len(people)), (rows.ravel(), np.arange(len(people)))), shape=shape
            )
            by_code: Float64Array = np.asarray(belongs @ beliefs)
            logs += (np.log(by_code + 1) - np.log(count + len(present)))[rows.ravel()]
        with np.errstate(divide="ignore"):
            beliefs = _normalize(np.log(shares) + logs, attribute)
    return _Guesses(people, *_best(beliefs, attribute))
