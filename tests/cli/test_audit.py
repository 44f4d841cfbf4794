"""``mottle audit`` as its users meet it: exit codes 0 and 6, and what it says to wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle.release.certificate import Certificate

COLUMNS = ("--qi", "age,sex", "--sensitive", "diagnosis", "--rest", "insensitive")


@pytest.fixture
def case(tmp_path: Path) -> tuple[Path, Path, Path]:
    """An original, its release and the private links."""
    table = mottle.datasets.population(300, seed=1)
    original = tmp_path / "people.parquet"
    pq.write_table(table.select(["age", "sex", "income", "diagnosis"]), original)
    release, links = tmp_path / "out", tmp_path / "links.parquet"
    done = mottle_command(
        "anonymize",
        original,
        *COLUMNS,
        "--k",
        "5",
        "--method",
        "nh",
        "--seed",
        "1",
        "-o",
        release,
        "--private",
        links,
    )
    assert done.exit_code == 0, done.output
    return original, release, links


def test_a_sound_release_ends_with_0_and_names_every_adversary(case):
    original, release, links = case
    result = mottle_command("audit", original, release, "--private", links)
    assert result.exit_code == 0, result.output
    assert "No adversary got beyond what the guarantee allows." in said(result)
    for adversary in mottle.audit.registered():
        assert adversary in result.output
    assert "within" in result.output
    assert "BROKEN" not in result.output


def test_without_links_it_says_what_was_not_played(case):
    original, release, _ = case
    result = mottle_command("audit", original, release / "release.csv")
    assert result.exit_code == 0, result.output
    assert "order was not played: needs the private link file." in said(result)


def test_a_broken_guarantee_ends_with_6_and_says_by_whom(case):
    original, release, _ = case
    result = mottle_command("audit", original, release, "--k", "100")
    assert result.exit_code == 6
    assert "The guarantee is broken by: assignments, linkage." in said(result)


def test_a_release_tampered_with_ends_with_6(case, tmp_path):
    """A swapped row: the certificate is gone with it, the links are not."""
    original, release, links = case
    table = pq.read_table(release / "release.parquet")
    values = table.column("income").to_pylist()
    other = next(row for row, value in enumerate(values) if value != values[0])
    values[0], values[other] = values[other], values[0]
    place = table.schema.get_field_index("income")
    field = table.schema.field("income")
    swapped = table.set_column(place, field, pa.array(values, field.type))
    pq.write_table(swapped, tmp_path / "swapped.parquet")
    result = mottle_command(
        "audit", original, tmp_path / "swapped.parquet", "--private", links, "--k", "5", "--json"
    )
    assert result.exit_code == 6
    report = json.loads(result.stdout)
    failed = [finding for finding in report["findings"] if finding["passed"] is False]
    assert [finding["adversary"] for finding in failed] == ["links"]
    assert failed[0]["details"]["values_of_others"] == 2


def test_json_is_the_report(case):
    original, release, _ = case
    result = mottle_command("audit", original, release, "--json", "--adversary", "linkage")
    report = json.loads(result.stdout)
    assert report["passed"] is True
    assert report["guarantee"]["k"] == 5
    assert {finding["adversary"] for finding in report["findings"]} == {"linkage"}


def test_a_release_of_another_tool_is_audited_with_its_schema(tmp_path):
    (tmp_path / "people.csv").write_text("age,ill\n21,a\n25,b\n44,a\n47,b\n")
    (tmp_path / "theirs.csv").write_text(
        "age;ill\n[20, 40[;a\n[20, 40[;b\n[40, 60[;a\n[40, 60[;b\n"
    )
    (tmp_path / "mottle.toml").write_text(
        '[release]\ntool = "arx"\n[columns.age]\nrole = "quasi-identifying"\n'
        '[columns.ill]\nrole = "sensitive"\n'
    )
    command = ("audit", tmp_path / "people.csv", tmp_path / "theirs.csv")
    schema = ("--schema", tmp_path / "mottle.toml")
    assert mottle_command(*command, *schema, "-k", "2", "-l", "2").exit_code == 0
    assert mottle_command(*command, *schema, "-k", "3").exit_code == 6
    without = mottle_command(*command, *schema)
    assert without.exit_code == 0
    assert "for information only" in said(without)
    refused(mottle_command(*command), 2, "[release] with tool")


def test_missing_files_are_named(case, tmp_path):
    original, release, _ = case
    absent = tmp_path / "absent.parquet"
    refused(mottle_command("audit", absent, release), 5, "absent.parquet")
    refused(mottle_command("audit", original, absent), 5, "absent.parquet")
    refused(mottle_command("audit", original, release, "--private", absent), 5, "absent.parquet")
    refused(mottle_command("audit", original, release, "--schema", absent), 5, "absent.parquet")


def test_wrong_originals_are_refused(case, tmp_path):
    original, release, _ = case
    table = pq.read_table(original)
    pq.write_table(table.slice(0, 200), tmp_path / "fewer.parquet")
    refused(
        mottle_command("audit", tmp_path / "fewer.parquet", release),
        4,
        "200 rows and the release 300",
    )
    older = table.set_column(0, "age", pa.array([140] * 300, table.schema.field("age").type))
    pq.write_table(older, tmp_path / "older.parquet")
    refused(
        mottle_command("audit", tmp_path / "older.parquet", release),
        4,
        "column 'age' holds other values",
    )
    pq.write_table(table.drop_columns(["sex"]), tmp_path / "narrow.parquet")
    refused(mottle_command("audit", tmp_path / "narrow.parquet", release), 4, "no column 'sex'")


def test_wrong_options_are_refused(case, tmp_path):
    original, release, _ = case
    refused(mottle_command("audit", original, release, "--adversary", "lnkage"), 2, "linkage")
    refused(mottle_command("audit", original, release, "--sample", "0"), 2, "--sample")
    refused(mottle_command("audit", original, release, "--enhanced"), 2, "--beta")
    (tmp_path / "bad.toml").write_text('[columns.age]\nrole = "quasi"\n')
    refused(
        mottle_command("audit", original, release, "--schema", tmp_path / "bad.toml"), 2, "role"
    )


def test_anonymize_with_a_full_audit_shows_it_and_certifies_it(case, tmp_path):
    original, _, _ = case
    done = mottle_command(
        "anonymize",
        original,
        *COLUMNS,
        "--k",
        "4",
        "--method",
        "nh",
        "--audit",
        "full",
        "-o",
        tmp_path / "audited",
    )
    assert done.exit_code == 0, done.output
    assert "No adversary got beyond" in said(done)
    certificate = Certificate.from_json((tmp_path / "audited" / "certificate.json").read_text())
    assert certificate.audit.level == "full"
    assert "order" in said(done), "the owner sees everything"
    assert {"linkage", "assignments"} <= {each.adversary for each in certificate.audit.findings}
    assert "right guesses:" not in certificate.to_json()
    assert "order" in certificate.audit.owner.adversaries


def test_a_full_audit_that_breaks_the_guarantee_ends_with_6_and_says_so(tmp_path):
    rows = [f"{20 + row % 30},{'abcdef'[row * 7 % 6]}" for row in range(240)]
    (tmp_path / "people.csv").write_text("age,ill\n" + "\n".join(rows) + "\n")
    done = mottle_command(
        "anonymize",
        tmp_path / "people.csv",
        "--qi",
        "age",
        "--sensitive",
        "ill",
        "--l",
        "3",
        "--method",
        "buckets",
        "--unsafe-paper-randomization",
        "--audit",
        "full",
        "--seed",
        "1",
        "-o",
        tmp_path / "out",
    )
    assert done.exit_code == 6, done.output
    assert "The guarantee is broken by: algorithm, sensitive" in said(done)
    assert (tmp_path / "out" / "certificate.json").exists()


def test_a_release_of_sets_is_audited_like_a_table(tmp_path):
    rows = [f"{number % 7};{number % 5};{number % 3 + 20}" for number in range(60)]
    labels = [f"label {number % 4}" for number in range(60)]
    original = tmp_path / "baskets.parquet"
    pq.write_table(pa.table({"bought": rows, "label": labels}), original)
    release, links = tmp_path / "out", tmp_path / "links.parquet"
    source = ("--column", "bought", "--sensitive-label", "label")
    written = ("-o", release, "--private", links, "--seed", "1", "--seconds", "0")
    done = mottle_command(
        "anonymize-sets", original, *source, "--separator", ";", "--l", "3", *written
    )
    assert done.exit_code == 0, done.output
    quick = ("--adversary", "linkage", "--adversary", "order", "--adversary", "sensitive")
    result = mottle_command(
        "audit", original, release, *source, "--item-separator", ";", "--private", links, *quick
    )
    assert result.exit_code == 0, result.output
    assert "60 people" in said(result)
    assert "No adversary got beyond what the guarantee allows." in said(result)


def test_options_for_sets_are_refused_for_a_table(case):
    original, release, _ = case
    result = mottle_command("audit", original, release, "--column", "age")
    refused(result, 2, "releases of sets", "Leave them out")
