"""Anatomy's groups: different sensitive values, everybody in one, drawn at random."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import KAnonymity, LDiversity, Schema, UsageError, anonymize, methods
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.methods import Draw, MethodContext
from mottle.schema.model import Representation

SCHEMA = Schema.of(quasi_identifying=["q"], sensitive=["s"])


def groups_of(
    values: list[str], diversity: int, effort: MethodContext | None = None
) -> list[list[int]]:
    table = pa.table({"q": list(range(len(values))), "s": values})
    demand = LDiversity(diversity).demand(len(values), encode_sensitive(table, SCHEMA))
    codes = encode(table, SCHEMA, Representation.RANGE)
    found = methods.get("anatomy").arrange(codes, demand, effort or MethodContext())
    assert found.draw is Draw.TWO_TABLES
    graph = found.graph
    assert graph.degrees.tolist() == graph.sizes.tolist()
    return [part.tolist() for part in np.split(graph.members, graph.starts[1:-1])]


@settings(max_examples=300)
@given(st.data())
def test_every_eligible_table_is_dealt_out_into_groups_of_different_values(data: st.DataObject):
    values = data.draw(st.lists(st.sampled_from("aaabcdefg"), min_size=2, max_size=80))
    largest = len(values) // max(Counter(values).values())
    if largest < 2:
        values += [f"extra {row}" for row in range(len(values))]
        largest = len(values) // max(Counter(values).values())
    diversity = data.draw(st.integers(2, largest))
    seed = data.draw(st.integers(0, 9))
    groups = groups_of(values, diversity, MethodContext(seed=seed))
    assert sorted(row for group in groups for row in group) == list(range(len(values)))
    assert len(groups) == len(values) // diversity
    for group in groups:
        assert len({values[row] for row in group}) == len(group) >= diversity


def test_largest_buckets_are_emptied_first():
    # with 4 of a and 4 others a pair without a would leave too many a's
    groups = groups_of(list("aaaabcde"), 2)
    assert all(sum("aaaabcde"[row] == "a" for row in group) == 1 for group in groups)


def test_which_records_of_a_value_go_together_is_drawn():
    """Over many random orders, each of the four b's is equally often in the group of record 0."""
    values = list("aaaabbbb")
    partners = Counter()
    for seed in range(400):
        tiebreak = np.random.default_rng(seed).permutation
        groups = groups_of(values, 2, MethodContext(tiebreak=tiebreak))
        partners[next(group[1 - group.index(0)] for group in groups if 0 in group)] += 1
    counts = np.array([partners[row] for row in (4, 5, 6, 7)])
    assert ((counts - 100) ** 2 / 100).sum() < 21.1  # chi-square, 3 degrees, p = 1e-4


def test_record_left_over_joins_a_random_group_that_lacks_its_value():
    joined = Counter()
    for seed in range(60):
        groups = groups_of(list("abcabcabcd"), 3, MethodContext(seed=seed))
        assert sorted(map(len, groups)) == [3, 3, 4]
        joined[[len(group) for group in groups].index(4)] += 1
    assert set(joined) == {0, 1, 2}


def test_k_anonymity_is_not_claimed(people):
    for guarantee in (KAnonymity(2), KAnonymity(2) & LDiversity(3)):
        with pytest.raises(UsageError, match="'anatomy' does not give k-anonymity"):
            anonymize(*people, guarantee, method="anatomy")


def test_several_sensitive_columns_are_refused():
    table = pa.table({"q": [1, 2, 3, 4], "a": list("xyxy"), "b": list("uvvu")})
    schema = Schema.of(quasi_identifying=["q"], sensitive=["a", "b"])
    with pytest.raises(UsageError, match="'anatomy' takes one sensitive column"):
        anonymize(table, schema, LDiversity(2), method="anatomy")
