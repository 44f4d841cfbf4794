"""Releases over time: exact beliefs over two and three releases, all worlds and all draws.

k-anonymity: the program itself makes every release for every draw; everybody has an insensitive
value of their own, so that records are linked across releases. ℓ-diversity: every cohort goes
through `buckets` with every random order and draw, and the releases are put together as the program
does it. Rules that are known to leak are planted and must fail the same enumeration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bucket_worlds import (
    coded,
    demand_of,
    draws,
    following,
    orders_of_equals,
    outcomes,
    preimages_of,
)

import mottle
from mottle import GuaranteeError, KAnonymity, LDiversity, Release, Schema
from mottle.graph.model import preimage
from mottle.methods.buckets.buckets import buckets
from mottle.pipeline import spine

SCHEMA = Schema.of(quasi_identifying=["age"], identifying=["id"], insensitive=["person"], rest=None)
AGES = [20, 24, 31, 40, 47, 55, 63]
Seen = frozenset[tuple[str, int]]  # cells and the person whose unchanged value is shown


def table(people: list[int]) -> pa.Table:
    return pa.table({"id": people, "age": [AGES[person] for person in people], "person": people})


def seen(release: Release) -> Seen:
    shown = release.to_text().to_pydict()
    return frozenset(zip(shown["age"], shown["person"], strict=True))


@pytest.fixture
def with_layers(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[int]], None]:
    """Return a function that lets every block be assigned by the layer of the given number."""

    def draw_by(layers: list[int]) -> None:
        def assign(graph: Any, *_: Any) -> np.ndarray:
            truth = np.empty(graph.records, np.int32)
            for block, (start, end) in enumerate(pairwise(graph.starts.tolist())):
                layer = layers[block] if block < len(layers) else 0
                for place in range(end - start):
                    truth[start + place] = start + preimage(graph, block, place, layer)
            assert sorted(truth.tolist()) == list(range(graph.records))
            return truth

        monkeypatch.setattr(spine, "assign", assign)

    return draw_by


def continued(previous: Release, people: list[int], **options: Any) -> Release:
    return mottle.anonymize(
        table(people), SCHEMA, KAnonymity(2), seed=1, previous=previous, **options
    )


def without_leavers(previous: Release, people: list[int], **options: Any) -> Release:
    """Publish what the program would, but for the records of those who left."""
    release = continued(previous, people, **options)
    mine = [
        row for row, person in enumerate(release.table["person"].to_pylist()) if person in people
    ]
    return Release(release.table.take(mine), release.columns, release.certificate, release.links)


def anew(previous: Release, people: list[int], method: str) -> Release:
    """Mix newcomers into the blocks of the others by another draw of the whole table."""
    return mottle.anonymize(table(people), SCHEMA, KAnonymity(2), seed=1, same="id", method=method)


STORIES = {
    "nobody leaves": [[0, 2, 5], [0, 2, 5, 1, 6], [0, 2, 5, 1, 6, 3, 4]],
    "somebody leaves every time": [[0, 2, 5], [0, 5, 1, 6], [0, 1, 6, 3, 4]],
    "newcomers wait": [[0, 2, 5], [0, 2, 5, 1], [0, 2, 1, 6, 3]],
    "somebody returns": [[0, 2, 5, 4], [0, 5, 4, 1, 6], [0, 2, 5, 1, 6, 4]],
}


def highest_belief(
    story: list[list[int]],
    step: Callable[..., Release],
    with_layers: Callable[[list[int]], None],
    **options: Any,
) -> Fraction:
    """The highest belief that a value is a person's, over all draws, worlds and histories."""
    found: list[tuple[Seen, ...]] = []  # for every combination of draws
    for layers in product(*[range(2)] * (2 * len(story))):
        with_layers(list(layers[:2]))
        last = mottle.anonymize(
            table(story[0]), SCHEMA, KAnonymity(2), seed=1, same="id", method=options["method"]
        )
        shown = [seen(last)]
        for number, people in enumerate(story[1:], 1):
            with_layers(list(layers[2 * number : 2 * number + 2]))
            last = step(last, people, **options)
            shown.append(seen(last))
        found.append(tuple(shown))
    everybody = sorted({person for people in story for person in people})
    beliefs: dict[tuple[Seen, ...], dict[tuple[int, int], int]] = defaultdict(
        lambda: defaultdict(int)
    )
    histories = {history: found.count(history) for history in set(found)}
    for order in permutations(everybody):
        value_of = dict(zip(everybody, order, strict=True))
        for history, times in histories.items():
            released = tuple(
                frozenset((cell, value_of[person]) for cell, person in shown) for shown in history
            )
            for pair in value_of.items():
                beliefs[released][pair] += times
    # a value that nobody has seen belongs to nobody's record, so only published people count
    worst = Fraction(0)
    for released, chances in beliefs.items():
        values = {value for shown in released for _, value in shown}
        for person in everybody:
            total = sum(chances[person, value] for value in everybody)
            worst = max(
                worst,
                *(Fraction(chances[person, value], total) for value in values),
            )
    return worst


