"""Whatever the histogram of sensitive values: a release within the caps, or the right refusal."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mottle import (
    BetaLikeness,
    Guarantee,
    GuaranteeError,
    KAnonymity,
    LDiversity,
    Release,
    Schema,
    anonymize,
    methods,
)

HET = [name for name in methods.registered() if name.startswith("het-") and "dumm" not in name]
SCHEMA = Schema.of(quasi_identifying=["age", "place"], sensitive=["secret"])

every_method = pytest.mark.parametrize("method", [*HET, "burel", "nh"])
every_likeness_method = pytest.mark.parametrize("method", [*HET, "burel"])


def table_of(counts: list[int], seed: int = 0) -> pa.Table:
    """Random quasi-identifiers; value i occurs counts[i] times."""
    random = np.random.default_rng(seed)
    secret = random.permutation(np.repeat(np.arange(len(counts)), counts))
    return pa.table(
        {
            "age": random.integers(0, 50, len(secret)),
            "place": np.array(["a", "b", "c"])[random.integers(0, 3, len(secret))],
            "secret": [f"s{value}" for value in secret],
        }
    )


def check_matches(table: pa.Table, release: Release, least: int, caps: dict[str, float]) -> None:
    """Every individual's matches, from the owner's links and the published values alone."""
    assert release.links is not None
    edges = pa.Table.from_batches(release.links.batches()).to_pylist()
    published = release.table["secret"].to_pylist()
    seen = defaultdict(list)
    for edge in edges:
        seen[edge["original"]].append(published[edge["published"]])
    truth = table["secret"].to_pylist()
    assert len(seen) == table.num_rows == release.table.num_rows
    for person, values in seen.items():
        assert len(values) >= least
        assert truth[person] in values
        for value, count in Counter(values).items():
            assert count <= caps[value] * len(values) + 1e-6
    assert Counter(published) == Counter(truth)


def refused(table: pa.Table, guarantee: Guarantee, method: str, complaint: str) -> None:
    with pytest.raises(GuaranteeError, match=complaint):
        anonymize(table, SCHEMA, guarantee, method=method)


@every_method
@settings(max_examples=40)
@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=9),
    diversity=st.integers(2, 5),
    k=st.integers(2, 9),
    seed=st.integers(0, 99),
)
@example(counts=[8], diversity=2, k=2, seed=0)  # one value
@example(counts=[1] * 11, diversity=3, k=2, seed=0)  # all distinct
@example(counts=[1] * 4, diversity=4, k=2, seed=0)  # n = ℓ
@example(counts=[5, 4, 3, 2, 1], diversity=3, k=2, seed=0)  # one at exactly n/ℓ
@example(counts=[6, 4, 3, 2, 1], diversity=3, k=2, seed=0)  # one just above
@example(counts=[3, 3, 3, 2, 2, 2], diversity=5, k=2, seed=0)  # HET's 15 tuples
@example(counts=[2, 2, 2, 2, 2, 2, 2], diversity=5, k=2, seed=0)  # n not divisible by ℓ
@example(counts=[5, 5, 5], diversity=2, k=7, seed=0)  # k not divisible by ℓ
def test_diversity_holds_or_is_refused(method, counts, diversity, k, seed):
    table = table_of(counts, seed)
    guarantee = KAnonymity(k) & LDiversity(diversity)
    rows = sum(counts)
    if rows < k:
        refused(table, guarantee, method, "largest feasible k" if rows > 1 else "one row")
    elif max(counts) * diversity > rows:
        largest = rows // max(counts)
        complaint = f"largest feasible ℓ is {largest}" if largest > 1 else "No ℓ is feasible"
        refused(table, guarantee, method, complaint)
    else:
        release = anonymize(table, SCHEMA, guarantee, method=method)
        caps = {f"s{value}": 1 / diversity for value in range(len(counts))}
        check_matches(table, release, max(k, diversity), caps)
        assert all(check.passed for check in release.certificate.checks)


@every_likeness_method
@settings(max_examples=40)
@given(
    counts=st.lists(st.integers(1, 12), min_size=1, max_size=7),
    beta=st.sampled_from([0, 0.5, 1, 2.5, 5]),
    enhanced=st.booleans(),
    seed=st.integers(0, 99),
)
@example(counts=[9], beta=1, enhanced=False, seed=0)
@example(counts=[1] * 9, beta=1, enhanced=False, seed=0)
@example(counts=[6, 7, 12], beta=0, enhanced=False, seed=0)
@example(counts=[6, 9, 12], beta=0, enhanced=False, seed=0)
def test_likeness_holds(method, counts, beta, enhanced, seed):
    table = table_of(counts, seed)
    rows = sum(counts)
    guarantee = BetaLikeness(beta, enhanced)
    if rows < 2:
        refused(table, guarantee, method, "one row")
        return
    release = anonymize(table, SCHEMA, guarantee, method=method)
    caps = {}
    for value, count in enumerate(counts):
        share = count / rows
        growth = min(beta, -np.log(share)) if enhanced else beta
        caps[f"s{value}"] = min((1 + growth) * share, 1)
    check_matches(table, release, 2, caps)


@every_method
def test_value_just_above_its_share_is_named_with_the_largest_feasible(method: str):
    table = table_of([34, 33, 33])
    with pytest.raises(GuaranteeError, match=r"1 value of column.*largest feasible ℓ is 2"):
        anonymize(table, SCHEMA, LDiversity(3), method=method)


@every_likeness_method
def test_zero_likeness_publishes_everybody_the_whole_distribution(method: str):
    counts = [4, 8, 12]
    table = table_of(counts)
    release = anonymize(table, SCHEMA, BetaLikeness(0), method=method, seed=1)
    smallest = int(sum(counts) / np.gcd.reduce(counts))
    assert release.certificate.degree.min % smallest == 0
    shares = {f"s{value}": Fraction(count, 24) for value, count in enumerate(counts)}
    check_matches(
        table, release, smallest, {value: float(share) for value, share in shares.items()}
    )


@every_method
def test_same_seed_gives_the_same_release_and_another_seed_another(method: str):
    table = table_of([9, 8, 7, 6, 5, 5])
    one, same, other = (
        anonymize(table, SCHEMA, LDiversity(3), method=method, seed=seed).table
        for seed in (1, 1, 2)
    )
    assert one.equals(same)
    assert not one.equals(other)
