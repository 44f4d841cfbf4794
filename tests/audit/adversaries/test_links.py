"""The owner's evidence: any change of a cell, a link or a value of a valid release is caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mottle
from mottle import DataError, KAnonymity, LDiversity, Release, StorageError, UsageError, anonymize
from mottle.audit.links.edges import read_edges
from mottle.io.link_file import LinkFile
from mottle.schema.model import Role


def links(table, release, **options):
    return mottle.audit_release(table, release, adversaries=["links"], **options)


@pytest.fixture(scope="module")
def case(people) -> tuple[pa.Table, Release]:
    """Columns of every kind, nulls included."""
    table, schema = people
    return table, anonymize(table, schema, KAnonymity(4), method="nh", seed=3)


@pytest.mark.parametrize("representation", ["range", "set"])
@pytest.mark.parametrize("method", ["nh", "hp", "mondrian"])
def test_valid_releases_of_every_kind_of_column_pass(people, method, representation):
    table, schema = people
    release = anonymize(
        table, schema, KAnonymity(4), method=method, representation=representation, seed=1
    )
    report = links(table, release)
    assert report.passed
    assert [finding.achieved for finding in report.findings] == [0, 0]


@pytest.mark.parametrize("method", ["buckets", "mondrian", "anatomy"])
def test_valid_releases_of_sensitive_methods_pass(crowd, method):
    schema = mottle.Schema.of(
        quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
    )
    release = anonymize(crowd, schema, LDiversity(3), method=method, seed=1)
    assert links(crowd, release).passed


# -------------------------------------------------------------------------------- one change


def another_cell(draw: st.DrawFn, cell: object, column, table: pa.Table) -> object:
    """A cell of the same column with another meaning."""
    values = table.column(column.name).unique().to_pylist()
    present = [value for value in values if value is not None]
    if column.form == "range":
        rank = {value: place for place, value in enumerate(column.order or sorted(present))}
        ordered = sorted(present, key=rank.__getitem__)
        low = draw(st.sampled_from(ordered))
        high = draw(st.sampled_from(ordered[ordered.index(low) :]))
        changed = {"lo": low, "hi": high, "missing": draw(st.booleans())}
        if changed == cell:
            changed["missing"] = not cell["missing"]
        return changed
    if column.form == "set":
        members = draw(st.sets(st.sampled_from(values), min_size=1))
        if members == set(cell):
            members = members ^ {draw(st.sampled_from(values))} or {*values}
        return sorted(members, key=lambda value: (value is None, value))
    leaves_of = {None: None} | dict(
        zip(column.hierarchy.labels, zip(*column.hierarchy.extents, strict=True), strict=True)
    )
    others = [label for label in leaves_of if leaves_of[label] != leaves_of[cell]]
    return draw(st.sampled_from(others))


@settings(max_examples=120)
@given(st.data())
def test_any_other_cell_is_caught(case, with_cells, data):
    table, release = case
    column = data.draw(st.sampled_from([c for c in release.columns if c.form is not None]))
    cells = release.table.column(column.name).to_pylist()
    row = data.draw(st.integers(0, len(cells) - 1))
    cells[row] = data.draw(st.composite(another_cell)(cells[row], column, table))
    if cells == release.table.column(column.name).to_pylist():
        return
    assert not links(table, with_cells(release, column.name, cells)).passed


@settings(max_examples=60)
@given(st.data())
def test_any_other_value_of_an_unchanged_column_is_caught(case, with_cells, data):
    table, release = case
    name = data.draw(st.sampled_from(["diagnosis", "note"]))
    cells = release.table.column(name).to_pylist()
    row = data.draw(st.integers(0, len(cells) - 1))
    others = [value for value in {*cells, "never heard of"} if value != cells[row]]
    cells[row] = data.draw(st.sampled_from(sorted(others, key=str)))
    report = links(table, with_cells(release, name, cells))
    assert not report.passed
    assert report.findings[1].details["values_of_others"] >= 1


@settings(max_examples=60)
@given(st.data())
def test_two_swapped_rows_are_caught(case, with_cells, data):
    """The sensitive values of two records changed places: the same values, each with another."""
    table, release = case
    cells = release.table.column("diagnosis").to_pylist()
    first = data.draw(st.integers(0, len(cells) - 1))
    second = data.draw(st.sampled_from([r for r, cell in enumerate(cells) if cell != cells[first]]))
    cells[first], cells[second] = cells[second], cells[first]
    strange, broken = links(table, with_cells(release, "diagnosis", cells)).findings
    assert strange.passed
    assert (broken.achieved, broken.passed) == (2, False)


@settings(max_examples=120)
@given(st.data())
def test_any_other_link_is_caught(case, tmp_path_factory, data):
    table, release = case
    edges = pa.Table.from_batches(release.links.batches()).to_pylist()
    number = data.draw(st.integers(0, len(edges) - 1))
    edge = edges[number]
    match data.draw(st.sampled_from(["true", "original", "published", "gone", "twice"])):
        case "true":
            edge["true"] = not edge["true"]
        case "gone":
            del edges[number]
        case "twice":
            edges.append(dict(edge))
        case side:
            others = [row for row in range(table.num_rows) if row != edge[side]]
            edge[side] = data.draw(st.sampled_from(others))
    file = tmp_path_factory.mktemp("links") / "links.parquet"
    pq.write_table(pa.Table.from_pylist(edges), file)
    assert not links(table, release, private=file).passed


# ------------------------------------------------------------------------------------- files


def test_a_link_file_says_the_same_as_links_in_memory(case, tmp_path, outside):
    table, release = case
    release.save(tmp_path / "out", private=tmp_path / "links.parquet")
    in_memory = read_edges(release.links, table.num_rows)
    from_file = read_edges(tmp_path / "links.parquet", table.num_rows)
    for name in ("offsets", "originals", "truth", "blocks"):
        assert np.array_equal(getattr(in_memory, name), getattr(from_file, name)), name
    report = links(table, tmp_path / "out", private=tmp_path / "links.parquet")
    assert report.passed
    assert len(report.findings) == 2
    assert len(links(table, tmp_path / "out").findings) == 1


def test_a_link_file_without_blocks_is_read_by_connected_components(case, tmp_path):
    table, release = case
    file = tmp_path / "links.parquet"
    pq.write_table(pa.Table.from_batches(release.links.batches()), file)
    assert LinkFile(file).blocks is None
    edges = read_edges(file, table.num_rows)
    known = read_edges(release.links, table.num_rows)
    assert np.array_equal(edges.components, known.components)
    assert np.array_equal(edges.clusters, edges.components)


def test_with_too_many_edges_some_blocks_are_kept_and_still_judged(crowd, monkeypatch, with_cells):
    schema = mottle.Schema.of(
        quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
    )
    release = anonymize(crowd, schema, LDiversity(3), method="mondrian", seed=1)
    everything = read_edges(release.links, crowd.num_rows)
    monkeypatch.setattr("mottle.audit.links.edges.MOST_EDGES", len(everything.originals) // 3)
    some = read_edges(release.links, crowd.num_rows)
    assert 0 < some.kept.sum() < crowd.num_rows
    assert np.array_equal(some.truth, everything.truth)
    assert np.array_equal(some.degrees[some.kept], everything.degrees[some.kept])
    report = mottle.audit_release(crowd, release)
    assert {finding.adversary for finding in report.failed} <= {"minimality"}
    assert report.of("links")[1].details["records_with_edges"] == some.kept.sum()
    for adversary in ("sensitive", "order", "corruption"):
        found = [finding.details for finding in report.of(adversary)]
        told = {facts["people_with_links"] for facts in found if "people_with_links" in facts}
        assert told == {some.kept.sum()}
    ages = release.table.column("age").to_pylist()
    row = int(np.flatnonzero(some.kept)[0])
    ages[row] = ages[row] | {"hi": ages[row]["hi"] + 1}
    assert not links(crowd, with_cells(release, "age", ages)).passed


def test_blocks_too_large_to_hold_are_left_out(crowd, sound, monkeypatch):
    monkeypatch.setattr("mottle.audit.links.edges.MOST_EDGES", 3)
    report = mottle.audit_release(crowd, sound)
    assert report.passed
    assert report.of("order")[0].passed is None
    assert report.of("sensitive")[0].measure.endswith("right guesses by containment")


def test_links_of_another_release_are_refused(case, tmp_path):
    table, _ = case
    other = pa.table({"published": [0, 999], "original": [0, 1], "true": [True, False]})
    pq.write_table(other, tmp_path / "links.parquet")
    with pytest.raises(DataError, match="rows that the release does not have"):
        read_edges(tmp_path / "links.parquet", table.num_rows)


def test_a_file_that_is_not_a_link_file_is_refused(tmp_path, case):
    table, release = case
    with pytest.raises(StorageError, match="no private link file"):
        links(table, release, private=tmp_path / "absent.parquet")
    (tmp_path / "text.parquet").write_text("no parquet")
    pq.write_table(pa.table({"published": [1]}), tmp_path / "short.parquet")
    pq.write_table(
        pa.table({"published": [1, None], "original": [1, 2], "true": [True, False]}),
        tmp_path / "null.parquet",
    )
    for name in ("text", "short", "null"):
        with pytest.raises(DataError, match="is not a private link file"):
            links(table, release, private=tmp_path / f"{name}.parquet")
    with pytest.raises(UsageError, match="A list is not a private link file"):
        links(table, release, private=[1])


def test_an_identifying_column_that_is_still_there_is_caught(case):
    table, release = case
    columns = tuple(
        facts.model_copy(update={"role": Role.IDENTIFYING}) if facts.name == "note" else facts
        for facts in release.certificate.columns
    )
    certificate = release.certificate.with_changes(columns=columns)
    found = links(table, replace(release, certified=certificate)).findings[0]
    assert (found.details["identifying_columns"], found.passed) == (1, False)
