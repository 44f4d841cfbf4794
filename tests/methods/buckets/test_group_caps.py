"""Groups of similar values in `buckets`: no belief in a group exceeds its cap, in any world."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from bucket_worlds import coded, enumerate_releases
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import GroupCaps, GuaranteeError, LDiversity, Schema, anonymize
from mottle.encoding.domain import Codes
from mottle.methods.buckets.buckets import buckets

PAIRS = {"left": ["a", "b"], "right": ["c", "d"]}


def highest_belief_in_a_group(codes: Codes, values: str, guarantee, groups) -> Fraction:
    """The highest exact belief that a person's value is in a group, over all releases and people.

    The adversary knows the groups as well.
    """
    group_of = {value: name for name, members in groups.items() for value in members}
    found = enumerate_releases(buckets, codes, values, guarantee, groups=groups)
    return found.highest_over_cap(dict.fromkeys(groups, Fraction(1)), group_of.__getitem__)


@pytest.mark.parametrize(
    ("values", "guarantee", "groups", "cap"),
    [
        ("abcd", GroupCaps({"illness": 0.5}), PAIRS, Fraction(1, 2)),
        ("abcd", LDiversity(2) & GroupCaps({"illness": 0.5}), PAIRS, Fraction(1, 2)),
        ("aacd", LDiversity(2) & GroupCaps({"illness": 0.5}), PAIRS, Fraction(1, 2)),
        (
            "abcd",
            LDiversity(3) & GroupCaps({"illness": 0.75}),
            {"left": ["a", "b", "c"], "right": ["d"]},
            Fraction(3, 4),
        ),
    ],
)
def test_no_release_lets_belief_in_a_group_exceed_its_cap_in_any_world(
    values, guarantee, groups, cap
):
    codes = coded([20, 21, 40, 60], ["f", "m", "f", "f"])
    assert highest_belief_in_a_group(codes, values, guarantee, groups) <= cap


def test_the_enumeration_finds_that_caps_of_values_do_not_bound_groups():
    codes = coded([20, 21, 40, 60], ["f", "m", "f", "f"])
    assert highest_belief_in_a_group(codes, "abcd", LDiversity(2), PAIRS) == 1


def highest_share_of_a_group(release, values, group_of) -> float:
    """The highest share of a group among anybody's matches, counted link by link."""
    graph, truth = release.links.graph, release.links.truth
    seen = defaultdict(list)
    for position in range(graph.records):
        published = group_of[values[graph.members[truth[position]]]]
        for original in graph.preimages(position):
            seen[int(original)].append(published)
    return max(max(map(groups.count, groups)) / len(groups) for groups in seen.values())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(6, 60), st.sampled_from([0.35, 0.5, 0.7]))
def test_every_table_gives_groups_within_their_cap_or_the_right_refusal(seed, rows, cap):
    random = np.random.default_rng(seed)
    values = random.choice(list("abcdefgh"), rows).tolist()
    group_of = dict(zip("abcdefgh", "xxyyzzzw", strict=True))
    groups = {name: [v for v, group in group_of.items() if group == name] for name in "xyzw"}
    table = pa.table(
        {
            "age": random.integers(0, 9, rows),
            "sex": random.choice(["f", "m"], rows),
            "illness": values,
        }
    )
    schema = Schema.of(
        quasi_identifying=["age", "sex"], sensitive=["illness"], groups={"illness": groups}
    )
    counts = [sum(group_of[value] == name for value in values) for name in "xyzw"]
    guarantee = GroupCaps({"illness": cap})
    if max(counts) > cap * rows + 1e-9:
        with pytest.raises(GuaranteeError, match="too frequent in the table itself"):
            anonymize(table, schema, guarantee, method="buckets", effort=0, seed=seed)
        return
    for method in ("buckets", "mondrian"):
        release = anonymize(table, schema, guarantee, method=method, effort=0, seed=seed)
        assert highest_share_of_a_group(release, values, group_of) <= cap + 1e-9
