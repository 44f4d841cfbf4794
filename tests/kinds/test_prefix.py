"""Codes that are generalized by shortening: labels, loss, and the way through every part."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import mottle
from mottle import DataError, Form, KAnonymity, Kind, Release, Schema
from mottle.cli.app import app
from mottle.encoding.encode import encode
from mottle.inspection import inspect
from mottle.kinds.prefix import prefix_tree
from mottle.report.reproduce import schema_of
from mottle.schema.model import Representation

ROWS = 400


def people(rows: int = ROWS) -> pa.Table:
    random = np.random.default_rng(7)
    towns, streets = random.integers(0, 12, rows), random.integers(0, 20, rows)
    codes = [f"{town:02d}{street:03d}" for town, street in zip(towns, streets, strict=True)]
    return pa.table(
        {
            "postcode": [None if row % 50 == 0 else code for row, code in enumerate(codes)],
            "age": random.integers(18, 90, rows),
            "diagnosis": random.choice(["flu", "cold", "gout"], rows),
        }
    )


SCHEMA = Schema.of(
    quasi_identifying=["postcode", "age"], sensitive=["diagnosis"], kinds={"postcode": "prefix"}
)


@pytest.fixture(scope="module")
def release() -> Release:
    return mottle.anonymize(people(), SCHEMA, KAnonymity(5), seed=1, audit="full")


# ------------------------------------------------------------------------------------------- labels

texts = st.lists(st.text("01a*•", min_size=0, max_size=6), min_size=1, max_size=30, unique=True)


@given(texts)
def test_every_label_stands_for_exactly_the_values_that_begin_with_it(values: list[str]):
    values = sorted(values)
    tree = prefix_tree(values)
    mask = tree.labels[tree.root]
    assert len(mask) == 1
    assert not any(mask in value for value in values)
    assert tree.leaves == tuple(values)
    assert len(set(tree.labels)) == len(tree.labels)
    first, last = tree.extents
    for node, label in enumerate(tree.labels):
        below = values[first[node] : last[node] + 1]
        assert tree.cardinality[node] == len(below)
        if node < len(values):
            assert below == [label]
            continue
        prefix = label.rstrip(mask)
        assert below == [value for value in values if value.startswith(prefix)]
        assert tree.leaf_range(label) == (first[node], last[node])
        if node != tree.root:
            longest = max(map(len, below))
            assert label == prefix + mask * (longest - len(prefix))
            assert len({value[: len(prefix) + 1] for value in below}) > 1, "a prefix is too short"


@given(texts, st.data())
def test_the_common_ancestor_of_values_is_their_longest_common_prefix(
    values: list[str], data: st.DataObject
):
    values = sorted(values)
    tree = prefix_tree(values)
    ends = sorted(data.draw(st.lists(st.integers(0, len(values) - 1), min_size=2, max_size=2)))
    node = int(tree.common_ancestors(np.array(ends[:1]), np.array(ends[1:]))[0])
    low, high = (values[end] for end in ends)
    if low == high:
        assert tree.labels[node] == low
        return
    alike = 0
    while low[alike : alike + 1] == high[alike : alike + 1] != "":
        alike += 1
    assert tree.labels[node].rstrip(tree.labels[tree.root]) == low[:alike]


def test_missing_value_is_a_child_of_the_root_only():
    table = pa.table({"code": ["7500", "7501", None]})
    schema = Schema.of(quasi_identifying=["code"], kinds={"code": "prefix"})
    whole = mottle.anonymize(table, schema, KAnonymity(3), seed=1)
    assert set(whole.to_text().column("code").to_pylist()) == {"*"}
    assert whole.certificate.ncp["code"] == 1.0
    known = mottle.anonymize(table.slice(0, 2), schema, KAnonymity(2), seed=1)
    assert known.to_text().column("code").to_pylist() == ["750*", "750*"]


def test_values_that_contain_the_mask_get_another_one():
    table = pa.table({"code": ["7*1", "7*2", "8*1", "8*2"]})
    schema = Schema.of(quasi_identifying=["code"], kinds={"code": "prefix"})
    cells = mottle.anonymize(table, schema, KAnonymity(2), seed=1).to_text().column("code")
    assert set(cells.to_pylist()) == {"7*•", "8*•"}


def test_loss_is_the_share_of_distinct_values_below_the_prefix():
    table = pa.table({"code": ["101", "102", "201", "202", "203", "203"]})
    schema = Schema.of(quasi_identifying=["code"], kinds={"code": "prefix"})
    codes = encode(table, schema, Representation.RANGE)
    (domain,) = codes.domains
    assert (domain.form, domain.size) == (Form.NODE, 5)
    by_label = dict(zip(domain.tree.labels, domain.tree.cardinality / 5, strict=True))
    assert by_label == {
        "101": 0.2, "102": 0.2, "201": 0.2, "202": 0.2, "203": 0.2,
        "20*": 0.6, "10*": 0.4, "*": 1.0,
    }  # fmt: skip


# -------------------------------------------------------------------------------------------- types


def test_whole_numbers_are_taken_as_text():
    table = pa.table({"code": pa.array([75001, 75002, 10115, 10117], pa.int64())})
    schema = Schema.of(quasi_identifying=["code"], kinds={"code": "prefix"})
    release = mottle.anonymize(table, schema, KAnonymity(2), seed=1, audit="full")
    assert set(release.to_text().column("code").to_pylist()) == {"7500*", "1011*"}
    assert release.count({"code": 75001}).possible == 2


def test_a_column_of_missing_values_alone_is_published_as_missing():
    table = pa.table({"code": pa.nulls(4, pa.string()), "age": [1, 2, 3, 4]})
    schema = Schema.of(quasi_identifying=["code", "age"], kinds={"code": "prefix"})
    release = mottle.anonymize(table, schema, KAnonymity(2), seed=1, audit="full")
    assert release.table.column("code").null_count == 4


@pytest.mark.parametrize("values", [[1.5, 2.5], [True, False]])
def test_what_is_no_code_is_refused(values: list[object]):
    schema = Schema.of(quasi_identifying=["code"], kinds={"code": "prefix"})
    with pytest.raises(DataError, match="kind 'prefix' but holds"):
        mottle.anonymize(pa.table({"code": values}), schema, KAnonymity(2))


def test_options_of_other_kinds_are_refused():
    with pytest.raises(mottle.SchemaError, match="an order needs kind = 'ordered', not 'prefix'"):
        Schema.of(quasi_identifying=["x"], kinds={"x": "prefix"}, orders={"x": ["a", "b"]})


# ------------------------------------------------------------------------------- through every part


def test_every_original_begins_with_what_its_cell_shows(release: Release):
    assert release.links is not None
    cells = release.to_text().column("postcode").to_pylist()
    originals = people().column("postcode").to_pylist()
    shown = [cell for cell in cells if cell not in (None, "*")]
    assert any(cell.endswith("*") for cell in shown)
    for cell, original in zip(cells, release.links.original_of_row.tolist(), strict=True):
        value = originals[original]
        assert cell == "*" or value == cell or (value or "").startswith((cell or "?").rstrip("*"))


@pytest.mark.parametrize("method", ["nh", "hp", "hilbert", "idistance", "mondrian", "topdown"])
def test_methods_take_prefixes(method: str):
    release = mottle.anonymize(people(), SCHEMA, KAnonymity(5), method=method, seed=1, audit="full")
    assert release.certificate.ncp["postcode"] <= 1.0


def test_a_release_reads_back_as_it_was(release: Release, tmp_path: Path):
    release.save(tmp_path / "out")
    for file in ("release.parquet", "release.csv"):
        again = mottle.read_release(tmp_path / "out" / file)
        assert again.table.equals(release.table)
        assert again.columns == release.columns
    assert mottle.audit_release(people(), release).passed


def test_sets_of_codes_are_published_where_sets_are_asked_for(tmp_path: Path):
    release = mottle.anonymize(people(), SCHEMA, KAnonymity(5), representation="set", audit="full")
    column = next(column for column in release.columns if column.name == "postcode")
    assert (column.kind, column.form) == (Kind.PREFIX, Form.SET)
    release.save(tmp_path / "out")
    assert mottle.read_release(tmp_path / "out" / "release.csv").table.equals(release.table)


def test_questions_take_values_labels_and_any_masked_prefix(release: Release):
    codes = people().column("postcode").to_pylist()
    true = sum(code is not None and code.startswith("03") for code in codes)
    found = release.count({"postcode": "03*"})
    assert found.certain <= true <= found.possible
    assert found == release.count({"postcode": "03***"})
    assert release.count({"postcode": "*"}).certain == ROWS
    missing = release.count({"postcode": None})
    assert missing.certain <= codes.count(None) <= missing.possible
    with pytest.raises(mottle.UsageError, match="no value or node 'Paris'"):
        release.count({"postcode": "Paris"})


@pytest.mark.parametrize("file", ["open.sqlite", "open.duckdb"])
def test_databases_hold_the_labels(release: Release, tmp_path: Path, file: str):
    url = f"{file.split('.')[1]}:///{tmp_path / file}"
    mottle.write_database(release, url, "people")
    stored = mottle.read_database(url, query="SELECT postcode FROM people")
    readable = mottle.read_database(url, query="SELECT postcode FROM people_readable")
    labels = release.to_text().column("postcode").to_pylist()
    assert stored.column("postcode").to_pylist() == labels
    assert readable.column("postcode").to_pylist() == labels


def test_the_report_names_and_draws_prefixes(release: Release, tmp_path: Path):
    release.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "codes, shortened to what they have in common" in page
    assert "values that begin alike" in page
    assert schema_of(release).columns[0].kind is Kind.PREFIX


def test_streaming_makes_the_same_tree(tmp_path: Path):
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    options = ["--qi", "postcode,age", "--sensitive", "diagnosis", "--kind", "postcode=prefix"]
    run = ["anonymize", str(tmp_path / "people.csv"), *options, "--k", "5", "--seed", "1", "--json"]
    trees = []
    for name, more in (("memory", []), ("stream", ["--memory", "2GB"])):
        folder = tmp_path / name
        result = CliRunner().invoke(app, [*run, "-o", str(folder), *more])
        assert result.exit_code == 0, result.output
        release = mottle.read_release(folder)
        trees.append(release.columns[0].hierarchy)
        assert mottle.audit_release(people(), release).passed
        assert json.loads(result.stdout)["columns"][0]["kind"] == "prefix"
    assert trees[0] == trees[1]


# ---------------------------------------------------------------------------------- schema, inspect


def test_a_schema_with_prefixes_reads_back(tmp_path: Path):
    SCHEMA.write(tmp_path / "mottle.toml")
    text = (tmp_path / "mottle.toml").read_text()
    assert 'kind = "prefix"' in text
    assert "prefix (codes such as postcodes, shortened: 751**)" in text.replace("\n#       ", " ")
    assert Schema.read(tmp_path / "mottle.toml") == SCHEMA


def proposed(name: str, values: list[object], data_type: pa.DataType | None = None) -> Kind | None:
    found = inspect(pa.table({name: pa.array(values * 2, data_type)}))
    return found.columns[0].kind


def test_inspect_proposes_codes_and_says_why():
    found = inspect(people())
    assert found.columns[0].kind is Kind.PREFIX
    assert "kind prefix because its name and its short values suggest codes" in found.to_toml()
    assert proposed("area", [f"{n:05d}" for n in range(40)]) is Kind.PREFIX
    assert proposed("zip_code", list(range(10_000, 10_040)), pa.int64()) is Kind.PREFIX
    assert proposed("code", [f"I{n:02d}.{n % 9}" for n in range(40)]) is Kind.PREFIX
    assert proposed("PLZ", [f"{n}" for n in range(10_115, 10_155)]) is Kind.PREFIX


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("born", [str(year) for year in range(1940, 1980)], Kind.CATEGORY),
        ("born", list(range(1940, 1980)), Kind.NUMBER),
        ("salary", list(range(20_000, 60_000, 1000)), Kind.NUMBER),
        ("town", [f"Newtown upon Avon {n}" for n in range(40)], Kind.CATEGORY),
        ("zip", ["10115", "10117", "10119"], Kind.CATEGORY),
        ("postcode", [f"{n} somewhere near the river" for n in range(40)], Kind.CATEGORY),
        ("grade", [f"{n}" for n in range(40)], Kind.CATEGORY),
    ],
)
def test_inspect_does_not_take_other_columns_for_codes(name: str, values: list[object], kind: Kind):
    assert proposed(name, values) is kind
