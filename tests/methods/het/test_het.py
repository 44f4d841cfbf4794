"""HET's methods: matchings against plain ones, partitions, distances, dummies and the leak."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from mottle import BetaLikeness, KAnonymity, LDiversity, Schema, UsageError, anonymize, methods
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.kernels.ncp_growth import FORBIDDEN
from mottle.kernels.scales import scales
from mottle.methods import Draw, MethodContext
from mottle.methods.het import het
from mottle.methods.het.layout import SensitiveRecords, by_tiebreak, eligible_parts, lay_out
from mottle.methods.het.matching import match_greedily, match_lightest
from mottle.methods.het.threshold import RecordDistances
from mottle.schema.model import Representation

SCHEMA = Schema.of(quasi_identifying=["age", "place"], sensitive=["secret"])


def people(counts: list[int], seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    secret = random.permutation(np.repeat(np.arange(len(counts)), counts))
    return pa.table(
        {
            "age": random.integers(0, 80, len(secret)),
            "place": random.integers(0, 9, len(secret)).astype(str),
            "secret": secret.astype(str),
        }
    )


def codes_of(table: pa.Table) -> Codes:
    schema = Schema.of(quasi_identifying=["age", "place"], rest="insensitive")
    return encode(table, schema.covering(table.column_names), Representation.RANGE)


def demand_of(counts: list[int], diversity: int, seed: int = 0) -> Demand:
    values = people(counts, seed)["secret"].to_numpy().astype(np.int32)
    caps = np.full(len(counts), 1 / diversity)
    return Demand(2, values[:, None], caps, np.array(counts, np.int64))


# -------------------------------------------------------------------------- matching two buckets


def matched(matcher, cost: np.ndarray) -> np.ndarray:
    size = len(cost)
    match, work, prices = (
        np.empty(size, np.int32),
        np.empty((5, size), np.int32),
        np.empty((2, size)),
    )
    if matcher is match_lightest:
        matcher(cost, size, match, work, prices)
    else:
        matcher(cost, size, match, work)
    assert sorted(match.tolist()) == list(range(size))
    return match


@st.composite
def costs(draw) -> np.ndarray:
    """Square matrices with many equal entries."""
    size = draw(st.integers(1, 9))
    return np.random.default_rng(draw(st.integers(0, 9999))).integers(0, 6, (size, size)) / 8.0


@settings(max_examples=200)
@given(costs())
def test_greedy_gives_every_record_in_turn_its_lightest_free_box(cost: np.ndarray):
    free = list(range(len(cost)))
    expected = np.empty(len(cost), int)
    for record in range(len(cost)):
        box = min(free, key=lambda box: (cost[box, record], box))
        free.remove(box)
        expected[box] = record
    assert matched(match_greedily, cost).tolist() == expected.tolist()


@settings(max_examples=200)
@given(costs())
def test_sortgreedy_takes_edges_as_if_all_were_sorted(cost: np.ndarray):
    expected = np.full(len(cost), -1)
    edges = itertools.product(range(len(cost)), repeat=2)
    for box, record in sorted(edges, key=lambda edge: (cost[edge], edge)):
        if expected[box] == -1 and record not in expected:
            expected[box] = record
    assert matched(match_lightest, cost).tolist() == expected.tolist()


@pytest.mark.parametrize("matcher", [match_greedily, match_lightest])
@settings(max_examples=300)
@given(costs(), st.integers(0, 9999), st.sampled_from([0.2, 0.4, 0.6]))
def test_dead_ends_are_left_wherever_a_matching_exists(matcher, cost, seed, share):
    forbidden = np.random.default_rng(seed).random(cost.shape) < share
    cost = np.where(forbidden, FORBIDDEN, cost)
    match = matched(matcher, cost)
    if -1 not in maximum_bipartite_matching(csr_matrix(~forbidden)):
        assert not forbidden[np.arange(len(cost)), match].any()


# ----------------------------------------------------------------------- from records to buckets


def test_who_goes_to_which_bucket_is_drawn_by_lot_among_equal_values():
    counts = [6, 6]
    codes, demand = codes_of(people(counts)), demand_of(counts, 2)
    fills = [np.array([[4, 2], [2, 4]])]
    first_bucket = []
    for seed in range(400):
        effort = MethodContext(
            tiebreak=lambda n, seed=seed: np.random.default_rng(seed).permutation(n)
        )
        layout = lay_out(SensitiveRecords.of(codes, demand, effort), [(np.arange(12), fills)])
        first_bucket.append(np.isin(np.arange(12), layout.members[:6]))
    # whichever of the two buckets comes first, every record is in it half of the time
    assert np.abs(np.mean(first_bucket, axis=0) - 0.5).max() < 4 * np.sqrt(0.25 / 400)


def test_order_of_buckets_tells_nothing_about_their_values():
    counts = [5, 5, 5]
    codes, demand = codes_of(people(counts)), demand_of(counts, 3)
    fills = [np.diag([5, 5, 5])]
    orders = []
    for seed in range(600):
        effort = MethodContext(
            tiebreak=lambda n, seed=seed: np.random.default_rng(seed).permutation(n)
        )
        layout = lay_out(SensitiveRecords.of(codes, demand, effort), [(np.arange(15), fills)])
        orders.append(tuple(demand.values[layout.members[::5]].tolist()))
    seen = [orders.count(order) for order in itertools.permutations(range(3))]
    assert sum(seen) == 600
    assert min(seen) > 60


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=8),
    st.integers(2, 4),
    st.integers(2, 20),
    st.integers(5, 60),
)
def test_parts_are_eligible_whole_stretches_of_the_order(counts, diversity, least, size):
    if max(counts) * diversity > sum(counts) or sum(counts) < least:
        return
    records = SensitiveRecords.of(
        codes_of(people(counts)), demand_of(counts, diversity), MethodContext()
    )
    parts = list(eligible_parts(records, least, size))
    order = np.argsort(records.rank)
    assert np.concatenate(parts).tolist() == order.tolist()
    for part in parts:
        assert len(part) >= least
        assert records.counts(part).max() * diversity <= len(part)


def test_blocks_stay_within_partitions_and_the_certificate_says_what_decides():
    counts = [40] * 30
    codes, demand = codes_of(people(counts)), demand_of(counts, 4)
    arrangement = methods.get("het-hungarian-partitioned").arrange(codes, demand, MethodContext())
    assert arrangement.facts["partitions"] == 2
    assert methods.get("het-hungarian-partitioned").decides_by is methods.DecidesBy.BOTH
    rank = SensitiveRecords.of(codes, demand, MethodContext()).rank[arrangement.graph.members]
    for first, last in itertools.pairwise(arrangement.graph.starts):
        assert len(set((rank[first:last] >= 600).tolist())) == 1


# --------------------------------------------------------------------------------------- threshold


def test_distance_of_records_is_the_loss_of_a_box_of_two():
    codes = codes_of(people([10, 10, 10]))
    records = SensitiveRecords.of(codes, demand_of([10, 10, 10], 3), MethodContext())
    far = RecordDistances(codes, records, "m").from_rows(np.arange(30), np.array([3, 7]))
    matrix, metric = codes.matrix, scales(codes)
    age, place = matrix[:, 0].astype(int), matrix[:, 1]
    ages = codes.domains[0].positions
    expected = np.zeros(30)
    for other in (3, 7):
        expected += np.abs(ages[age] - ages[age[other]]) / (ages.max() - ages.min()) / 2
        expected += (place != place[other]) * metric.step[1]
    assert far == pytest.approx(expected / 2)


def test_threshold_puts_the_most_distant_records_into_a_bucket():
    table = pa.table({"age": [0, 1, 2, 80, 81, 82, 0, 0], "place": ["x"] * 8})
    values = np.array([0, 0, 0, 0, 0, 0, 1, 2], np.int32)
    demand = Demand(2, values[:, None], np.ones(3), np.array([6, 1, 1], np.int64))
    codes = codes_of(table)
    records = SensitiveRecords.of(codes, demand, MethodContext())
    fill = np.array([[3, 3], [1, 0], [0, 1]])  # value 0 shared by the buckets of the two others
    turn = RecordDistances(codes, records, "m").most_distant_first(records, np.arange(8), fill)
    assert sorted(turn[:3].tolist()) == [3, 4, 5]
    assert sorted(by_tiebreak(records, np.arange(8), fill).tolist()) == sorted(turn.tolist())


def test_threshold_mode_pays_and_names_its_risk():
    random = np.random.default_rng(0)
    secret = random.integers(0, 12, 600)
    age = secret * 5 + random.integers(0, 12, 600)  # values follow age
    table = pa.table({"age": age, "place": ["x"] * 600, "secret": secret.astype(str)})
    losses = {}
    for method in ("het-sortgreedy", "het-sortgreedy-threshold"):
        release = anonymize(table, SCHEMA, LDiversity(4), method=method, seed=1)
        losses[method] = release.gcp
    assert losses["het-sortgreedy-threshold"] < losses["het-sortgreedy"]
    assert "together" in release.certificate.method.decides_by


def test_threshold_mode_refuses_too_many_values(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mottle.methods.het.threshold.VALUES", 4)
    with pytest.raises(UsageError, match=r"at most 4 of them, not 5.*without -threshold"):
        anonymize(people([5] * 5), SCHEMA, LDiversity(2), method="het-greedy-threshold")


# ------------------------------------------------------------------------------- the whole method


@pytest.mark.parametrize("rule", ["greedy", "sortgreedy", "hungarian"])
def test_graph_is_one_of_buckets_and_drawn_by_permuting_them(rule: str):
    counts = [30, 30, 30, 30]
    arrangement = methods.get(f"het-{rule}").arrange(
        codes_of(people(counts)), demand_of(counts, 4), MethodContext()
    )
    assert arrangement.draw is Draw.BUCKETS
    assert arrangement.graph.degrees.tolist() == [4]
    assert arrangement.graph.starts.tolist() == [0, 120]
    assert arrangement.facts["in_plain_groups"] == 0


def test_better_matchings_lose_less():
    table = people([60] * 5)
    greedy, sortgreedy, hungarian = (
        anonymize(table, SCHEMA, LDiversity(5), method=f"het-{rule}", seed=1).gcp
        for rule in ("greedy", "sortgreedy", "hungarian")
    )
    assert hungarian < sortgreedy
    assert hungarian < greedy


def test_buckets_beyond_the_limit_are_refused_with_alternatives(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(het, "LIMIT", 20)
    with pytest.raises(UsageError, match=r"at most 20 records, not 30.*buckets.*-partitioned"):
        anonymize(people([30, 30]), SCHEMA, LDiversity(2), method="het-greedy")


def test_table_that_buckets_do_not_divide_closes_with_small_groups_and_no_dummies():
    table = people([20, 20, 21, 22])
    release = anonymize(table, SCHEMA, LDiversity(3), method="het-hungarian", seed=1)
    assert release.table.num_rows == table.num_rows
    assert release.table["secret"].null_count == 0


def test_k_asks_for_more_buckets_than_l():
    table = people([20] * 6)
    release = anonymize(
        table, SCHEMA, KAnonymity(7) & LDiversity(3), method="het-hungarian", seed=1
    )
    assert release.certificate.degree.min >= 7


# --------------------------------------------------------------------------- dummies and the leak

UNSAFE = {"seed": 1, "unsafe_paper_randomization": True}
RULES = ("greedy", "sortgreedy", "hungarian")


@pytest.mark.parametrize(
    ("counts", "guarantee", "added"),
    [
        ([11, 11, 10, 9], LDiversity(3), 1),
        ([12, 12, 12], LDiversity(3), 0),
        ([6, 7, 12], BetaLikeness(0.7), 0),  # c = 5
        ([6, 7, 12], BetaLikeness(0.72), 5),  # c = 6
        ([20, 25, 25, 30], BetaLikeness(2 / 3), 2),  # Theorem 4: ℓ = 3
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_paper_to_the_letter_publishes_dummies(rule: str, counts, guarantee, added: int):
    table = people(counts)
    release = anonymize(table, SCHEMA, guarantee, method=f"het-{rule}-dummies", **UNSAFE)
    assert release.table.num_rows == release.certificate.rows == sum(counts) + added
    assert release.table["secret"].null_count == added
    assert release.certificate.method.dummies == added
    said = [note for note in release.certificate.notes if "are dummies" in note]
    assert len(said) == (added > 0)
    assert any(note.startswith("UNSAFE") for note in release.certificate.notes)


def test_dummies_have_to_be_asked_for_twice():
    with pytest.raises(UsageError, match=r"does not keep the guarantee.*-dummies"):
        anonymize(people([5] * 4), SCHEMA, LDiversity(2), method="het-hungarian-dummies")


def test_paper_to_the_letter_has_no_more_buckets_than_l():
    guarantee = KAnonymity(5) & LDiversity(3)
    with pytest.raises(UsageError, match=r"make 3 buckets.*k = 5 requires more.*-dummies"):
        anonymize(people([9] * 5), SCHEMA, guarantee, method="het-hungarian-dummies", **UNSAFE)


@pytest.mark.parametrize("method", ["het-greedy", "het-hungarian-partitioned", "burel"])
def test_k_anonymity_alone_is_for_other_methods(method: str):
    with pytest.raises(UsageError, match=r"does not give k-anonymity.*freeform"):
        anonymize(people([9] * 5), SCHEMA, KAnonymity(3), method=method)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("counts", [[3, 3, 3, 2, 2, 2], [30, 30, 30, 20, 20, 20]])
def test_paper_to_the_letter_matches_no_value_twice(rule: str, counts: list[int]):
    """Theorem 2 on HET §3.3's fifteen tuples, whose f Algorithm 1 splits, and on ten times them."""
    demand = demand_of(counts, 5, seed=1)
    graph: Graph = (
        methods.get(f"het-{rule}-dummies")
        .arrange(codes_of(people(counts, seed=1)), demand.with_dummies(0), MethodContext())
        .graph
    )
    values = demand.values[graph.members]
    matches = np.array([graph.preimages(position) for position in range(graph.records)])
    assert all(len(set(row)) == 5 for row in values[matches].tolist())


