"""Sensitive columns as codes: values, bins, joint values, groups."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from mottle import DataError, GroupCaps, Hierarchy, Role, Schema, SchemaError, anonymize
from mottle.encoding.sensitive import MISSING, count_values, encode_sensitive, join_counts
from mottle.guarantees.beta_likeness import BetaLikeness
from mottle.guarantees.l_diversity import LDiversity


def schema_of(*columns: str, **options) -> Schema:
    return Schema.of(quasi_identifying=[], sensitive=columns, **options)


def test_missing_values_are_a_value_of_their_own():
    table = pa.table({"x": ["b", None, "a", None]})
    (values,) = encode_sensitive(table, schema_of("x"))
    assert values.counts.tolist() == [1, 1, 2]
    assert [values.label(code) for code in range(3)] == ["a", "b", MISSING]


def test_all_values_missing():
    (values,) = encode_sensitive(pa.table({"x": pa.nulls(3)}), schema_of("x"))
    assert values.counts.tolist() == [3]


def test_nan_is_missing_and_dictionaries_are_values():
    table = pa.table(
        {"x": [1.0, float("nan"), None], "y": pa.array(list("aba")).dictionary_encode()}
    )
    joint, x, y = encode_sensitive(table, schema_of("x", "y"))
    assert x.counts.tolist() == [1, 2]
    assert y.counts.tolist() == [2, 1]
    assert joint.columns == ("x", "y")
    assert joint.counts.sum() == 3


def test_breaks_make_bins():
    table = pa.table({"pay": [5, 10, 19, 20, 90, None]})
    (values,) = encode_sensitive(table, schema_of("pay", breaks={"pay": [10, 20]}))
    labels = {values.label(int(code)) for code in values.codes}
    assert labels == {"below 10", "10 to below 20", "20 and above", MISSING}
    assert "breaks 10, 20" in values.binned


def test_quantiles_make_bins_of_about_equal_size():
    table = pa.table({"pay": np.arange(1000)})
    (values,) = encode_sensitive(table, schema_of("pay", bins={"pay": 4}))
    assert values.counts.tolist() == [250, 250, 250, 250]
    assert values.binned == "4 quantile bins"


def test_bins_are_for_numbers():
    with pytest.raises(DataError, match="'x' has bins"):
        encode_sensitive(pa.table({"x": ["a", "b"]}), schema_of("x", bins={"x": 2}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": {"x": 1}}, "bins"),
        ({"breaks": {"x": [2, 1]}}, "lowest to highest"),
        ({"breaks": {"x": []}}, "lowest to highest"),
        ({"breaks": {"x": [1]}, "bins": {"x": 2}}, "not both"),
    ],
)
def test_bins_that_make_no_sense(options, words):
    with pytest.raises(SchemaError, match=words):
        schema_of("x", **options)


def test_bins_survive_mottle_toml(tmp_path):
    schema = Schema.of(
        quasi_identifying=["age"],
        sensitive=["pay", "tax"],
        breaks={"pay": [10.5, 20]},
        bins={"tax": 5},
    )
    schema.write(tmp_path / "mottle.toml")
    assert Schema.read(tmp_path / "mottle.toml") == schema


def test_bins_are_on_the_certificate_and_numbers_are_published_unchanged():
    random = np.random.default_rng(0)
    table = pa.table({"age": random.integers(0, 50, 200), "pay": random.integers(0, 9999, 200)})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["pay"], bins={"pay": 4})
    release = anonymize(table, schema, LDiversity(3), effort=0, seed=1)
    (described,) = release.certificate.sensitive
    assert described.binned == "4 quantile bins"
    assert described.values == 4
    assert sorted(release.table.column("pay").to_pylist()) == sorted(table["pay"].to_pylist())


def test_joint_values_know_their_parts():
    table = pa.table({"a": ["x", "x", "y"], "b": [1, 2, 1]})
    joint, a, b = encode_sensitive(table, schema_of("a", "b"))
    demand = BetaLikeness(1).demand(3, (joint, a, b))
    assert demand.sensitive_codes.shape == (3, 3)
    assert demand.sensitive_codes[:, 1].tolist() == (3 + a.codes).tolist()
    assert joint.label(int(joint.codes[1])) == "x, 2"


def test_groups_of_chunks_are_those_of_the_whole_table():
    groups = {"illness": {"cold": ["flu", "cough"], "skin": ["rash"]}}
    schema = Schema.of(quasi_identifying=[], sensitive=["illness", "sex"], groups=groups)
    table = pa.table({"illness": ["flu", "rash", "cough", "gout", "flu"], "sex": list("fmffm")})
    whole = encode_sensitive(table, schema)
    single = [
        count_values(pa.array(sorted(counts)), np.array([counts[v] for v in sorted(counts)]), c)
        for c in schema.with_role(Role.SENSITIVE)
        for counts in [Counter(table.column(c.name).to_pylist())]
    ]
    distinct, counts = np.unique(
        np.stack([values.codes for values in whole[1:]], axis=1), axis=0, return_counts=True
    )
    joined = join_counts(single, distinct.astype(np.int32), counts)
    guarantee = GroupCaps({"illness": 0.9})
    in_memory, in_chunks = guarantee.demand(5, whole), guarantee.demand(5, joined)
    assert in_memory.caps.tolist() == in_chunks.caps.tolist()
    assert in_memory.counts.tolist() == in_chunks.counts.tolist()
    places = [
        int(np.flatnonzero((distinct == row).all(axis=1))[0])
        for row in np.stack([values.codes for values in whole[1:]], axis=1)
    ]
    assert np.array_equal(in_memory.sensitive_codes, in_chunks.sensitive_codes[places])


def test_a_value_that_a_hierarchy_lacks_is_refused():
    hierarchy = Hierarchy.from_rows([("flu", "cold", "*"), ("rash", "skin", "*")])
    schema = Schema.of(
        quasi_identifying=[], sensitive=["illness"], hierarchies={"illness": hierarchy}
    )
    with pytest.raises(DataError, match=r"Column 'illness'.*lacks 1 of") as error:
        encode_sensitive(pa.table({"illness": ["flu", "gout", None]}), schema)
    assert "gout" not in str(error.value)


def test_values_are_counted_as_they_are_published_whatever_kind_the_column_has() -> None:
    times = [dt.datetime(2024, 5, 1, hour) for hour in (8, 9, 9, 17)]
    table = pa.table({"seen": times})
    schema = Schema.of(quasi_identifying=[], sensitive=["seen"], kinds={"seen": "date"})
    (seen,) = encode_sensitive(table, schema)
    assert seen.counts.tolist() == [1, 2, 1]
    counted = count_values(pa.array(times[:2]), np.array([5, 7]), schema.columns[0])
    assert counted.counts.tolist() == [5, 7]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
def test_numbers_that_no_float_holds_have_bins(kind: pa.DataType) -> None:
    pay = pa.array([1, 2, 2**62 + 1, 2**62 + 3], kind)
    for options in ({"bins": {"pay": 2}}, {"breaks": {"pay": [1000.0]}}):
        (values,) = encode_sensitive(pa.table({"pay": pay}), schema_of("pay", **options))
        assert values.counts.tolist() == [2, 2]
