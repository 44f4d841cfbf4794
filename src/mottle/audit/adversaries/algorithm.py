"""Algorithm-aware: guesses that know how the graph was built and drawn, and repeated draws.

Where a graph is built with sensitive values in mind, the way they repeat among a person's matches
may tell the own one: after a random walk a value seen twice is not it (the strike-out adversary).
The adversary here knows the graph. He guesses by fixed rules (the value seen once, seen most, the
rarest, the commonest), and by a rule that he learns from simulated runs: how often is a value the
own one, given how often it is seen, among how many others, and how rare it is?

If the release is sound, everything the draw could have made true is as likely as what it did make
true. So the draw is repeated on the same graph, and each time the people are given the values that
it would have meant. How far right guesses vary over these worlds is exactly how far they may vary
by chance, however people depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom, chi2

from mottle.audit.base import register
from mottle.audit.links.edges import Edges, Part
from mottle.audit.links.redraw import Redraw, describe, edges_to, heaviest, redraw_of, some_blocks
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy
from mottle.audit.sensitive.published_values import Seen
from mottle.audit.view import Evidence, View
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_MOST_EDGES = 2_000_000  # of the blocks that are attacked; of more, some blocks are drawn
_WORLDS = 200  # repeated draws that say what is chance …
_FEWEST_WORLDS = 40
_WORK = 60_000_000  # … or as many as look at so many edges
_LESSONS = 12  # simulated runs that a rule is learned from
_DOUBT = 20.0  # cases of the average that every class of cases begins with
_EXPOSED = 0.1  # the part of all people who count as the most exposed
_MOST = (16, 32, 16)  # classes of times seen, different values, rarer values
_FREQUENCY_EDGES = 20_000
_FREQUENCY_DEGREE = 40
_DRAWS = 400
_CHANCE = 0.00135  # three standard deviations

_RIGHT = "right guesses by what the algorithm does"
_FREQUENT = "highest frequency of a link over repeated draws, by its chance"


@register(
    "algorithm",
    title="knows how the graph was built and drawn, and strikes out what that rules out",
    assumes="knows everybody's quasi-identifiers, the algorithm and its graph, and has tried it on"
    " similar data",
)
def algorithm(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Guesses about every capped column, then the frequencies of links over repeated draws."""
    draw = view.draw
    if evidence.part is None or not draw:
        why = "needs the private link file and a certificate that says how it drew"
        yield Outcome(_RIGHT, None, details={"not_played": why})
        return
    part = some_blocks(evidence.part, _MOST_EDGES, view.seed)
    if part is None:
        yield Outcome(_RIGHT, None, details={"not_played": "no block is small enough"})
        return
    redraw = redraw_of(part.edges, draw)
    if redraw is None:
        facts = {"draw": draw, "why": "these links cannot come from the draw that is certified"}
        yield Outcome("draws other than the certified one", 1, 0, False, facts)
        return
    examined = part.facts(int(view.people.num_rows))
    for seen, own in zip(view.sensitive, evidence.own, strict=True):
        if seen.capped:
            yield _guesses(seen, own[part.people], part, redraw, view.seed, examined)
    if draw != "apart":
        yield _frequencies(part, draw, view.seed)


# ---------------------------------------------------------------------------------------- guesses


class _Guess(NamedTuple):
    """A rule's guesses: the values of these edges, so many of them equally good."""

    chosen: BoolArray  # [edges, by original]
    ties: Int64Array  # [people]
    whom: BoolArray  # [people]: about whom a guess is made


