"""A floor on the belief in a value is a cap on all other values together (HET, footnote 3)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from bucket_worlds import Enumeration, coded, enumerate_releases

from mottle import GroupCaps, Guarantee, LDiversity
from mottle.methods.buckets.buckets import buckets

SIX = coded([20, 25, 40, 44, 60, 66], list("fmffmm"))
OTHERS = {"others": list("bcde")}


def lowest_belief(found: Enumeration, value: str) -> Fraction:
    """The lowest exact belief in a value, over all releases and people."""
    lowest = Fraction(1)
    for by_world in found.likelihood.values():
        total = sum(by_world.values())
        for person in range(6):
            has_it = sum(chance for world, chance in by_world.items() if world[person] == value)
            lowest = min(lowest, Fraction(has_it) / total)
    return lowest


@pytest.mark.parametrize(
    ("values", "guarantee", "floor"),
    [
        ("aabcde", GroupCaps({"illness": 2 / 3}), Fraction(1, 3)),
        ("aaabcd", LDiversity(2) & GroupCaps({"illness": 0.5}), Fraction(1, 2)),
    ],
    ids=str,
)
def test_beliefs_do_not_fall_below_what_the_cap_on_all_others_leaves(
    values: str, guarantee: Guarantee, floor: Fraction
):
    found = enumerate_releases(buckets, SIX, values, guarantee, groups=OTHERS)
    assert found.likelihood
    assert lowest_belief(found, "a") >= floor


def test_without_it_beliefs_fall_to_nothing():
    found = enumerate_releases(buckets, SIX, "aabcde", LDiversity(2))
    assert lowest_belief(found, "a") == 0
