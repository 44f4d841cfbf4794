"""Learning attacks: who like whom has what, learned from the release (HET §6).

Naïve Bayes on counts of the records whose cells contain a value (Cormode), classic and with
Laplace's correction; gradient boosting on possible worlds of the records; and deFinetti (Kifer),
which learns from everybody's exact quasi-identifiers which of the values on a person's matches is
the likeliest, again and again. Beside them the share of the commonest value, and what the same
learner gets from the original.

Learning that doctorates go with professors is what releases are for, and works as well on people
who are not in the table. No guarantee rules it out: caps bound what a person's *own* matches tell.
So the learners are taught twice, each time without the records of one half of the people, and a
release is broken by them if they are right about people whose records they saw more often than the
caps allow, than about people whose records they did not see, and than both give together: beliefs
learned from the originals of others, weighed by shares on the person's matches that keep the caps.
deFinetti has no such comparison and is for information.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mottle.audit.base import register
from mottle.audit.links.edges import Edges
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge
from mottle.audit.sensitive.learners import (
    boosted,
    counts_by_containment,
    log_likelihoods,
    mixtures_of_points,
    possible_worlds,
)
from mottle.audit.sensitive.published_values import Seen
from mottle.audit.view import Evidence, View
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_MOST_VALUES = 200
_SAMPLE = 8_000  # records learned from by boosting, and people guessed
_MOST_PEOPLE = 100_000  # guessed by Naïve Bayes and deFinetti
_EXPOSED = 0.1
_ROUNDS = 8  # of deFinetti
_ALPHAS = {"naïve Bayes": 0.0, "naïve Bayes, Laplace": 1.0}


class _Learned(NamedTuple):
    """Guesses about some people by one attack."""

    people: Int64Array
    guesses: Int32Array
    sure: Float64Array  # belief in the guess, by its share in the whole table
    unseen: Int32Array | None = None  # guesses learned without the own record


@register(
    "learning",
    title="learns from the release which people have what",
    assumes="knows everybody's quasi-identifiers; does not know the algorithm; sees that people who"
    " are alike have alike values",
)
def learning(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """All attacks on every sensitive column that has few enough values."""
    for seen, own in zip(view.sensitive, evidence.own, strict=True):
        name = " × ".join(seen.columns)
        measure = f"{name}: right guesses by learning"
        if len(seen.values.overall) > _MOST_VALUES:
            why = {"not_played": f"more than {_MOST_VALUES} different values"}
            yield Outcome(measure, None, details=why)
            continue
        yield _played(measure, view, evidence, seen, own)


def _played(measure: str, view: View, evidence: Evidence, seen: Seen, own: Int32Array) -> Outcome:
    generator = np.random.default_rng(view.seed)
    people = _some(view.people.num_rows, _MOST_PEOPLE, generator)
    half = _halves(view, evidence, generator)
    attacks = _bayes(view, seen, people, half)
    attacks["gradient boosting"] = _boosting(view, seen, half, generator)
    asked = attacks["gradient boosting"].people
    known = _taught_by_originals(view, seen, own, asked, generator)
    attacks["deFinetti"] = _definetti(view, seen, people)
    clusters = _clusters(view, evidence)
    judged: dict[str, _Judged] = {}
    together = None
    if evidence.part is not None and half is not None:
        together = _together(evidence.part.edges, seen, asked, known)
        judged = {
            name: _judge(learned, own, seen, clusters, together)
            for name, learned in attacks.items()
            if learned.unseen is not None
        }
    facts: dict[str, Any] = {
        "columns": list(seen.columns),
        "individuals": view.people.num_rows,
        "attacks": {name: _facts(learned, own, seen) for name, learned in attacks.items()},
        "majority": float(seen.values.overall.max()),
        "gradient boosting on the original": float((known.argmax(axis=1) == own[asked]).mean()),
        "others_and_matches_together": together,
    }
    for name, found in judged.items():
        facts["attacks"][name] |= {
            "right_if_own_record_unseen": found.unseen,
            "caps_of_guesses": found.caps,
            "sigma": found.accuracy.sigma,
        }
    best = max(
        float((learned.guesses == own[learned.people]).mean()) for learned in attacks.values()
    )
    if not seen.capped or not judged:
        return Outcome(measure, best, details=facts)
    verdicts = [found.accuracy.passed for found in judged.values()]
    worst = max(
        (found.accuracy for found in judged.values()),
        key=lambda accuracy: (accuracy.passed is False, accuracy.right - accuracy.allowed),
    )
    passed = False if False in verdicts else (True if True in verdicts else None)
    return Outcome(measure, worst.right, worst.allowed, passed, facts)


def _some(count: int, most: int, generator: np.random.Generator) -> Int64Array:
    """All numbers below ``count``, or some of them drawn at random."""
    if count <= most:
        return np.arange(count)
    return np.sort(generator.choice(count, most, replace=False))


# ---------------------------------------------------------------------------------------- judging


class _Halves(NamedTuple):
    """Records and people dealt into two halves, each person where the own record is."""

    of_record: BoolArray
    of_person: BoolArray


def _halves(view: View, evidence: Evidence, generator: np.random.Generator) -> _Halves | None:
    """Everybody's half; None where it is not known which record is whose."""
    part = evidence.part
    if part is None or evidence.links is None or len(part.people) < view.people.num_rows:
        return None
    of_record = generator.permutation(view.records) % 2 == 0
    of_person = np.empty(view.people.num_rows, np.bool_)
    of_person[evidence.links.truth] = of_record
    return _Halves(of_record, of_person)


