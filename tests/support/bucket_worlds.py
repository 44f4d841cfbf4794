"""Exact beliefs about releases of `buckets`: all worlds, random orders and draws of a few people.

The adversary knows all quasi-identifiers, how often each sensitive value occurs, the guarantee and
the algorithm, and considers all worlds (who has which value) equally likely beforehand. Everything
that the method draws is followed through with its exact chance. Where the method refuses to publish
(`CutError`), nothing is seen; what counts are the beliefs of those who see a release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, pairwise, permutations, product
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mottle import Schema
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.methods import Arrangement, MethodContext
from mottle.methods.base import Arrange
from mottle.methods.buckets.association import PublishedTable
from mottle.methods.buckets.tree import CutError
from mottle.schema.model import Representation

World = tuple[str, ...]


def coded(ages: Sequence[int], sexes: Sequence[str]) -> Codes:
    table = pa.table({"age": ages, "sex": sexes})
    return encode(table, Schema.of(quasi_identifying=["age", "sex"]), Representation.RANGE)


def demand_of(values: Sequence[str], guarantee: Guarantee, groups: dict | None = None) -> Demand:
    named = {"illness": groups} if groups else {}
    schema = Schema.of(quasi_identifying=[], sensitive=["illness"], groups=named)
    encoded = encode_sensitive(pa.table({"illness": values}), schema)
    return guarantee.demand(len(values), encoded)


def draws(graph: Graph) -> list[np.ndarray]:
    """Every assignment that permuting buckets can give, all equally likely."""
    blocks = []
    for block, (start, end) in enumerate(pairwise(graph.starts.tolist())):
        degree = int(graph.degrees[block])
        edges = graph.edges[graph.edge_starts[block] :][: (end - start) * degree]
        edges = edges.reshape(-1, degree)
        size = (end - start) // degree
        blocks.append(
            [
                [int(start + edges[place, order[place // size]]) for place in range(end - start)]
                for order in permutations(range(degree))
            ]
        )
    return [np.array(list(chain(*parts)), np.int32) for parts in product(*blocks)]


def records_as_published(codes: Codes, graph: Graph) -> list[tuple]:
    """By position, the cells of the published record."""
    published = cover(graph, codes)
    ages, sexes = published.cells
    found = []
    for row in published.row_of.tolist():
        held = sexes.values[sexes.offsets[row] : sexes.offsets[row + 1]]
        found.append((int(ages.lowest[row]), int(ages.highest[row]), *sorted(held.tolist())))
    return found


def preimages_of(codes: Codes, graph: Graph) -> list[tuple]:
    """By position, the originals that the published record may stand for: more than cells show."""
    return [
        tuple(sorted(graph.members[graph.preimages(place)].tolist()))
        for place in range(graph.records)
    ]


@dataclass
class Enumeration:
    """All releases of a table and what they let an adversary believe."""

    known: frozenset[int] = frozenset()  # people whose values the adversary knows anyway
    # By release: its chance in every world.
    likelihood: dict[tuple, dict[World, Fraction]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Fraction))
    )
    # By world: the chance that something is published.
    published: dict[World, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    facts: set[tuple[tuple[str, str], ...]] = field(default_factory=set)  # on certificates

    def highest_over_cap(
        self,
        caps: dict[str, Fraction],
        event_of: Callable[[str], str] = lambda value: value,
        weight: Callable[[World], Fraction] = lambda world: Fraction(1),
    ) -> Fraction:
        """The highest ratio of a belief to its cap, over all releases, people and events.

        ``event_of`` names what is believed of a person with a value; ``weight`` multiplies the
        chance of all releases in a world.
        """
        worst = Fraction(0)
        for by_world in self.likelihood.values():
            chances = {world: chance * weight(world) for world, chance in by_world.items()}
            total = sum(chances.values())
            people = set(range(len(next(iter(chances))))) - self.known
            for person in people:
                belief: dict[str, Fraction] = defaultdict(Fraction)
                for world, chance in chances.items():
                    belief[event_of(world[person])] += chance
                highest = (chance / total / caps[event] for event, chance in belief.items())
                worst = max(worst, *highest)
        return worst

    def restarted(self, world: World) -> Fraction:
        """The factor to the chances of a world if failed runs were repeated until one succeeds."""
        return 1 / self.published[world]

    def stated(self, fact: str) -> set[str]:
        """What certificates state under a name, over all releases."""
        return {value for facts in self.facts for name, value in facts if name == fact}


def enumerate_releases(
    arrange: Arrange,
    codes: Codes,
    values: str,
    guarantee: Guarantee,
    *,
    alike: int = 0,
    known_records: int | None = None,
    groups: dict[str, list[str]] | None = None,
    wave: Mapping[int, str] | None = None,
    before_wave: Collection[int] = (),
    shown: Callable[[Codes, Graph], list[tuple]] = records_as_published,
    stated: Callable[[World, Arrangement, np.ndarray], str] | None = None,
) -> Enumeration:
    """Follow every random order and draw in every world.

    ``alike``: the number of people, the first ones, with equal quasi-identifiers, who are ordered
    by a second random order. ``wave``: the people of the first wave and their values, if the
    adversary knows these, and ``before_wave`` those who were drawn before; only what leads to them
    is followed. ``shown``: what he sees of every published record, besides its sensitive value, the
    sizes of tables and the facts on the certificate. ``stated``: what he reads in addition, of a
    world, what was arranged in it, and the true originals by position.
    """
    wave = wave or {}
    found = Enumeration(frozenset(wave))
    for world in sorted(set(permutations(values))):
        if any(world[person] != value for person, value in wave.items()):
            continue
        demand = demand_of(world, guarantee, groups)
        if known_records is not None:
            demand = replace(demand, known_records=known_records)
        orders = list(orders_of_equals(world, before_wave, wave))
        ties = [(*order, *range(alike, len(world))) for order in permutations(range(alike))]
        for order, tie in product(orders, ties):
            tiebreak = np.concatenate([order, np.array(tie) + len(world)])
            for done in outcomes(arrange, codes, demand, tiebreak, frozenset(wave)):
                chance = done.chance / (len(orders) * len(ties))
                graph, facts = done.arrangement.graph, as_stated(done.arrangement.facts)
                sizes = zip(np.diff(graph.starts).tolist(), graph.degrees.tolist(), strict=True)
                tables = tuple(sorted(sizes))
                records = shown(codes, graph)
                truths = following(draws(graph), done.drawn)
                for truth in truths:
                    held = [world[person] for person in graph.members[truth].tolist()]
                    rows = tuple(sorted(zip(records, held, strict=True)))
                    seen: tuple = (rows, tables, facts)
                    if stated is not None:
                        seen = (*seen, stated(world, done.arrangement, truth))
                    found.likelihood[seen][world] += chance / len(truths)
                found.published[world] += chance
                found.facts.add(facts)
    return found


def caps_of(values: str, guarantee: Guarantee) -> dict[str, Fraction]:
    """The cap of every value."""
    demand = demand_of(values, guarantee)
    return {
        value: Fraction(demand.caps[code]).limit_denominator(1000)
        for value, code in zip(values, demand.values.tolist(), strict=True)
    }


def as_stated(facts: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(fact)) for name, fact in sorted(facts.items()))


def orders_of_equals(world: World, *first: Collection[int]) -> Iterator[list[int]]:
    """One order of all people for every order of those with equal values.

    The method does not use how people with different values are ordered (a test shows that), so
    each of these stands for equally many random orders. People in ``first`` come before others, one
    collection after the other.
    """
    last = [person for person in range(len(world)) if not any(person in part for part in first)]
    parts = [
        permutations([person for person in part if world[person] == value])
        for value in sorted(set(world))
        for part in (*first, last)
    ]
    for chosen in product(*parts):
        yield list(chain(*chosen))


class Outcome(NamedTuple):
    """A run that publishes something."""

    arrangement: Arrangement
    drawn: list[np.ndarray]  # the draws of first waves, each containing the one before
    chance: Fraction


class _OtherWaveError(Exception):
    """The first wave does not consist of the people whom the adversary knows to be in it."""


def outcomes(
    arrange: Arrange, codes: Codes, demand: Demand, tiebreak: np.ndarray, wave: frozenset[int]
) -> Iterator[Outcome]:
    """What runs with this random order arrange, for all draws of first waves.

    ``wave``: if not empty, runs whose first wave consists of other people are left out.
    """
    pending: list[tuple[list[np.ndarray], Fraction]] = [([], Fraction(1))]
    while pending:
        drawn, chance = pending.pop()
        asked = 0

        def preview(graph: Graph) -> np.ndarray:
            nonlocal chance, asked
            asked += 1
            if asked > len(drawn):  # noqa: B023 (called in the same turn)
                if wave and wave != set(graph.members.tolist()):
                    raise _OtherWaveError
                first, *others = following(draws(graph), drawn)  # noqa: B023
                chance /= 1 + len(others)
                pending.extend(([*drawn, other], chance) for other in others)  # noqa: B023
                drawn.append(first)  # noqa: B023
            return drawn[asked - 1]  # noqa: B023

        context = MethodContext(0, tiebreak=lambda _: tiebreak, preview=preview)
        try:
            arranged = arrange(codes, demand, context)
        except (CutError, _OtherWaveError):
            continue
        assert drawn or not wave, "there is no first wave"
        yield Outcome(arranged, drawn, chance)


def following(possible: list[np.ndarray], drawn: list[np.ndarray]) -> list[np.ndarray]:
    """The assignments that begin as has been drawn."""
    if not drawn:
        return possible
    return [each for each in possible if np.array_equal(each[: len(drawn[-1])], drawn[-1])]


def published_table(
    rows: np.ndarray, values: np.ndarray, buckets: int, random: np.random.Generator
) -> PublishedTable:
    """Publish records, given bucket after bucket: the i-th of each bucket are matched."""
    size = len(rows) // buckets
    by_bucket = values[rows].reshape(buckets, size)
    shown = by_bucket[random.permutation(buckets)]  # what is shown in each bucket
    return PublishedTable(rows, buckets, np.tile(shown.T, (buckets, 1)).astype(np.int32))
