"""Distinct cells that are kept from publishing: text, counts and tables are those without them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, Release, Schema
from mottle.encoding.encode import encode
from mottle.evaluation.cell_counts import tallies
from mottle.kinds.forms.range import RangeCells
from mottle.release.coded_cells import CodedCells

COLUMNS = ["age", "sex", "education", "origin"]


def _release(representation: str, method: str) -> Release:
    people = mottle.datasets.population(900, seed=4).select([*COLUMNS, "diagnosis"])
    random = np.random.default_rng(5)
    ages = pa.array(people.column("age").to_pylist(), mask=random.random(900) < 0.1)
    schema = Schema.of(quasi_identifying=COLUMNS, insensitive=["diagnosis"])
    return mottle.anonymize(
        people.set_column(0, "age", ages),
        schema,
        KAnonymity(5),
        method=method,
        representation=representation,
        effort=0,
        seed=6,
    )


@pytest.fixture(
    scope="module", params=[("range", "nh"), ("set", "nh"), ("range", "mondrian")], ids=str
)
def release(request: pytest.FixtureRequest) -> Release:
    return _release(*request.param)


def test_every_row_has_its_cell_and_cells_are_distinct_in_order(release: Release) -> None:
    assert release.distinct
    for name, coded in release.distinct.items():
        cells = release.table.column(name).combine_chunks()
        assert coded.rows(0, len(cells)).equals(cells)
        first = [int(np.flatnonzero(coded.of_row == code)[0]) for code in range(len(coded.cells))]
        assert first == sorted(first)
        texts = [str(cell) for cell in coded.cells.to_pylist()]
        assert len(set(texts)) == len(texts)
        assert coded.counts.sum() == len(cells)


def test_files_and_counts_are_the_same_without_them(release: Release, tmp_path: Path) -> None:
    plain = replace(release, coded=None)
    assert not plain.distinct
    release.save(tmp_path / "known", report=False)
    plain.save(tmp_path / "plain", report=False)
    for name in ("release.csv", "release.parquet"):
        known = (tmp_path / "known" / name).read_bytes()
        assert known == (tmp_path / "plain" / name).read_bytes()
    with_them = tallies(release.tables(), release.columns, known=release.distinct)
    without = tallies(release.tables(), release.columns)
    for name, tally in without.items():
        assert with_them[name].cells.equals(tally.cells)
        assert with_them[name].counts.tolist() == tally.counts.tolist()


def test_rows_in_another_order_do_not_take_them_over(release: Release) -> None:
    turned = replace(release, stored=release.table.take(np.arange(release.num_rows)[::-1]))
    assert not turned.distinct
    assert not release.slice(0, 400).distinct
    assert not pickle.loads(pickle.dumps(release)).distinct


def test_too_many_distinct_cells_are_counted_by_their_first_parts(release: Release) -> None:
    few = tallies(release.tables(300), release.columns, most=3, known=release.distinct)
    without = tallies(release.tables(300), release.columns, most=3)
    assert any(not tally.whole for tally in without.values())
    for name, tally in without.items():
        assert (few[name].whole, few[name].records) == (tally.whole, tally.records)


def test_columns_with_nearly_as_many_cells_as_rows_are_left_out() -> None:
    numbers = pa.table({"x": np.arange(600)})
    schema = Schema.of(quasi_identifying=["x"]).covering(["x"])
    (domain,) = encode(numbers, schema, "range").domains
    each = np.arange(600, dtype=np.int32)
    pairs = each // 2
    missing = np.zeros(600, np.bool_)
    assert CodedCells.of(RangeCells(each, each, missing), domain, each) is None
    found = CodedCells.of(RangeCells(pairs, pairs, missing), domain, each)
    assert found is not None
    assert len(found.cells) == 300