class _Judged(NamedTuple):
    accuracy: GuessAccuracy
    unseen: float
    caps: float


def _judge(
    learned: _Learned, own: Int32Array, seen: Seen, clusters: Int64Array, together: float
) -> _Judged:
    """Right guesses about people whose records were seen, against what may be right.

    That is what caps allow, what is right about people unseen, or what both give together.

    The variance is that of the difference, person by person, so that what makes people of a block
    easy to guess counts on both sides.
    """
    assert learned.unseen is not None
    own = own[learned.people]
    right = learned.guesses == own
    unseen = learned.unseen == own
    caps = seen.values.caps[learned.guesses]
    by_caps = judge(right, caps, clusters[learned.people])
    by_others = judge(right, np.full(len(right), unseen.mean()), clusters[learned.people])
    spread = judge(right, unseen.astype(np.float64), clusters[learned.people]).sigma
    allowed = max(by_caps.allowed, by_others.allowed, together)
    sigma = max(by_caps.sigma if allowed == by_caps.allowed else 0.0, spread, by_others.sigma)
    accuracy = GuessAccuracy(len(right), float(right.mean()), allowed, sigma, len(_ALPHAS) + 1)
    return _Judged(accuracy, float(unseen.mean()), float(caps.mean()))


def _clusters(view: View, evidence: Evidence) -> Int64Array:
    if evidence.links is not None:
        return evidence.links.clusters
    return np.arange(view.people.num_rows)


def _facts(learned: _Learned, own: Int32Array, seen: Seen) -> dict[str, Any]:
    """Accuracy, and for the most exposed how much more often right than by their values' shares."""
    right = learned.guesses == own[learned.people]
    exposed = np.argsort(-learned.sure, kind="stable")
    exposed = exposed[: int(np.ceil(_EXPOSED * len(exposed)))]
    usual = float(seen.values.overall[learned.guesses[exposed]].mean())
    return {
        "people": len(right),
        "right": float(right.mean()),
        "right_of_most_exposed": float(right[exposed].mean()),
        "lift_of_most_exposed": float(right[exposed].mean()) / usual if usual else None,
    }


def _best(scores: Float64Array, seen: Seen) -> tuple[Int32Array, Float64Array]:
    """The likeliest value of every row of probabilities, and its gain over the whole table."""
    guesses = np.argmax(scores, axis=1).astype(np.int32)
    usual = np.maximum(seen.values.overall[guesses], 1e-12)
    return guesses, scores[np.arange(len(guesses)), guesses] / usual


def _normal(logs: Float64Array, seen: Seen) -> Float64Array:
    """Logarithms as probabilities; the shares of the whole table where all are impossible."""
    highest = logs.max(axis=1, keepdims=True)
    possible = np.isfinite(highest)
    scores = np.exp(logs - np.where(possible, highest, 0.0))
    scores = np.where(possible, scores, seen.values.overall)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


# ---------------------------------------------------------------------------------------- attacks


def _combined(
    people: Int64Array, by_half: list[tuple[Int32Array, Float64Array]], half: _Halves | None
) -> _Learned:
    """Guesses taught with the own half, and those taught with the other; or by all at once."""
    if half is None:
        return _Learned(people, *by_half[0])
    own_half = half.of_person[people]
    guesses, sure = (np.where(own_half, by_half[1][part], by_half[0][part]) for part in (0, 1))
    unseen = np.where(own_half, by_half[0][0], by_half[1][0])
    return _Learned(people, guesses.astype(np.int32), sure, unseen.astype(np.int32))


def _bayes(view: View, seen: Seen, people: Int64Array, half: _Halves | None) -> dict[str, _Learned]:
    """Naïve Bayes exactly as HET §6 defines it, classic and corrected."""
    counted = [_counted(view, seen, taught) for taught in _lessons(half)]
    return {
        name: _combined(
            people,
            [
                _best(_normal(log_likelihoods(view.columns, *known, alpha, people), seen), seen)
                for known in counted
            ],
            half,
        )
        for name, alpha in _ALPHAS.items()
    }