@pytest.mark.parametrize(
    ("story", "method"),
    [*((name, "nh") for name in STORIES), ("somebody leaves every time", "freeform")],
)
@pytest.mark.parametrize("leavers", ["keep", "drop"])
def test_two_releases_together_keep_k(with_layers, story: str, method: str, leavers: str) -> None:
    releases = STORIES[story][:2]
    worst = highest_belief(releases, continued, with_layers, leavers=leavers, method=method)
    assert worst == Fraction(1, 2)


@pytest.mark.parametrize(
    ("story", "leavers"),
    [
        ("somebody leaves every time", "keep"),
        ("somebody leaves every time", "drop"),
        ("newcomers wait", "keep"),
    ],
)
def test_three_releases_together_keep_k(with_layers, story: str, leavers: str) -> None:
    worst = highest_belief(STORIES[story], continued, with_layers, leavers=leavers, method="nh")
    assert worst == Fraction(1, 2)


def test_records_of_leavers_that_are_removed_name_them(with_layers) -> None:
    story = STORIES["somebody leaves every time"][:2]
    worst = highest_belief(story, without_leavers, with_layers, leavers="keep", method="nh")
    assert worst == 1


def test_newcomers_mixed_into_old_blocks_break_k(with_layers) -> None:
    story = STORIES["nobody leaves"][:2]
    assert highest_belief(story, anew, with_layers, method="nh") > Fraction(1, 2)


def test_people_who_changed_are_named_if_they_are_taken_for_newcomers(with_layers) -> None:
    """Person 2 has another age by now, and is published in an old block and in a new one."""

    def renamed(previous: Release, people: list[int], **options: Any) -> Release:
        now = table(people).to_pydict()
        now["id"] = [99 if person == 2 else person for person in people]
        now["age"] = [60 if person == 2 else AGES[person] for person in people]
        return mottle.anonymize(
            pa.table(now), SCHEMA, KAnonymity(2), seed=1, previous=previous, **options
        )

    story = [[0, 2, 5], [0, 2, 5, 1, 6]]
    assert highest_belief(story, renamed, with_layers, method="nh") == 1


# ------------------------------------------------------------------------- sensitive values

CODES = coded([20, 25, 40, 44, 60, 66], list("fmffmm"))
Rows = tuple[tuple[Any, str], ...]
Block = tuple[frozenset[int], Rows]  # the people of a block, and its records as published


def cohort(people: list[int], world: str) -> Iterator[tuple[tuple[Block, ...], Fraction]]:
    """All ways in which some people are published as a table of their own, with their chances.

    Of every record the adversary sees the people whom it may stand for, which is more than cells.
    """
    codes = type(CODES)(CODES.domains, CODES.matrix[people])
    values = "".join(world[person] for person in people)
    demand = demand_of(values, LDiversity(2))
    orders = list(orders_of_equals(tuple(values)))
    for order in orders:
        tiebreak = np.concatenate([order, np.arange(len(people)) + len(people)])
        for done in outcomes(buckets, codes, demand, tiebreak, frozenset()):
            graph = done.arrangement.graph
            truths = following(draws(graph), done.drawn)
            records = [
                tuple(people[place] for place in places) for places in preimages_of(codes, graph)
            ]
            for truth in truths:
                blocks = []
                for start, end in pairwise(graph.starts.tolist()):
                    places = range(start, end)
                    held = [values[graph.members[truth[place]]] for place in places]
                    rows = tuple(
                        sorted(zip([records[place] for place in places], held, strict=True))
                    )
                    members = frozenset(people[graph.members[place]] for place in places)
                    blocks.append((members, rows))
                yield tuple(sorted(blocks, key=str)), done.chance / len(orders) / len(truths)


