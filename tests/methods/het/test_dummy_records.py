"""Dummy records: quasi-identifiers of somebody, and nothing else, whatever the types."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa

from mottle import LDiversity, Schema, anonymize
from mottle.guarantees.demand import Demand
from mottle.methods.het.dummy_records import add_dummies, dummies_notice


def test_only_quasi_identifiers_are_copied_and_types_stay():
    table = pa.table(
        {
            "name": ["Ann", "Bo", "Cy"],
            "born": [dt.date(1990, 1, 1), None, dt.date(1980, 5, 5)],
            "place": pa.chunked_array([pa.array(["x"]), pa.array(["y", "x"])]).dictionary_encode(),
            "illness": pa.array(["flu", "cold", "flu"]).dictionary_encode(),
            "note": [1.5, 2.5, 3.5],
        }
    )
    schema = Schema.of(
        identifying=["name"],
        quasi_identifying=["born", "place"],
        sensitive=["illness"],
        insensitive=["note"],
    )
    added = add_dummies(table, schema, np.array([2, 1]))
    assert added.schema.equals(table.schema)
    assert added.slice(0, 3).equals(table)
    nothing = {"name": None, "illness": None, "note": None}
    assert added.slice(3).to_pylist() == [
        {**nothing, "born": dt.date(1980, 5, 5), "place": "x"},
        {**nothing, "born": None, "place": "y"},
    ]


def test_no_dummies_leave_the_table_as_it_is():
    table = pa.table({"age": [1, 2], "illness": ["flu", "cold"]})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["illness"])
    assert add_dummies(table, schema, np.empty(0, np.int64)).equals(table)


def test_every_dummy_has_a_value_of_its_own_and_no_cap():
    demand = Demand(2, np.array([[0], [1]], np.int32), np.array([0.5, 0.5]), np.array([1, 1]))
    more = demand.with_dummies(2)
    assert more.values.tolist() == [0, 1, 2, 3]
    assert more.caps.tolist() == [0.5, 0.5, 1, 1]
    assert more.counts.tolist() == [1, 1, 1, 1]
    assert more.dummies == 2


def test_release_with_dummies_can_be_written_and_its_links_say_which_they_are(tmp_path):
    table = pa.table(
        {"age": [20, 30, 40, 50, 60], "illness": ["flu", "cold", "flu", "cold", "ache"]}
    )
    schema = Schema.of(quasi_identifying=["age"], sensitive=["illness"])
    release = anonymize(
        table,
        schema,
        LDiversity(2),
        method="het-hungarian-dummies",
        seed=1,
        unsafe_paper_randomization=True,
    )
    assert release.certificate.rows == 6
    assert dummies_notice(1) in release.certificate.notes
    true = release.links.original_of_row
    assert [release.table["illness"][int(row)].as_py() for row in np.flatnonzero(true == 5)] == [
        None
    ]
    release.save(tmp_path / "out")
