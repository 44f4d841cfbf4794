"""The buckets method: soundness by enumerating every world, random order and draw; validity."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from bucket_worlds import caps_of, coded, demand_of, enumerate_releases
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle import BetaLikeness, Caps, GuaranteeError, KAnonymity, LDiversity, Schema, anonymize
from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.exposure import exposure
from mottle.methods import Arrangement, Draw, MethodContext
from mottle.methods.buckets import buckets as module
from mottle.methods.buckets import records, waves
from mottle.methods.buckets.buckets import buckets, tiers_for
from mottle.methods.buckets.filling import fill_blocks
from mottle.methods.buckets.plan import SensitiveValues
from mottle.methods.buckets.tiers import Tier
from mottle.methods.buckets.tree import grow

SCHEMA = Schema.of(quasi_identifying=["age", "sex"], sensitive=["illness"])


def highest_belief_over_cap(codes: Codes, values: str, guarantee, **options) -> Fraction:
    """The highest ratio of an exact belief to its cap, over all releases, people and values."""
    found = enumerate_releases(buckets, codes, values, guarantee, **options)
    return found.highest_over_cap(caps_of(values, guarantee))


@pytest.mark.parametrize(
    ("values", "guarantee"),
    [
        ("aabb", LDiversity(2)),
        ("aabc", LDiversity(2)),
        ("abcd", LDiversity(3)),
        ("aabc", Caps({"a": 0.5, "b": 0.25}, default=0.5)),
        ("aaab", BetaLikeness(0.2)),
        ("aabc", BetaLikeness(1)),
    ],
)
def test_no_release_lets_belief_exceed_a_cap_in_any_world(values, guarantee):
    codes = coded([20, 21, 40, 60], ["f", "m", "f", "f"])
    assert highest_belief_over_cap(codes, values, guarantee) <= 1


def test_belief_stays_within_caps_with_a_first_wave(monkeypatch):
    monkeypatch.setattr(waves, "_LARGEST_SHARE", 0.5)
    monkeypatch.setattr(waves, "_FEWEST", 2)
    monkeypatch.setattr(waves, "_FEWEST_PER_BUCKET", 1)
    codes = coded([20, 21, 40, 60], ["f", "m", "f", "f"])
    found = enumerate_releases(buckets, codes, "aabb", LDiversity(2))
    assert found.stated("wave") == {"2"}
    assert found.highest_over_cap(caps_of("aabb", LDiversity(2))) == 1


@pytest.mark.parametrize(
    ("values", "tiers"), [("aabb", [[1, 1], [1, 1]]), ("aabc", [[1, 1, 0], [1, 0, 1]])]
)
def test_belief_stays_within_caps_in_tiers(monkeypatch, values, tiers):
    parted = [Tier(2, np.array(counts)) for counts in tiers]
    monkeypatch.setattr(module, "tiers_of", lambda counts, values: parted)
    codes = coded([20, 21, 40, 60], ["f", "m", "f", "f"])
    assert highest_belief_over_cap(codes, values, LDiversity(2)) <= 1


def test_belief_stays_within_caps_among_people_who_are_alike():
    codes = coded([20, 20, 20, 60], ["f", "f", "f", "m"])
    assert highest_belief_over_cap(codes, "aabc", LDiversity(2), alike=3) <= 1


def test_a_layout_is_as_likely_when_buckets_exchange_their_values():
    """The main step of the proof, for buckets of several records and a value that lies in two.

    Which records share a bucket, and the number of each bucket, are all that the matching uses of
    the sensitive values. A world and the one in which two buckets have exchanged their values must
    lead to them by equally many random orders.
    """
    caps = np.array([2 / 3, 1 / 3, 1 / 3])
    known = SensitiveValues(np.arange(3, dtype=np.int32)[:, None], caps, np.empty((3, 0)), 2)

    @cache
    def layouts(world: tuple[int, ...]) -> Counter:
        found: Counter = Counter()
        for tiebreak in permutations(range(6)):
            (layout,) = fill_blocks(
                np.arange(6),
                np.array([0, 6]),
                np.array(tiebreak),
                np.array(world, np.int32),
                known,
                3,
                5,
            )
            assert (layout.buckets, layout.in_buckets) == (3, 6)
            found[tuple(map(frozenset, layout.members.reshape(3, 2).tolist()))] += 1
        return found

    world = (0, 0, 0, 1, 1, 2)
    for buckets_of_records, times in layouts(world).items():
        for first, second in ((0, 1), (0, 2), (1, 2)):
            other = list(world)
            pairs = zip(
                sorted(buckets_of_records[first]), sorted(buckets_of_records[second]), strict=True
            )
            for one, two in pairs:
                other[one], other[two] = world[two], world[one]
            assert layouts(tuple(other))[buckets_of_records] == times


def test_the_enumeration_catches_a_method_that_mixes_values_and_quasi_identifiers():
    """Pairs of different values, neighbours where they differ: the minimality attack's victim."""

    def by_both(codes, demand, effort):
        values = demand.values.tolist()
        order = [0, 2, 1, 3] if values[0] == values[1] else [0, 1, 2, 3]
        starts, degrees = np.array([0, 2, 4]), np.array([2, 2])
        graph = Graph.explicit(np.array(order), starts, degrees, np.tile([0, 1], 4))
        return Arrangement(graph, {}, Draw.BUCKETS)

    codes = coded([20, 21, 40, 60], ["f", "m", "f", "f"])
    found = enumerate_releases(by_both, codes, "aabc", LDiversity(2))
    assert found.highest_over_cap(caps_of("aabc", LDiversity(2))) > 1


