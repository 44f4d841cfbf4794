"""Entropy ℓ-diversity and recursive (c, ℓ)-diversity follow from caps: by enumeration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import exp, log

import numpy as np
import pyarrow as pa
import pytest
from bucket_worlds import coded, enumerate_releases

from mottle import (
    EntropyLDiversity,
    Guarantee,
    GuaranteeError,
    KAnonymity,
    LDiversity,
    RecursiveDiversity,
    Schema,
    UsageError,
    anonymize,
)
from mottle.encoding.sensitive import encode_sensitive
from mottle.methods.buckets.buckets import buckets

Beliefs = list[Fraction]


def splits(total: int, highest: int) -> Iterator[list[int]]:
    """All ways to write ``total`` as a descending sum of numbers up to ``highest``."""
    if total == 0:
        yield []
    for first in range(min(total, highest), 0, -1):
        for rest in splits(total - first, first):
            yield [first, *rest]


def entropy_l(beliefs: Beliefs) -> float:
    return exp(-sum(float(each) * log(each) for each in beliefs))


def is_recursive(beliefs: Beliefs, c: float, l: int) -> bool:  # noqa: E741 - the papers' name
    ordered = sorted(beliefs, reverse=True)
    return ordered[0] < Fraction(c).limit_denominator(1000) * sum(ordered[l - 1 :])


def holds(guarantee: Guarantee, beliefs: Beliefs) -> bool:
    if isinstance(guarantee, EntropyLDiversity):
        return entropy_l(beliefs) >= guarantee.l - 1e-9
    assert isinstance(guarantee, RecursiveDiversity)
    return is_recursive(beliefs, guarantee.c, guarantee.l)


def cap_of(guarantee: Guarantee) -> float:
    table = pa.table({"s": [str(each) for each in range(100)]})
    values = encode_sensitive(table, Schema.of(quasi_identifying=[], sensitive=["s"]))
    return float(guarantee.demand(100, values).caps[0])


EVERY = [
    EntropyLDiversity(2),
    EntropyLDiversity(3),
    RecursiveDiversity(1, 2),
    RecursiveDiversity(2, 3),
    RecursiveDiversity(0.5, 2),
    RecursiveDiversity(3, 4),
]


@pytest.mark.parametrize("guarantee", EVERY, ids=str)
def test_every_distribution_within_the_caps_has_it(guarantee: Guarantee):
    cap, seen = cap_of(guarantee), 0
    for matches in range(2, 21):
        for counts in splits(matches, int(cap * matches + 1e-9)):
            seen += 1
            assert holds(guarantee, [Fraction(each, matches) for each in counts])
    assert seen > 20


@pytest.mark.parametrize("guarantee", EVERY, ids=str)
def test_no_higher_cap_for_all_values_implies_it(guarantee: Guarantee):
    """As many values as fit at a slightly higher cap, and one for the rest."""
    cap = Fraction(cap_of(guarantee)).limit_denominator(10**4) + Fraction(1, 500)
    full = int(1 / cap)
    beliefs = [cap] * full + ([1 - cap * full] if cap * full < 1 else [])
    assert not holds(guarantee, beliefs)


@pytest.mark.parametrize(
    ("values", "guarantee"),
    [
        ("aabbcd", EntropyLDiversity(3)),
        ("aabbcc", EntropyLDiversity(2)),
        ("aabbcd", RecursiveDiversity(1, 2)),
        ("aabcde", RecursiveDiversity(1.5, 3)),
    ],
    ids=str,
)
def test_exact_beliefs_over_all_worlds_and_draws_have_it(values: str, guarantee: Guarantee):
    """Every release of `buckets`, every person: the adversary's exact beliefs, not shares."""
    six = coded([20, 25, 40, 44, 60, 66], list("fmffmm"))
    found = enumerate_releases(buckets, six, values, guarantee)
    releases = 0
    for by_world in found.likelihood.values():
        total = sum(by_world.values())
        for person in range(len(values)):
            belief: dict[str, Fraction] = defaultdict(Fraction)
            for world, chance in by_world.items():
                belief[world[person]] += chance / total
            assert holds(guarantee, list(belief.values()))
        releases += 1
    assert releases > 0


def test_plain_caps_of_a_half_do_not_give_recursive_diversity():
    """The same enumeration finds a construction that leaks: 'less than' is not 'at most'."""
    four = coded([20, 25, 60, 66], list("ffmm"))
    found = enumerate_releases(buckets, four, "aabb", LDiversity(2))
    by_world = next(iter(found.likelihood.values()))
    total = sum(by_world.values())
    of_first = [
        sum(chance for world, chance in by_world.items() if world[0] == value) / total
        for value in "ab"
    ]
    assert not is_recursive(of_first, 1, 2)


@pytest.mark.parametrize("method", ["auto", "mondrian", "het-greedy", "burel"])
@pytest.mark.parametrize(
    "guarantee", [EntropyLDiversity(3), KAnonymity(4) & RecursiveDiversity(1.2, 3)], ids=str
)
def test_releases_keep_it_on_everybodys_matches(method: str, guarantee: Guarantee):
    random = np.random.default_rng(1)
    table = pa.table({"age": random.integers(0, 60, 200), "s": random.choice(list("abcdefg"), 200)})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["s"])
    release = anonymize(table, schema, guarantee, method=method, effort=0, seed=1)
    edges = pa.Table.from_batches(release.links.batches())
    published = release.table["s"].to_pylist()
    seen: dict[int, list[str]] = defaultdict(list)
    for record, person in zip(
        edges["published"].to_pylist(), edges["original"].to_pylist(), strict=True
    ):
        seen[person].append(published[record])
    for shown in seen.values():
        shares = [Fraction(shown.count(value), len(shown)) for value in set(shown)]
        assert holds(guarantee.parts[-1], shares)


def test_what_is_infeasible_or_promises_nothing_is_refused():
    table = pa.table({"s": list("aaab")})
    values = encode_sensitive(table, Schema.of(quasi_identifying=[], sensitive=["s"]))
    with pytest.raises(GuaranteeError, match="No ℓ is feasible"):
        EntropyLDiversity(2).demand(4, values)
    with pytest.raises(GuaranteeError, match="c must be above 3"):
        RecursiveDiversity(2, 2).demand(4, values)
    with pytest.raises(UsageError, match="protects no sensitive value"):
        EntropyLDiversity(1)
    for c, l in ((0, 2), (1, 1), (float("nan"), 2)):  # noqa: E741
        with pytest.raises(UsageError, match="ecursive"):
            RecursiveDiversity(c, l)
    for text in ("2", "a,3", "2,3.5", ""):
        with pytest.raises(UsageError, match="--recursive"):
            RecursiveDiversity.from_options({"recursive": text})
    assert RecursiveDiversity.from_options({"recursive": "2,3"}) == RecursiveDiversity(2, 3)
