"""The decision adversary: strikes out the worlds in which the method would have decided otherwise.

Minimality (Wong et al. 2007, HET §6) for every method: a method whose decisions look at
quasi-identifiers and sensitive values together makes other groups in other worlds. The adversary
knows the release, its graph and the method. Given these, people may have any values that the draw
could have given them (`mottle.audit.links.worlds`), and all these worlds are equally likely if the
method decides the same in all of them. So the method is repeated on such worlds, and those in which
it decides otherwise are struck out. What the others say about a person is the adversary's belief.

One group of people is moved at a time; everybody else keeps the true values. This adversary
therefore also knows the values of people in other groups. Against a method whose decisions are the
same in all worlds that is of no use.

The method is repeated by a function that the audit is given (`mottle.audit.decisions.Replay`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from mottle.audit.base import register
from mottle.audit.decisions import Decision, Replay, signature_of_groups
from mottle.audit.links.bucket_tables import find_tables
from mottle.audit.links.edges import Edges
from mottle.audit.links.worlds import World, WorldGroup, world_groups
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge_shared
from mottle.audit.view import Evidence, View
from mottle.guarantees.decisions import DecidesBy
from mottle.typing import Float64Array, Int32Array, Int64Array

_MEASURE = "people of whom the method's decisions tell more than the cap"
_RIGHT = "right guesses by the method's decisions, most believed"
_LEVEL = 1e-4  # probability that sampled worlds show a belief above the cap that is not there
_WORK = 2_000_000  # rows × replays
_FEWEST_REPLAYS, _MOST_REPLAYS = 120, 1200
_SCREEN = 12  # worlds by which a group is judged suspicious
_WORLDS = 60  # further worlds of a suspicious group
_BELIEVED = 0.01  # the share of people who count as the most believed
_FEWEST_BELIEVED = 10
_ROUNDING = 1e-9


@register(
    "decision",
    title="repeats the method on other worlds and strikes out those in which it decides otherwise",
    assumes="knows everybody's quasi-identifiers, the algorithm, its graph, and the values of"
    " people in other groups",
    seconds=15,
)
def decision(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Repeat the method's decisions with people's values exchanged inside groups."""
    attribute = next((each for each in view.sensitive if each.capped), None)
    why = _why_not(view, evidence)
    if attribute is None:
        facts = {"does_not_apply": "no decision looked at sensitive values"}
        yield Outcome(_MEASURE, None, details=facts, public=True)
        return
    if why or evidence.replay is None or evidence.one_to_one_edges is None:
        yield Outcome(_MEASURE, None, details={"not_played": why})
        return
    edges = evidence.one_to_one_edges
    own = next(
        codes for each, codes in zip(view.sensitive, evidence.own_codes, strict=True) if each.capped
    )
    caps = attribute.reference.caps
    truth = evidence.replay(np.arange(edges.records))
    if truth is None or (truth.groups and truth.groups != _groups_of(edges)):
        why = "the method does not make the same groups again from what the certificate says"
        yield Outcome(_MEASURE, None, details={"not_played": why})
        return
    tables = edges.clusters
    if view.draw == "buckets":
        tables = find_tables(edges, own, caps).tables
    worlds = _Worlds(evidence.replay, truth, own, caps, _affordable(edges.records))
    for outcome in _attack(worlds, world_groups(edges, view.draw, tables), view.seed):
        shown = {"compared": "groups and facts" if truth.groups else "facts", **outcome.details}
        unproven = outcome.passed and not truth.groups and _decides_by_both(view)
        yield replace(outcome, passed=None if unproven else outcome.passed, details=shown)


def _decides_by_both(view: View) -> bool:
    """Whether the method declares a decision by quasi-identifiers and values together."""
    certified = view.release.certified
    declared = None if certified is None else certified.method.decides_by
    return declared == DecidesBy.BOTH


def _why_not(view: View, evidence: Evidence) -> str:
    """Why the adversary cannot be played; empty if it can."""
    if evidence.one_to_one_edges is None or not view.draw:
        return "needs the private link file and a certificate that states the draw"
    if evidence.one_to_one_edges.kept is not None:
        return "there are too many links"
    if evidence.replay is None:
        return evidence.no_replay or "the method was not given to be repeated"
    return ""


def _groups_of(edges: Edges) -> bytes:
    """The signature of the release's own groups."""
    degree = np.bincount(edges.originals, minlength=edges.records)
    return signature_of_groups(edges.clusters, degree)


