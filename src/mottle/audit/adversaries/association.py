"""The association adversary: assumes that similar people have similar values (deFinetti).

He knows everybody's quasi-identifiers and the graph. A draw has one secret for everything that it
moves together (a bucket, a ring, a person of a group), and some of its possible outcomes make
values go with quasi-identifiers in the same way everywhere. So he fits a regression of values on
quasi-identifiers to the release: weigh the outcomes of every block by how well they fit the
regression, fit the regression to the values so weighed, and so on. Then he guesses everybody's
likeliest value (Kifer 2009, for graphs).

Caps bound the belief of somebody to whom all outcomes are equally likely; he assumes something
about the world in addition. No guarantee covers that, so what he achieves is for information.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mottle.audit.base import register
from mottle.audit.links.edges import Edges, Subgraph
from mottle.audit.links.moves import Moves
from mottle.audit.links.redraw import Redraw, prepare_redraw, sample_blocks
from mottle.audit.report import FOR_OWNER, WARNINGS, Outcome
from mottle.audit.sensitive.published_values import SensitiveAttribute
from mottle.audit.sensitive.regression import Regression, features_of, pooled
from mottle.audit.view import Evidence, View
from mottle.typing import Float64Array, Int32Array, Int64Array

_MOST_EDGES = 300_000  # edges that are attacked; larger graphs are sampled by block
_ROUNDS = 5  # alternations between outcomes and regression
_WORLDS = 40  # repeated draws that measure what is due to chance
_BELIEVED = 0.1  # the share of people who count as most believed
_UNUSUAL = 3.0  # standard deviations beyond chance from which on the owner is told
_RIGHT = "right guesses if similar people have similar values"


@register(
    "association",
    title="assumes that similar people have similar values, and fits that to the release",
    assumes="knows everybody's quasi-identifiers, the algorithm and its graph; expects that"
    " sensitive values go with quasi-identifiers",
    judged=False,
    seconds=50,
)
def association(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Guess every capped attribute."""
    draw = view.draw
    attacked = [
        (attribute, own)
        for attribute, own in zip(view.sensitive, evidence.own_codes, strict=True)
        if attribute.capped and 0 in attribute.levels
    ]
    if not attacked:
        why = "no guarantee bounds sensitive values"
        yield Outcome(_RIGHT, None, details={"does_not_apply": why})
        return
    if evidence.subgraph is None or not draw:
        why = "needs the private link file and a certificate that states the draw"
        yield Outcome(_RIGHT, None, details={"not_played": why})
        return
    part = sample_blocks(evidence.subgraph, _MOST_EDGES, view.seed)
    redraw = None if part is None else prepare_redraw(part.edges, draw)
    if part is None or redraw is None:
        why = "no block is small enough" if part is None else "links do not fit the certified draw"
        yield Outcome(_RIGHT, None, details={"not_played": why})
        return
    features = features_of(view.people, view.columns)
    moves = Moves.of(part.edges, draw)
    for attribute, own in attacked:
        yield _play(view, attribute, own, part, moves, redraw, features)


def _play(
    view: View,
    attribute: SensitiveAttribute,
    own: Int32Array,
    part: Subgraph,
    moves: Moves,
    redraw: Redraw,
    features: Int32Array,
) -> Outcome:
    """Guess one attribute, and compare with chance, caps and a regression without the release."""
    codes = attribute.sensitive_codes[part.records]
    guesses, beliefs = guess_by_association(
        part.edges, moves, codes, features[part.people], attribute.reference.overall
    )
    right = guesses == own[part.people]
    by_chance = [
        float((codes[redraw.record_of_person(view.seed + 1 + world)] == guesses).mean())
        for world in range(_WORLDS)
    ]
    believed = np.argsort(-beliefs, kind="stable")[: int(np.ceil(_BELIEVED * len(beliefs)))]
    alone = _right_alone(features, own, attribute, view.seed)
    facts: dict[str, Any] = {
        "columns": list(attribute.columns),
        "draw": redraw.draw,
        **part.facts(int(view.people.num_rows)),
        "cap_of_guesses": float(np.append(attribute.reference.caps, 1.0)[guesses].mean()),
        "right_by_chance": float(np.mean(by_chance)),
        "sigma": float(np.std(by_chance)),
        "right_by_regression_on_others": alone,
        "right_of_most_believed": float(right[believed].mean()),
        "majority": float(attribute.reference.overall.max()),
    }
    achieved = float(right.mean())
    usual = max(facts["cap_of_guesses"], alone, facts["right_by_chance"])
    if achieved > usual + _UNUSUAL * facts["sigma"]:
        facts[FOR_OWNER] = {WARNINGS: [_told(attribute.name, achieved, alone, view.draw)]}
    return Outcome(f"{attribute.name}: {_RIGHT}", achieved, details=facts)