def with_illness(rows: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    people = mottle.datasets.population(rows, seed=seed)
    shares = np.arange(12, 0, -1) / 78
    return people.append_column(
        "illness", pa.array(random.choice(list("abcdefghijkl"), rows, p=shares))
    )


people = with_illness(1500, seed=3)
PEOPLE_SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "education"], sensitive=["illness"], rest="identifying"
)


@pytest.mark.parametrize(
    "guarantee",
    [
        LDiversity(2),
        LDiversity(4),
        KAnonymity(7) & LDiversity(3),
        BetaLikeness(1),
        BetaLikeness(2, enhanced=True),
    ],
    ids=str,
)
def test_releases_pass_all_checks(guarantee, verify):
    table = people.slice(0, 300)
    release = anonymize(table, PEOPLE_SCHEMA, guarantee, method="buckets", effort=0.2)
    assert all(check.passed for check in release.certificate.checks)
    assert release.certificate.parameters.draw == "buckets"
    assert release.table.num_rows == 300
    verify(table, PEOPLE_SCHEMA, release, guarantee.degree)


histograms = st.one_of(
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
    st.integers(2, 30).map(lambda n: [1] * n),
    st.tuples(st.integers(2, 6), st.integers(1, 6)).map(lambda t: [t[1]] * t[0]),
    st.tuples(st.integers(2, 5), st.integers(1, 5)).map(
        lambda t: [t[1]] + [1] * (t[1] * (t[0] - 1))
    ),
    st.tuples(st.integers(2, 5), st.integers(2, 5)).map(
        lambda t: [t[1] + 1] + [1] * (t[1] * (t[0] - 1))
    ),
)


@given(histograms, st.integers(2, 6), st.integers(0, 10_000))
def test_every_histogram_gives_a_valid_release_or_the_right_refusal(counts, diversity, seed):
    values = [f"v{v}" for v, count in enumerate(counts) for _ in range(count)]
    rows = len(values)
    random = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": random.integers(0, 9, rows),
            "sex": random.choice(["f", "m"], rows),
            "illness": random.permutation(values),
        }
    )
    guarantee = LDiversity(diversity)
    if rows < 2 or max(counts) > rows // diversity:
        largest = rows // max(counts)
        words = f"largest feasible ℓ is {largest}" if largest > 1 else "No ℓ is feasible|one row"
        with pytest.raises(GuaranteeError, match=words):
            anonymize(table, SCHEMA, guarantee, method="buckets", effort=0, seed=seed)
        return
    release = anonymize(table, SCHEMA, guarantee, method="buckets", effort=0, seed=seed)
    demand = demand_of(table.column("illness").to_pylist(), guarantee)
    assert exposure(release.links.graph, release.links.truth, demand).violations == 0


@given(
    st.lists(st.integers(1, 15), min_size=2, max_size=8),
    st.floats(0, 4),
    st.booleans(),
    st.integers(0, 1000),
)
def test_likeness_is_always_feasible(counts, beta, enhanced, seed):
    values = [f"v{v}" for v, count in enumerate(counts) for _ in range(count)]
    random = np.random.default_rng(seed)
    rows = len(values)
    table = pa.table(
        {
            "age": random.integers(0, 9, rows),
            "sex": random.choice(["f", "m"], rows),
            "illness": random.permutation(values),
        }
    )
    guarantee = BetaLikeness(beta, enhanced)
    release = anonymize(table, SCHEMA, guarantee, method="buckets", effort=0, seed=seed)
    assert release.certificate.checks[3].passed


def test_several_sensitive_columns_keep_joint_and_single_caps():
    random = np.random.default_rng(0)
    rows = 400
    table = pa.table(
        {
            "age": random.integers(0, 60, rows),
            "sex": random.choice(["f", "m"], rows),
            "illness": random.choice(list("abcdef"), rows),
            "job": random.choice(list("uvwxyz"), rows),
        }
    )
    schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["illness", "job"])
    release = anonymize(table, schema, LDiversity(3), method="buckets", effort=0, seed=1)
    links = release.links
    for column in ("illness", "job"):
        values = np.array(table.column(column).to_pylist())
        for original in range(rows):
            edges = _published_on_matches(links, original)
            shown = values[edges]
            _, seen = np.unique(shown, return_counts=True)
            assert seen.max() <= len(shown) / 3
    described = release.certificate.sensitive
    assert [entry.columns for entry in described] == [
        ("illness", "job"),
        ("illness",),
        ("job",),
    ]


