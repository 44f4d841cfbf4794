"""The first page, the checklists, and what checkers of equal rows find."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from certificates import certificate, mottle_claim

import mottle
from mottle import KAnonymity, LDiversity, Schema
from mottle.guarantees.decisions import DecidesBy
from mottle.report import report_html
from mottle.report.checklists import TO_BE_STATED, checklists_of
from mottle.report.identical_rows import identical_rows
from mottle.report.summary import summary_of
from mottle.schema.context import CHECKLISTS


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return mottle.datasets.population(200, seed=3).select(["age", "sex", "diagnosis"])


def schema(**options: object) -> Schema:
    return Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"], **options)  # type: ignore[arg-type]


def first_page(page: str) -> str:
    return page.partition('id="summary"')[2].partition('id="done"')[0]


def test_plain_k_anonymity_says_in_red_that_inference_is_not_bounded(table: pa.Table) -> None:
    plain = report_html(mottle.anonymize(table, schema(), KAnonymity(4), effort=0))
    assert '<p class="alert"><b>Inference is not bounded.</b>' in first_page(plain)
    bounded = report_html(mottle.anonymize(table, schema(), LDiversity(2), effort=0))
    assert "Inference is not bounded" not in bounded


def test_an_officer_finds_risk_context_and_room_for_a_signature(table: pa.Table) -> None:
    release = mottle.anonymize(
        table, schema(context={"purpose": "A study"}), KAnonymity(4), effort=0
    )
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", first_page(report_html(release))))
    for words in ("A table of 200 records", "25.0 %", "A study", "to be stated", "approved"):
        assert words in page
    risk = release.certificate.risk
    assert risk is not None
    assert risk.before is not None
    assert [line.after for line in summary_of(release.certificate).risk][1] == "25.0 %"


def test_of_certificates_of_earlier_versions_there_is_a_page_as_well(table: pa.Table) -> None:
    release = mottle.anonymize(table, schema(), KAnonymity(4), effort=0)
    new = ("risk", "known_record", "limits", "context")
    content = {
        name: entry for name, entry in release.certificate.to_dict().items() if name not in new
    }
    old = mottle.Certificate.from_dict(content)
    page = report_html(release, old)
    assert "Not on certificates of this version" in page
    assert "Inference is not bounded" in page


@pytest.mark.parametrize("context", [None, {"purpose": "A study", "reviewer": "B. Beta"}])
def test_a_checklist_points_to_entries_and_gives_no_verdict(table, context) -> None:
    release = mottle.anonymize(table, schema(context=context), KAnonymity(4), effort=0)
    content = release.certificate.to_dict()
    lists = checklists_of(release.certificate, CHECKLISTS)
    assert [each.name for each in lists] == list(CHECKLISTS)
    for line in (line for each in lists for line in each.lines):
        if not line.shown:
            assert line.answer == TO_BE_STATED
            continue
        found: object = content
        for part in line.answer.removeprefix("shown by ").partition(":")[0].split("."):
            assert isinstance(found, dict)
            found = found[part]
        assert not re.search(r"\b(compliant|passed|fulfilled|satisfied)\b", line.answer, re.I)
    stated = [line.answer for line in lists[0].lines if "context" in line.answer]
    assert len(stated) == (0 if context is None else 2)
    assert "shown by checks: 4 of 4 hold" in [line.answer for line in lists[3].lines]
    assert checklists_of(release.certificate) == []


def test_a_checklist_claims_no_more_than_the_certificate() -> None:
    claim = {**mottle_claim(), "name": "ℓ-diversity", "short": "ℓ = 3"}
    method = {"name": "test", "title": "made by a test", "paper": "none"}
    both = {**method, "mixed_decision": "it looks at both", "decides_by": str(DecidesBy.BOTH)}
    failed = {"invariant": 4, "name": "within caps", "passed": False, "measured": {}}

    def audit(level: str, *, passed: bool) -> dict[str, object]:
        return {"level": level, "passed": passed, "findings": []}

    def answers(asks: str, **changes: object) -> set[str]:
        lists = checklists_of(certificate(**changes), CHECKLISTS)
        return {line.answer for each in lists for line in each.lines if asks in line.asks}

    for asks in ("Inference", "echnique, and its parameters", "with which strength", "was lowered"):
        (mixed,) = answers(asks, guarantee=claim, method=both)
        assert "beliefs are not bounded" in mixed
        (broken,) = answers(asks, guarantee=claim, checks=[failed])
        assert broken == "shown by guarantee: nothing is promised, because not all checks passed"
    assert answers("Inference") == {"shown by guarantee: it does not bound inference"}
    (bounded,) = answers("Inference", guarantee=claim)
    assert "limits say against whom it does not hold" in bounded
    (seeded,) = answers("with which strength", seed=1)
    assert "not against whoever knows the seed" in seeded
    for level, words in (("basic", "no adversary was played"), ("full", "adversaries that were")):
        (tried,) = answers("tried to break it", audit=audit(level, passed=True))
        assert words in tried
        (tried,) = answers("tried to break it", audit=audit(level, passed=False))
        assert "beyond what the guarantee allows" in tried


def test_equal_rows_are_counted_as_a_checker_counts_them(table: pa.Table) -> None:
    release = mottle.anonymize(table, schema(), KAnonymity(5), effort=0)
    found = identical_rows(release)
    assert found is not None
    keys = [tuple(row.values()) for row in release.to_text().select(["age", "sex"]).to_pylist()]
    sizes = np.unique([repr(key) for key in keys], return_counts=True)[1]
    assert (found.fewest, found.groups, found.alone) == (
        sizes.min(),
        len(sizes),
        (sizes == 1).sum(),
    )
    assert f"My checker says k = {found.fewest}" in report_html(release)
    assert "BETWEEN age.lo AND age.hi" in found.example
    groups = identical_rows(mottle.anonymize(table, schema(), KAnonymity(5), method="mondrian"))
    assert groups is not None
    assert groups.fewest >= 5
    assert identical_rows(
        mottle.anonymize_sets([{"a"}, {"b"}, {"a", "b"}, set()], KAnonymity(2), seed=1)
    )