def shown(blocks: list[Block]) -> Rows:
    return tuple(sorted(row for _, rows in blocks for row in rows))


def beliefs_over_cap(history_of: Callable[[str], Iterator[tuple[Any, Fraction]]]) -> Fraction:
    """The highest belief in a value of anybody, over all worlds and everything published."""
    chances: dict[Any, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for world in sorted(set(permutations("aabbcc"))):
        for released, chance in history_of("".join(world)):
            chances[released]["".join(world)] += chance
    worst = Fraction(0)
    for by_world in chances.values():
        total = sum(by_world.values())
        for person, value in product(range(6), "abc"):
            has = sum(chance for world, chance in by_world.items() if world[person] == value)
            worst = max(worst, has / total)
    return worst


def eligible(people: list[int], world: str) -> bool:
    try:
        demand_of([world[person] for person in people], LDiversity(2))
    except GuaranteeError:
        return False
    return True


FIRST, NEW = [0, 2, 3, 5], [1, 4]


def kept(first: tuple[Block, ...], leavers: set[int], rule: str) -> list[Block]:
    if rule == "drop":
        return [block for block in first if not block[0] & leavers]
    return [block for block in first if block[0] - leavers]


@pytest.mark.parametrize("leavers", [set(), {2}, {0, 5}])
@pytest.mark.parametrize("rule", ["keep", "drop"])
def test_two_releases_of_buckets_together_keep_their_caps(rule: str, leavers: set[int]) -> None:
    def history(world: str) -> Iterator[tuple[Any, Fraction]]:
        if not (eligible(FIRST, world) and eligible(NEW, world)):
            return  # nothing is published
        for first, chance in cohort(FIRST, world):
            for new, other in cohort(NEW, world):
                second = shown([*kept(first, leavers, rule), *new])
                yield (shown(list(first)), second), chance * other

    assert beliefs_over_cap(history) == Fraction(1, 2)


def test_three_releases_of_buckets_together_keep_their_caps() -> None:
    parts = [[0, 3], [2, 5], [1, 4]]

    def history(world: str) -> Iterator[tuple[Any, Fraction]]:
        if not all(eligible(part, world) for part in parts):
            return
        for chosen in product(*(list(cohort(part, world)) for part in parts)):
            blocks = [list(found) for found, _ in chosen]
            chance = np.prod([part for _, part in chosen])
            releases = (blocks[0], blocks[0] + blocks[1], [*blocks[0], *blocks[1], *blocks[2]])
            yield tuple(shown(release) for release in releases), chance

    assert beliefs_over_cap(history) == Fraction(1, 2)


def test_another_draw_of_the_same_people_breaks_the_caps() -> None:
    def history(world: str) -> Iterator[tuple[Any, Fraction]]:
        if not eligible(FIRST, world):
            return
        for first, chance in cohort(FIRST, world):
            for second, other in cohort(FIRST, world):
                yield (shown(list(first)), shown(list(second))), chance * other

    assert beliefs_over_cap(history) == 1


def test_leaving_out_the_records_of_leavers_breaks_the_caps() -> None:
    def history(world: str) -> Iterator[tuple[Any, Fraction]]:
        if not eligible(FIRST, world):
            return
        for first, chance in cohort(FIRST, world):
            rows = list(shown(list(first)))
            for place, (_, value) in enumerate(rows):
                if value == world[2]:  # one of the records that may be the leaver's, at best
                    left = tuple(rows[:place] + rows[place + 1 :])
                    same = sum(held == value for _, held in rows)
                    yield (tuple(rows), left), chance / same

    assert beliefs_over_cap(history) == 1


def test_newcomers_who_wait_because_of_their_values_give_them_away() -> None:
    """Who waits must not depend on values: these newcomers wait if their values are equal."""

    def history(world: str) -> Iterator[tuple[Any, Fraction]]:
        if eligible(NEW, world):
            for found, chance in cohort(NEW, world):
                yield (shown(list(found)),), chance
        elif eligible(list(range(6)), world):
            for found, chance in cohort(list(range(6)), world):
                yield ((), shown(list(found))), chance

    assert beliefs_over_cap(history) > Fraction(1, 2)
