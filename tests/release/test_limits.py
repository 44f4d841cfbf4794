"""Limits are stated by codes that the documentation lists, and follow from what was done."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paths import ROOT

import mottle
from mottle import Certificate, KAnonymity, LDiversity, Schema
from mottle.release import limits

TABLE = mottle.datasets.population(120, seed=3).select(["age", "sex", "diagnosis"])
SCHEMA = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])


def codes(certificate: Certificate) -> set[str]:
    found = [limit.code for limit in certificate.limits]
    assert len(found) == len(set(found))
    return set(found)


def made(guarantee: mottle.Guarantee, **options: object) -> Certificate:
    return mottle.anonymize(TABLE, SCHEMA, guarantee, effort=0, **options).certificate  # type: ignore[arg-type]


def test_codes_follow_from_guarantee_method_and_audit(tmp_path: Path) -> None:
    plain = codes(made(KAnonymity(3)))
    assert {"inference_not_bounded", "membership", "one_row_each", "population"} <= plain
    assert "finished_files_not_attacked" in plain
    assert "draw_can_be_repeated" not in plain
    assert "draw_can_be_repeated" in codes(made(KAnonymity(3), seed=1))
    assert "finished_files_not_attacked" not in codes(made(KAnonymity(3), audit="full"))
    both = codes(made(LDiversity(2), method="mondrian"))
    assert "decisions_can_be_replayed" in both
    assert "inference_not_bounded" not in both
    bounded = codes(made(LDiversity(2)))
    assert {"correlations_known_beforehand", "runs_repeated"} <= bounded
    assert "runs_repeated" not in plain | both
    apart = codes(made(LDiversity(2), method="anatomy"))
    assert "quasi_identifiers_published" in apart
    assert "membership" not in apart
    pq.write_table(TABLE, tmp_path / "people.parquet")
    mottle.anonymize_stream(tmp_path / "people.parquet", SCHEMA, KAnonymity(3), tmp_path / "out")
    streamed = mottle.read_release(tmp_path / "out").certificate
    assert "mean_risk" not in codes(streamed), "everybody has one row"
    assert streamed.risk is not None
    assert streamed.risk.after.prosecutor_highest == pytest.approx(1 / 3)


def test_rows_are_not_called_people() -> None:
    table = pa.table({"who": ["a", "a", "b", "b"] * 10, "age": list(range(40))})
    schema = Schema.of(quasi_identifying=["age"], identifying=["who"], unit="row")
    certificate = mottle.anonymize(table, schema, KAnonymity(3), effort=0).certificate
    stated = {limit.code: limit.statement for limit in certificate.limits}
    assert "people_with_several_rows" in stated
    assert not any("person" in text or "people" in text for text in stated.values())
    assert certificate.risk is not None
    assert certificate.risk.counts == "row"


def test_every_code_is_documented() -> None:
    source = Path(limits.__file__).read_text(encoding="utf-8")
    used = set(re.findall(r'^\s+(?:yield )?\(?"([a-z_]+)",', source, re.MULTILINE))
    used |= set(re.findall(r'^_?[A-Z_]+ = "([a-z_]+)"$', source, re.MULTILINE))
    page = (ROOT / "docs" / "certificate.md").read_text(encoding="utf-8")
    section = page.partition("## Limits")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)) - {"code"}
    assert len(used) > 15
    assert used == listed


def test_what_one_known_record_gives_away_is_stated() -> None:
    bounded = made(LDiversity(2)).known_record
    assert bounded is not None
    assert bounded.others is not None
    assert f"{bounded.others:,} other" in bounded.statement
    free = made(KAnonymity(3)).known_record
    assert free is not None
    assert free.others is None
    assert "not bounded" in free.statement
