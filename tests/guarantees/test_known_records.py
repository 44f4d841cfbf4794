"""A bound on what one known record gives away: its options, words, and that `buckets` keeps it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import mottle
from mottle import Caps, KAnonymity, KnownRecords, LDiversity, Schema, UsageError, anonymize
from mottle.guarantees.demand import KNOWN_RECORDS
from mottle.guarantees.from_certificate import guarantee_on

people = mottle.datasets.population(1200, seed=5).select(["age", "sex", "education"])
people = mottle.datasets.with_sensitive_values(people, "diagnosis", 8, "zipf", theta=0.3, seed=1)
SCHEMA = Schema.of(quasi_identifying=["age", "sex", "education"], sensitive=["diagnosis"])


def others_learned(release, values) -> int:
    """The most others whose values follow from one known record, by counting in the links."""
    graph, most = release.links.graph, 0
    for block, (start, end) in enumerate(pairwise(graph.starts)):
        buckets = int(graph.degrees[block])
        held = values[graph.members[start:end]].reshape(buckets, -1)
        for known in range(buckets):
            left = np.delete(held, known, axis=0)
            certain = held.shape[1] - 1
            if len(left) == 1 or len(set.intersection(*map(set, left.tolist()))):
                certain = held.size - 1
            most = max(most, certain)
    return most


@pytest.mark.parametrize("others", [1, 4, 15])
@pytest.mark.parametrize("guarantee", [LDiversity(2), LDiversity(3)], ids=str)
def test_one_known_record_gives_away_no_more_than_the_bound(guarantee, others):
    release = anonymize(people, SCHEMA, guarantee & KnownRecords(others), effort=0, seed=1)
    _, values = np.unique(people.column("diagnosis").to_numpy(), return_inverse=True)
    stated = release.certificate.method.known_records
    assert others_learned(release, values) <= stated <= others
    assert any(f"at most {stated}" in note for note in release.certificate.notes)


def test_without_a_bound_the_usual_one_holds():
    release = anonymize(people, SCHEMA, LDiversity(2), effort=0, seed=1)
    assert release.certificate.method.known_records <= KNOWN_RECORDS


def test_a_value_that_may_lie_in_all_other_buckets_counts_the_whole_table():
    caps = Caps({}, default=0.9) & KAnonymity(3) & KnownRecords(8)
    release = anonymize(people, SCHEMA, caps, effort=0, seed=1)
    _, values = np.unique(people.column("diagnosis").to_numpy(), return_inverse=True)
    assert others_learned(release, values) <= release.certificate.method.known_records


def test_the_lowest_bound_of_several_counts():
    both = LDiversity(3) & KnownRecords(20) & KnownRecords(5)
    assert both.known_records == 5
    assert LDiversity(3).known_records is None


def test_a_bound_is_read_back_from_the_certificate():
    promised = LDiversity(3) & KnownRecords(15)
    assert guarantee_on({"guarantee": promised.describe()}) == (promised, ())
    assert KnownRecords.command(KnownRecords(15).describe()) == ["--known-records", "15"]


def test_a_bound_needs_a_guarantee_about_values():
    with pytest.raises(UsageError, match="goes along with a guarantee about sensitive values"):
        anonymize(people, SCHEMA, KAnonymity(3) & KnownRecords(5), method="auto")


@pytest.mark.parametrize("others", [0, -1, 2.5, True])
def test_bounds_that_are_none_are_refused(others):
    with pytest.raises(UsageError):
        KnownRecords(others)


def test_methods_without_tables_of_buckets_do_not_offer_a_bound():
    with pytest.raises(UsageError, match="Methods that do: auto, buckets"):
        anonymize(people, SCHEMA, LDiversity(3) & KnownRecords(5), method="mondrian")
