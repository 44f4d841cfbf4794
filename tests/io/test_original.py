"""Originals are recognized: by the fingerprint of the link file, or by what a release says."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mottle
from mottle import KAnonymity, Schema, anonymize
from mottle.errors import DataError
from mottle.io.link_file import LinkFile
from mottle.io.original import check_original
from mottle.schema.reading import ReadOptions

RANDOM = np.random.default_rng(5)
ROWS = 240
TABLE = pa.table(
    {
        "id": range(ROWS),
        "age": RANDOM.integers(18, 90, ROWS),
        "size": RANDOM.normal(1.7, 0.1, ROWS).round(2),
        "sex": RANDOM.choice(["f", "m"], ROWS),
        "band": RANDOM.choice(["low", "mid", "high"], ROWS),
        "code": [f"{i:03}" for i in RANDOM.integers(0, 40, ROWS)],
        "day": [
            dt.date(2020, 1, 1) + dt.timedelta(days=int(i)) for i in RANDOM.integers(0, 99, ROWS)
        ],
        "job": RANDOM.choice(["cook", "?", None], ROWS).tolist(),
        "pay": RANDOM.normal(3000, 500, ROWS),
        "word": RANDOM.choice(["x", "yy", "zzz"], ROWS),
    }
)
SCHEMA = Schema.of(
    identifying=["id"],
    quasi_identifying=["age", "size", "sex", "band", "code", "day", "job"],
    rest="insensitive",
    kinds={"code": "prefix"},
    orders={"band": ["low", "mid", "high"]},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    release = anonymize(TABLE, SCHEMA, KAnonymity(5), method="nh", seed=1)
    release.save(place / "released", private=place / "links.parquet", report=False)
    return place


def changed(name: str, values: object) -> pa.Table:
    cells = pa.array(values) if isinstance(values, list) else values
    return TABLE.set_column(TABLE.column_names.index(name), name, cells)


MISSING = pc.if_else(pc.equal(TABLE["job"], "?"), None, TABLE["job"])
OTHERS = {
    "age": changed("age", pc.add(TABLE["age"], 1)),
    "sex": changed("sex", ["f"] * ROWS),
    "band": changed("band", ["low"] * ROWS),
    "day": changed("day", [dt.date(2020, 1, 1)] * ROWS),
    "job": changed("job", MISSING),
    "pay": changed("pay", pc.add(TABLE["pay"], 5.0)),
    "word": changed("word", ["x"] * ROWS),
}


def test_the_original_is_accepted_with_and_without_links(folder: Path) -> None:
    release = mottle.read_release(folder / "released")
    check_original(TABLE, release)
    check_original(TABLE, release, LinkFile(folder / "links.parquet").fingerprint)


@pytest.mark.parametrize("name", OTHERS)
def test_another_table_is_refused_and_the_column_named(folder: Path, name: str) -> None:
    release = mottle.read_release(folder / "released")
    with pytest.raises(DataError, match=f"column '{name}'"):
        check_original(OTHERS[name], release)
    with pytest.raises(DataError, match="fingerprint"):
        check_original(OTHERS[name], release, LinkFile(folder / "links.parquet").fingerprint)


def test_rows_and_columns_are_compared(folder: Path) -> None:
    release = mottle.read_release(folder / "released")
    with pytest.raises(DataError, match="239 rows"):
        check_original(TABLE.slice(1), release)
    with pytest.raises(DataError, match="no column 'sex'"):
        check_original(TABLE.drop(["sex"]), release)


def test_audit_refuses_what_does_not_fit(folder: Path) -> None:
    for private in (None, folder / "links.parquet"):
        with pytest.raises(DataError, match="not the table"):
            mottle.audit_release(OTHERS["job"], folder / "released", private=private)


def test_audit_of_a_release_in_memory_refuses_another_table() -> None:
    release = anonymize(TABLE, SCHEMA, KAnonymity(5), method="nh", seed=1)
    with pytest.raises(DataError, match="fingerprint"):
        release.audit(OTHERS["job"])


def test_links_say_how_the_table_was_read(tmp_path: Path) -> None:
    reading = ReadOptions(missing=("?",))
    release = anonymize(TABLE, SCHEMA.with_reading(reading), KAnonymity(5), method="nh", seed=1)
    release.save(tmp_path / "out", private=tmp_path / "links.parquet", report=False)
    assert LinkFile(tmp_path / "links.parquet").reading == reading
    report = mottle.audit_release(
        TABLE, tmp_path / "out", private=tmp_path / "links.parquet", adversaries=["linkage"]
    )
    assert report.passed
