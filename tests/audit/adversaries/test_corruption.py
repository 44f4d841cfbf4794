"""Corruption: what known records reveal, exactly, for every way of drawing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import mottle
from mottle.assignment import assign
from mottle.audit import effective_matches
from mottle.audit.adversaries.corruption import (
    _drawn_together,
    _learned_by_insiders,
    _left_by_unit,
    _rule,
    _worst_case,
)
from mottle.audit.containment.coded_columns import offsets_of
from mottle.audit.links.edges import Edges
from mottle.graph.model import Graph
from mottle.release.certificate import RunParameters
from mottle.utils.csprng import Secret


def corruption(table, release):
    return mottle.audit_release(table, release, adversaries=["corruption"]).findings[0]


def edges_of_graph(graph: Graph, truth: np.ndarray) -> Edges:
    preimages = [graph.preimages(position) for position in range(graph.records)]
    blocks = np.repeat(np.arange(len(graph.sizes)), graph.sizes)
    return Edges(
        offsets_of(np.array([len(each) for each in preimages])),
        np.concatenate(preimages).astype(np.int32),
        truth.astype(np.int32),
        blocks.astype(np.int32),
    )


@st.composite
def drawn_rings(draw: st.DrawFn) -> tuple[Edges, np.ndarray]:
    """A ring with its draw, and who is known."""
    size = draw(st.integers(3, 8))
    degree = draw(st.integers(2, size))
    graph = Graph.rings(np.arange(size), np.array([0, size]), np.array([degree]))
    truth = assign(graph, Secret.draw(seed=draw(st.integers(0, 99))))
    known = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    return edges_of_graph(graph, truth), known


@given(drawn_rings())
def test_matches_left_are_those_of_the_graph_without_the_known(case):
    edges, known = case
    matches = np.zeros((edges.records, edges.records), bool)
    matches[edges.originals, edges.published] = True
    matches[known] = False
    matches[:, known[edges.truth]] = False
    everybody = matches.copy()
    everybody[known, np.argsort(edges.truth)[known]] = True  # their own records are settled
    left = effective_matches(csr_array(everybody)).toarray().sum(axis=1)
    left[known] = 0
    assert np.array_equal(edges.effective_matches(known), left)


def block_of_buckets(buckets: int, size: int) -> Graph:
    """A block with that many buckets; layer b of every record is some preimage in bucket b."""
    places = np.arange(buckets * size)
    rows = [
        [b * size + (place + b * (place // size)) % size for b in range(buckets)]
        for place in places
    ]
    degrees, starts = np.array([buckets]), np.array([0, len(places)])
    return Graph.explicit(places, starts, degrees, np.array(rows))


@given(st.integers(2, 4), st.integers(2, 4), st.data())
def test_one_known_link_of_a_bucket_reveals_where_all_of_it_went(buckets, size, data):
    """Left are the matches under all permutations of buckets that agree with what is known."""
    from itertools import permutations

    graph = block_of_buckets(buckets, size)
    truth = assign(graph, Secret.draw(seed=data.draw(st.integers(0, 99))), "buckets")
    edges = edges_of_graph(graph, truth)
    people = data.draw(st.sets(st.integers(0, graph.records - 1), max_size=graph.records - 1))
    known = np.isin(np.arange(graph.records), list(people))
    slot_of = np.argsort(truth)
    possible = [set() for _ in range(graph.records)]
    rows = edges.originals.reshape(graph.records, buckets)
    for order in permutations(range(buckets)):
        slots = np.empty(graph.records, int)
        for slot in range(graph.records):
            slots[rows[slot, order[slot // size]]] = slot
        if np.array_equal(slots[known], slot_of[known]):
            for person, slot in enumerate(slots):
                possible[person].add(slot)
    expected = np.where(known, 0, [len(slots) for slots in possible])
    together = _drawn_together(edges, "buckets", *one_each(edges))
    left = _left_by_unit(edges, together.units, together.tables, known)
    assert np.array_equal(left, expected)


def one_each(edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """Everybody has a value of their own, and there are no caps."""
    return np.arange(edges.records, dtype=np.int32), np.ones(edges.records)


def test_insiders_learn_what_all_worlds_agree_on():
    """Enumerated: worlds are the permutations of buckets that keep the insider's own record."""
    from itertools import permutations

    for buckets, size, seed in [(2, 2, 0), (3, 2, 1), (3, 3, 2), (4, 2, 3)]:
        graph = block_of_buckets(buckets, size)
        truth = assign(graph, Secret.draw(seed=seed), "buckets")
        edges = edges_of_graph(graph, truth)
        random = np.random.default_rng(seed)
        values = random.integers(0, 3, graph.records).astype(np.int32)
        caps = np.full(3, 1 / buckets)
        units = np.arange(graph.records) // size  # one block: its buckets
        published = values[truth]
        rows = edges.originals.reshape(graph.records, buckets)
        learned = np.zeros(graph.records, int)
        raised = np.zeros(graph.records, int)
        worlds = []
        for order in permutations(range(buckets)):
            slots = np.empty(graph.records, int)
            for slot in range(graph.records):
                slots[rows[slot, order[slot // size]]] = slot
            worlds.append(slots)
        slot_of = np.argsort(truth)
        for insider in range(graph.records):
            kept = [slots for slots in worlds if slots[insider] == slot_of[insider]]
            for person in set(range(graph.records)) - {insider}:
                shares = [
                    np.bincount([published[slots[person]] for slots in some], minlength=3)
                    / len(some)
                    for some in (worlds, kept)
                ]
                learned[insider] += shares[0].max() < 1 and shares[1].max() > 1 - 1e-9
                above = [(share > caps + 1e-9).any() for share in shares]
                raised[insider] += above[1] and not above[0]
        found = _learned_by_insiders(edges, units, values, caps)
        assert np.array_equal(found[0], learned)
        assert np.array_equal(found[1], raised)


@pytest.mark.parametrize("draw", ["buckets", "rotation"])
def test_the_worst_case_knows_at_most_one_person_of_each_unit(draw):
    """Nine people drawn as a ring or in buckets, and three drawn one by one."""
    ring = [[place, (place + 1) % 9, (place + 2) % 9] for place in range(9)]
    table = [[b * 3 + (place + b * (place // 3)) % 3 for b in range(3)] for place in range(9)]
    edges = np.array(table if draw == "buckets" else ring)
    graph = Graph.explicit(
        np.arange(12),
        np.array([0, 9, 12]),
        np.array([3, 3]),
        np.concatenate([edges.ravel(), np.tile(np.arange(3), 3)]),
    )
    links = edges_of_graph(graph, assign(graph, Secret.draw(seed=1), draw))
    together = _drawn_together(links, draw, *one_each(links))
    steps = _worst_case(links, draw, together, _rule(links, draw, together), 0)
    exposed = [2, 7, 6] if draw == "buckets" else [8]  # two of three buckets tell the third
    assert [step["exposed"] for step in steps] == exposed


# ------------------------------------------------------------------------------- on releases


def test_a_ring_loses_one_match_for_each_person_known(crowd, sound):
    found = corruption(crowd, sound)
    assert (found.achieved, found.allowed, found.passed) == (0, 1, True)
    for step in found.details["worst_case"]:
        assert step["fewest_left"] == max(5 - step["known"], 1)
    shares = [step["mean_left"] for step in found.details["random"]]
    assert shares == sorted(shares, reverse=True)
    simulated = found.details["one_known_simulated"]
    assert simulated["best_guess_nobody_known"] == pytest.approx(1 / 5)
    assert 1 / 5 < simulated["best_guess_one_known"] < 2 / 5


def test_shifts_of_a_ring_are_caught(crowd, sound):
    """NH10 §5.2: drawn among the k shifts, one known link gives the whole ring away."""
    certificate = sound.certificate.with_changes(parameters=RunParameters(draw="rotation"))
    found = corruption(crowd, replace(sound, certified=certificate))
    sizes = sound.links.graph.sizes
    rings = sizes > 5  # a complete block is drawn record by record
    expected = (sizes * (sizes - 1))[rings].sum() / sizes.sum()
    assert found.achieved == pytest.approx(expected)
    assert found.passed is False
    assert found.details["worst_case"][0]["exposed"] == sizes.max() - 1


def test_homogeneous_groups_lose_one_match_for_each_person_known(crowd):
    schema = mottle.Schema.of(quasi_identifying=["age", "sex"], rest="insensitive")
    release = mottle.anonymize(crowd, schema, mottle.KAnonymity(4), method="hp", seed=1)
    found = corruption(crowd, release)
    assert found.passed
    assert [step["fewest_left"] for step in found.details["worst_case"]][:3] == [3, 2, 1]


def test_guarantees_about_values_are_not_judged_by_corruption(crowd, diverse):
    found = corruption(crowd, diverse)
    assert found.passed is None
    assert found.details["worst_case"]


def test_without_links_or_draw_it_is_not_played(crowd, sound, outside):
    for release in (outside(sound), replace(sound, certified=None)):
        found = corruption(crowd, release)
        assert found.passed is None
        assert "needs" in found.details["not_played"]


# --------------------------------------------------------------------------------- insiders


def parts(numberings: list[list[int]], size: int = 2) -> tuple[Edges, np.ndarray, np.ndarray]:
    """One block for each numbering of three buckets, which hold values 0, 1 and 2."""
    one = block_of_buckets(3, size)
    count, length = len(numberings), one.records
    graph = Graph.explicit(
        np.arange(count * length),
        np.arange(count + 1) * length,
        np.full(count, 3),
        np.tile(one.edges, count),
    )
    edges = edges_of_graph(graph, assign(graph, Secret.draw(seed=4), "buckets"))
    values = np.repeat(np.array(numberings, np.int32).ravel(), size)
    return edges, values, np.full(3, 1 / 3)


def test_parts_that_share_the_numbering_of_buckets_are_one_table():
    """Each part has a draw of its own, but a bucket is recognized in all of them by its values."""
    edges, values, caps = parts([[0, 1, 2]] * 12)
    together = _drawn_together(edges, "buckets", values, caps)
    assert together.shared
    assert len(np.unique(together.tables)) == 1
    learned, raised = _learned_by_insiders(edges, together.units, values, caps)
    assert set(learned) == {12 * 2 - 1}
    assert set(raised) == {12 * 6 - 1}


def test_blocks_that_number_their_buckets_independently_are_tables_of_their_own():
    for seed in range(20):
        random = np.random.default_rng(seed)
        edges, values, caps = parts([random.permutation(3).tolist() for _ in range(12)])
        together = _drawn_together(edges, "buckets", values, caps)
        assert not together.shared
        learned, raised = _learned_by_insiders(edges, together.units, values, caps)
        assert set(learned) == {1}
        assert set(raised) == {5}


def insiders(table, release, **options):
    report = mottle.audit_release(table, release, adversaries=["corruption"], **options)
    return report.findings[1]


def test_an_insider_learns_the_bucket_of_one_table_and_no_more(bucketed):
    table, release = bucketed
    graph = release.links.graph
    counted = np.where(graph.sizes > graph.degrees, graph.sizes // graph.degrees - 1, 0)
    by_blocks = float(counted @ graph.sizes) / graph.records
    found = insiders(table, release)
    assert (found.allowed, found.passed) == (release.certificate.method.known_records, True)
    assert found.details["certain"]["mean"] == pytest.approx(by_blocks, rel=0.02)
    most = int(found.achieved)
    assert insiders(table, release, insider_bound=most).passed is True
    assert insiders(table, release, insider_bound=most - 1).passed is False


def test_the_bound_on_the_certificate_is_judged(crowd, guarded):
    method = guarded.certificate.method
    changed = type(method).model_validate({**method.to_dict(), "known_records": 1})
    certified = guarded.certificate.with_changes(method=changed)
    found = insiders(crowd, replace(guarded, certified=certified))
    assert (found.allowed, found.passed) == (1, False)


def test_in_groups_an_insider_learns_next_to_nothing(crowd, diverse):
    found = insiders(crowd, diverse, insider_bound=0)
    assert (found.achieved, found.passed) == (0, True)
    assert found.details["participants"] == crowd.num_rows


def test_a_ring_that_is_turned_is_learned_by_each_of_its_people(rotated):
    table, release = rotated
    sizes = release.links.graph.sizes
    rings = sizes[sizes > release.links.graph.degrees]
    assert insiders(table, release).achieved == rings.max() - 1
