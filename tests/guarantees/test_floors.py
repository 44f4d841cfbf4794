"""A floor on the belief in a value is a cap on all other values together (HET, footnote 3)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from bucket_worlds import Enumeration, coded, enumerate_releases

from mottle import GroupCaps, Guarantee, LDiversity, MaxDrop, Schema, UsageError, anonymize
from mottle.audit import audit_release
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
        ("aabcde", MaxDrop({"a": 0}), Fraction(1, 3)),
        ("aaabcd", LDiversity(2) & MaxDrop({"a": 0.4}), Fraction(3, 10)),
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


def test_every_named_value_has_its_own_floor():
    found = enumerate_releases(buckets, SIX, "aabbcd", MaxDrop({"a": 0.1, "b": 0.3}))
    assert lowest_belief(found, "a") >= Fraction(3, 10)
    assert lowest_belief(found, "b") >= Fraction(7, 30)
    assert lowest_belief(found, "c") == 0


PEOPLE = 60
TABLE = pa.table(
    {
        "age": np.arange(PEOPLE) // 2,
        "work": ["none" if person % 5 == 0 else "some" for person in range(PEOPLE)],
        "illness": [f"i{person % 6}" for person in range(PEOPLE)],
    }
)
SCHEMA = Schema.of(quasi_identifying=["age"], sensitive=["work", "illness"])
HALF = MaxDrop({"some": 0.5, "i3": 0.8})


def lowest_share(release, column: str, value: str) -> float:
    """The lowest share of a value among anybody's matches."""
    holds = np.array(release.table.column(column).to_pylist()) == value
    return min(holds[matches].mean() for matches in matches_of(release))


def matches_of(release) -> list[np.ndarray]:
    """By person: the published rows that may be theirs."""
    edges = pa.Table.from_batches(release.links.batches())
    rows, people = (edges.column(name).to_numpy() for name in ("published", "original"))
    return [rows[people == person] for person in range(PEOPLE)]


@pytest.mark.parametrize("method", ["buckets", "mondrian"])
def test_a_release_keeps_the_floors_and_says_so(method: str):
    release = anonymize(TABLE, SCHEMA, HALF, method=method, seed=1)
    assert lowest_share(release, "work", "some") >= 0.4
    assert lowest_share(release, "illness", "i3") >= 0.2 / 6
    stated = release.certificate.model_dump_json()
    assert "i3" not in stated
    assert '"some"' not in stated


def test_the_audit_judges_floors_and_finds_a_planted_victim():
    release = anonymize(TABLE, SCHEMA, HALF, method="buckets", seed=1)

    def judged(published):
        return audit_release(
            TABLE,
            published,
            schema=SCHEMA,
            private=release.links,
            guarantee=HALF,
            adversaries=["sensitive"],
        )

    assert judged(release).passed
    work = np.array(release.table.column("work").to_pylist(), object)
    work[matches_of(release)[7]] = "none"
    place = release.table.column_names.index("work")
    changed = release.table.set_column(place, "work", pa.array(work.tolist()))
    failed = [
        finding
        for finding in judged(replace(release, stored=changed)).findings
        if finding.passed is False
    ]
    assert any("work, a value and all others" in finding.measure for finding in failed)


@pytest.mark.parametrize("drop", [1, -0.1, float("nan")])
def test_drops_that_mean_nothing_are_refused(drop: float):
    with pytest.raises(UsageError):
        MaxDrop({"a": drop})


def test_values_that_do_not_occur_are_refused():
    with pytest.raises(UsageError, match="--max-drop names"):
        anonymize(TABLE, SCHEMA, MaxDrop({"elsewhere": 0.5}))
