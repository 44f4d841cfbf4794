"""FAST07 §4.2: groups of different sensitive values, always found, as Fig. 8 and 9 find them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import EntropyLDiversity, KAnonymity, LDiversity, Schema, anonymize, methods
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.kernels.heap import heap_of, settle
from mottle.kernels.ncp_growth import box_loss
from mottle.kernels.scales import scales
from mottle.methods.fast07.diverse_partitioning import diverse_groups, merged_sizes
from mottle.schema.model import Representation

METHODS = ["hilbert", "hilbert-fast", "idistance", "idistance-fast"]

Belongs = Callable[[list[int], list[int]], bool]  # (places of the group, r_A to r_B)
Groups = list[list[int]]


def eligible(counts: Counter, diversity: int) -> bool:
    return max(counts.values(), default=0) * diversity <= counts.total()


def reference(values: list[int], diversity: int, belongs: Belongs, once: bool) -> Groups:
    """Fig. 8 and the look-ahead of Fig. 9, step by step as printed; O(n·m²)."""
    domains = {value: [p for p, v in enumerate(values) if v == value] for value in set(values)}
    groups: Groups = []

    def frontier() -> list[int]:
        return sorted(domain[0] for domain in domains.values() if domain)

    def left_without(group: list[int]) -> Counter:
        taken = Counter(values[place] for place in group)
        return Counter({value: len(domain) for value, domain in domains.items()}) - taken

    def advance(group: list[int]) -> None:
        for place in group:
            domains[values[place]].remove(place)

    while any(domains.values()):
        nearest = frontier()
        for count in range(diversity, len(nearest) + 1):
            group = nearest[:count]
            if eligible(left_without(group), diversity):
                break
        else:
            most = sorted(nearest, key=lambda place: (-len(domains[values[place]]), place))
            for count in range(diversity, len(nearest) + 1):
                group = most[:count]
                if eligible(left_without(group), diversity):
                    break
            else:
                raise AssertionError("the fall-back step found no group")
        advance(group)
        while any(domains.values()):
            ahead = frontier()[:diversity]
            repeated = values[ahead[0]] in [values[place] for place in group]
            if repeated or not eligible(left_without(ahead[:1]), diversity):
                break
            if not belongs(group, ahead):
                break
            advance(ahead[:1])
            group = [*group, ahead[0]]
            if once:
                break
        groups.append(sorted(group))
    return groups


def as_groups(group_of: np.ndarray, count: int) -> Groups:
    return [np.flatnonzero(group_of == group).tolist() for group in range(count)]


def coded(**columns: list) -> Codes:
    table = pa.table(columns)
    return encode(table, Schema.of(quasi_identifying=table.column_names), Representation.RANGE)


@st.composite
def eligible_values(draw, largest: int = 60) -> tuple[list[int], int]:
    """Sensitive values along an order and an ℓ of 2 or more for which they are eligible."""
    possible = draw(st.integers(2, 12))
    skewed = draw(st.booleans())
    value = st.integers(0, possible - 1)
    if skewed:
        value = st.one_of(st.just(0), value)
    values = draw(st.lists(value, min_size=2, max_size=largest))
    feasible = len(values) // max(Counter(values).values())
    if feasible < 2:
        values += [possible + extra for extra in range(len(values))]
        feasible = len(values) // max(Counter(values).values())
    if draw(st.booleans()):  # clustered: a value's records lie together
        values.sort()
    return values, draw(st.integers(2, feasible))


@settings(max_examples=300)
@given(eligible_values(), st.data())
def test_groups_are_those_of_the_figures(case: tuple[list[int], int], data: st.DataObject):
    values, diversity = case
    size = len(values)
    keys = np.cumsum(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))

    def is_nearer(group: list[int], ahead: list[int]) -> bool:
        return bool(abs(keys[ahead[0]] - keys[min(group)]) < keys[ahead[-1]] - keys[ahead[0]])

    found = diverse_groups(
        coded(q=[0] * size),
        np.array(values, np.int32),
        np.arange(size),
        diversity,
        keys.astype(np.uint64)[:, None],
    )
    assert as_groups(*found) == reference(values, diversity, is_nearer, once=True)


@settings(max_examples=200)
@given(eligible_values(), st.data())
def test_look_ahead_by_loss_takes_what_loses_less(case: tuple[list[int], int], data: st.DataObject):
    values, diversity = case
    size = len(values)
    draw = lambda most: data.draw(st.lists(st.integers(0, most), min_size=size, max_size=size))  # noqa: E731
    codes = coded(number=sorted(draw(30)), word=[f"w{code}" for code in draw(3)])
    prices, marks = scales(codes), np.zeros(int(codes.sizes.sum()), np.int32)
    used = iter(range(1, 10**6))

    def loss(group: list[int]) -> float:
        box = np.array(group, np.int32)
        return float(box_loss(prices, codes.matrix, box, len(box), marks, next(used)))

    def loses_less(group: list[int], ahead: list[int]) -> bool:
        grown = [*group, ahead[0]]
        return len(grown) * loss(grown) - len(group) * loss(group) < loss(ahead)

    found = diverse_groups(codes, np.array(values, np.int32), np.arange(size), diversity)
    assert as_groups(*found) == reference(values, diversity, loses_less, once=False)


@settings(max_examples=300)
@given(eligible_values(largest=300), st.integers(0, 99), st.booleans())
def test_every_eligible_table_gets_groups_of_different_values(
    case: tuple[list[int], int], seed: int, by_keys: bool
):
    values, diversity = case
    size = len(values)
    random = np.random.default_rng(seed)
    codes = coded(q=random.integers(0, 50, size).tolist())
    keys = np.sort(random.integers(0, 2**62, size)).astype(np.uint64)[:, None] if by_keys else None
    order = random.permutation(size)
    group_of, count = diverse_groups(codes, np.array(values, np.int32), order, diversity, keys)
    along = np.array(values)[order]
    assert len(np.unique(np.stack([group_of, along]), axis=1).T) == size
    assert np.bincount(group_of, minlength=count).min() >= diversity
    assert group_of.min() == 0


def test_figure_9_takes_a_near_record_into_the_group_before():
    # D1 D3 D4 D2 close together, then D1 D3 D4 far away
    values = np.array([1, 3, 4, 2, 1, 3, 4], np.int32)
    keys = np.array([1, 2, 3, 4, 20, 21, 22], np.uint64)[:, None]
    codes = coded(q=[1, 2, 3, 4, 20, 21, 22])
    for given_keys in (keys, None):
        found = diverse_groups(codes, values, np.arange(7), 3, given_keys)
        assert as_groups(*found) == [[0, 1, 2, 3], [4, 5, 6]]
    far = np.array([1, 2, 3, 18, 20, 21, 22], np.uint64)[:, None]
    found = diverse_groups(codes, values, np.arange(7), 3, far)
    assert as_groups(*found) == [[0, 1, 2], [3, 4, 5, 6]]


def test_fall_back_step_saves_what_the_greedy_step_would_leave_ineligible():
    # Half of the records have value 0 and lie at the end: every pair needs one of them.
    values = np.array([1, 2, 1, 2, 0, 0, 0, 0], np.int32)
    found = diverse_groups(coded(q=list(range(8))), values, np.arange(8), 2)
    assert as_groups(*found) == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_distances_between_wide_keys_are_not_rounded_away():
    # r_A is 2 steps from the group and 3 from r_B, at keys of 128 bits that are equal as floats
    keys = np.array([[1 << 60, 0], [1 << 60, 1], [1 << 60, 2], [1 << 60, 5], [1 << 60, 9]])
    values = np.array([0, 1, 2, 0, 1], np.int32)
    codes = coded(q=[0, 0, 0, 0, 0])
    found = diverse_groups(codes, values, np.arange(5), 2, keys.astype(np.uint64))
    assert as_groups(*found) == [[0, 1, 2], [3, 4]]
    keys[3, 1] = 3
    found = diverse_groups(codes, values, np.arange(5), 2, keys.astype(np.uint64))
    assert as_groups(*found) == [[0, 1], [2, 3, 4]]


@given(st.lists(st.integers(2, 9), min_size=1, max_size=30), st.integers(2, 20))
def test_merged_groups_are_runs_of_groups_that_are_large_enough(sizes: list[int], least: int):
    if sum(sizes) < least:
        sizes = [*sizes, least]
    merged = merged_sizes(np.array(sizes), least)
    assert sum(merged) == sum(sizes)
    assert min(merged) >= least
    assert set(np.cumsum(merged)) <= set(np.cumsum(sizes))
    assert max(merged) < 2 * least + 2 * max(sizes)


@settings(max_examples=200)
@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 19), st.integers(-50, 50)), max_size=40),
)
def test_heap_has_the_lowest_key_on_top(keys: list[int], changes: list[tuple[int, int]]):
    heap = heap_of(np.array(keys))
    for item, key in changes:
        settle(heap, item % len(keys), key)
        keys[item % len(keys)] = key
        assert heap.keys.tolist() == keys
        assert keys[heap.items[0]] == min(keys)
        assert heap.items[heap.places].tolist() == list(range(len(keys)))


# -------------------------------------------------------------------------- through the pipeline


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
@given(case=eligible_values(), k=st.integers(2, 12), seed=st.integers(0, 99))
def test_release_keeps_both_k_and_l(verify, method, case, k, seed):
    values, diversity = case
    size = len(values)
    k = min(k, size)
    random = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": random.integers(0, 60, size),
            "job": [f"j{job}" for job in random.integers(0, 4, size)],
            "illness": [f"v{value}" for value in values],
        }
    )
    schema = Schema.of(quasi_identifying=["age", "job"], sensitive=["illness"])
    guarantee = KAnonymity(k) & LDiversity(diversity)
    release = anonymize(table, schema, guarantee, method=method)
    verify(table, schema, release, max(k, diversity))
    edges = pa.Table.from_batches(release.links.batches()).to_pandas()
    illness = release.table.column("illness").to_numpy()
    for published in edges.groupby("original")["published"]:
        shares = Counter(illness[published[1]])
        assert max(shares.values()) * diversity <= shares.total()


@pytest.mark.parametrize("method", METHODS)
def test_groups_have_different_values_unless_k_asks_for_more(people, method: str):
    table, schema = people
    release = anonymize(table, schema, LDiversity(3), method=method)
    assert release.certificate.degree.min == 3
    assert release.certificate.degree.max <= 4  # four values there are
    larger = anonymize(table, schema, KAnonymity(10) & LDiversity(3), method=method)
    assert larger.certificate.degree.min >= 10


@pytest.mark.parametrize("method", METHODS)
def test_certificate_says_that_sensitive_values_decide_only_when_they_do(people, method: str):
    alone = anonymize(*people, KAnonymity(4), method=method).certificate.method
    assert alone.decides_by == "quasi-identifiers alone"
    decided = anonymize(*people, LDiversity(2), method=method).certificate.method.decides_by
    assert decided == "quasi-identifiers and sensitive values together"


def test_method_gives_l_diversity_and_k_anonymity_alone():
    for method in METHODS:
        assert methods.get(method).guarantees == (KAnonymity, EntropyLDiversity, LDiversity)


def test_values_that_are_all_different_are_no_trouble():
    size = 3000
    table = pa.table({"q": np.arange(size), "s": [f"s{row}" for row in range(size)]})
    schema = Schema.of(quasi_identifying=["q"], sensitive=["s"])
    for method in ("hilbert", "hilbert-fast"):
        release = anonymize(table, schema, LDiversity(5), method=method)
        assert release.certificate.degree.max < 10
        assert release.gcp < 0.005