def _affordable(rows: int) -> int:
    """How often the method may be repeated on a table of this size."""
    return int(np.clip(_WORK // max(rows, 1), _FEWEST_REPLAYS, _MOST_REPLAYS))


class _Suspect(NamedTuple):
    """What the worlds that were not struck out say about the people of a group."""

    people: Int64Array
    guess: Int32Array  # [people]: the value highest above its cap
    belief: Float64Array  # [people]: its share of the worlds
    chance: Float64Array  # [people]: of such a share if the belief is at the cap; 0 if exact


class _Worlds:
    """Repeats the method on worlds, as long as the budget lasts."""

    def __init__(
        self, replay: Replay, truth: Decision, own: Int32Array, caps: Float64Array, replays: int
    ) -> None:
        self._replay, self._truth = replay, truth
        self.own, self.caps = own, caps
        self.left = replays
        self.tried = self.struck_out = 0
        self._everybody = np.arange(len(own))

    def explains(self, group: WorldGroup, world: World) -> bool:
        """Whether the method decides the same in a world."""
        if np.array_equal(self.own[world], self.own[group.people]):
            self.tried += 1
            return True
        source = self._everybody.copy()
        source[group.people] = world
        self.left -= 1
        self.tried += 1
        same = self._replay(source) == self._truth
        self.struck_out += not same
        return same

    def sample(self, group: WorldGroup, count: int, random: np.random.Generator) -> list[World]:
        """Draw worlds, and return those that explain the decisions."""
        drawn = (group.draw(random) for _ in range(count))
        return [world for world in drawn if self.explains(group, world)]


def _attack(worlds: _Worlds, groups: list[WorldGroup], seed: int) -> Iterator[Outcome]:
    """Screen groups by few worlds, look at suspicious ones closely, and guess."""
    random = np.random.default_rng(seed)
    groups = [group for group in groups if len(np.unique(worlds.own[group.people])) > 1]
    examined: list[_Suspect] = []
    suspicious: list[tuple[WorldGroup, list[World]]] = []
    replays = worlds.left
    for number in random.permutation(len(groups)):
        if worlds.left < replays // 2:
            break
        group = groups[number]
        if group.count <= _WORLDS:
            kept = [world for world in group.every() if worlds.explains(group, world)]
            examined.append(_exact(worlds, group, kept))
            continue
        before = worlds.struck_out
        kept = worlds.sample(group, _SCREEN, random)
        if worlds.struck_out > before:
            suspicious.append((group, kept))
        else:
            examined.append(_guessed(worlds, group, kept, kept))
    tests = sum(len(group.people) for group, _ in suspicious)
    closely = 0
    for group, kept in suspicious:
        if worlds.left >= _WORLDS:
            closely += 1
            first = worlds.sample(group, _WORLDS // 3, random) + kept
            kept = worlds.sample(group, _WORLDS - _WORLDS // 3, random)
            examined.append(_guessed(worlds, group, first, kept, tests))
        else:
            examined.append(_guessed(worlds, group, kept, kept))
    facts: dict[str, Any] = {
        "replays": replays - worlds.left,
        "worlds": worlds.tried,
        "worlds_struck_out": worlds.struck_out,
        "groups": len(groups),
        "groups_examined": len(examined),
        "groups_examined_closely": closely,
        "people_examined": sum(len(each.people) for each in examined),
    }
    if not examined:
        why = "no group of people has different values"
        yield Outcome(_MEASURE, None, details={**facts, "not_played": why})
        return
    yield from _outcomes(worlds, examined, facts)


def _exact(worlds: _Worlds, group: WorldGroup, kept: list[World]) -> _Suspect:
    """Beliefs from all worlds of a group; no chance is involved."""
    found = _guessed(worlds, group, kept, kept)
    beyond = found.belief > worlds.caps[found.guess] + _ROUNDING
    return found._replace(chance=np.where(beyond, 0.0, 1.0))


def _guessed(
    worlds: _Worlds, group: WorldGroup, first: list[World], second: list[World], tests: int = 0
) -> _Suspect:
    """Guess by some worlds, and measure the belief by others; 0 tests: nothing is concluded."""
    own, caps, people = worlds.own, worlds.caps, group.people
    kinds = len(caps)
    rows = np.repeat(np.arange(len(people)), max(len(first), 1))
    values = own[np.stack(first or [people], axis=1)].ravel()
    counts = np.bincount(rows * kinds + values, minlength=len(people) * kinds)
    shares = counts.reshape(len(people), kinds) / max(len(first), 1)
    guess = np.argmax(shares / caps, axis=1).astype(np.int32)
    hits = sum((own[world] == guess for world in second), np.zeros(len(people), np.int64))
    belief = hits / max(len(second), 1)
    chance = np.ones(len(people))
    if tests and second:
        chance = np.minimum(binom.sf(hits - 1, len(second), np.minimum(caps[guess], 1)) * tests, 1)
    return _Suspect(people, guess, np.asarray(belief), chance)


def _outcomes(
    worlds: _Worlds, examined: list[_Suspect], facts: dict[str, Any]
) -> Iterator[Outcome]:
    """Compare beliefs and right guesses with the caps."""
    people, guess, belief, chance = (
        np.concatenate([getattr(each, name) for each in examined])
        for name in ("people", "guess", "belief", "chance")
    )
    cluster = np.repeat(np.arange(len(examined)), [len(each.people) for each in examined])
    allowed = np.minimum(worlds.caps[guess], 1.0)
    right = worlds.own[people] == guess
    beyond = chance <= _LEVEL
    found = int(np.count_nonzero(beyond))
    ratios = (belief / allowed)[beyond]
    details = {
        **facts,
        "highest_belief_by_cap": float(ratios.max(initial=0)),
        "believed_on_average": float(belief[beyond].mean()) if found else None,
        "right_of_those_believed": float(right[beyond].mean()) if found else None,
    }
    yield Outcome(_MEASURE, found, 0, found == 0, details)
    count = max(ceil(_BELIEVED * len(people)), _FEWEST_BELIEVED)
    most = np.argsort(-(belief / allowed), kind="stable")[:count]
    by_group = {
        "everybody": judge_shared(right, allowed, cluster),
        "most believed 1 %": judge_shared(right[most], allowed[most], cluster[most]),
    }
    shown = by_group["most believed 1 %"]
    details = {**facts, "guesses": {name: _facts(each) for name, each in by_group.items()}}
    passed = shown.passed if shown.proves else None
    yield Outcome(_RIGHT, shown.right, shown.allowed, passed, details)


def _facts(found: GuessAccuracy) -> dict[str, object]:
    """The figures for a report, with an interval of 95 % confidence."""
    margin = 1.96 * found.sigma
    low, high = max(found.right - margin, 0.0), min(found.right + margin, 1.0)
    return {**found.facts(), "interval": [low, high]}
