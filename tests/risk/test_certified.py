"""Risk on certificates: right figures, the same in all worlds between which guarantees hide."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import Certificate, KAnonymity, LDiversity, Schema
from mottle.itemsets.data import ItemSets
from mottle.risk.certified import (
    risk_by_graph,
    risk_of_rows,
    risk_of_sets,
    shares_along_edges,
)


def test_figures_of_rows_are_those_of_their_groups() -> None:
    found = risk_of_rows(np.array([[1, 1], [1, 1], [1, 2], [3, 3], [3, 3], [3, 3]]))
    assert found.unique == pytest.approx(1 / 6, abs=5e-4)
    assert found.prosecutor_highest == found.journalist_at_most == 1
    assert found.prosecutor_mean == found.marketer == 0.5  # three groups of six rows


def test_rows_of_one_person_do_not_hide_each_other() -> None:
    codes = np.array([[1], [1], [1], [1], [2], [2], [3], [3]])
    people = np.array([0, 0, 1, 2, 3, 3, 0, 1], np.int32)
    found = risk_of_rows(codes, people)
    assert found.prosecutor_highest == 1, "both rows with 2 are the fourth person's"
    assert found.unique == 0.25
    # shares: (1/2, 1/4, 1/4) of 1, all of 2, (1/2, 1/2) of 3
    assert found.prosecutor_mean == pytest.approx((0.5 + 0.5 + 0.25 + 1) / 4, abs=5e-4)
    assert found.marketer == pytest.approx((4 * 0.5 + 2 * 1 + 2 * 0.5) / 8, abs=5e-4)


def test_equal_sets_hide_each_other() -> None:
    found = risk_of_sets(ItemSets.of([{"a", "b"}, {"b", "a"}, {"a"}, set()]))
    assert (found.unique, found.prosecutor_mean) == (0.5, 0.75)


def visits() -> tuple[pa.Table, Schema]:
    random = np.random.default_rng(4)
    table = pa.table(
        {
            "who": [f"p{number}" for number in random.integers(0, 40, 120)],
            "age": random.integers(20, 60, 120),
            "ward": random.choice(["a", "b", "c"], 120),
        }
    )
    return table, Schema.of(quasi_identifying=["age", "ward"], person="who")


def test_people_are_counted_where_k_counts_them() -> None:
    table, schema = visits()
    release = mottle.anonymize(table, schema, KAnonymity(3), effort=0, seed=1)
    risk = release.certificate.risk
    assert risk is not None
    assert release.links is not None
    assert risk.counts == "person"
    names, people = np.unique(table.column("who").to_pylist(), return_inverse=True)
    graph = release.links.graph
    own, best = np.zeros(len(names)), []
    for position in range(graph.records):
        members = graph.members[graph.preimages(position)]
        times = np.bincount(people[members], minlength=len(names)) / len(members)
        own, best = np.maximum(own, times), [*best, times.max()]
    assert risk.after.prosecutor_highest == pytest.approx(own.max(), abs=1e-6)
    assert risk.after.prosecutor_mean == pytest.approx(own.mean(), abs=1e-6)
    assert risk.after.marketer == pytest.approx(np.mean(best), abs=1e-6)
    assert risk.after.prosecutor_highest <= 1 / 3 + 1e-9
    found = shares_along_edges(graph, people.astype(np.int32))
    assert found.own == pytest.approx(own)


def test_without_the_shares_of_people_only_the_bound_is_stated() -> None:
    found = risk_by_graph(10, {5: 10}, largest_share=0.2)
    assert found.prosecutor_highest == 0.2
    assert found.prosecutor_mean is None
    assert found.marketer is None


def stated(certificate: Certificate) -> dict[str, object]:
    """All of a certificate that may not tell worlds apart."""
    content = certificate.to_dict()
    return {name: content[name] for name in content if name not in ("seconds", "seed", "sha256")}


def test_no_entry_of_a_certificate_tells_worlds_or_draws_apart() -> None:
    """Five people: who has which of their values, in all 30 ways, and two draws of each."""
    ages, values = [20, 21, 30, 31, 31], ["a", "a", "b", "b", "c"]
    schema = Schema.of(quasi_identifying=["age"], sensitive=["ill"], context={"purpose": "a test"})
    plain, diverse = set(), set()
    for world in sorted(set(permutations(values))):
        table = pa.table({"age": ages, "ill": world})
        for seed in (1, 2):
            found = mottle.anonymize(table, schema, KAnonymity(2), effort=0, seed=seed).certificate
            plain.add(repr(stated(found)))
        found = mottle.anonymize(table, schema, LDiversity(2), effort=0, seed=1).certificate
        assert found.risk is not None
        diverse.add(repr((found.risk.before, found.limits, found.context)))
    assert len(plain) == 1, "a certificate depends on who has which value, or on the draw"
    assert len(diverse) == 1
    assert "a test" in plain.pop()


def test_what_lies_within_a_step_is_in_no_figure() -> None:
    ages = [20, 21, 22, 23, 24, 25, 26, 27]
    schema = Schema.of(quasi_identifying=["age"], snaps={"age": 10})
    found = [
        mottle.anonymize(pa.table({"age": each}), schema, KAnonymity(2), effort=0, seed=1)
        for each in (ages, [21] * len(ages))
    ]
    assert found[0].certificate.risk == found[1].certificate.risk