def _lessons(half: _Halves | None) -> list[BoolArray | None]:
    """The records that each model is taught with: all, or either half."""
    return [None] if half is None else [~half.of_record, half.of_record]


def _counted(
    view: View, seen: Seen, taught: BoolArray | None
) -> tuple[list[Float64Array], Float64Array]:
    """By quasi-identifier the records of each value that contain each code; and all of a value."""
    mixtures = seen.mixtures
    if taught is not None:
        number = np.flatnonzero(taught)
        keep = csr_array((np.ones(len(number)), (number, number)), shape=(len(taught), len(taught)))
        mixtures = (keep @ mixtures).tocsr()
    totals: Float64Array = np.asarray(mixtures.sum(axis=0), np.float64).ravel()
    return [counts_by_containment(column, mixtures) for column in view.columns], totals


def _drawn_values(seen: Seen, records: Int64Array, generator: np.random.Generator) -> Int32Array:
    """The value of some records; of those published apart, one of their group."""
    marks = seen.sensitive_codes[records]
    if seen.groups is None:
        return marks
    sums: Float64Array = np.cumsum(seen.mixtures[records].toarray(), axis=1)
    tiebreak = generator.random((len(records), 1)) * sums[:, -1:]
    return np.asarray((tiebreak > sums).sum(axis=1), np.int32)


def _boosting(
    view: View, seen: Seen, half: _Halves | None, generator: np.random.Generator
) -> _Learned:
    """Gradient boosting on a possible world of the records."""
    people = _some(view.people.num_rows, _SAMPLE, generator)
    asked = np.stack([column.codes[people] for column in view.columns], axis=1).astype(np.float64)
    kinds = len(seen.values.overall)
    records = np.flatnonzero(seen.sensitive_codes >= 0)

    def taught_by(taught: BoolArray | None) -> tuple[Int32Array, Float64Array]:
        known = records if taught is None else records[taught[records]]
        known = known[_some(len(known), _SAMPLE, generator)]
        rows = possible_worlds(view.columns, known, generator)
        values = _drawn_values(seen, known, generator)
        return _best(boosted(rows, values, asked, view.seed, kinds), seen)

    return _combined(people, [taught_by(taught) for taught in _lessons(half)], half)


def _taught_by_originals(
    view: View, seen: Seen, own: Int32Array, people: Int64Array, generator: np.random.Generator
) -> Float64Array:
    """What boosting believes of some people, [people, values], taught by others' originals."""
    codes = np.stack([column.codes for column in view.columns], axis=1).astype(np.float64)
    side = generator.permutation(len(own)) % 2 == 0
    beliefs = np.tile(seen.values.overall, (len(people), 1))
    for taught in (False, True):
        known, asked = np.flatnonzero(side == taught), np.flatnonzero(side[people] != taught)
        if len(known) and len(asked):
            known = known[_some(len(known), _SAMPLE, generator)]
            beliefs[asked] = boosted(
                codes[known], own[known], codes[people[asked]], view.seed, beliefs.shape[1]
            )
    return beliefs


def _together(edges: Edges, seen: Seen, people: Int64Array, beliefs: Float64Array) -> float:
    """What may be believed of people on average by whoever knows the others, and their matches.

    Beliefs learned from others are weighed by the shares of values among a person's matches, as
    far as caps allow these; what is beyond a cap counts as unknown.
    """
    starts, records = edges.matches
    matches = csr_array((np.ones(len(records)), records, starts), shape=(edges.records,) * 2)
    shares: Float64Array = (matches[people] @ seen.mixtures).toarray()
    shares /= np.maximum(np.diff(starts)[people], 1)[:, None]
    shares = np.minimum(shares, seen.values.caps)
    shares += np.maximum(1 - shares.sum(axis=1, keepdims=True), 0.0) * seen.values.overall
    weighed = beliefs * shares
    return float((weighed.max(axis=1) / np.maximum(weighed.sum(axis=1), 1e-300)).mean())


def _definetti(view: View, seen: Seen, people: Int64Array) -> _Learned:
    """Start from the values on everybody's matches; learn who has what, and weigh them by that.

    As Kifer's attack, with Naïve Bayes (Laplace) on exact quasi-identifiers, for matches by
    containment instead of groups: belief in a value = its share on the matches × the likelihood
    of the person's quasi-identifiers given the value.
    """
    index = view.everybody
    shares = mixtures_of_points(index, seen.mixtures)[index.place_of[people]]
    totals = shares.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, shares / np.maximum(totals, 1e-12), seen.values.overall)
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
            beliefs = _normal(np.log(shares) + logs, seen)
    guesses, sure = _best(beliefs, seen)
    return _Learned(people, guesses, sure)
