"""The algorithm-aware adversary: guesses based on how the graph was built and drawn.

Where a graph is built with sensitive values in mind, the way values repeat among a person's
matches may reveal the person's own value: after a random walk, a value that occurs twice is not the
own one (the strike-out adversary). The adversary here knows the graph. It guesses by fixed rules
(the value that occurs once, occurs most often, is rarest, or is most common), and by a rule that it
learns from simulated runs: how often a value is the own one, given how often it occurs, among how
many others, and how rare it is.

If the release is sound, every assignment that the draw could have produced is as likely as the one
it did produce. The draw is therefore repeated on the same graph, and each time people are given the
values that this draw would have meant. The variation of right guesses over these worlds is exactly
the variation that chance allows, however people depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom, chi2

from mottle.audit.base import register
from mottle.audit.links.edges import Edges, Subgraph
from mottle.audit.links.redraw import (
    Redraw,
    describe_edges,
    edges_leading_to,
    heaviest_edges,
    prepare_redraw,
    sample_blocks,
)
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy
from mottle.audit.sensitive.published_values import SensitiveAttribute
from mottle.audit.view import Evidence, View
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array

_MOST_EDGES = 2_000_000  # edges that are attacked; larger graphs are sampled by block
_WORLDS = 200  # repeated draws that measure what is due to chance, unless _WORK allows fewer
_FEWEST_WORLDS = 40  # repeated draws that are made in any case
_WORK = 60_000_000  # edges that all repeated draws together may look at
_LESSONS = 12  # simulated runs that a rule is learned from
_PRIOR_CASES = 20.0  # average cases that every class of cases starts with (smoothing)
_EXPOSED = 0.1  # the share of all people who count as the most exposed
_CLASSES = (16, 32, 16)  # number of classes for occurrences, distinct values, rarer values
_FREQUENCY_EDGES = 20_000  # edges of the blocks whose links are counted over repeated draws
_FREQUENCY_DEGREE = 40  # highest degree of these blocks
_DRAWS = 400  # repeated draws over which links are counted
_CHANCE = 0.00135  # one-sided tail beyond three standard deviations

_RIGHT = "right guesses by what the algorithm does"
_FREQUENT = "highest frequency of a link over repeated draws, by its chance"


@register(
    "algorithm",
    title="knows how the graph was built and drawn, and strikes out what that rules out",
    assumes="knows everybody's quasi-identifiers, the algorithm and its graph, and has run it on"
    " similar data",
    seconds=25,
)
def algorithm(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Guess every capped attribute, then count how often links occur over repeated draws."""
    draw = view.draw
    if evidence.subgraph is None or not draw:
        why = "needs the private link file and a certificate that states the draw"
        yield Outcome(_RIGHT, None, details={"not_played": why})
        return
    subgraph = sample_blocks(evidence.subgraph, _MOST_EDGES, view.seed)
    if subgraph is None:
        yield Outcome(_RIGHT, None, details={"not_played": "no block is small enough"})
        return
    redraw = prepare_redraw(subgraph.edges, draw)
    if redraw is None:
        facts = {"draw": draw, "why": "these links cannot come from the certified draw"}
        yield Outcome("draws other than the certified one", 1, 0, False, facts)
        return
    examined = subgraph.facts(int(view.people.num_rows))
    for attribute, own in zip(view.sensitive, evidence.own_codes, strict=True):
        if attribute.capped:
            yield _guesses(attribute, own[subgraph.people], subgraph, redraw, view.seed, examined)
    if draw != "apart":
        yield _frequencies(subgraph, draw, view.seed)


# ---------------------------------------------------------------------------------------- guesses


class _Guess(NamedTuple):
    """A rule's guesses: for each person the values of some edges, all equally good."""

    chosen: BoolArray  # [edges, by original]: whether the edge's value is guessed
    ties: Int64Array  # [people]: the number of values that are guessed
    guessed: BoolArray  # [people]: whether a guess is made about the person


