"""The audit as a whole: inputs, selected adversaries, reports; basic and full audits of runs."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest

import mottle
from mottle import (
    BetaLikeness,
    DataError,
    KAnonymity,
    LDiversity,
    Schema,
    StorageError,
    UsageError,
    anonymize,
)
from mottle.audit import registered
from mottle.audit.base import register
from mottle.audit.certificate_audit import public_audit
from mottle.guarantees.from_certificate import guarantee_on

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
)


QUICK = [name for name in registered() if name != "learning"]  # which teaches models for seconds


def test_all_adversaries_are_played_and_each_says_what_it_assumes(crowd, sound):
    report = mottle.audit_release(crowd, sound)
    assert {finding.adversary for finding in report.findings} == set(registered())
    assert all(finding.assumes and finding.title for finding in report.findings)
    assert report.passed
    assert report.failed == ()
    assert set(report.seconds) == set(registered())
    assert report.rows == 600


def test_an_audit_can_be_repeated_and_the_package_is_reachable_from_mottle(crowd, sound):
    first = mottle.audit_release(crowd, sound, adversaries=["linkage"])
    again = mottle.audit_release(crowd, sound, adversaries=["linkage"])
    assert first.findings == again.findings
    assert mottle.audit.verify(crowd, sound, 5).holds


def test_the_report_is_json_and_holds_no_cell_value(crowd, guarded):
    report = mottle.audit_release(crowd, guarded)
    facts = json.loads(report.to_json())
    assert facts["passed"] is True
    assert facts["guarantee"]["parts"][0]["l"] == 3
    assert [finding["adversary"] for finding in facts["findings"]] == [
        finding.adversary for finding in report.findings
    ]
    text = report.to_json()
    places = crowd.column("origin").unique().to_pylist()
    for value in ["illness", *(place for place in places if len(place) > 3)]:
        assert value not in text


@pytest.mark.parametrize("guarantee", [KAnonymity(4), LDiversity(2), BetaLikeness(3)], ids=str)
@pytest.mark.parametrize("seed", range(5))  # of seeds at random, one in hundreds is a false alarm
def test_sound_releases_of_small_odd_tables_pass(people, guarantee, seed):
    """Nulls, orders, hierarchies and dates, whatever the draw."""
    table, schema = people
    release = anonymize(table, schema, guarantee, method=pick(guarantee), effort=0, seed=seed)
    report = mottle.audit_release(table, release, adversaries=QUICK)
    assert report.passed, [(finding.measure, finding.achieved) for finding in report.failed]


def pick(guarantee) -> str:
    return "buckets" if guarantee.about_values else "nh"


# -------------------------------------------------------------------------------------- guarantees


@pytest.mark.parametrize(
    "guarantee",
    [
        KAnonymity(7),
        LDiversity(3),
        BetaLikeness(2.5),
        BetaLikeness(1, enhanced=True),
        KAnonymity(5) & LDiversity(2) & BetaLikeness(4),
    ],
    ids=str,
)
def test_guarantees_are_read_off_certificates(guarantee):
    written = json.loads(json.dumps({"guarantee": guarantee.describe()}))
    assert guarantee_on(written) == (guarantee, ())


def test_caps_and_unknown_promises_are_noted():
    caps = {"guarantee": (KAnonymity(3) & mottle.Caps({"HIV": 0.1})).describe()}
    found, notes = guarantee_on(caps)
    assert found == KAnonymity(3)
    assert "--cap" in notes[0]
    found, notes = guarantee_on({"guarantee": {"name": "m-secrecy"}})
    assert found is None
    assert "m-secrecy" in notes[0]
    assert guarantee_on({}) == (None, ())
    with pytest.raises(DataError, match="does not name a guarantee"):
        guarantee_on({"guarantee": "k = 3"})


def test_a_guarantee_given_replaces_that_of_the_certificate(crowd, sound):
    report = mottle.audit_release(crowd, sound, guarantee=KAnonymity(500), adversaries=["linkage"])
    assert report.guarantee["k"] == 500
    assert not report.passed


def test_without_any_guarantee_everything_is_for_information(crowd, sound, outside):
    unknown = replace(outside(sound), certified=None)
    report = mottle.audit_release(crowd, unknown)
    judged = [finding for finding in report.findings if finding.passed is not None]
    assert {finding.adversary for finding in judged} <= {"links"}
    assert any("for information only" in note for note in report.notes)


# ------------------------------------------------------------------------------------ what is read


def test_folder_files_and_objects_are_the_same_release(crowd, sound, tmp_path):
    sound.save(tmp_path / "out", private=tmp_path / "links.parquet")
    expected = mottle.audit_release(crowd, sound, adversaries=QUICK)
    for place in ("out", "out/release.parquet", "out/release.csv"):
        report = mottle.audit_release(
            crowd, tmp_path / place, private=tmp_path / "links.parquet", adversaries=QUICK
        )
        assert report.findings == expected.findings, place


def test_a_release_changed_on_disk_is_refused(crowd, sound, tmp_path):
    sound.save(tmp_path / "out")
    file = tmp_path / "out" / "release.csv"
    file.write_text(file.read_text().replace("illness 1", "illness 2", 1))
    with pytest.raises(DataError, match="checksums differ"):
        mottle.audit_release(crowd, file)


def test_inputs_that_cannot_be_right_are_refused(crowd, sound, tmp_path):
    with pytest.raises(DataError, match="599 rows and the release 600"):
        mottle.audit_release(crowd.slice(1), sound)
    with pytest.raises(DataError, match="no column 'age'"):
        mottle.audit_release(crowd.drop_columns(["age"]), sound)
    with pytest.raises(UsageError, match="A Table is not a release"):
        mottle.audit_release(crowd, sound.table)
    with pytest.raises(StorageError):
        mottle.audit_release(crowd, tmp_path / "absent")
    with pytest.raises(UsageError, match="Did you mean 'linkage'"):
        mottle.audit_release(crowd, sound, adversaries=["linkages"])
    with pytest.raises(UsageError, match="must be a list"):
        mottle.audit_release(crowd, sound, adversaries="linkage")
    with pytest.raises(UsageError, match="at least one person"):
        mottle.audit_release(crowd, sound, sample=0)


def test_an_adversary_registers_once():
    with pytest.raises(ValueError, match="registered twice"):
        register("linkage", title="", assumes="")(lambda view, evidence: iter(()))


# --------------------------------------------------------------------------------- audits of runs


def test_every_run_certifies_what_it_measured(crowd, sound, diverse):
    audit = sound.certificate.audit
    assert (audit.level, audit.passed) == ("basic", True)
    (linkage,) = audit.findings
    assert (linkage.achieved, linkage.allowed) == (5, 5)
    assert linkage.details["marketer"] == pytest.approx(1 / 5)
    linkage, sensitive = diverse.certificate.audit.findings
    graph = diverse.links.graph
    assert linkage.details["marketer"] == pytest.approx(len(graph.sizes) / graph.records, abs=1e-6)
    assert (sensitive.adversary, sensitive.allowed) == ("sensitive", 1)
    assert sensitive.passed


def test_a_full_audit_of_a_run_is_the_audit_of_its_release(crowd):
    release = anonymize(
        crowd, SCHEMA, LDiversity(3), method="buckets", effort=0, seed=4, audit="full"
    )
    audit = release.certificate.audit
    assert audit.level == "full"
    report = release.audit(crowd)
    assert audit == public_audit(report, "full")
    assert release.audited.findings == report.findings
    assert "audit" not in release.certificate.seconds  # it depends on the true assignment
    json.loads(release.certificate.to_json())


def test_an_unsafe_run_does_not_certify_that_it_passed(crowd):
    release = anonymize(
        crowd, SCHEMA, LDiversity(3), method="buckets", seed=1, unsafe_paper_randomization=True
    )
    assert release.certificate.audit.passed is False


def test_values_published_in_a_second_table_claim_no_matches(crowd):
    release = anonymize(crowd, SCHEMA, LDiversity(3), method="anatomy", seed=1)
    findings = release.certificate.audit.findings
    assert [finding.adversary for finding in findings] == ["sensitive"]


def test_an_unknown_audit_is_refused(crowd):
    with pytest.raises(UsageError, match="Did you mean 'full'"):
        anonymize(crowd, SCHEMA, KAnonymity(5), audit="ful")


def test_two_rows_can_be_audited():
    table = pa.table({"age": [30, 40], "ill": ["a", "b"]})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["ill"])
    release = mottle.anonymize(table, schema, KAnonymity(2), seed=1, audit="full")
    assert release.certificate.audit.passed


def test_full_audit_of_a_release_whose_only_quasi_identifiers_are_sets() -> None:
    """At 8cdc187 it ended in a ValueError, and the finished release was lost."""
    table = pa.table({"visited": [["a", "b"], ["b"], ["a"], ["c"], ["b", "c"], ["a"]]})
    schema = Schema.of(quasi_identifying=["visited"])
    release = mottle.anonymize(table, schema, KAnonymity(2), seed=1, audit="full")
    assert release.certificate.audit is not None
    assert release.certificate.audit.level == "full"
