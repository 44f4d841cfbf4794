"""Formulas in CSV files: never run by a spreadsheet, and read back as they were."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import KAnonymity, LDiversity, Schema, anonymize, anonymize_sets, read_release
from mottle.io.read_set_release import load_set_release
from mottle.itemsets.data import ItemSets
from mottle.release.certificate import Certificate
from mottle.release.formula_guard import guard, guard_text, unguard, unguard_text

FORMULAS = [
    "=HYPERLINK(1)",
    "@SUM(A1)",
    "+1-2",
    "-cmd|x",
    "\t=1",
    "\r=1",
    "'=1",
    "''@a",
    "＝1",
    "plain",
    "'t Hooft",
    "a=b",
    "",
]
DANGEROUS = re.compile(r"\A[=+\-@\t\r\n＝＋－＠]")


@given(st.text(st.sampled_from("'=+-@\t\r\n＝ax\0"), max_size=6))
def test_guard_can_be_undone_and_leaves_nothing_dangerous(text: str) -> None:
    guarded = guard_text(text)
    assert not DANGEROUS.match(guarded)
    assert unguard_text(guarded) == text
    array = pa.array([text, None], pa.large_string())
    assert guard(array).to_pylist() == [guarded, None]
    assert unguard(guard(array)).equals(array)


@given(st.text(max_size=5), st.text(max_size=5))
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert (guard_text(one) == guard_text(other)) == (one == other)


def table_of_formulas() -> pa.Table:
    rows = 2 * len(FORMULAS)
    return pa.table(
        {
            "=cmd|' /C calc'!A0": [row % 5 - 3 for row in range(rows)],
            "kind": [FORMULAS[row % len(FORMULAS)] for row in range(rows)],
            "-kept": [FORMULAS[row % len(FORMULAS)] for row in range(rows)],
            "signed": [-row for row in range(rows)],
        }
    )


def cells_of(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("representation", ["range", "set"])
def test_no_text_of_a_release_begins_like_a_formula(tmp_path: Path, representation: str) -> None:
    """At 8cdc187 =HYPERLINK(…), @SUM and a column named =cmd|… were passed on unchanged."""
    table = table_of_formulas()
    names = table.column_names
    schema = Schema.of(quasi_identifying=names[:2], insensitive=names[2:])
    release = anonymize(table, schema, KAnonymity(2), seed=1, representation=representation)
    release.save(tmp_path / "out")
    header, *rows = cells_of(tmp_path / "out" / "release.csv")
    assert not any(DANGEROUS.match(name) for name in header)
    texts = [row[place] for row in rows for place in (1, 2)]
    assert not any(DANGEROUS.match(text) for text in texts)
    assert {row[3] for row in rows} == {str(-row) for row in range(table.num_rows)}  # not texts
    assert any(row[0].startswith("-") for row in rows)
    for name in ("release.csv", "release.parquet"):
        again = read_release(tmp_path / "out" / name)
        assert again.table.equals(release.table), name
    (tmp_path / "out" / "release.parquet").unlink()
    assert read_release(tmp_path / "out").table.equals(release.table)
    assert release.certificate.formula_guard == "'"


def test_release_without_a_guard_is_read_as_it_is(tmp_path: Path) -> None:
    """Earlier versions wrote none, and said nothing on the certificate."""
    table = pa.table({"q": [1, 1], "kept": ["'=x", "y"]})
    schema = Schema.of(quasi_identifying=["q"], insensitive=["kept"])
    anonymize(table, schema, KAnonymity(2), seed=1).save(tmp_path / "out")
    (tmp_path / "out" / "release.parquet").unlink()
    text = (tmp_path / "out" / "release.csv").read_text(encoding="utf-8")
    (tmp_path / "out" / "release.csv").write_text(text.replace("''", "'"), encoding="utf-8")
    file = tmp_path / "out" / "certificate.json"
    certificate = Certificate.from_json(file.read_text(encoding="utf-8"))
    file.write_text(certificate.with_changes(formula_guard=None, sha256={}).to_json())
    assert sorted(read_release(tmp_path / "out").table.column("kept").to_pylist()) == ["'=x", "y"]


def test_labels_of_sets_and_second_tables_are_guarded(tmp_path: Path) -> None:
    labels = pa.chunked_array([["=a", "@b", "c", "=a", "@b", "c"]])
    sets = ItemSets.of([["=x"], ["=x", "y"], ["y"]] * 2).with_labels(labels, "+label")
    release = anonymize_sets(sets, KAnonymity(2), seed=1)
    release.save(tmp_path / "sets")
    texts = [cell for row in cells_of(tmp_path / "sets" / "release.csv") for cell in row]
    assert not any(DANGEROUS.match(text) for text in texts)
    assert load_set_release(tmp_path / "sets" / "release.csv").table.equals(release.table)

    table = pa.table({"q": [1, 2, 3, 4], "=s": ["=a", "@b", "=a", "@b"]})
    schema = Schema.of(quasi_identifying=["q"], sensitive=["=s"])
    two = anonymize(table, schema, LDiversity(2), method="anatomy", seed=1)
    two.save(tmp_path / "two")
    cells = cells_of(tmp_path / "two" / "sensitive.csv")
    assert not any(DANGEROUS.match(cell) for row in cells for cell in row)
    for name in ("release.parquet", "sensitive.parquet"):
        (tmp_path / "two" / name).unlink()
    again = read_release(tmp_path / "two")
    assert again.sensitive is not None
    assert two.sensitive is not None
    assert again.sensitive.equals(two.sensitive)
