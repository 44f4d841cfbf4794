"""Bounds hold for integers and decimals of any size."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest

from mottle import KAnonymity, Schema, anonymize

CASES = {
    "near 2^63": (pa.int64(), [2**63 - 1 - step for step in range(40)]),
    "near -2^63": (pa.int64(), [-(2**63) + step for step in range(40)]),
    "near 2^64": (pa.uint64(), [2**64 - 1 - step for step in range(40)]),
    "around 2^62": (pa.int64(), [2**62 - 20 + step for step in range(40)]),
    "far apart": (pa.int64(), [-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1, 0, 1] * 6),
    "far apart, unsigned": (pa.uint64(), [0, 1, 2**64 - 2, 2**64 - 1, 2**63] * 8),
    "decimals": (pa.decimal128(38, 2), [Decimal(10) ** 30 + Decimal(step) for step in range(40)]),
}


@pytest.mark.parametrize("case", CASES)
def test_truth_is_within_the_bounds_for_large_integers(case: str) -> None:
    """At 8cdc187 beyond ±2^62 the bounds were 40..40 where the truth is 1."""
    data_type, values = CASES[case]
    table = pa.table({"v": pa.array(values, data_type)})
    release = anonymize(
        table, Schema.of(quasi_identifying=["v"]), KAnonymity(2), method="nh", seed=1
    )
    chance = random.Random(case)
    for _ in range(40):
        one, other = sorted(chance.choice(values) + chance.choice((-1, 0, 1)) for _ in range(2))
        for condition, truth in (
            (one, sum(value == one for value in values)),
            ((one, other), sum(one <= value <= other for value in values)),
            ((None, one), sum(value <= one for value in values)),
        ):
            found = release.count({"v": condition})
            assert found.certain <= truth <= found.possible, condition


def test_dense_integers_beyond_the_old_limit_are_told_apart() -> None:
    values = [2**63 - 1 - step for step in range(40)]
    table = pa.table({"v": pa.array(values, pa.int64())})
    release = anonymize(
        table, Schema.of(quasi_identifying=["v"]), KAnonymity(2), method="nh", seed=1
    )
    assert release.count({"v": values[0]}).possible < 10
    assert set(release.sample(1, seed=1)[0].column("v").to_pylist()) <= set(values)
