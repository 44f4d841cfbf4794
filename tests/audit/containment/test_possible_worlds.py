"""Which sets lie in which published cell, and whether cells are what votes make them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle.audit.containment.assignment_graph import assignment_graph
from mottle.audit.containment.coded_columns import code_columns
from mottle.audit.containment.lists import distinct_lists
from mottle.audit.containment.possible_worlds import (
    members_of_cells,
    mismatched_cells,
    read_worlds_column,
)
from mottle.encoding.domain import Form
from mottle.errors import DataError
from mottle.release.cell_text import published_type
from mottle.release.possible_worlds import PossibleWorlds

LISTS = pa.list_(pa.string())
TYPE = published_type(Form.WORLDS, LISTS)
SETS = st.lists(st.sampled_from("abcde"), unique=True, max_size=5)


@st.composite
def published(draw: st.DrawFn) -> dict:
    missing = draw(st.booleans())
    if missing and draw(st.booleans()):
        return {"base": None, "uncertain": None, "distance": None, "missing": True}
    uncertain = draw(SETS)
    return {
        "base": draw(SETS),
        "uncertain": uncertain,
        "distance": draw(st.integers(0, len(uncertain))),
        "missing": missing,
    }


def lies_in(items: list[str] | None, cell: dict) -> bool:
    if items is None or cell["base"] is None:
        return items is None and cell["missing"]
    worlds = PossibleWorlds(frozenset(cell["base"]), frozenset(cell["uncertain"]), cell["distance"])
    return set(items) in worlds


@given(
    st.lists(st.none() | SETS, min_size=1, max_size=12),
    st.lists(published(), min_size=1, max_size=8),
)
def test_members_of_cells_are_all_possible_sets(values: list, cells: list):
    worlds = read_worlds_column(pa.array(values, LISTS), pa.array(cells, TYPE))
    codes, offsets, members = members_of_cells(worlds)
    for record, cell in enumerate(cells):
        inside = members[offsets[record] : offsets[record + 1]]
        assert np.all(np.diff(inside) > 0)
        assert [code in inside for code in codes] == [lies_in(items, cell) for items in values]


def test_equal_lists_are_found_once():
    first, number = distinct_lists(np.array([0, 1, 1, 2]), np.array([[7], [7]], np.int32))
    assert first.tolist() == [0, 1]
    assert number.tolist() == [0, 1, 0]


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    people = mottle.datasets.population(400, seed=4).select(["age", "sex", "diagnosis"])
    return mottle.datasets.with_diagnoses(people, seed=4)


@pytest.fixture(scope="module")
def release(patients: pa.Table) -> mottle.Release:
    schema = mottle.Schema.of(
        quasi_identifying=["age", "sex", "diagnoses"], sensitive=["diagnosis"]
    )
    return mottle.anonymize(patients, schema, mottle.KAnonymity(4), effort=1, seed=1)


def test_everybody_has_the_matches_that_were_promised(patients: pa.Table, release: mottle.Release):
    matches = assignment_graph(patients, release)
    assert min(matches.sum(axis=0).min(), matches.sum(axis=1).min()) >= 4


def test_the_whole_audit_passes(patients: pa.Table, release: mottle.Release):
    report = mottle.audit_release(
        patients, release, adversaries=["linkage", "assignments", "sensitive", "links", "order"]
    )
    assert report.passed


@pytest.mark.parametrize("part", ["base", "uncertain", "distance", "missing"])
def test_a_cell_unlike_its_preimages_is_found(
    patients: pa.Table, release: mottle.Release, part: str
):
    place = release.table.column_names.index("diagnoses")
    cells = release.table.column("diagnoses").to_pylist()
    row = next(number for number, cell in enumerate(cells) if cell["uncertain"] and cell["base"])
    cell = cells[row]
    cells[row] = (
        cell
        | {
            "base": {"base": cell["base"][1:]},
            "uncertain": {"uncertain": cell["uncertain"][1:]},
            "distance": {"distance": cell["distance"] + 1},
            "missing": {"missing": not cell["missing"]},
        }[part]
    )
    field = release.table.schema.field(place)
    changed = replace(release, stored=release.table.set_column(place, field, pa.array(cells, TYPE)))
    findings = mottle.audit_release(patients, changed, adversaries=["links"])
    assert not findings.passed
    assert findings.of("links")[1].details["cells_unlike_their_preimages"] == 1


def test_votes_are_counted_anew(patients: pa.Table, release: mottle.Release):
    values = patients.column("diagnoses").combine_chunks()
    worlds = read_worlds_column(values, release.table.column("diagnoses").combine_chunks())
    graph, rows = release.links.graph, release.links.position_of_row
    edges = [graph.members[graph.preimages(int(row))] for row in rows]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in edges])])
    assert not mismatched_cells(worlds, offsets, np.concatenate(edges)).any()
    shifted = np.concatenate(edges[1:] + edges[:1])
    assert mismatched_cells(worlds, offsets, shifted).any()


def test_another_table_is_refused(patients: pa.Table, release: mottle.Release):
    place = patients.column_names.index("diagnoses")
    other = patients.set_column(place, "diagnoses", pa.array([{"a": 1}] * 400))
    with pytest.raises(DataError, match=r"'diagnoses' holds struct.*sets of items"):
        code_columns(other, release)