def _guesses(
    seen: Seen, own: Int32Array, part: Part, redraw: Redraw, seed: int, examined: dict[str, object]
) -> Outcome:
    """The best of all rules against what the caps allow."""
    edges = part.edges
    marks = seen.sensitive_codes[part.records]
    starts, records = edges.matches
    rules = _rules(edges, marks, own, seen, redraw, seed)
    values_seen = marks[records]
    caps = np.append(seen.values.caps, 1.0)[values_seen]
    people = np.repeat(np.arange(edges.records), np.diff(starts))
    truly = _is_own(people, values_seen, own)
    worlds = max(min(_WORLDS, _WORK // max(len(records), 1)), _FEWEST_WORLDS)
    drawn = [
        edges_to(starts, records, redraw.record_of_person(seed + 1 + world))
        for world in range(worlds)
    ]
    tried: dict[str, GuessAccuracy] = {}
    by_chance: dict[str, float] = {}
    for rule, guess in rules.items():
        whom, ties = guess.whom, np.maximum(guess.ties, 1)
        if not whom.any():
            continue
        of_worlds = [float((guess.chosen[made] / ties)[whom].mean()) for made in drawn]
        right = np.zeros(edges.records, np.bool_)
        right[people[guess.chosen & truly]] = True
        allowed = np.bincount(people, guess.chosen * caps, edges.records) / np.maximum(
            np.bincount(people, guess.chosen, edges.records), 1
        )
        tried[rule] = GuessAccuracy(
            guesses=int(np.count_nonzero(whom)),
            right=float((right / ties)[whom].mean()),
            allowed=float(allowed[whom].mean()),
            sigma=float(np.std(of_worlds)),
            trials=len(rules),
        )
        by_chance[rule] = float(np.mean(of_worlds))
    name = " × ".join(seen.columns)
    facts: dict[str, Any] = {
        "columns": list(seen.columns),
        "draw": redraw.draw,
        **examined,
        "repeated_draws": worlds,
        "guesses": {
            rule: {**found.facts(), "right_in_repeated_draws": by_chance[rule]}
            for rule, found in tried.items()
        },
    }
    if not tried:
        return Outcome(f"{name}: {_RIGHT}", None, details={"not_played": "nothing to guess by"})
    verdicts = [found.passed for found in tried.values()]
    worst = max(
        tried.values(),
        key=lambda found: (found.passed is False, found.right / max(found.allowed, 1e-12)),
    )
    passed = False if False in verdicts else (True if True in verdicts else None)
    return Outcome(f"{name}: {_RIGHT}", worst.right, worst.allowed, passed, facts)


def _is_own(people: Int64Array, values_seen: Int32Array, own: Int32Array) -> BoolArray:
    """By edge: whether the value published there is the original's own."""
    return np.asarray(values_seen == own[people])


def _rules(
    edges: Edges, marks: Int32Array, own: Int32Array, seen: Seen, redraw: Redraw, seed: int
) -> dict[str, _Guess]:
    """What every rule guesses from the release; the learned ones look at other parts of it."""
    starts, records = edges.matches
    overall = seen.values.overall
    known = marks[records] >= 0
    share = np.where(known, np.append(overall, 0.0)[marks[records]], 0.0)
    times, kinds, rarer = describe(starts, records, marks, overall)
    scores = _scores(edges, own, seen, redraw, seed)
    people = np.repeat(np.arange(edges.records), np.diff(starts))
    fold = _folds(edges, seed)[people]
    learned = np.where(known, scores[fold, _classes(times, kinds, rarer)], 0.0)
    learned = learned / np.append(seen.values.caps, 1.0)[marks[records]]
    weights = {
        "seen once": (times == 1).astype(np.float64),
        "seen most": times.astype(np.float64),
        "rarest": np.divide(1.0, share, out=np.zeros_like(share), where=share > 0),
        "commonest": share,
        "learned": learned,
    }
    rules = {}
    for rule, weight in weights.items():
        chosen, ties = heaviest(starts, records, marks, weight, len(overall))
        rules[rule] = _Guess(chosen, ties, ties > 0)
    sure = np.zeros(edges.records)
    np.maximum.at(sure, people, learned)
    exposed = sure >= np.quantile(sure, 1 - _EXPOSED)
    rules["learned, most exposed"] = rules["learned"]._replace(whom=rules["learned"].whom & exposed)
    return rules


def _scores(edges: Edges, own: Int32Array, seen: Seen, redraw: Redraw, seed: int) -> Float64Array:
    """By fold of people: how often a value of each class is the own one, learned from the others.

    The lessons are runs of the same draw on graphs like the one attacked: its other half, or the
    whole of it where it hangs together.
    """
    starts, records = edges.matches
    people = np.repeat(np.arange(edges.records), np.diff(starts))
    fold = _folds(edges, seed)[people]
    others = 1 - fold if fold.max() else fold
    classes = int(np.prod(_MOST))
    hits, cases = np.zeros((2, classes)), np.zeros((2, classes))
    for lesson in range(_LESSONS):
        record_of = redraw.record_of_person(seed + 10_000 + lesson)
        marks = np.empty(edges.records, np.int32)
        marks[record_of] = own
        told = _classes(*describe(starts, records, marks, seen.values.overall))
        key = others * classes + told
        right = _is_own(people, marks[records], own)
        cases += np.bincount(key, minlength=2 * classes).reshape(2, classes)
        hits += np.bincount(key, right, minlength=2 * classes).reshape(2, classes)
    usual = hits.sum() / max(cases.sum(), 1)
    return np.asarray((hits + _DOUBT * usual) / (cases + _DOUBT))


def _folds(edges: Edges, seed: int) -> Int64Array:
    """By original: 0 or 1 by lot, the same for all that hang together; all 0 if all do."""
    number = np.unique(edges.clusters, return_inverse=True)[1].ravel()
    tiebreak = np.random.default_rng(seed).permutation(int(number.max()) + 1) % 2
    return np.asarray(tiebreak[number], np.int64)


def _classes(times: Int32Array, kinds: Int32Array, rarer: Int32Array) -> Int64Array:
    """One number for how often a value is seen, among how many, and how rare it is."""
    parts = [
        np.minimum(part, most - 1) for part, most in zip((times, kinds, rarer), _MOST, strict=True)
    ]
    return np.asarray((parts[0] * _MOST[1] + parts[1]) * _MOST[2] + parts[2], np.int64)


# ------------------------------------------------------------------------------------ frequencies


def _frequencies(part: Part, draw: str, seed: int) -> Outcome:
    """How often each link becomes true over many draws, against 1/m for everybody's m links.

    The most frequent link is judged by its binomial tail times the number of links, which holds
    however links depend on each other; one person of every block gives a chi-square.
    """
    small = some_blocks(part, _FREQUENCY_EDGES, seed, _FREQUENCY_DEGREE)
    redraw = None if small is None else redraw_of(small.edges, draw)
    if small is None or redraw is None:
        why = f"needs blocks of at most {_FREQUENCY_EDGES:,} links, {_FREQUENCY_DEGREE} a person"
        return Outcome(_FREQUENT, None, details={"not_played": why})
    edges = small.edges
    starts, records = edges.matches
    hits = np.zeros(len(records), np.int64)
    for number in range(_DRAWS):
        hits[edges_to(starts, records, redraw.record_of_person(seed + 20_000 + number))] += 1
    degrees = np.repeat(np.diff(starts), np.diff(starts))
    tails = np.minimum(binom.sf(hits - 1, _DRAWS, 1 / degrees) * len(hits), 1.0)
    rarest = np.minimum(binom.cdf(hits, _DRAWS, 1 / degrees) * len(hits), 1.0)
    _, one_each = np.unique(edges.clusters, return_index=True)
    excess = (hits - _DRAWS / degrees) ** 2 * degrees / _DRAWS
    by_person = np.add.reduceat(excess, starts[:-1])
    square, free = float(by_person[one_each].sum()), int((np.diff(starts)[one_each] - 1).sum())
    chance = float(chi2.sf(square, free))
    highest = float((hits * degrees / _DRAWS).max())
    least = float(degrees.min())
    limit = float(binom.isf(_CHANCE / len(hits), _DRAWS, 1 / degrees.max())) + 1
    facts = {
        "draw": draw,
        "draws": _DRAWS,
        "links": len(hits),
        "people": edges.records,
        "least_matches": least,
        "chi_square": square,
        "degrees_of_freedom": free,
        "chance_of_chi_square": chance,
        "chance_of_most_frequent": float(tails.min()),
        "chance_of_rarest": float(rarest.min()),
    }
    passed = min(tails.min(), rarest.min(), chance) >= _CHANCE
    allowed = limit * float(degrees.max()) / _DRAWS
    return Outcome(_FREQUENT, highest, allowed, bool(passed), facts)
