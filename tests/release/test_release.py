"""A release describes its columns, links every edge, and refuses what must not be published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import Form, Hierarchy, Kind, PrivacyError, Release, Role, Schema
from mottle.graph.model import Graph
from mottle.release import links as links_module
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.release.publish import check_published


def test_columns_know_what_a_reader_has_to_know(release: Release, places: Hierarchy):
    facts = {column.name: (column.role, column.kind, column.form) for column in release.columns}
    quasi = Role.QUASI_IDENTIFYING
    assert facts == {
        "age": (quasi, Kind.NUMBER, Form.RANGE),
        "sex": (quasi, Kind.CATEGORY, Form.SET),
        "size": (quasi, Kind.ORDERED, Form.RANGE),
        "born": (quasi, Kind.DATE, Form.RANGE),
        "place": (quasi, Kind.HIERARCHY, Form.NODE),
        "diagnosis": (Role.SENSITIVE, None, None),
        "note": (Role.INSENSITIVE, None, None),
    }
    by_name = {column.name: column for column in release.columns}
    assert by_name["size"].order == ("S", "M", "L")
    assert by_name["place"].hierarchy == places


def test_columns_are_read_back_from_the_fields(release: Release):
    described = tuple(PublishedColumn.of_field(field) for field in release.table.schema)
    assert described == release.columns


def test_secrets_do_not_show(release: Release):
    assert "Person" not in repr(release)
    assert "members" not in repr(release)
    assert "members" not in repr(release.links)
    assert "links" not in repr(release)


def test_text_has_the_columns_and_rows_of_the_table(release: Release):
    texts = release.to_text()
    assert texts.column_names == release.table.column_names
    assert texts.num_rows == release.table.num_rows
    assert release.to_pandas().shape == (40, 7)
    assert release.to_arrow() is release.table


@pytest.mark.parametrize(("first", "length"), [(0, 40), (7, 5), (39, 1), (40, 0)])
def test_text_of_a_slice_is_the_slice_of_the_text(release: Release, first: int, length: int):
    part = release.slice(first, length)
    assert part.links is None
    expected = release.to_text().slice(first, length)
    assert part.to_text().to_pylist() == expected.to_pylist()


@st.composite
def linked(draw) -> Links:
    sizes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=5))
    n = sum(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    degrees = np.array([draw(st.integers(1, size)) for size in sizes])
    members = np.array(draw(st.permutations(range(n))))
    graph = Graph.rings(members, starts, degrees)
    truth = np.array([graph.preimages(position)[0] for position in range(n)], np.int32)
    return Links(graph, np.array(draw(st.permutations(range(n)))), truth)


@given(linked(), st.sampled_from([1, 3, 1 << 20]))
def test_links_have_every_edge_once_whatever_the_batches(links: Links, per_batch: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links_module, "_EDGES_PER_BATCH", per_batch)
        edges = pa.Table.from_batches(links.batches(), Links.SCHEMA).to_pylist()
    graph = links.graph
    expected = [
        {
            "published": row,
            "original": int(graph.members[preimage]),
            "true": bool(links.truth[position] == preimage),
        }
        for row, position in enumerate(links.position_of_row)
        for preimage in graph.preimages(int(position))
    ]
    assert edges == expected
    assert sum(edge["true"] for edge in edges) == graph.records
    true = {edge["published"]: edge["original"] for edge in edges if edge["true"]}
    assert [true[row] for row in range(graph.records)] == links.original_of_row.tolist()


@pytest.fixture
def complete_schema(people: tuple[pa.Table, Schema]) -> Schema:
    table, schema = people
    return schema.covering(table.column_names)


def test_what_was_published_passes(release: Release, complete_schema: Schema):
    assert release.links is not None
    measured = check_published(complete_schema, release.columns, release.links)
    assert measured["identifying_columns"] == 1


def test_identifying_column_in_the_release_is_caught(release: Release, complete_schema: Schema):
    leaked = PublishedColumn("name", Role.INSENSITIVE, None, None, pa.string())
    with pytest.raises(PrivacyError, match="identifying column"):
        check_published(complete_schema, (*release.columns, leaked), release.links)


def test_quasi_identifier_published_as_it_is_is_caught(release: Release, complete_schema: Schema):
    age, *others = release.columns
    with pytest.raises(PrivacyError, match="not generalized"):
        check_published(complete_schema, (replace(age, form=None), *others), release.links)
    with pytest.raises(PrivacyError, match="not generalized"):
        check_published(complete_schema, others, release.links)


@pytest.mark.parametrize("change", ["repeat", "beyond", "negative"])
def test_rows_that_are_no_order_of_the_records_are_caught(
    release: Release, complete_schema: Schema, change: str
):
    assert release.links is not None
    rows = release.links.position_of_row.copy()
    rows[0] = {"repeat": rows[1], "beyond": len(rows), "negative": -1}[change]
    with pytest.raises(PrivacyError, match="not an order"):
        check_published(
            complete_schema, release.columns, replace(release.links, position_of_row=rows)
        )
