"""The intersection adversary breaks several draws of the same people, and no chain of releases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import DataError, ItemSets, KAnonymity, LDiversity, Release, Schema, UsageError
from mottle.audit import AuditReport, EarlierRelease, Finding

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], identifying=["id"], insensitive=["income"]
)
CAPPED = Schema.of(
    quasi_identifying=["age", "sex", "origin"],
    identifying=["id", "income"],
    sensitive=["diagnosis"],
)
BY = ("by containment", "along edges")


@pytest.fixture(scope="module")
def people(crowd: pa.Table) -> pa.Table:
    """600 people with a number, an income of their own and one of eight illnesses."""
    incomes = np.random.default_rng(3).permutation(600)
    numbered = crowd.set_column(3, "income", pa.array(incomes))
    return numbered.append_column("id", pa.array(range(600)))


def released(
    table: pa.Table, seed: int, *, capped: bool = False, method: str = "nh", **options: Any
) -> Release:
    guarantee = LDiversity(4) if capped else KAnonymity(5)
    schema = CAPPED if capped else SCHEMA
    names = [column.name for column in schema.columns]
    options = {"method": "buckets" if capped else method, "effort": 0, "seed": seed, **options}
    return mottle.anonymize(table.select(names), schema, guarantee, **options)


def played(table: pa.Table, release: Release, earlier: list[Any], **options: Any) -> AuditReport:
    return mottle.audit_release(
        table, release, earlier=earlier, adversaries=["intersection"], **options
    )


def named(report: AuditReport, measure: str, how: str) -> Finding:
    return next(found for found in report.findings if found.measure == f"{measure}, {how}")


def test_nothing_is_played_without_earlier_releases(people: pa.Table) -> None:
    (found,) = played(people, released(people, 1), []).findings
    assert "no earlier release" in found.details["not_played"]
    assert found.passed is None


@pytest.mark.parametrize("how", BY)
def test_two_draws_of_a_table_break_k(people: pa.Table, how: str) -> None:
    one, two = released(people, 1), released(people, 2, method="freeform")
    report = played(people, two, [one])
    fewest = named(report, "fewest records left to a person", how)
    assert fewest.passed is False
    assert fewest.achieved == 1
    assert named(report, "people named for certain", how).achieved > 0.02
    guesses = named(report, "right guesses of records", how)
    assert guesses.passed is False
    assert guesses.achieved > 0.3  # 0.2 are allowed
    assert fewest.details["people_matched_by"] == "row numbers"


def test_pseudonyms_under_one_key_join_two_releases(people: pa.Table) -> None:
    """Two releases without any other column: only the pseudonyms say which records are one's."""
    table = people.drop_columns(["income", "diagnosis"])
    schema = Schema.of(quasi_identifying=["age", "sex", "origin"], pseudonym="id")
    one, two, other = (
        mottle.anonymize(table, schema, KAnonymity(5), method=method, key=bytes([number] * 32))
        for method, number in (("nh", 1), ("freeform", 1), ("freeform", 2))
    )
    joined = named(played(table, two, [one]), "right guesses of records", "by containment")
    apart = named(played(table, other, [one]), "right guesses of records", "by containment")
    assert joined.passed is False
    assert joined.achieved > apart.achieved + 0.1


def test_two_draws_of_buckets_give_every_value_away(people: pa.Table) -> None:
    one, two = (released(people, seed, capped=True) for seed in (1, 2))
    report = played(people, two, [one])
    assert named(report, "diagnosis: right guesses", "along edges").achieved > 0.95
    assert named(report, "diagnosis: right guesses", "along edges").passed is False


def test_the_same_release_twice_breaks_nothing(people: pa.Table) -> None:
    for capped in (False, True):
        one = released(people, 1, capped=capped)
        assert played(people, one, [one, one]).passed


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("leavers", ["keep", "drop"])
def test_a_chain_of_releases_breaks_nothing(people: pa.Table, leavers: str, capped: bool) -> None:
    tables = [people.slice(0, 500), people.slice(20, 540), people.slice(30, 570)]
    one = released(tables[0], 1, capped=capped, same="id")
    options: dict[str, Any] = {"capped": capped, "leavers": leavers, "least_newcomers": 20}
    two = released(tables[1], 2, previous=one, **options)
    three = released(tables[2], 3, previous=two, **options)
    earlier = [EarlierRelease(one, tables[0]), EarlierRelease(two, tables[1])]
    report = played(tables[2], three, earlier)
    assert report.passed
    least = 4 if capped else 5
    for how in BY:
        assert named(report, "fewest records left to a person", how).achieved >= least
    assert report.findings[0].details["people_matched_by"] == "column 'id'"


