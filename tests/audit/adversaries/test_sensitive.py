"""Sensitive linkage: one value too many is caught along edges, leaking guesses by containment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import (
    BetaLikeness,
    Caps,
    GroupCaps,
    KAnonymity,
    LDiversity,
    Release,
    Schema,
    UsageError,
    anonymize,
)
from mottle.release.column import PublishedColumn
from mottle.schema.model import Role

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
)


def sensitive(table, release, **options):
    return mottle.audit_release(table, release, adversaries=["sensitive"], **options).findings


@pytest.mark.parametrize(
    "guarantee",
    [
        LDiversity(3),
        BetaLikeness(1.5),
        BetaLikeness(1.5, enhanced=True),
        KAnonymity(4) & LDiversity(2),
    ],
    ids=str,
)
def test_sound_releases_pass(crowd, outside, guarantee):
    release = anonymize(crowd, SCHEMA, guarantee, method="mondrian", seed=2)
    by_edges, by_guesses = sensitive(crowd, release)
    assert by_edges.passed
    assert by_edges.achieved <= 1 + 1e-9
    assert by_guesses.passed is not False
    assert all(finding.passed is not False for finding in sensitive(crowd, outside(release)))


def test_one_value_too_many_among_the_matches_is_caught(crowd, diverse, with_cells):
    """Groups of three different values: make two of one group equal."""
    values = diverse.table.column("diagnosis").to_pylist()
    blocks = diverse.links.block_of_row
    block = int(np.argmin(np.bincount(blocks)))
    rows = np.flatnonzero(blocks == block)
    assert len(rows) < 6  # so that two of a value are more than a third
    values[rows[0]] = values[rows[1]]
    found = sensitive(crowd, with_cells(diverse, "diagnosis", values))[0]
    assert found.achieved > 1
    assert (found.details["people_beyond_cap"], found.passed) == (len(rows), False)


def test_achieved_notions_are_those_of_the_worst_person(crowd, diverse):
    details = sensitive(crowd, diverse)[0].details
    blocks = diverse.links.block_of_row
    values = np.unique(diverse.table.column("diagnosis").to_pylist(), return_inverse=True)[1]
    counts = np.zeros((blocks.max() + 1, 8))
    np.add.at(counts, (blocks, values), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    usual = np.bincount(values) / len(values)
    assert details["highest_share"] == pytest.approx(shares.max())
    assert details["l"] == pytest.approx(1 / shares.max())
    assert details["distinct_l"] == (counts > 0).sum(axis=1).min()
    assert details["beta"] == pytest.approx((shares / usual).max() - 1)
    assert details["t"] == pytest.approx(np.abs(shares - usual).sum(axis=1).max() / 2)
    assert details["delta"] == np.inf  # some group lacks some value
    present = shares > 0
    logs = np.abs(np.log((shares / usual)[present]))
    assert details["delta_of_present_values"] == pytest.approx(logs.max())


def test_groups_that_share_a_value_are_caught(outside):
    """k-anonymous groups in which all share a value, sold as ℓ-diverse."""
    rows = 400
    table = pa.table(
        {
            "age": np.repeat(np.arange(rows // 4), 4),
            "diagnosis": np.repeat([f"illness {n % 10}" for n in range(rows // 4)], 4),
        }
    )
    schema = Schema.of(quasi_identifying=["age"], sensitive=["diagnosis"])
    release = anonymize(table, schema, KAnonymity(4), method="mondrian", seed=1)
    by_groups, found = sensitive(table, outside(release), guarantee=LDiversity(3))
    assert by_groups.passed is False
    assert by_groups.details["matches"] == "groups of equal records"
    assert found.details["guesses"]["likeliest value, everybody"]["right"] > 0.9
    by_edges = sensitive(table, release, guarantee=LDiversity(3))[0]
    assert by_edges.passed is False


def test_guesses_that_are_right_too_often_are_caught():
    """Exact ages with independent values: only the records reveal them, other people do not."""
    drawn = np.random.default_rng(3).integers(0, 8, 200)
    table = pa.table({"age": np.arange(200), "ill": [f"illness {number}" for number in drawn]})
    columns = (
        PublishedColumn("age", Role.QUASI_IDENTIFYING, None, None, pa.int64()),
        PublishedColumn("ill", Role.SENSITIVE, None, None, pa.string()),
    )
    published = table.cast(pa.schema([column.field() for column in columns]))
    (found,) = sensitive(table, Release(published, columns), guarantee=LDiversity(3))
    assert (found.achieved, found.passed) == (1, False)


def test_guesses_that_others_allow_anyway_are_not_a_breach(outside):
    """Values follow ages in overlapping ranges: anyone who knows the others knows as much."""
    ages = np.repeat(np.arange(100), 4)
    ill = [f"illness {(age + copy // 2) % 10}" for copy, age in enumerate(ages)]
    table = pa.table({"age": ages, "ill": ill})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["ill"])
    release = anonymize(table, schema, LDiversity(3), method="buckets", effort=0, seed=1)
    (found,) = sensitive(table, outside(release))
    assert found.passed is not False


def test_the_unsafe_walk_of_the_papers_exceeds_caps_along_edges(crowd):
    release = anonymize(
        crowd, SCHEMA, LDiversity(3), method="buckets", seed=1, unsafe_paper_randomization=True
    )
    assert sensitive(crowd, release)[0].passed is False
    sound = anonymize(crowd, SCHEMA, LDiversity(3), method="buckets", seed=1)
    assert sensitive(crowd, sound)[0].passed is True


def test_values_published_in_a_second_table_are_judged_by_group(crowd, outside):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method="anatomy", seed=1)
    by_edges, informative = sensitive(crowd, release)
    assert by_edges.passed
    assert informative.passed is None  # shares along edges are judged already
    by_groups, by_guesses = sensitive(crowd, outside(release))
    assert by_groups.passed
    shares = by_guesses.details["shares"]
    assert shares["highest_share"] == pytest.approx(1 / 3)  # that of a group, not of a record
    assert shares["distinct_l"] == 3


def test_without_guarantee_about_values_shares_are_for_information(crowd, sound):
    findings = sensitive(crowd, sound)
    assert [finding.passed for finding in findings] == [None, None]
    assert 0 < findings[0].achieved <= 1


def test_several_sensitive_columns_are_judged_jointly_and_each(crowd):
    table = crowd.append_column("bed", pa.array([f"bed {n % 7}" for n in range(crowd.num_rows)]))
    schema = Schema.of(
        quasi_identifying=["age", "sex"], sensitive=["diagnosis", "bed"], rest="insensitive"
    )
    release = anonymize(table, schema, LDiversity(2), method="mondrian", seed=1)
    measures = [finding.measure.split(":")[0] for finding in sensitive(table, release)]
    assert measures[::2] == ["diagnosis × bed", "diagnosis", "bed"]
    assert all(finding.passed is not False for finding in sensitive(table, release))


def test_bins_come_from_the_schema(crowd, outside):
    schema = Schema.of(
        quasi_identifying=["age", "sex"],
        sensitive=["income"],
        rest="insensitive",
        bins={"income": 5},
    )
    release = anonymize(crowd, schema, BetaLikeness(2), method="mondrian", seed=1)
    with pytest.raises(UsageError, match="bins of numbers"):
        sensitive(crowd, release)
    assert sensitive(crowd, release, schema=schema)[0].passed


def test_caps_of_single_values_are_judged_when_they_are_given(crowd):
    guarantee = Caps({"illness 1": 0.3}, default=0.6)
    release = anonymize(crowd, SCHEMA, guarantee, method="mondrian", seed=1)
    report = mottle.audit_release(crowd, release, adversaries=["sensitive"])
    assert any("caps of their own" in note for note in report.notes)
    assert all(finding.passed is None for finding in report.findings)
    judged = sensitive(crowd, release, guarantee=guarantee)[0]
    assert judged.passed


def test_numbers_are_compared_along_their_order(crowd):
    table = crowd.append_column("grade", pa.array(np.arange(crowd.num_rows) % 9))
    schema = Schema.of(quasi_identifying=["age"], sensitive=["grade"], rest="insensitive")
    release = anonymize(table, schema, KAnonymity(4), method="mondrian", seed=1)
    ordered = sensitive(table, release)[0].details["t"]
    words = table.set_column(
        table.schema.get_field_index("grade"), "grade", table["grade"].cast(pa.string())
    )
    release = anonymize(words, schema, KAnonymity(4), method="mondrian", seed=1)
    assert ordered < sensitive(words, release)[0].details["t"]


def test_leaving_out_the_own_record_shows_what_others_alone_reveal(crowd, diverse):
    details = sensitive(crowd, diverse)[1].details
    right = details["guesses"]["likeliest value, everybody"]["right"]
    assert 0 <= details["right_without_own_record"] <= right


def test_a_guarantee_about_values_needs_a_sensitive_column(crowd):
    schema = Schema.of(quasi_identifying=["age"], rest="insensitive")
    release = anonymize(crowd, schema, KAnonymity(4), seed=1)
    with pytest.raises(UsageError, match="no sensitive column"):
        sensitive(crowd, release, guarantee=LDiversity(3))


def test_samples_are_judged_too(crowd, diverse, outside):
    found = sensitive(crowd, outside(diverse), sample=300)[-1]
    assert found.details["examined"] == 300
    assert found.passed is not False
    assert sensitive(crowd, replace(diverse), sample=300)[1].passed is not False


# ------------------------------------------------------------------- groups of similar values

PAIRS = {f"pair {n}": [f"illness {2 * n}", f"illness {2 * n + 1}"] for n in range(4)}
GROUPED = Schema.of(
    quasi_identifying=["age", "sex", "origin"],
    sensitive=["diagnosis"],
    rest="insensitive",
    groups={"diagnosis": PAIRS},
)
GROUP_CAPS = LDiversity(3) & GroupCaps({"diagnosis": 0.5})


@pytest.mark.parametrize("method", ["buckets", "mondrian"])
def test_groups_within_their_cap_pass(crowd, outside, method):
    release = anonymize(crowd, GROUPED, GROUP_CAPS, method=method, effort=0, seed=2)
    found = sensitive(crowd, release, schema=GROUPED)
    assert [finding.measure.split(":")[0] for finding in found] == [
        *["diagnosis"] * 2,
        *["diagnosis, groups of level 1"] * 2,
    ]
    assert all(finding.passed is not False for finding in found)
    assert found[2].passed
    without_links = sensitive(crowd, outside(release), schema=GROUPED)
    assert all(finding.passed is not False for finding in without_links)


def test_a_group_beyond_its_cap_is_caught_where_every_value_is_within_its_own(crowd, guarded):
    """ℓ-diversity alone: three similar values are three different ones."""
    values, _, groups, _ = sensitive(crowd, guarded, schema=GROUPED, guarantee=GROUP_CAPS)
    assert values.passed
    assert (groups.passed, groups.allowed) == (False, 1)
    assert "highest share of a group" in groups.measure
    pair_of = {value: name for name, members in PAIRS.items() for value in members}
    graph, truth = guarded.links.graph, guarded.links.truth
    shown = [pair_of[value] for value in crowd.column("diagnosis").to_pylist()]
    seen = [[] for _ in range(graph.records)]
    for position in range(graph.records):
        for original in graph.preimages(position):
            seen[original].append(shown[graph.members[truth[position]]])
    shares = [max(map(each.count, each)) / len(each) for each in seen]
    assert groups.details["people_beyond_cap"] == sum(share > 0.5 for share in shares) > 0
    assert groups.achieved == pytest.approx(max(shares) / 0.5)


def test_groups_are_needed_to_judge_caps_of_groups(crowd):
    release = anonymize(crowd, GROUPED, GROUP_CAPS, method="mondrian", seed=2)
    with pytest.raises(UsageError, match="no groups of similar values"):
        sensitive(crowd, release)