def _told(name: str, right: float, alone: float, draw: str) -> str:
    """What the owner should know, in words."""
    remedy = " A smaller --known-records makes it harder." if draw == "buckets" else ""
    return (
        f"Whoever knows the graph and assumes that similar people have similar values guesses"
        f" {right:.0%} of the values of '{name}' right; from other people alone {alone:.0%} could"
        f" be guessed. The guarantee does not bound this.{remedy}"
    )


def guess_by_association(
    edges: Edges, moves: Moves, codes: Int32Array, features: Int32Array, overall: Float64Array
) -> tuple[Int32Array, Float64Array]:
    """Everybody's likeliest value, and the belief in it.

    ``codes``: the value published on each record, -1 if it is unknown; ``features``: see
    `features_of`; ``overall``: the share of each value in the table.
    """
    class_of = pooled(overall)
    regression, row_of = Regression.of(features, _sums(class_of, overall, int(class_of.max()) + 1))
    known = codes[edges.published] >= 0
    shown = np.append(class_of, 0)[codes[edges.published]]
    cell = row_of[edges.originals] * (int(class_of.max()) + 1) + shown
    scores = np.zeros(len(moves.of_people))
    for _ in range(_ROUNDS):
        chance = np.where(known, moves.beliefs(scores)[moves.move], 0.0)
        held = _sums(cell, chance, len(regression.prior) * regression.rows.shape[0])
        regression = regression.fitted(held.reshape(-1, len(regression.prior)))
        fits = np.where(known, regression.log_shares().ravel()[cell], 0.0)
        scores = _sums(moves.move, fits, len(scores))
    return _likeliest(
        edges.originals, codes[edges.published], moves.beliefs(scores)[moves.move], edges.records
    )


def _sums(place: Int32Array | Int64Array, weights: Float64Array, size: int) -> Float64Array:
    return np.asarray(np.bincount(place, weights, size), np.float64)


def _likeliest(
    people: Int32Array, values: Int32Array, chance: Float64Array, count: int
) -> tuple[Int32Array, Float64Array]:
    """For each person the value with the highest sum of chances, and the sum; -1 for none."""
    known = values >= 0
    kinds = int(values.max(initial=0)) + 1
    keys, place = np.unique(
        people[known].astype(np.int64) * kinds + values[known], return_inverse=True
    )
    belief = np.bincount(place.ravel(), chance[known])
    order = np.lexsort((-belief, keys // kinds))
    owner, first = np.unique(keys[order] // kinds, return_index=True)
    guesses, highest = np.full(count, -1, np.int32), np.zeros(count)
    guesses[owner] = keys[order[first]] % kinds
    highest[owner] = belief[order[first]]
    return guesses, highest


def _right_alone(
    features: Int32Array, own: Int32Array, attribute: SensitiveAttribute, seed: int
) -> float:
    """How often a regression on the true values of one half guesses the other half right."""
    overall = attribute.reference.overall
    class_of = pooled(overall)
    in_turn = np.lexsort((-overall, class_of))
    value_of = in_turn[np.unique(class_of[in_turn], return_index=True)[1]]  # the most frequent
    side = np.random.default_rng(seed).permutation(len(own)) % 2
    unknown, row_of = Regression.of(features, _sums(class_of, overall, int(class_of.max()) + 1))
    right = np.zeros(len(own), np.bool_)
    for half in (0, 1):
        cell = (row_of * len(unknown.prior) + class_of[own])[side == half]
        held = np.bincount(cell, minlength=len(unknown.prior) * unknown.rows.shape[0])
        fitted = unknown
        for _ in range(_ROUNDS):
            fitted = fitted.fitted(held.reshape(-1, len(unknown.prior)).astype(np.float64))
        guess = value_of[fitted.log_shares().argmax(axis=1)][row_of]
        right[side != half] = (guess == own)[side != half]
    return float(right.mean())
