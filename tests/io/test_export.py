"""Releases as workbooks, SPSS and Stata files: the cells of release.csv, with types and labels."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import mottle
from mottle import DataError, Hierarchy, Release, StorageError, UsageError
from mottle.io.export.release import export_release


@pytest.fixture(scope="module")
def release() -> Release:
    rows = 40
    table = pa.table(
        {
            "age": pa.array([None if row % 11 == 0 else 20 + row for row in range(rows)]),
            "first name!": ["=1+1", "Bob"] * (rows // 2),
            "born": [dt.date(1950, 1, 1) + dt.timedelta(311 * row) for row in range(rows)],
            "size": [("S", "M", "L")[row % 3] for row in range(rows)],
            "income": [row / 4 for row in range(rows)],
        }
    )
    schema = mottle.Schema.of(
        quasi_identifying=["age", "first name!", "born", "size"],
        orders={"size": ["S", "M", "L"]},
        rest="insensitive",
    )
    return mottle.anonymize(table, schema, mottle.KAnonymity(4), seed=1)


@pytest.mark.parametrize("suffix", ["xlsx", "sav", "dta"])
def test_cells_come_back_as_they_are_in_release_csv(
    release: Release, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"release.{suffix}"
    export_release(release, path)
    found = mottle.read_table(path, allow_generalized=True)
    texts, typed = release.to_text(), release.to_arrow()
    name = "first name!" if suffix == "xlsx" else "first_name_"
    assert found.column(name).to_pylist() == texts.column("first name!").to_pylist()
    assert found.column("size").to_pylist() == texts.column("size").to_pylist()
    for end in ("lo", "hi"):
        ends = [cell[end] for cell in typed.column("age").to_pylist()]
        assert found.column(f"age_{end}").to_pylist() == ends
        days = [cell[end] for cell in typed.column("born").to_pylist()]
        assert found.column(f"born_{end}").to_pylist() == days
    assert found.column("income").to_pylist() == typed.column("income").to_pylist()
    with pytest.raises(StorageError, match="already holds"):
        export_release(release, path)


def test_spss_gets_labels_and_measures(release: Release, tmp_path: Path) -> None:
    export_release(release, tmp_path / "release.sav")
    _, facts = pyreadstat.read_sav(tmp_path / "release.sav", output_format="dict")
    assert facts.variable_measure["age_lo"] == "scale"
    assert facts.variable_measure["size"] == "nominal"
    assert facts.column_names_to_labels["first_name_"] == "first name!"


@pytest.fixture
def survey(tmp_path: Path) -> tuple[Path, Release]:
    """A survey with codes of its own, and a release of it."""
    rows = 40
    frame = pd.DataFrame(
        {
            "age": [20.0 + row for row in range(rows)],
            "sex": [float(5 + row % 2) for row in range(rows)],
            "smokes": [[1.0, 2.0, 97.0, 98.0][row % 4] for row in range(rows)],
        }
    )
    labels = {"sex": {5: "male", 6: "female"}, "smokes": {1: "yes", 2: "no", 97: "refused"}}
    pyreadstat.write_sav(
        frame,
        tmp_path / "survey.sav",
        column_labels=["Age in years", "Sex", "Smoking"],
        variable_value_labels=labels,
        missing_ranges={"smokes": [{"lo": 97, "hi": 99}]},
        variable_measure={"age": "scale", "sex": "nominal", "smokes": "nominal"},
    )
    table = mottle.read_table(tmp_path / "survey.sav", user_missing=True)
    schema = mottle.Schema.of(quasi_identifying=["age", "sex"], insensitive=["smokes"])
    return tmp_path / "survey.sav", mottle.anonymize(table, schema, mottle.KAnonymity(4), seed=1)


def test_codes_and_missing_codes_of_the_original_come_back(survey: tuple[Path, Release]) -> None:
    path, release = survey
    target = path.with_name("out.sav")
    export_release(release, target, like=path)
    cells, facts = pyreadstat.read_sav(target, output_format="dict", user_missing=True)
    assert facts.variable_value_labels["smokes"] == {1: "yes", 2: "no", 97: "refused", 98: "98"}
    assert facts.missing_ranges["smokes"] == [{"lo": 97.0, "hi": 99.0}]
    texts = {1.0: "yes", 2.0: "no", 97.0: "refused", 98.0: "98"}
    smokes = release.to_text().column("smokes").to_pylist()
    assert [texts[code] for code in cells["smokes"]] == smokes
    sex = facts.variable_value_labels["sex"]
    assert set(sex.items()) <= {(5, "male"), (6, "female"), (7, "{female|male}")}
    assert facts.column_names_to_labels["age_lo"] == "Age in years, lowest"
    assert facts.variable_measure["smokes"] == "nominal"
    again = mottle.read_table(target, user_missing=True, allow_generalized=True)
    assert again.column("smokes").to_pylist() == smokes


def test_missing_codes_are_letters_in_stata(survey: tuple[Path, Release]) -> None:
    path, release = survey
    target = path.with_name("out.dta")
    export_release(release, target, like=path)
    cells, facts = pyreadstat.read_dta(target, output_format="dict", user_missing=True)
    assert facts.variable_value_labels["smokes"] == {1: "yes", 2: "no", "a": "refused", "b": "98"}
    texts = {1.0: "yes", 2.0: "no", "a": "refused", "b": "98"}
    smokes = release.to_text().column("smokes").to_pylist()
    assert [texts[code] for code in cells["smokes"]] == smokes
    back = path.with_name("back.sav")
    export_release(release, back, like=target)  # letters are no numbers: further codes
    table = mottle.read_table(back, user_missing=True, allow_generalized=True)
    assert table.column("smokes").to_pylist() == smokes
    missing = mottle.read_table(back, allow_generalized=True).column("smokes")
    assert missing.null_count == sum(text in ("refused", "98") for text in smokes)


def test_codes_are_taken_from_statistics_packages_only(
    survey: tuple[Path, Release], tmp_path: Path
) -> None:
    path, release = survey
    for target, like in (("a.xlsx", path), ("a.sav", tmp_path / "people.csv")):
        with pytest.raises(UsageError, match="--like"):
            export_release(release, tmp_path / target, like=like)


def test_other_suffixes_are_refused_with_those_there_are(release: Release, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.xlsx, \.sav, \.zsav, \.dta"):
        export_release(release, tmp_path / "release.ods")


def test_hierarchies_are_labels(tmp_path: Path, places: Hierarchy) -> None:
    table = pa.table({"place": list(places.leaves) * 2})
    schema = mottle.Schema.of(quasi_identifying=["place"], hierarchies={"place": places})
    release = mottle.anonymize(table, schema, mottle.KAnonymity(4), seed=1)
    export_release(release, tmp_path / "release.dta")
    found = mottle.read_table(tmp_path / "release.dta", allow_generalized=True)
    assert found.column("place").to_pylist() == release.to_text().column("place").to_pylist()


@pytest.mark.parametrize("suffix", ["sav", "dta", "xlsx"])
def test_names_that_a_format_does_not_allow_are_changed(tmp_path: Path, suffix: str) -> None:
    """Reserved words, long names that differ at their end, control characters."""
    names = ["if", "ALL", "str8", "x" * 300, "n" * 31 + "ä", "n" * 31 + "ö", "\x1b[2J", "<b>", "_n"]
    table = pa.table({name: ["a", "b"] * 4 for name in names} | {"large": [1e149, 1.0] * 4})
    schema = mottle.Schema.of(quasi_identifying=names, rest="insensitive")
    release = mottle.anonymize(table, schema, mottle.KAnonymity(2), seed=1)
    path = tmp_path / f"release.{suffix}"
    export_release(release, path)
    found = mottle.read_table(path, allow_generalized=True)
    texts = release.to_text()
    for name, column in zip(found.column_names, texts.column_names, strict=True):
        assert found.column(name).to_pylist() == texts.column(column).to_pylist() or name == "large"


def test_numbers_that_stata_does_not_have_are_refused(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2] * 4, "b": [float("inf"), 1.0] * 4})
    schema = mottle.Schema.of(quasi_identifying=["a"], rest="insensitive")
    release = mottle.anonymize(table, schema, mottle.KAnonymity(2), seed=1)
    with pytest.raises(DataError, match="cannot hold"):
        export_release(release, tmp_path / "release.dta")
    assert not list(tmp_path.iterdir())
