"""What a certificate states of an audit does not depend on the true assignment."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Release, Schema, anonymize
from mottle.assignment import assign
from mottle.audit.certificate_audit import public_audit
from mottle.audit.report import AuditReport, Finding, Outcome
from mottle.release.links import Links
from mottle.utils.csprng import Secret

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex"],
    sensitive=["diagnosis"],
    insensitive=["income"],
    rest="identifying",
)
OWNERS = {
    "algorithm",
    "association",
    "corruption",
    "learning",
    "links",
    "order",
    "permutations",
    "unchanged",
}


def another_world(table: pa.Table, release: Release, seed: int) -> tuple[pa.Table, Release]:
    """The same release of the same graph, if another assignment had been drawn.

    People keep their quasi-identifiers and have the unchanged values that the release would then
    have shown of them.
    """
    links = release.links
    drawn = assign(links.graph, Secret.draw(seed=seed), release.certificate.parameters.draw)
    again = Links(links.graph, links.position_of_row, np.asarray(drawn, np.int32))
    assert not np.array_equal(again.original_of_row, links.original_of_row)
    row_of = pa.array(np.argsort(again.original_of_row))
    for column in release.columns:
        if column.form is None:
            place = table.schema.get_field_index(column.name)
            values = release.table.column(column.name).take(row_of)
            table = table.set_column(place, column.name, values)
    return table, dataclasses.replace(release, links=again)


@pytest.mark.parametrize(
    ("guarantee", "method", "person"),
    [
        (KAnonymity(3), "nh", False),
        (KAnonymity(3), "freeform", False),
        (KAnonymity(3), "nh", True),
        (LDiversity(3), "mondrian", False),
        (LDiversity(3), "buckets", False),
    ],
)
def test_public_findings_are_the_same_in_every_world(crowd, guarantee, method, person) -> None:
    table = crowd.slice(0, 120).append_column(
        "who", pa.array([f"p{row // 2}" for row in range(120)])
    )
    schema = SCHEMA.model_copy(update={"person": "who"}) if person else SCHEMA
    release = anonymize(table, schema, guarantee, method=method, seed=3, effort=0, audit="full")
    stated = release.certificate.audit
    assert stated.level == "full"
    assert stated == public_audit(release.audited, "full")
    other = another_world(table, release, 1)
    report = mottle.audit_release(*other, schema=schema, guarantee=guarantee)
    assert public_audit(report, "full").findings == stated.findings
    assert {finding.adversary for finding in report.findings if not finding.public} >= OWNERS


def test_figures_of_the_true_assignment_are_the_owners(crowd, sound) -> None:
    report = sound.audit(crowd)
    kept = [finding for finding in report.findings if not finding.public]
    assert {"order", "unchanged", "corruption"} <= {finding.adversary for finding in kept}
    section = json.dumps(public_audit(report, "full").to_dict())
    for finding in kept:
        assert finding.measure not in section
    assert "seconds" not in public_audit(report, "full").to_dict()


def test_a_finding_that_declares_nothing_is_not_published() -> None:
    """A new adversary cannot forget to keep a figure back."""
    outcomes = [
        Outcome("fewest matches", 5, 5, True, public=True),
        Outcome("right guesses", 0.25, 0.2, True, {"sigma": 0.1}),
        Outcome("further guesses", None, details={"not_played": "no links"}),
    ]
    findings = tuple(
        Finding.of(f"adversary {number}", "title", "assumes", outcome)
        for number, outcome in enumerate(outcomes)
    )
    section = public_audit(AuditReport(10, None, findings, seconds={"adversary 1": 2.0}), "full")
    assert [finding.measure for finding in section.findings] == ["fewest matches"]
    assert section.owner.adversaries == ("adversary 1",)
    assert section.owner.passed
    assert section.passed
    assert section.seconds is None


@pytest.mark.parametrize("public", [False, True])
def test_a_broken_guarantee_is_stated_whoever_found_it(public) -> None:
    broken = Finding.of("order", "t", "a", Outcome("rows", 9, 5, False, public=public))
    section = public_audit(AuditReport(10, None, (broken,)), "full")
    assert not section.passed
    assert (section.owner is None) is public


def test_the_owners_audit_is_not_copied_with_a_release(crowd) -> None:
    release = anonymize(crowd.slice(0, 60), SCHEMA, KAnonymity(3), seed=3, audit="full")
    assert release.audited.passed
    assert pickle.loads(pickle.dumps(release)).audited is None
    assert release.slice(0, 5).audited is None
    assert "audited" not in repr(release)
