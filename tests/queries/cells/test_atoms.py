"""Conditions on values are decided exactly, whatever types value and condition have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mottle import KAnonymity, Schema, anonymize


@pytest.mark.parametrize("representation", ["range", "set"])
def test_floats_are_compared_with_numbers_that_they_do_not_hold(representation: str) -> None:
    """Single floats and whole numbers above 2^24 have no common type in Arrow."""
    weights = pa.array([257199888.0, -727126656.0, 1.5, 2.5] * 2, pa.float32())
    schema = Schema.of(quasi_identifying=["weight"])
    table = pa.table({"weight": weights})
    release = anonymize(table, schema, KAnonymity(2), representation=representation, seed=1)
    for low, truth in ((82173731, 2), (2, 4), (2**62 + 1, 0)):
        found = release.count({"weight": (low, None)})
        assert found.certain <= truth <= found.possible
    (world,) = release.sample(1, seed=1)
    assert world.schema.field("weight").type == pa.float32()
