"""Columns that are published as they are: warnings for the owner, shares for the certificate."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Schema
from mottle.release.unchanged import unchanged_of, warnings_about

KNOWN = ["age", "sex", "education"]
ROWS = 1500


@pytest.fixture(scope="module")
def people() -> pa.Table:
    table = mottle.datasets.population(ROWS, seed=3).select([*KNOWN, "income", "diagnosis"])
    birth_year = 2026 - table["age"].to_numpy()
    noise = np.random.default_rng(1).random(ROWS)
    return table.append_column("birth_year", pa.array(birth_year)).append_column(
        "noise", pa.array(noise)
    )


def schema_of(*insensitive: str) -> Schema:
    return Schema.of(
        quasi_identifying=KNOWN,
        sensitive=["diagnosis"],
        insensitive=list(insensitive),
        rest="identifying",
    )


def warned(table: pa.Table, *insensitive: str) -> list[str]:
    found = unchanged_of(table, schema_of(*insensitive).covering(table.column_names))
    assert found is not None
    return warnings_about(found)


def test_birth_year_beside_age_is_a_warning_with_figures_and_a_way_out(people: pa.Table) -> None:
    text = warned(people, "birth_year")[0]
    assert text.startswith("Column 'birth_year' largely determines 'age': guesses are right in ")
    assert "undo the generalization of 'age'" in text
    assert "make it quasi-identifying" in text


def test_columns_that_single_out_rows_are_a_warning(people: pa.Table) -> None:
    (alone,), together = warned(people, "noise"), warned(people, "income")[-1]
    assert "'noise' is published as it is, and 100.0% of the rows" in alone
    assert "The 2 columns that are published as they are single out" in together
    assert warned(people) == []


def test_a_survey_weight_that_gives_rows_away_is_a_warning_with_its_ways_out(
    people: pa.Table, caplog: pytest.LogCaptureFixture
) -> None:
    """One weight of a row's own, and one that follows from age."""
    schema = schema_of()
    table = people.append_column("pw", pa.array(10 + people["age"].to_numpy() / 10))
    for weighted, words in ((people, "value of their own"), (table, "largely determines 'age'")):
        caplog.clear()
        name = "noise" if weighted is people else "pw"
        named = Schema.of(quasi_identifying=KNOWN, rest="identifying", survey_weight=name)
        release = mottle.anonymize(weighted, named, KAnonymity(3), seed=1, method="nh")
        assert words in caplog.text
        assert f"'{name}' is the survey weight: round it" in caplog.text
        assert release.certificate.unchanged is not None
        assert (release.certificate.unchanged.singles_out[name] == 1.0) == (name == "noise")
    caplog.clear()
    mottle.anonymize(table, schema, KAnonymity(3), seed=1, method="nh")
    assert "survey weight" not in caplog.text


def test_certificate_has_shares_and_the_owner_gets_the_warnings(
    people: pa.Table, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "mottle"):
        release = mottle.anonymize(people, schema_of("birth_year"), KAnonymity(5), seed=1)
    assert "'birth_year' largely determines 'age'" in caplog.text
    facts = release.certificate.unchanged
    assert facts is not None
    assert facts.rows == ROWS
    assert set(facts.singles_out) == {"birth_year", "diagnosis"}
    # what is certified follows from the release alone
    published = release.table.select(["diagnosis", "birth_year"]).to_pylist()
    keys = [tuple(row.values()) for row in published]
    assert facts.together == pytest.approx(
        sum(keys.count(key) == 1 for key in keys) / ROWS, abs=1e-4
    )
    assert "determines" not in release.certificate.to_json()


def test_full_audit_certifies_neither_guesses_nor_what_columns_determine(people: pa.Table) -> None:
    schema = schema_of("birth_year")
    release = mottle.anonymize(people, schema, KAnonymity(5), method="nh", seed=1, audit="full")
    assert [finding.passed for finding in release.audited.of("unchanged")] == [False, None]
    audit = json.loads(release.certificate.to_json())["audit"]
    assert all(finding["adversary"] != "unchanged" for finding in audit["findings"])
    assert "unchanged" in audit["owner"]["adversaries"]
    assert audit["owner"]["passed"] is False
    assert "for_owner" not in json.dumps(audit)


def test_streaming_measures_a_sample_and_says_of_how_many_rows(
    people: pa.Table,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pq.write_table(people, tmp_path / "people.parquet", row_group_size=333)
    run = {"method": "nh", "seed": 1, "report": False, "chunk_rows": 600}
    whole = mottle.anonymize_stream(
        tmp_path / "people.parquet", schema_of("birth_year"), KAnonymity(5), tmp_path / "out", **run
    )
    in_memory = mottle.anonymize(people, schema_of("birth_year"), KAnonymity(5), seed=1)
    assert whole.certificate.unchanged == in_memory.certificate.unchanged
    assert "'birth_year' largely determines 'age'" in caplog.text
    monkeypatch.setattr("mottle.pipeline.streaming.engine.MOST_ROWS", 400)
    part = mottle.anonymize_stream(
        tmp_path / "people.parquet",
        schema_of("birth_year"),
        KAnonymity(5),
        tmp_path / "part",
        **run,
    )
    assert part.certificate.unchanged is not None
    assert part.certificate.unchanged.rows == 375  # every fourth


def test_of_two_tables_only_insensitive_columns_are_in_the_rows(people: pa.Table) -> None:
    release = mottle.anonymize(people, schema_of("noise"), LDiversity(2), method="anatomy", seed=1)
    assert release.certificate.unchanged is not None
    assert dict(release.certificate.unchanged.singles_out) == {"noise": 1.0}


def test_report_says_how_many_rows_are_singled_out(people: pa.Table) -> None:
    release = mottle.anonymize(people, schema_of("noise"), KAnonymity(5), method="nh", seed=1)
    page = mottle.report.report_html(release)
    assert "could find 100.0% of the records" in page


def test_inspection_warns_about_what_it_proposes_to_publish(people: pa.Table) -> None:
    table = people.append_column("salary_year", pa.array(3000 - people["age"].to_numpy()))
    found = mottle.inspect(table)
    assert any("'salary_year' largely determines 'age'" in text for text in found.warnings)
    assert "# Column 'salary_year' largely determines 'age'" in found.to_toml()
