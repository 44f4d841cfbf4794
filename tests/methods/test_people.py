"""People with several rows: whoever counts people finds k of them behind every record."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from mottle import KAnonymity, UsageError, methods
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.guarantees.people import check_shares
from mottle.kernels.scales import scales
from mottle.methods.base import MethodContext
from mottle.methods.freeform import BlockOrder, _matched, match_in_blocks, stuck_blocks
from mottle.methods.people import blocks_of_people, next_of_same, ring_around
from mottle.schema.model import Representation, Schema

METHODS = sorted(
    name for name, method in methods.registered().items() if Capability.PEOPLE in method.offers
)
EFFORTS = [0, None]


def codes_of(rows: int, seed: int):
    random = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": random.integers(20, 60, rows),
            "sex": random.choice(["f", "m"], rows).tolist(),
            "town": random.choice(list("abcdefgh"), rows).tolist(),
        }
    )
    schema = Schema.of(quasi_identifying=table.column_names).covering(table.column_names)
    return encode(table, schema, Representation.RANGE)


def codes_from(matrix: np.ndarray) -> Codes:
    table = pa.table({"age": matrix[:, 0]})
    schema = Schema.of(quasi_identifying=["age"]).covering(["age"])
    coded = encode(table, schema, Representation.RANGE)
    matrix[:] = coded.matrix
    return coded


def arranged(name: str, codes, people: np.ndarray, k: int, seconds: float | None) -> Graph:
    method = methods.get(name)
    demand = Demand(k, people=people.astype(np.int32))
    ready = method.codes_to_arrange(codes, KAnonymity(k))
    return method.arrange(ready, demand, MethodContext(seconds=seconds)).graph


def preimages_of(graph: Graph) -> list[list[int]]:
    """The original rows behind every published record, in block order."""
    return [graph.members[graph.preimages(place)].tolist() for place in range(graph.records)]


def people_of(kind: str, rows: int, k: int, seed: int) -> np.ndarray:
    """Whose row each row is; nobody has more than rows / k."""
    random = np.random.default_rng(seed)
    if kind == "tight":  # everybody has as many rows as possible
        return random.permutation(np.arange(rows) % k)
    if kind == "one heavy":
        heavy = np.zeros(rows // k, int)
        return random.permutation(np.append(heavy, 1 + np.arange(rows - len(heavy))))
    return np.unique(random.integers(0, rows // 2, rows), return_inverse=True)[1]


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("kind", ["tight", "one heavy", "mixed"])
@pytest.mark.parametrize(("rows", "k"), [(24, 2), (36, 4), (400, 5), (700, 7)])
@pytest.mark.parametrize("method", METHODS)
def test_every_record_has_k_different_people(method, rows, k, kind, effort) -> None:
    people = people_of(kind, rows, k, seed=rows)
    graph = arranged(method, codes_of(rows, seed=k), people, k, effort)
    assert graph.check_regular(k) == (k, k)
    for originals in preimages_of(graph):
        assert len(set(people[originals].tolist())) == k
    assert check_shares(graph, Demand(k, people=people.astype(np.int32))) == {
        "largest_share": 1 / k
    }


@pytest.mark.parametrize("method", METHODS)
def test_people_of_one_row_each_get_the_graph_of_rows(method: str) -> None:
    codes = codes_of(300, seed=1)
    chosen = methods.get(method)
    ready = chosen.codes_to_arrange(codes, KAnonymity(5))
    without = chosen.arrange(ready, Demand(5), MethodContext(seconds=0)).graph
    loss = [len(np.unique(codes.matrix[rows], axis=0)) for rows in preimages_of(without)]
    alone = arranged(method, codes, np.arange(300), 5, 0)
    assert alone.check_regular(5) == (5, 5)
    spread = [len(np.unique(codes.matrix[rows], axis=0)) for rows in preimages_of(alone)]
    assert np.mean(spread) == pytest.approx(np.mean(loss), rel=0.15)


# --------------------------------------------------------------- all draws, on small tables


def disjoint_assignments(edges: list[set[int]]) -> Iterator[list[tuple[int, ...]]]:
    """All ways to split a regular graph into assignments without a common edge, as lists."""
    if not any(edges):
        yield []
        return
    for one in assignments(edges, (), frozenset()):
        if one[0] != min(edges[0]):  # the order of the assignments does not matter
            continue
        rest = [left - {taken} for left, taken in zip(edges, one, strict=True)]
        for others in disjoint_assignments(rest):
            yield [one, *others]


def assignments(
    edges: list[set[int]], taken: tuple[int, ...], used: frozenset[int]
) -> Iterator[tuple[int, ...]]:
    if len(taken) == len(edges):
        yield taken
        return
    for original in sorted(edges[len(taken)] - used):
        yield from assignments(edges, (*taken, original), used | {original})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("whose", "k"),
    [
        ((0, 0, 1, 2), 2),
        ((0, 0, 1, 1), 2),
        ((0, 1, 0, 2, 2, 0), 2),
        ((0, 0, 1, 1, 2, 2), 3),
        ((0, 1, 2, 3, 0, 4), 3),
        ((0, 0, 0, 1, 1, 2, 3), 2),
        ((0, 0, 1, 2, 3, 4, 1, 5), 4),
        ((0, 0, 1, 1, 2, 2, 3, 4), 3),
    ],
)
def test_nobodys_record_is_guessed_with_more_than_one_in_k(method, whose, k) -> None:
    """P(record j is a row of person p) ≤ 1/k exactly, over all draws of the true assignment.

    One of m assignments without a common edge is drawn uniformly; however the graph is split into
    them, every edge is true with probability 1/m.
    """
    people = np.array(whose)
    for seed in range(3):
        graph = arranged(method, codes_of(len(whose), seed), people, k, 0)
        edges = [set(originals) for originals in preimages_of(graph)]
        splits = 0
        for split in disjoint_assignments(edges):
            splits += 1
            chance = Fraction(1, len(split))
            for record in range(len(whose)):
                belief: dict[int, Fraction] = {}
                for one in split:
                    person = int(people[one[record]])
                    belief[person] = belief.get(person, Fraction(0)) + chance
                assert sum(belief.values()) == 1
                assert max(belief.values()) <= Fraction(1, k)
            # several rows at once: of any guess of one record for each row of a person, the
            # expected share that is the person's is at most 1/k, and all are with at most 1/k
            for person in set(whose):
                guesses = np.flatnonzero(people == person)
                hits = [sum(people[one[j]] == person for j in guesses) for one in split]
                assert sum(map(int, hits)) * chance <= Fraction(len(guesses), k)
                everything = sum(hit == len(guesses) for hit in hits) * chance
                assert everything <= Fraction(1, k)
        assert splits > 0


def test_counting_rows_breaks_the_same_bound() -> None:
    """The planted fault: rows of one person as if they were different people."""
    people = np.array([0, 0, 1, 2])
    graph = Graph.rings(np.arange(4), np.array([0, 4]), np.array([2]))
    both = [set(people[rows].tolist()) for rows in preimages_of(graph)]
    assert {0} in both
    with pytest.raises(Exception, match="Invariant 6"):
        check_shares(graph, Demand(2, people=people.astype(np.int32)))


# ------------------------------------------------------------------------------ building blocks


@pytest.mark.parametrize("seed", range(20))
def test_rings_keep_rows_of_a_person_apart(seed: int) -> None:
    random = np.random.default_rng(seed)
    k, rows = int(random.integers(2, 7)), int(random.integers(12, 60))
    people = people_of(["tight", "one heavy", "mixed"][seed % 3], rows, k, seed).astype(np.int32)
    if np.bincount(people).max() * k > rows:
        people = np.arange(rows, dtype=np.int32) // 2
    ring = people[ring_around(people, k)]
    for place in range(rows):
        assert len({int(ring[(place + step) % rows]) for step in range(k)}) == k


@pytest.mark.parametrize("seed", range(20))
def test_blocks_hold_at_most_a_kth_part_of_anybody(seed: int) -> None:
    random = np.random.default_rng(seed)
    k = int(random.integers(2, 9))
    people = np.sort(random.zipf(1.6, 900) % 400)
    ordinal = np.arange(900) - np.searchsorted(people, people)  # nobody has more than 900 // k
    people = np.unique(people + 400 * (ordinal // (900 // k)), return_inverse=True)[1]
    people = people.astype(np.int32)
    blocks = blocks_of_people(people, 60, k)
    if blocks is None:
        assert np.bincount(people).max() > len(people) / k * 0.6
        return
    assert sorted(blocks.places.tolist()) == list(range(len(people)))
    for first, last in zip(blocks.starts[:-1], blocks.starts[1:], strict=True):
        most = np.bincount(people[blocks.places[first:last]]).max()
        assert most * k <= last - first


def test_places_of_a_person_are_linked_around_the_block() -> None:
    people, starts = np.array([3, 3, 1, 3, 3, 1]), np.array([0, 3, 6])
    assert next_of_same(people, starts).tolist() == [1, 0, 2, 4, 3, 5]


def test_a_block_without_a_further_matching_becomes_a_ring() -> None:
    """P and q first meet each other, so that their rows have nowhere to go in the third layer."""
    people = np.array([0, 0, 1, 1, 2, 3], np.int32)
    ages = np.array([[0], [0], [1], [1], [90], [91]], np.int32)
    codes = codes_from(ages)
    demand = Demand(3, people=people)
    metric = scales(codes, 3)
    starts = np.array([0, 6])
    assert stuck_blocks(match_in_blocks(metric, ages, starts, 3, people), starts) == [(0, 6)]
    matched = _matched(metric, ages, BlockOrder("", np.arange(6), starts), demand)
    for originals in matched:
        assert len(set(people[originals].tolist())) == 3
    assert np.bincount(matched.ravel()).tolist() == [3] * 6


def test_methods_that_count_rows_name_those_that_count_people() -> None:
    with pytest.raises(UsageError, match="'mondrian' counts rows") as refused:
        methods.get("mondrian").check_counts_people()
    assert refused.value.remedy == "Methods that count people: auto, freeform, nh."