def _published_on_matches(links, original: int) -> list[int]:
    """The rows whose sensitive values are published on the matches of ``original``."""
    graph = links.graph
    position = int(np.flatnonzero(graph.members == original)[0])
    block = int(np.searchsorted(graph.starts, position, side="right")) - 1
    places = range(int(graph.starts[block]), int(graph.starts[block + 1]))
    matches = [place for place in places if position in graph.preimages(place)]
    return [int(graph.members[links.truth[match]]) for match in matches]


def test_every_edge_has_the_same_chance():
    table = people.slice(0, 60)
    schema = PEOPLE_SCHEMA
    true_edges: dict[tuple[int, int], int] = defaultdict(int)
    release = anonymize(table, schema, LDiversity(3), method="buckets", effort=0, seed=0)
    graph = release.links.graph
    from mottle.assignment import assign
    from mottle.utils.csprng import Secret

    draws_made = 3000
    for seed in range(draws_made):
        truth = assign(graph, Secret.draw(seed=seed), "buckets")
        for position, original in enumerate(truth.tolist()):
            true_edges[position, original] += 1
    for block, degree in enumerate(graph.degrees.tolist()):
        start, end = graph.starts[block], graph.starts[block + 1]
        for position in range(start, end):
            for original in graph.preimages(position).tolist():
                expected = draws_made / degree
                spread = (draws_made * (1 / degree) * (1 - 1 / degree)) ** 0.5
                assert abs(true_edges[position, original] - expected) < 5 * spread


@pytest.mark.parametrize(
    ("values", "guarantee", "fewest"),
    [
        ("aabbccdd", LDiversity(4), 4),
        ("aaab" * 3, BetaLikeness(1), 2),
        ("aabbccdd", KAnonymity(6) & LDiversity(2), 6),
    ],
)
def test_buckets_are_the_fewest_that_caps_allow(values, guarantee, fewest):
    (tier,) = tiers_for(demand_of(list(values), guarantee))
    assert tier.buckets == fewest


def test_records_that_are_alike_are_not_in_the_order_of_the_file(monkeypatch):
    """The file may be sorted by its sensitive column."""
    rows = 6000
    values = np.repeat(list("abcdefghijklmno"), 400)
    demand = demand_of(values.tolist(), LDiversity(3))
    nodes = []

    def spy(known, codes, values, given):
        nodes.extend(given)
        return grow(known, codes, values, given)

    monkeypatch.setattr(module, "grow", spy)
    codes = coded(np.full(rows, 30), np.repeat("f", rows))
    facts = buckets(codes, demand, MethodContext(0)).facts
    assert facts["blocks"] == 1  # there is nothing to cut by
    (root,) = nodes
    assert np.abs(np.corrcoef(root.rows, np.arange(len(root.rows)))[0, 1]) < 0.1


def test_needs_a_sensitive_guarantee():
    with pytest.raises(mottle.UsageError, match="does not give k-anonymity"):
        anonymize(people, PEOPLE_SCHEMA, KAnonymity(3), method="buckets")


def test_the_first_wave_is_drawn_ahead_exactly_as_published(monkeypatch):
    """The release the method learned from is the one that appears."""
    previews = []
    original = records.profiles_by_release

    def spy(codes, demand, graph, truth):
        previews.append((graph, truth.copy()))
        return original(codes, demand, graph, truth)

    monkeypatch.setattr(records, "profiles_by_release", spy)
    monkeypatch.setattr(waves, "_FEWEST", 40)
    monkeypatch.setattr(waves, "_FEWEST_PER_BUCKET", 1)
    release = anonymize(people, PEOPLE_SCHEMA, LDiversity(2), method="buckets", effort=0, seed=5)
    ((graph, truth),) = previews
    final = release.links
    assert np.array_equal(final.graph.members[: graph.records], graph.members)
    assert np.array_equal(final.truth[: graph.records], truth)
    assert release.certificate.method.wave == graph.records > 0


def test_refinement_keeps_buckets_and_lowers_the_loss():
    table, schema = people, PEOPLE_SCHEMA
    run = {"method": "buckets", "objective": "ncp", "seed": 2}
    rough = anonymize(table, schema, LDiversity(3), effort=0, **run)
    fine = anonymize(table, schema, LDiversity(3), effort=1, **run)
    assert fine.gcp < rough.gcp
    assert fine.certificate.method.refinement["passes"] > 0
    assert fine.certificate.parameters.draw == Draw.BUCKETS


def test_auto_picks_buckets_for_sensitive_guarantees():
    release = anonymize(people.slice(0, 200), PEOPLE_SCHEMA, LDiversity(2), effort=0, seed=1)
    assert release.certificate.method.picked == "buckets"
