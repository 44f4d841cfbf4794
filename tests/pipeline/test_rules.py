"""A rule is published only if it holds in every row and says nothing but what adversaries know."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import KAnonymity, Schema
from mottle.errors import DataError, SchemaError
from mottle.schema.rules import Rule

TEXT = "if age < 16 then work is 'child'"
PEOPLE = pa.table(
    {
        "age": [age for age in range(10, 40) for _ in range(4)],
        "work": ["child" if age < 16 else "worker" for age in range(10, 40) for _ in range(4)],
        "ill": (["yes"] + ["no"] * 3) * 30,
        "note": ["a", "b"] * 60,
    }
)


def schema(rules: dict[str, str], **options: object) -> Schema:
    return Schema.of(
        quasi_identifying=["age", "work"],
        sensitive=["ill"],
        insensitive=["note"],
        rules=rules,
        **options,  # type: ignore[arg-type]
    )


def test_a_rule_that_holds_is_published_and_read_back(tmp_path: Path) -> None:
    release = mottle.anonymize(PEOPLE, schema({"children": TEXT}), KAnonymity(3), seed=1)
    release.save(tmp_path / "out")
    again = mottle.read_release(tmp_path / "out").certificate.rules
    assert [(rule.name, rule.text) for rule in again] == [("children", TEXT)]
    plain = mottle.anonymize(PEOPLE, schema({}), KAnonymity(3), seed=1)
    assert plain.table.equals(release.table)
    assert "rules" not in plain.certificate.to_dict()


@pytest.mark.parametrize("column", ["ill", "note"])
def test_a_rule_about_another_column_is_refused_whether_it_holds_or_not(column: str) -> None:
    """Together with a record's other values it would rule out people as matches, or tell values."""
    for text in (f"if age < 99 then {column} is not missing", f"if age < 99 then {column} = 'x'"):
        with pytest.raises(SchemaError, match=rf"Rule 'r' names column '{column}', which is"):
            mottle.anonymize(PEOPLE, schema({"r": text}), KAnonymity(3), seed=1)


def test_a_rule_that_does_not_hold_is_refused_with_counts_and_without_values() -> None:
    rules = {"children": "if age < 18 then work is 'child'", "fine": TEXT}
    with pytest.raises(DataError) as error:
        mottle.anonymize(PEOPLE, schema(rules), KAnonymity(3), seed=1)
    assert "rule 'children' is broken by 8 of 120 rows" in error.value.problem
    assert "fine" not in error.value.problem
    assert "worker" not in str(error.value)


def test_streaming_checks_rules_as_well(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")

    def run(text: str, folder: Path) -> None:
        mottle.anonymize_stream(
            tmp_path / "people.parquet", schema({"r": text}), KAnonymity(3), folder, seed=1
        )

    run(TEXT, tmp_path / "good")
    (rule,) = mottle.read_release(tmp_path / "good").certificate.rules
    assert rule.text == TEXT
    with pytest.raises(DataError, match="rule 'r' is broken by"):
        run("age < 39", tmp_path / "bad")
    assert not (tmp_path / "bad" / "certificate.json").exists()


def test_a_rule_about_a_column_that_is_made_coarser_is_refused() -> None:
    """It could tell what lies within a step, which no part of a release may."""
    coarse = schema({"r": TEXT}, snaps={"age": 10})
    with pytest.raises(SchemaError, match="coarser"):
        mottle.anonymize(PEOPLE, coarse, KAnonymity(3), seed=1)


def test_rules_on_quasi_identifiers_tell_no_worlds_apart_and_others_would() -> None:
    """All worlds of four people behind four equal records: who has which published value.

    A world gives every person a record; its rows are their quasi-identifiers with its values.
    """
    ages, ills = [10, 12, 30, 40], ["no", "no", "yes", "no"]
    worlds = [[ills[record] for record in given] for given in permutations(range(4))]

    def allowed(text: str) -> int:
        rule = Rule(name="r", text=text)
        young = np.array([age < 16 for age in ages])
        count = 0
        for values in worlds:
            truth = {"age": young, "ill": np.array([value == "no" for value in values])}
            count += bool(rule.truth([truth[one.column] for one in rule.comparisons]).all())
        return count

    assert allowed("if age < 16 then ill = 'no'") == 12  # half of all: the leak that is refused
    assert allowed("if age < 16 then age < 16") == len(worlds)
    with pytest.raises(SchemaError, match="sensitive"):
        mottle.anonymize(
            pa.table({"age": ages, "ill": ills}),
            Schema.of(
                quasi_identifying=["age"],
                sensitive=["ill"],
                rules={"r": "if age < 16 then ill = 'no'"},
            ),
            KAnonymity(4),
            seed=1,
        )


@pytest.mark.parametrize("text", ["age < 'x'", "work < 'b'", "age = '2'", "work = 3"])
def test_values_of_another_type_are_refused(text: str) -> None:
    if text == "age = '2'":  # a number in quotes is a number
        with pytest.raises(DataError, match="broken"):
            mottle.anonymize(PEOPLE, schema({"r": text}), KAnonymity(3), seed=1)
        return
    with pytest.raises(SchemaError, match="Rule 'r', column"):
        mottle.anonymize(PEOPLE, schema({"r": text}), KAnonymity(3), seed=1)
