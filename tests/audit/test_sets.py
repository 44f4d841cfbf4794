"""Releases of sets are audited like tables: by possible worlds, labels, links and rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import ItemSets, KAnonymity, LDiversity, SetRelease, UsageError, anonymize_sets
from mottle.audit import registered

QUICK = [name for name in registered() if name != "learning"]


@pytest.fixture(scope="module")
def baskets() -> ItemSets:
    """Baskets of one to four of twelve items, with one of six labels."""
    random = np.random.default_rng(0)
    sizes = random.integers(1, 5, 300)
    sets = [{f"item {x}" for x in random.integers(0, 12, size)} for size in sizes]
    return ItemSets.of(sets, [f"label {x}" for x in random.integers(0, 6, 300)])


@pytest.fixture(scope="module")
def anonymous(baskets: ItemSets) -> SetRelease:
    return anonymize_sets(baskets, KAnonymity(3), seed=1, effort=0)


@pytest.fixture(scope="module")
def diverse(baskets: ItemSets) -> SetRelease:
    return anonymize_sets(baskets, LDiversity(3), seed=1, effort=0)


def played(findings) -> set[str]:
    return {finding.adversary for finding in findings if finding.achieved is not None}


def test_a_folder_is_audited_with_its_links(baskets, diverse, tmp_path: Path):
    diverse.save(tmp_path / "out", private=tmp_path / "links.parquet", report=False)
    report = mottle.audit_release(
        baskets, tmp_path / "out", private=tmp_path / "links.parquet", adversaries=QUICK
    )
    assert report.passed
    assert played(report.findings) >= {
        "algorithm",
        "assignments",
        "corruption",
        "linkage",
        "links",
        "order",
        "permutations",
        "sensitive",
    }
    assert diverse.audit(baskets, adversaries=["linkage", "decision"]).passed
    again = mottle.audit_release(baskets, diverse, adversaries=QUICK)
    assert [found.achieved for found in again.findings] == [
        found.achieved for found in report.findings
    ]


def test_matches_are_counted_by_possible_worlds(baskets, anonymous):
    found = mottle.audit_release(baskets, anonymous, adversaries=["linkage"]).findings[0]
    worlds = [anonymous.worlds(row) for row in range(anonymous.num_rows)]
    matches = [
        sum(frozenset(baskets.record(person)) in world for world in worlds)
        for person in range(baskets.records)
    ]
    assert found.details["matches"]["fewest"] == min(matches)
    assert found.details["matches"]["mean"] == pytest.approx(np.mean(matches))


def test_sets_published_as_they_are_are_caught(baskets, anonymous):
    true = anonymous.links.original_of_row
    exact = [
        {"base": baskets.record(person), "uncertain": [], "distance": 0} for person in true.tolist()
    ]
    field = anonymous.table.schema.field(0)
    table = anonymous.table.set_column(0, field, pa.array(exact, field.type))
    report = mottle.audit_release(baskets, replace(anonymous, stored=table), adversaries=QUICK)
    assert {"linkage", "assignments", "links"} <= {found.adversary for found in report.failed}


def test_rows_in_the_order_of_the_file_are_caught(baskets, anonymous, with_rows):
    ordered = with_rows(anonymous, np.argsort(anonymous.links.original_of_row))
    report = mottle.audit_release(baskets, ordered, adversaries=["order"])
    assert {found.measure for found in report.failed} == {
        "rows i that are person i",
        "rank correlation of rows and people",
        "right guesses: the nearest row of the matches",
    }


def test_labels_beyond_their_cap_are_caught(baskets, diverse):
    """Everybody's matches all show the most frequent label."""
    labels = diverse.table.column("label").to_pylist()
    most = max(set(labels), key=labels.count)
    field = diverse.table.schema.field("label")
    table = diverse.table.set_column(1, field, pa.array([most] * len(labels), field.type))
    report = mottle.audit_release(baskets, replace(diverse, stored=table), adversaries=QUICK)
    assert {"sensitive", "links"} <= {found.adversary for found in report.failed}


def test_the_papers_walk_over_labels_is_caught():
    random = np.random.default_rng(3)
    sets = [{f"item {x}" for x in random.integers(0, 12, 3)} for _ in range(1500)]
    data = ItemSets.of(sets, [f"label {x}" for x in random.integers(0, 8, 1500)])
    leaking = anonymize_sets(
        data,
        LDiversity(3),
        method="buckets",
        unsafe_paper_randomization=True,
        seed=1,
        effort=0,
    )
    failed = mottle.audit_release(data, leaking, adversaries=["algorithm", "sensitive"]).failed
    assert {found.adversary for found in failed} == {"algorithm", "sensitive"}


def test_a_table_is_not_taken_for_sets(anonymous):
    with pytest.raises(UsageError, match="not a collection of sets"):
        mottle.audit_release(pa.table({"items": [["a"]] * 300}), anonymous)


def test_a_table_whose_only_quasi_identifiers_are_sets_can_be_audited_in_full(baskets):
    table = pa.table(
        {"bought": [baskets.record(row) for row in range(90)], "ill": baskets.labels.slice(0, 90)}
    )
    schema = mottle.Schema.of(quasi_identifying=["bought"], sensitive=["ill"])
    release = mottle.anonymize(table, schema, KAnonymity(3), seed=1, effort=0, audit="full")
    audit = release.certificate.audit
    assert audit.level == "full"
    assert "classic" in {finding.adversary for finding in audit.findings}
    assert audit.passed