@pytest.mark.parametrize(
    ("method", "counts", "chance"),
    [
        ("het-hungarian", [40] * 5, 0.3),
        ("het-hungarian-dummies", [40] * 5, 0.3),
        ("het-greedy", [40] * 5, 0.3),
        ("nh", [30] * 10, 0.201),
    ],
)
def test_papers_walk_leaks_and_the_certificate_says_so(method: str, counts, chance: float):
    table = people(counts)
    release = anonymize(table, SCHEMA, LDiversity(5), method=method, **UNSAFE)
    check = release.certificate.checks[3]
    assert check.invariant == 4
    assert check.passed is False
    assert check.measured.individuals_with_repeated_value > 0
    assert check.measured.individuals_beyond_cap > 0
    assert check.measured.highest_share_of_cap > 1
    assert release.certificate.parameters.draw == "closed"
    repeats, seen_once = strike_out(table, release)
    assert repeats > 0
    assert seen_once > chance


@pytest.mark.parametrize("method", ["het-hungarian", "het-greedy", "nh"])
@pytest.mark.parametrize("counts", [[40] * 5, [30] * 10, [50, 45, 40, 30, 30, 30, 25]])
def test_default_draw_leaves_nothing_to_strike_out(method: str, counts: list[int]):
    table = people(counts)
    release = anonymize(table, SCHEMA, LDiversity(5), method=method, seed=1)
    assert release.certificate.checks[3].passed is True
    repeats, seen_once = strike_out(table, release)
    assert seen_once <= 1 / 5 + 1e-9
    if release.certificate.degree.max < 10:  # from ten matches on a value may come twice
        assert repeats == 0