def test_tables_that_changed_are_compared_by_a_column(people: pa.Table) -> None:
    one, two = released(people.slice(0, 550), 1), released(people.slice(30, 570), 2)
    earlier = [EarlierRelease(one, people.slice(0, 550))]
    report = played(people.slice(30, 570), two, earlier, same="id")
    fewest = named(report, "fewest records left to a person", "along edges")
    assert fewest.passed is False
    assert fewest.details["people"] == 600
    assert named(report, "people named for certain", "along edges").achieved > 0.02


def test_a_victim_whose_record_vanished_is_named(people: pa.Table) -> None:
    """The record of somebody who left is removed: everybody else's record is still there."""
    table = people.slice(0, 200)
    one = released(table, 1)
    left = [row for row in range(200) if row != 17]
    assert one.links is not None
    rows = np.flatnonzero(one.links.original_of_row != 17)
    two = Release(one.table.take(pa.array(rows)), one.columns, one.certified)
    report = played(
        people.take(left), two, [EarlierRelease(replace(one, links=None), table)], same="id"
    )
    fewest = named(report, "fewest records left to a person", "by containment")
    assert fewest.achieved == 1
    assert fewest.passed is False
    assert named(report, "people named for certain", "by containment").achieved == 1 / 200


def test_a_victim_whose_values_were_exchanged_is_found(people: pa.Table) -> None:
    """Two records of a kept block exchange their owners between two releases."""
    table = people.slice(0, 200)
    one = released(table, 1)
    assert one.links is not None
    graph, truth = one.links.graph, one.links.truth
    block = range(int(graph.starts[0]), int(graph.starts[1]))
    other = next(
        place
        for place in block
        if truth[place] in graph.preimages(block[0])
        and truth[block[0]] in graph.preimages(place)
        and place != block[0]
    )
    incomes = one.table.column("income").to_pylist()
    row_at = np.argsort(one.links.position_of_row)
    first, second = int(row_at[block[0]]), int(row_at[other])
    incomes[first], incomes[second] = incomes[second], incomes[first]
    swapped = one.table.set_column(
        one.table.column_names.index("income"), one.table.schema.field("income"), pa.array(incomes)
    )
    two = Release(swapped, one.columns, one.certified)
    report = played(table, two, [replace(one, links=None)])
    assert named(report, "fewest records left to a person", "by containment").passed is False


def test_values_that_two_people_have_tell_nothing_about_either(people: pa.Table) -> None:
    """Every income singles out a record in both releases, which have nobody in common."""
    incomes = pa.array([number % 300 for number in range(600)])
    alike = people.set_column(people.column_names.index("income"), "income", incomes)
    before, after = alike.slice(0, 300), alike.slice(300)
    one, two = released(before, 1), released(after, 2)
    report = played(after, two, [EarlierRelease(one, before)], same="id")
    for how in BY:
        fewest = named(report, "fewest records left to a person", how)
        assert fewest.passed
        assert fewest.details["people"] == 600


def test_links_may_be_known_for_some_releases_only(people: pa.Table) -> None:
    one, two = released(people, 1), released(people, 2)
    report = played(people, two, [replace(one, links=None)])
    found = named(report, "fewest records left to a person", "along edges")
    assert found.details["releases_with_links"] == 1
    assert found.passed is False


def test_releases_without_common_unchanged_columns_cannot_be_linked(people: pa.Table) -> None:
    one, two = released(people, 1), released(people, 2, capped=True)
    report = played(people, two, [one])
    assert "no column that is published unchanged" in report.findings[0].details["does_not_apply"]


def test_large_tables_are_sampled(people: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mottle.audit.adversaries.intersection.MOST_PAIRS", 3000)
    one, two = (replace(released(people, seed), links=None) for seed in (1, 2))
    found = played(people, two, [one]).findings[0]
    assert 0 < found.details["examined"] < 400
    assert found.passed is False


def test_releases_of_sets_are_compared() -> None:
    random = np.random.default_rng(0)
    sets = [{f"item {x}" for x in random.integers(0, 9, size)} for size in [1, 2, 3] * 40]
    baskets = ItemSets.of(sets, [f"label {x}" for x in random.integers(0, 6, 120)])
    one, two = (
        mottle.anonymize_sets(baskets, LDiversity(3), seed=seed, effort=0) for seed in (1, 2)
    )
    found = named(played(baskets, two, [one]), "label: right guesses", "along edges")
    assert found.passed is False
    assert found.achieved > 0.8


def test_what_does_not_fit_is_refused(people: pa.Table) -> None:
    one, two = released(people, 1), released(people.slice(0, 500), 2)
    with pytest.raises(UsageError, match="must be a list"):
        played(people, one, two)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="A int is not a release"):
        played(people, one, [3])
    with pytest.raises(DataError, match="500"):
        played(people, one, [two])
    with pytest.raises(DataError, match="no column 'name'"):
        played(people, one, [one], same="name")
    with pytest.raises(DataError, match="missing or repeats"):
        played(people, one, [one], same="sex")
