"""Several sensitive columns: joint and single caps for methods that work on one column."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import BetaLikeness, Caps, KAnonymity, LDiversity, Schema, UsageError, anonymize
from mottle.guarantees.demand import Demand
from mottle.methods.several_columns import merged_starts, tightest, windows_within_caps

SCHEMA = Schema.of(quasi_identifying=["age", "sex"], sensitive=["illness", "job"])
GROUPED = ("hilbert", "hilbert-fast", "idistance", "idistance-fast", "nh", "nh-letter")
MATCHED = (
    "het-greedy",
    "het-sortgreedy",
    "het-hungarian",
    "het-greedy-partitioned",
    "het-hungarian-partitioned",
    "burel",
)


def people(rows: int, seed: int) -> pa.Table:
    """The job depends on the illness and on age, so that columns disagree within groups."""
    random = np.random.default_rng(seed)
    age = np.sort(random.integers(0, 60, rows))
    illness = random.integers(0, 6, rows)
    return pa.table(
        {
            "age": age,
            "sex": random.choice(["f", "m"], rows),
            "illness": illness.astype(str),
            "job": ((illness + age // 12 + random.integers(0, 3, rows)) % 7).astype(str),
        }
    )


def shares(release, table: pa.Table, column: str) -> list[dict[str, float]]:
    """For everybody, how often each value of a column occurs on the matches."""
    edges = pa.Table.from_batches(release.links.batches())
    published = release.table[column].to_pylist()
    seen: list[list[str]] = [[] for _ in range(table.num_rows)]
    for record, person in zip(
        edges["published"].to_pylist(), edges["original"].to_pylist(), strict=True
    ):
        seen[person].append(published[record])
    return [{value: each.count(value) / len(each) for value in set(each)} for each in seen]


@pytest.mark.parametrize("method", [*GROUPED, *MATCHED])
@pytest.mark.parametrize("guarantee", [LDiversity(3), KAnonymity(5) & LDiversity(2)], ids=str)
def test_each_column_is_diverse_on_everybodys_matches(method: str, guarantee):
    table = people(240, seed=4)
    release = anonymize(table, SCHEMA, guarantee, method=method, seed=1)
    assert release.certificate.checks[3].passed
    diversity = guarantee.parts[-1].l
    for column in ("illness", "job"):
        highest = max(max(each.values()) for each in shares(release, table, column))
        assert highest <= 1 / diversity + 1e-9
    assert release.gcp < 0.9


@pytest.mark.parametrize("method", MATCHED)
@pytest.mark.parametrize("guarantee", [BetaLikeness(3), Caps({"0": 0.3}, 0.6)], ids=str)
def test_caps_that_differ_are_kept_in_each_column(method: str, guarantee):
    table = people(240, seed=5)
    release = anonymize(table, SCHEMA, guarantee, method=method, seed=1)
    for column in ("illness", "job"):
        values = table[column].to_pylist()
        for each in shares(release, table, column):
            for value, share in each.items():
                cap = (
                    4 * values.count(value) / len(values)
                    if isinstance(guarantee, BetaLikeness)
                    else guarantee.shares.get(value, guarantee.default)
                )
                assert share <= cap + 1e-9


@pytest.mark.parametrize(
    ("method", "because"),
    [("het-greedy-threshold", "distances"), ("anatomy", "second table")],
)
def test_a_method_that_cannot_says_why(method: str, because: str):
    with pytest.raises(UsageError, match=f"'{method}' takes one sensitive column: .*{because}"):
        anonymize(people(60, 1), SCHEMA, LDiversity(2), method=method)


# ----------------------------------------------------------------------------- the two steps


def demand_of(joint: np.ndarray, columns: int, diversity: int) -> Demand:
    """A demand on so many columns of three values each; the joint value is their number."""
    parts = np.stack([joint // 3**column % 3 for column in range(columns)], axis=1)
    _, first = np.unique(joint, return_inverse=True)
    offsets = first.max() + 1 + 3 * np.arange(columns)
    codes = np.concatenate([first[:, None], parts + offsets], axis=1).astype(np.int32)
    counts = np.bincount(codes.ravel(), minlength=offsets[-1] + 3)
    return Demand(2, codes, np.full(len(counts), 1 / diversity), counts)


def within(codes: np.ndarray, demand: Demand) -> bool:
    counts = np.bincount(codes.ravel(), minlength=len(demand.caps))
    return bool(np.all(counts <= demand.caps * len(codes) + 1e-9))


@settings(max_examples=200)
@given(st.lists(st.integers(0, 8), min_size=6, max_size=40), st.integers(0, 99))
def test_merged_groups_are_within_all_caps_or_the_whole_table(joint, seed):
    joint = np.array(joint)
    demand = demand_of(joint, 2, 2)
    members = np.random.default_rng(seed).permutation(len(joint))
    starts = np.append(np.arange(0, len(joint) - 1, 2), len(joint))
    merged = merged_starts(members, starts, demand)
    assert set(merged.tolist()) <= set(starts.tolist())
    groups = [demand.sensitive_codes[members[first:last]] for first, last in pairwise(merged)]
    if within(demand.sensitive_codes, demand):
        assert all(within(group, demand) for group in groups)
    for group, (first, last) in zip(groups[:-1], pairwise(merged[:-1]), strict=True):
        inside = starts[(starts > first) & (starts < last)]
        assert not any(within(group[: end - first], demand) for end in inside)


@settings(max_examples=200)
@given(st.lists(st.integers(0, 8), min_size=4, max_size=20), st.integers(2, 20))
def test_windows_around_a_ring_are_checked_one_by_one(joint, degree):
    joint = np.array(joint)
    degree = min(degree, len(joint))
    demand = demand_of(joint, 2, 2)
    members, starts = np.arange(len(joint)), np.array([0, len(joint)])
    (found,) = windows_within_caps(members, starts, np.array([degree], np.int32), demand)
    windows = [np.take(members, range(first, first + degree), mode="wrap") for first in members]
    assert found == all(within(demand.sensitive_codes[window], demand) for window in windows)


def test_the_column_with_the_most_frequent_value_is_the_tightest():
    demand = demand_of(np.array([0, 1, 2, 3, 4, 5, 6, 1]), 2, 2)
    assert tightest(demand).values.tolist() == [0, 0, 0, 1, 1, 1, 2, 0]
    assert tightest(demand).counts.tolist() == [4, 3, 1]
