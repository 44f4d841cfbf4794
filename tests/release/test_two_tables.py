"""Two published tables: exact quasi-identifiers in groups, sensitive values by group."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic_core import PydanticSerializationError

from mottle import (
    DataError,
    KAnonymity,
    LDiversity,
    PrivacyError,
    Release,
    Schema,
    StorageError,
    UsageError,
    anonymize,
    read_release,
)
from mottle.release.two_tables import check_two_tables, publish_two_tables

FILES = [
    "certificate.json",
    "release.csv",
    "release.parquet",
    "report.html",
    "sensitive.csv",
    "sensitive.parquet",
]


@pytest.fixture(scope="module")
def anatomy(people: tuple[pa.Table, Schema]) -> Release:
    return anonymize(*people, LDiversity(3), method="anatomy", seed=1)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_first_table_has_the_exact_records_and_their_groups(people, anatomy: Release):
    table, _ = people
    exact = ["age", "sex", "size", "born", "place", "note"]
    assert anatomy.table.column_names == [*exact, "group"]
    originals = pa.array(anatomy.links.original_of_row)
    assert (
        anatomy.table.select(exact).to_pylist() == table.select(exact).take(originals).to_pylist()
    )


def test_second_table_has_the_values_of_every_group(people, anatomy: Release):
    table, _ = people
    assert anatomy.sensitive.column_names == ["group", "diagnosis", "count"]
    diagnosis = table.column("diagnosis").take(pa.array(anatomy.links.original_of_row)).to_pylist()
    expected = Counter(zip(anatomy.table.column("group").to_pylist(), diagnosis, strict=True))
    rows = anatomy.sensitive.to_pylist()
    assert {(row["group"], row["diagnosis"]): row["count"] for row in rows} == expected
    assert len(rows) == len(expected)
    for group in range(1, 14):
        values = [row for row in rows if row["group"] == group]
        assert len(values) >= 3
        assert all(row["count"] == 1 for row in values)


def test_groups_are_numbered_as_they_first_appear_in_rows_of_random_order(people, anatomy: Release):
    numbers = anatomy.table.column("group").to_pylist()
    assert list(dict.fromkeys(numbers)) == list(range(1, len(set(numbers)) + 1))
    other = anonymize(*people, LDiversity(3), method="anatomy", seed=2)
    assert other.links.original_of_row.tolist() != anatomy.links.original_of_row.tolist()


def test_values_within_a_group_are_in_an_order_that_reveals_nothing(anatomy: Release):
    """They are ordered by value, which does not depend on who has which value."""
    rows = anatomy.sensitive.to_pylist()
    keys = [(row["group"], row["diagnosis"] is not None, row["diagnosis"] or "") for row in rows]
    assert keys == sorted(keys)


def test_certificate_says_plainly_that_presence_is_disclosed(anatomy: Release):
    certificate = anatomy.certificate
    assert certificate.notes[0].startswith("PRESENCE IS DISCLOSED.")
    assert "as if they were generalized" in certificate.notes[1]
    assert "learns that the person is in the table" in certificate.guarantee.statement
    assert certificate.parameters.draw == "apart"
    checks = {check.invariant: check.measured for check in certificate.checks}
    assert sorted(checks) == [1, 2, 3, 4, 5]
    assert checks[2].facts["measured_only"] is True
    assert checks[2].facts["published_instead"].startswith("exact quasi-identifiers")
    assert checks[4].individuals == 40
    assert checks[5].facts["groups"] == 13
    assert 0 < certificate.gcp <= 1


def test_other_methods_disclose_nothing_of_the_kind(release: Release):
    assert release.sensitive is None
    assert release.certificate.sensitive_table is None
    assert "PRESENCE" not in release.certificate.to_json()


def test_names_in_use_are_left_alone():
    table = pa.table({"group": [1, 2, 3, 4], "count": list("xyxy"), "group_2": [0, 0, 0, 0]})
    schema = Schema.of(quasi_identifying=["group"], sensitive=["count"], insensitive=["group_2"])
    release = anonymize(table, schema, LDiversity(2), method="anatomy")
    assert release.table.column_names == ["group", "group_2", "group_3"]
    assert release.sensitive.column_names == ["group_3", "count", "count_2"]


def test_binned_numbers_are_published_as_they_are():
    table = pa.table({"q": list(range(8)), "pay": [1.0, 1.5, 2.0, 2.5, 50.0, 60.0, 70.0, 80.0]})
    schema = Schema.of(quasi_identifying=["q"], sensitive=["pay"], breaks={"pay": [10]})
    release = anonymize(table, schema, LDiversity(2), method="anatomy")
    assert sorted(release.sensitive.column("pay").to_pylist()) == table.column("pay").to_pylist()
    for group in range(1, 5):
        pays = [row["pay"] for row in release.sensitive.to_pylist() if row["group"] == group]
        assert [pay < 10 for pay in sorted(pays)] == [True, False]


# -------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("what", ["", "release.parquet", "release.csv"])
def test_both_tables_are_read_back(anatomy: Release, tmp_path: Path, what: str):
    written = anatomy.save(tmp_path / "out")
    assert names(tmp_path / "out") == FILES
    unchecked = ("certificate.json", "report.html")
    assert sorted(written.sha256) == [name for name in FILES if name not in unchecked]
    back = read_release(tmp_path / "out" / what)
    assert back.table.equals(anatomy.table)
    assert back.sensitive.equals(anatomy.sensitive)
    assert back.columns == anatomy.columns


def test_text_files_alone_are_read_back(anatomy: Release, tmp_path: Path):
    anatomy.save(tmp_path / "out")
    for name in ("release.parquet", "sensitive.parquet"):
        (tmp_path / "out" / name).unlink()
    back = read_release(tmp_path / "out")
    assert back.table.to_pylist() == anatomy.table.to_pylist()
    assert back.sensitive.to_pylist() == anatomy.sensitive.to_pylist()
    back.save(tmp_path / "again")
    assert names(tmp_path / "again") == FILES


def test_release_without_its_second_table_is_refused(anatomy: Release, tmp_path: Path):
    anatomy.save(tmp_path / "out")
    for name in ("sensitive.parquet", "sensitive.csv"):
        (tmp_path / "out" / name).unlink()
    with pytest.raises(StorageError, match="lacks the release's table of sensitive values"):
        read_release(tmp_path / "out")


def test_changed_second_table_is_refused(anatomy: Release, tmp_path: Path):
    anatomy.save(tmp_path / "out")
    with open(tmp_path / "out" / "sensitive.parquet", "ab") as file:
        file.write(b" ")
    with pytest.raises(DataError, match="checksums differ"):
        read_release(tmp_path / "out")


def test_second_table_does_not_outlive_its_release(anatomy: Release, release: Release, tmp_path):
    anatomy.save(tmp_path / "out")
    release.save(tmp_path / "out", overwrite=True)
    assert names(tmp_path / "out") == [
        "certificate.json",
        "release.csv",
        "release.parquet",
        "report.html",
    ]


def test_second_table_of_another_release_is_not_left_next_to_a_new_one(release, tmp_path: Path):
    (tmp_path / "sensitive.csv").write_text("mine")
    with pytest.raises(StorageError, match=r"already holds sensitive\.csv"):
        release.save(tmp_path)
    assert names(tmp_path) == ["sensitive.csv"]
    assert (tmp_path / "sensitive.csv").read_text() == "mine"


def test_failed_replacement_puts_the_second_table_back(anatomy: Release, release, tmp_path: Path):
    anatomy.save(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    odd = release.certificate.with_changes(seconds={"odd": object()})
    unwritable = replace(release, certified=odd)
    with pytest.raises(PydanticSerializationError):
        unwritable.save(tmp_path / "out", overwrite=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_private_links_have_the_edges_of_the_groups(anatomy: Release, tmp_path: Path):
    anatomy.save(tmp_path / "out", private=tmp_path / "links.parquet")
    edges = pq.read_table(tmp_path / "links.parquet").to_pandas()
    numbers = anatomy.table.column("group").to_numpy()
    row_of = np.argsort(anatomy.links.original_of_row)
    assert (numbers[edges["published"]] == numbers[row_of[edges["original"]]]).all()
    assert len(edges) == sum(size**2 for size in Counter(numbers.tolist()).values())
    true = edges[edges["true"]].sort_values("published")
    assert true["original"].tolist() == anatomy.links.original_of_row.tolist()


# ------------------------------------------------------------------------- planted violations


def test_planted_violations_are_caught(people, anatomy: Release):
    table, schema = people
    schema = schema.covering(table.column_names)
    links = anatomy.links
    released, _, values = publish_two_tables(table, schema, links)
    check_two_tables(schema, released, values, links)
    rows = table.num_rows

    def caught(words: str, published=released, sensitive=values, by=links) -> None:
        with pytest.raises(PrivacyError, match=words):
            check_two_tables(schema, published, sensitive, by)

    leak = pa.array(["x"] * rows)
    caught("identifying column", published=released.add_column(0, "name", leak))
    caught("next to the quasi-identifiers", published=released.add_column(0, "diagnosis", leak))
    caught("agree on the sizes", sensitive=values.slice(1))
    caught("not an order", by=replace(links, position_of_row=np.zeros(rows, np.int64)))
    turned = replace(links, position_of_row=np.roll(links.position_of_row, 1))
    caught("not the groups of the method", by=turned)


def test_unsafe_randomization_cannot_be_asked_for(people):
    with pytest.raises(UsageError, match="no unsafe randomization"):
        anonymize(*people, LDiversity(3), method="anatomy", unsafe_paper_randomization=True)


def test_plain_release_is_still_checked_for_generalization(people):
    release = anonymize(*people, KAnonymity(3), method="hilbert")
    assert all(check.passed for check in release.certificate.checks)


def test_values_with_one_cap_are_one_value_in_the_second_table() -> None:
    levels = [0.0, -0.0, math.nan, None, 1.5, 2.5]
    table = pa.table(
        {"age": list(range(60)), "pay": pa.array([levels[row % 6] for row in range(60)])}
    )
    schema = Schema.of(quasi_identifying=["age"], sensitive=["pay"])
    release = anonymize(table, schema, LDiversity(2), method="anatomy", seed=1)
    assert release.sensitive is not None
    assert {str(value) for value in release.sensitive["pay"].to_pylist()} == {
        "0.0",
        "None",
        "1.5",
        "2.5",
    }
