"""The minimality adversary: what a method's decisions reveal about sensitive values.

Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing (VLDB 2007), HET §6. A
method that cuts groups as far as the guarantee allows reveals, by each group left uncut, that
cutting it would have broken the guarantee: equal values are concentrated on one side. Methods
declare on the certificate whether a decision looked at quasi-identifiers and sensitive values
together. Where none did, the attack does not apply.

The attack is played on Mondrian. For a group that could have been cut if there were no caps, values
are assigned to its people at random, and the worlds in which every cut would have been refused are
kept: these are all the worlds that can have left the group uncut. What they say about a person is
the belief of an adversary who knows the algorithm. Refusals further up the tree are not used, so a
better adversary may learn more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.audit.base import register
from mottle.audit.containment.coded_columns import offsets_of
from mottle.audit.links.edges import Edges
from mottle.audit.report import Outcome
from mottle.audit.sensitive.mondrian_cuts import (
    VARIATIONS,
    all_cuts_refused,
    candidate_cuts,
    sample_explaining_worlds,
)
from mottle.audit.view import Evidence, View
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import ROUNDING
from mottle.release.certificate import MethodFacts
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils import parallel

_MEASURE = "people of whom a decision tells more than the cap"
_LARGEST = 120  # people in the largest group whose worlds are sampled
_TRIES = 10_000  # worlds sampled for each group
_MORE_TRIES = 200_000  # worlds sampled for the most suspicious groups
_WORK = 1_200_000_000  # cuts × people × worlds that may be examined, in each of the two passes
_FEWEST = 300  # worlds that must explain a group before anything is concluded
_PROVEN = 5.0  # σ above the cap from which on a belief is not due to chance


@register(
    "minimality",
    title="infers sensitive values from the decisions the method made",
    assumes="knows everybody's quasi-identifiers in the order of the table, the algorithm and its"
    " groups",
    seconds=10,
)
def minimality(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Report whether decisions looked at both, and play the attack where there is one."""
    certified = view.release.certified
    made = None if certified is None else certified.method
    decided = "" if made is None else made.decides_by or ""
    if evidence.guarantee is None or made is None:
        why = "the release does not say which method made it"
        yield Outcome(_MEASURE, None, details={"not_played": why}, public=True)
    elif not evidence.guarantee.about_values:
        yield _does_not_apply("no decision looked at sensitive values")
    elif decided != DecidesBy.BOTH:
        yield _does_not_apply(decided or "no decision is declared to have looked at both")
    elif made.name not in VARIATIONS:
        facts = {**_declared(made), "not_played": "the adversary 'decision' plays it"}
        yield Outcome(_MEASURE, None, details=facts, public=True)
    elif evidence.subgraph is None:
        facts = {**_declared(made), "not_played": "needs the private link file"}
        yield Outcome(_MEASURE, None, details=facts)
    else:
        yield _attack(view, evidence, made)


def _does_not_apply(why: str) -> Outcome:
    return Outcome(_MEASURE, None, details={"does_not_apply": why}, public=True)


def _declared(made: MethodFacts) -> dict[str, Any]:
    """What the method declares about its decisions."""
    said = {"decides_by": made.decides_by, "mixed_decision": made.mixed_decision}
    return {name: words for name, words in said.items() if words is not None}


class _Group(NamedTuple):
    """A group that could have been cut if there were no caps."""

    cuts: BoolArray  # [cuts, people]: the left sides
    sensitive_codes: Int32Array  # [people, attributes]
    values: Int64Array  # [people]: the own values, numbered within the group
    caps: Float64Array  # [values]: the caps of these values
    seed: int


class _Suspicion(NamedTuple):
    """What the worlds of a group say: the value guessed for each person, and how strongly."""

    guess: NDArray[np.intp]  # [people]: the guessed value
    belief: Float64Array  # [people]: its share of the worlds
    sigmas: Float64Array  # [people]: by how many σ the belief exceeds the cap