def _guesses(
    attribute: SensitiveAttribute,
    own: Int32Array,
    subgraph: Subgraph,
    redraw: Redraw,
    seed: int,
    examined: dict[str, object],
) -> Outcome:
    """Compare the best of all rules with what the caps allow."""
    edges = subgraph.edges
    codes = attribute.sensitive_codes[subgraph.records]
    starts, records = edges.matches
    rules = _rules(edges, codes, own, attribute, redraw, seed)
    values_seen = codes[records]
    caps = np.append(attribute.reference.caps, 1.0)[values_seen]
    people = np.repeat(np.arange(edges.records), np.diff(starts))
    truly = _is_own(people, values_seen, own)
    worlds = max(min(_WORLDS, _WORK // max(len(records), 1)), _FEWEST_WORLDS)
    drawn = [
        edges_leading_to(starts, records, redraw.record_of_person(seed + 1 + world))
        for world in range(worlds)
    ]
    tried: dict[str, GuessAccuracy] = {}
    by_chance: dict[str, float] = {}
    for rule, guess in rules.items():
        guessed, ties = guess.guessed, np.maximum(guess.ties, 1)
        if not guessed.any():
            continue
        of_worlds = [float((guess.chosen[made] / ties)[guessed].mean()) for made in drawn]
        right = np.zeros(edges.records, np.bool_)
        right[people[guess.chosen & truly]] = True
        allowed = np.bincount(people, guess.chosen * caps, edges.records) / np.maximum(
            np.bincount(people, guess.chosen, edges.records), 1
        )
        tried[rule] = GuessAccuracy(
            guesses=int(np.count_nonzero(guessed)),
            right=float((right / ties)[guessed].mean()),
            allowed=float(allowed[guessed].mean()),
            sigma=float(np.std(of_worlds)),
            trials=len(rules),
        )
        by_chance[rule] = float(np.mean(of_worlds))
    name = attribute.name
    facts: dict[str, Any] = {
        "columns": list(attribute.columns),
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
    """For each edge: whether the value published there is the original's own."""
    return np.asarray(values_seen == own[people])


def _rules(
    edges: Edges,
    codes: Int32Array,
    own: Int32Array,
    attribute: SensitiveAttribute,
    redraw: Redraw,
    seed: int,
) -> dict[str, _Guess]:
    """The guesses of every rule; learned rules are taught by the other part of the release."""
    starts, records = edges.matches
    overall = attribute.reference.overall
    known = codes[records] >= 0
    share = np.where(known, np.append(overall, 0.0)[codes[records]], 0.0)
    times, kinds, rarer = describe_edges(starts, records, codes, overall)
    scores = _scores(edges, own, attribute, redraw, seed)
    people = np.repeat(np.arange(edges.records), np.diff(starts))
    fold = _folds(edges, seed)[people]
    learned = np.where(known, scores[fold, _classes(times, kinds, rarer)], 0.0)
    learned = learned / np.append(attribute.reference.caps, 1.0)[codes[records]]
    weights = {
        "seen once": (times == 1).astype(np.float64),
        "seen most": times.astype(np.float64),
        "rarest": np.divide(1.0, share, out=np.zeros_like(share), where=share > 0),
        "commonest": share,
        "learned": learned,
    }
    rules = {}
    for rule, weight in weights.items():
        chosen, ties = heaviest_edges(starts, records, codes, weight, len(overall))
        rules[rule] = _Guess(chosen, ties, ties > 0)
    belief = np.zeros(edges.records)
    np.maximum.at(belief, people, learned)
    exposed = belief >= np.quantile(belief, 1 - _EXPOSED)
    rules["learned, most exposed"] = rules["learned"]._replace(
        guessed=rules["learned"].guessed & exposed
    )
    return rules


def _scores(
    edges: Edges, own: Int32Array, attribute: SensitiveAttribute, redraw: Redraw, seed: int
) -> Float64Array:
    """For each fold of people: how often a value of each class is the own one.

    This is learned from runs of the same draw on graphs like the one attacked: its other half, or
    the whole graph where it is connected.
    """
    starts, records = edges.matches
    people = np.repeat(np.arange(edges.records), np.diff(starts))
    fold = _folds(edges, seed)[people]
    others = 1 - fold if fold.max() else fold
    classes = int(np.prod(_CLASSES))
    hits, cases = np.zeros((2, classes)), np.zeros((2, classes))
    for lesson in range(_LESSONS):
        record_of = redraw.record_of_person(seed + 10_000 + lesson)
        codes = np.empty(edges.records, np.int32)
        codes[record_of] = own
        class_of = _classes(*describe_edges(starts, records, codes, attribute.reference.overall))
        key = others * classes + class_of
        right = _is_own(people, codes[records], own)
        cases += np.bincount(key, minlength=2 * classes).reshape(2, classes)
        hits += np.bincount(key, right, minlength=2 * classes).reshape(2, classes)
    average = hits.sum() / max(cases.sum(), 1)
    return np.asarray((hits + _PRIOR_CASES * average) / (cases + _PRIOR_CASES))


def _folds(edges: Edges, seed: int) -> Int64Array:
    """For each original: fold 0 or 1 at random, one for each cluster; all 0 if there is one."""
    number = np.unique(edges.clusters, return_inverse=True)[1].ravel()
    fold_of_cluster = np.random.default_rng(seed).permutation(int(number.max()) + 1) % 2
    return np.asarray(fold_of_cluster[number], np.int64)


def _classes(times: Int32Array, kinds: Int32Array, rarer: Int32Array) -> Int64Array:
    """One number for how often a value occurs, among how many others, and how rare it is."""
    parts = [
        np.minimum(part, most - 1)
        for part, most in zip((times, kinds, rarer), _CLASSES, strict=True)
    ]
    return np.asarray((parts[0] * _CLASSES[1] + parts[1]) * _CLASSES[2] + parts[2], np.int64)


# ------------------------------------------------------------------------------------ frequencies


def _frequencies(subgraph: Subgraph, draw: str, seed: int) -> Outcome:
    """Count how often each link is drawn over many draws, and compare with 1/m for m links.

    The most frequent link is judged by its binomial tail times the number of links, which holds
    however links depend on each other; one person of every block contributes to a chi-square.
    """
    small = sample_blocks(subgraph, _FREQUENCY_EDGES, seed, _FREQUENCY_DEGREE)
    redraw = None if small is None else prepare_redraw(small.edges, draw)
    if small is None or redraw is None:
        why = f"needs blocks of at most {_FREQUENCY_EDGES:,} links, {_FREQUENCY_DEGREE} a person"
        return Outcome(_FREQUENT, None, details={"not_played": why})
    edges = small.edges
    starts, records = edges.matches
    hits = np.zeros(len(records), np.int64)
    for number in range(_DRAWS):
        hits[
            edges_leading_to(starts, records, redraw.record_of_person(seed + 20_000 + number))
        ] += 1
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