# ------------------------------------------------------------------------------ guesses by boxes


def nearest_box(matches: pa.Table, person: dict) -> int:
    middle = [(box["lo"] + box["hi"]) / 2 for box in matches["age"].to_pylist()]
    return int(np.argmin(np.abs(np.array(middle) - person["age"])))


def narrowest_box(matches: pa.Table, person: dict) -> int:
    return int(np.argmin([box["hi"] - box["lo"] for box in matches["age"].to_pylist()]))


@pytest.mark.parametrize("method", ["het-greedy", "het-hungarian"])
@pytest.mark.parametrize("guess", [nearest_box, narrowest_box])
def test_guesses_by_boxes_are_right_one_time_in_l(method: str, guess):
    """One value per bucket, so that every person sees every value: nothing but 1/ℓ is left."""
    random = np.random.default_rng(3)
    secret = np.repeat(np.arange(4), 6)
    table = pa.table(
        {
            "age": secret * 10 + random.integers(0, 12, 24),
            "place": random.integers(0, 3, 24).astype(str),
            "secret": secret.astype(str),
        }
    )
    people_of_table = table.to_pylist()
    right = []
    for seed in range(250):
        release = anonymize(table, SCHEMA, LDiversity(4), method=method, seed=seed)
        edges = pa.Table.from_batches(release.links.batches())
        order = np.argsort(edges["original"].to_numpy(), kind="stable")
        matches = edges["published"].to_numpy()[order].reshape(24, 4)
        person = seed % 24
        seen = release.table.take(pa.array(matches[person]))
        guessed = seen["secret"][guess(seen, people_of_table[person])].as_py()
        right.append(guessed == people_of_table[person]["secret"])
    assert abs(np.mean(right) - 1 / 4) < 3 * np.sqrt(3 / 16 / len(right))


def strike_out(table: pa.Table, release) -> tuple[float, float]:
    """Individuals whose matches repeat a value; chance that a value seen once is the true one."""
    edges = pa.Table.from_batches(release.links.batches())
    published = np.array(release.table["secret"].to_pylist(), object)
    seen: dict[int, list[object]] = {}
    for record, person in zip(
        edges["published"].to_pylist(), edges["original"].to_pylist(), strict=True
    ):
        seen.setdefault(person, []).append(published[record])
    truth = table["secret"].to_pylist()
    once = [
        [value for value in seen[person] if seen[person].count(value) == 1]
        for person in range(table.num_rows)
    ]
    repeats = np.mean([len(values) < len(seen[person]) for person, values in enumerate(once)])
    right = sum(values.count(truth[person]) for person, values in enumerate(once))
    return float(repeats), right / sum(map(len, once))