def _attack(view: View, evidence: Evidence, made: MethodFacts) -> Outcome:
    """Sample some worlds for every group, then many for the most suspicious ones."""
    subgraph = evidence.subgraph
    assert subgraph is not None
    sensitive_codes, caps, least = _limits(view, evidence)
    groups = _groups(subgraph.edges, subgraph.people)
    sizes = np.array([len(group) for group in groups])
    facts: dict[str, Any] = {
        **_declared(made),
        **subgraph.facts(int(view.people.num_rows)),
        "groups": len(groups),
        "groups_large_enough_to_cut": int(np.count_nonzero(sizes >= 2 * least)),
    }
    large = [group for group in groups if 2 * least <= len(group) <= _LARGEST]
    large = [large[number] for number in np.random.default_rng(view.seed).permutation(len(large))]
    ready = _affordable(
        _prepare_groups(view, evidence, large, sensitive_codes, least, made.name), _TRIES
    )
    explained = [
        group for group in ready if all_cuts_refused(group.cuts, group.sensitive_codes, caps)
    ]
    if not explained:
        why = f"no group of at most {_LARGEST} people could have been cut"
        return Outcome(_MEASURE, None, details={**facts, "not_played": why})
    screened = _in_threads(
        lambda number: _suspect(explained[number], caps, _TRIES, None),
        [len(group.sensitive_codes) for group in explained],
    )
    judged = [(group, found) for group, found in zip(explained, screened, strict=True) if found]
    judged.sort(key=lambda pair: -float(pair[1].sigmas.max()))
    judged = judged[: len(_affordable([group for group, _ in judged], _MORE_TRIES))]
    proofs = _in_threads(
        lambda number: _suspect(judged[number][0], caps, _MORE_TRIES, judged[number][1].guess),
        [len(group.sensitive_codes) for group, _ in judged],
    )
    beliefs, ratios, right = [np.empty(0)], [np.empty(0)], 0
    for (group, _), proof in zip(judged, proofs, strict=True):
        if proof is not None:
            beyond = proof.sigmas > _PROVEN
            beliefs.append(proof.belief[beyond])
            ratios.append((proof.belief / group.caps[proof.guess])[beyond])
            right += int(np.count_nonzero((group.values == proof.guess)[beyond]))
    found = len(np.concatenate(beliefs))
    facts |= {
        "groups_examined": len(explained),
        "people_examined": sum(len(group.sensitive_codes) for group in explained),
        "groups_not_explained_by_refused_cuts": len(ready) - len(explained),
        "groups_with_too_few_worlds": sum(suspicion is None for suspicion in screened),
        "groups_examined_closely": len(judged),
        "highest_belief_by_cap": float(np.concatenate(ratios).max(initial=0)),
        "believed_on_average": float(np.concatenate(beliefs).mean()) if found else None,
        "right_of_those_believed": right / found if found else None,
    }
    return Outcome(_MEASURE, found, 0, found == 0, facts)


def _prepare_groups(
    view: View,
    evidence: Evidence,
    groups: list[Int64Array],
    sensitive_codes: Int32Array,
    least: int,
    method: str,
) -> list[_Group]:
    """The groups for which some cut has enough records on both sides."""
    codes = _codes_in_order(view)
    judged = next((n for n, attribute in enumerate(view.sensitive) if attribute.capped), 0)
    bounds = view.sensitive[judged].reference.caps
    ready = []
    for number, people in enumerate(groups):
        cuts = candidate_cuts(codes[people], least, method)
        if len(cuts):
            distinct, values = np.unique(evidence.own_codes[judged][people], return_inverse=True)
            seed = view.seed + number
            ready.append(
                _Group(cuts, sensitive_codes[people], values.ravel(), bounds[distinct], seed)
            )
    return ready


def _affordable(groups: list[_Group], tries: int) -> list[_Group]:
    """The first groups whose worlds can be sampled within the limit of work."""
    work = np.cumsum([group.cuts.size * tries for group in groups])
    return groups[: int(np.searchsorted(work, _WORK, side="right"))]


def _suspect(
    group: _Group, caps: Float64Array, tries: int, guess: NDArray[np.intp] | None
) -> _Suspicion | None:
    """Sample worlds and measure a guess, by default the value highest above its cap.

    Returns None if too few worlds explain the group.
    """
    seed = group.seed if guess is None else group.seed + 1_000_000
    worlds = sample_explaining_worlds(
        group.cuts, group.sensitive_codes, caps, group.values, tries, seed
    )
    if worlds.accepted < _FEWEST:
        return None
    if guess is None:
        guess = np.argmax(worlds.counts / group.caps, axis=1)
    return _Suspicion(guess, *worlds.beliefs(guess, group.caps))


def _in_threads(work: Callable[[int], _Suspicion | None], sizes: list[int]) -> list[Any]:
    """Do the work for every group, by number; ``sizes`` are the numbers of people."""
    found = parallel.over_blocks(
        lambda first, last: [work(number) for number in range(first, last)], offsets_of(sizes)
    )
    return [each for part in found for each in part]


def _codes_in_order(view: View) -> Int32Array:
    """Everybody's quasi-identifiers in the order the method uses: a missing value comes last."""
    columns = [column.codes for column in view.columns]
    return np.stack(
        [np.where(codes == 0, np.iinfo(np.int32).max, codes) for codes in columns], axis=1
    ).astype(np.int32)


def _limits(view: View, evidence: Evidence) -> tuple[Int32Array, Float64Array, int]:
    """Everybody's sensitive codes in one numbering, all caps, and the fewest records of a side."""
    assert evidence.guarantee is not None
    sizes = [len(attribute.reference.caps) for attribute in view.sensitive]
    offsets = np.cumsum([0, *sizes[:-1]])
    sensitive_codes = np.stack(
        [own + offset for own, offset in zip(evidence.own_codes, offsets, strict=True)], axis=1
    ).astype(np.int32)
    caps = np.concatenate([attribute.reference.caps for attribute in view.sensitive])
    fewest = [
        ceil(1 / float(attribute.reference.caps.max()) - ROUNDING) for attribute in view.sensitive
    ]
    return sensitive_codes, caps, max(evidence.guarantee.degree, *fewest)


def _groups(edges: Edges, people: Int64Array) -> list[Int64Array]:
    """The people of every complete block, in the order of the table."""
    clusters = edges.clusters
    order = np.argsort(clusters, kind="stable")
    ends = np.flatnonzero(np.diff(clusters[order], append=-1)) + 1
    groups = np.split(order, ends[:-1])
    matches = np.bincount(edges.originals, minlength=edges.records)
    return [people[group] for group in groups if matches[group[0]] == len(group)]
