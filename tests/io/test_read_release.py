"""Releases are read back as they were written, or refused with a reason."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mottle import DataError, KAnonymity, Release, Schema, StorageError, anonymize, read_release
from mottle.release.certificate import Certificate


@pytest.fixture
def saved(release: Release, tmp_path: Path) -> Path:
    release.save(tmp_path / "out")
    return tmp_path / "out"


def saved_with(values: pa.Array, folder: Path) -> Release:
    table = pa.table({"q": list(range(len(values))), "kept": values})
    schema = Schema.of(quasi_identifying=["q"], insensitive=["kept"])
    release = anonymize(table, schema, KAnonymity(2), seed=1)
    release.save(folder)
    return release


@pytest.mark.parametrize("what", [".", "release.parquet"])
def test_folder_and_parquet_file_are_the_release(release: Release, saved: Path, what: str):
    again = read_release(saved / what)
    assert again.table.equals(release.table)
    assert again.columns == release.columns
    assert again.links is None
    assert again.certificate.guarantee == release.certificate.guarantee
    assert again.gcp == release.gcp


def test_csv_file_has_the_same_cells(release: Release, saved: Path):
    again = read_release(str(saved / "release.csv"))
    assert again.table.equals(release.table)
    assert [(c.name, c.role, c.kind, c.form, c.value_type) for c in again.columns] == [
        (c.name, c.role, c.kind, c.form, c.value_type) for c in release.columns
    ]
    assert again.to_text().equals(release.to_text())


def test_csv_file_has_the_same_orders_and_hierarchies(release: Release, saved: Path):
    assert read_release(saved / "release.csv").columns == release.columns


def test_folder_with_csv_alone_is_read(release: Release, saved: Path):
    (saved / "release.parquet").unlink()
    assert read_release(saved).table.equals(release.table)


def test_csv_file_alone_has_neither_orders_nor_hierarchies(saved: Path):
    """They are made of values, which the certificate must not hold."""
    (saved / "release.parquet").unlink()
    columns = read_release(saved).columns
    assert [column.order for column in columns] == [None] * len(columns)
    assert [column.hierarchy for column in columns] == [None] * len(columns)


def test_release_read_from_files_can_be_saved_again(saved: Path, tmp_path: Path):
    read_release(saved).save(tmp_path / "again")
    assert read_release(tmp_path / "again").table.equals(read_release(saved).table)
    assert (tmp_path / "again" / "release.csv").read_bytes() == (saved / "release.csv").read_bytes()


def test_folder_named_like_a_partition_adds_no_column(release: Release, tmp_path: Path):
    release.save(tmp_path / "year=2020")
    assert read_release(tmp_path / "year=2020").table.column_names == release.table.column_names


@pytest.mark.parametrize("name", ["release.parquet", "release.csv"])
@pytest.mark.parametrize("how", ["changed", "longer", "empty"])
def test_changed_file_is_refused(saved: Path, name: str, how: str):
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    changed = {
        "changed": bytes(content),
        "longer": (saved / name).read_bytes() + b"\n",
        "empty": b"",
    }
    (saved / name).write_bytes(changed[how])
    with pytest.raises(DataError, match="checksums differ"):
        read_release(saved / name)


def test_folder_without_certificate_is_refused(saved: Path):
    (saved / "certificate.json").unlink()
    with pytest.raises(StorageError, match="not hold a complete release"):
        read_release(saved)


def test_folder_without_release_is_refused(saved: Path):
    (saved / "release.csv").unlink()
    (saved / "release.parquet").unlink()
    with pytest.raises(StorageError, match="not hold a complete release"):
        read_release(saved)


def test_absent_file_is_refused(tmp_path: Path):
    with pytest.raises(StorageError, match="no file"):
        read_release(tmp_path / "absent")


def test_parquet_without_certificate_has_no_certificate(release: Release, saved: Path, tmp_path):
    shutil.copy(saved / "release.parquet", tmp_path / "alone.parquet")
    again = read_release(tmp_path / "alone.parquet")
    assert again.table.equals(release.table)
    assert again.certified is None
    with pytest.raises(DataError, match="has no certificate"):
        _ = again.certificate
    assert again.gcp is None


def test_csv_without_certificate_is_refused(saved: Path, tmp_path: Path):
    shutil.copy(saved / "release.csv", tmp_path / "alone.csv")
    with pytest.raises(DataError, match="without certificate"):
        read_release(tmp_path / "alone.csv")


def test_certificate_that_is_not_json_is_refused(saved: Path):
    (saved / "certificate.json").write_text("{")
    with pytest.raises(DataError, match="not valid JSON"):
        read_release(saved)


@pytest.mark.parametrize("text", ["[]", '{"sha256": []}', "3"])
def test_certificate_of_another_shape_is_refused(saved: Path, text: str):
    (saved / "certificate.json").write_text(text)
    with pytest.raises(DataError):
        read_release(saved)


@pytest.mark.parametrize("columns", [3, [3], [{"type": "int8"}], [{"type": 3, "name": "a"}]])
def test_certificate_with_columns_of_another_shape_is_refused(saved: Path, columns: object):
    (saved / "certificate.json").write_text(json.dumps({"columns": columns}))
    (saved / "release.parquet").unlink()
    with pytest.raises(DataError):
        read_release(saved)


def test_foreign_and_damaged_files_are_refused(tmp_path: Path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign.parquet")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="not a release written by mottle"):
        read_release(tmp_path / "foreign.parquet")
    with pytest.raises(DataError, match=r"damaged\.parquet is damaged"):
        read_release(tmp_path / "damaged.parquet")


def test_csv_that_does_not_fit_its_certificate_is_refused_without_quoting_it(saved: Path):
    certificate = Certificate.from_json((saved / "certificate.json").read_text(encoding="utf-8"))
    unsigned = certificate.with_changes(sha256={})
    (saved / "certificate.json").write_text(unsigned.to_json(), encoding="utf-8")
    text = (saved / "release.csv").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    (saved / "release.csv").write_text(lines[0] + "CANARY" + "".join(lines[1:]), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_release(saved / "release.csv")
    assert "CANARY" not in str(caught.value)


KEPT = {
    "int8": pa.array([1, None], pa.int8()),
    "uint64": pa.array([2**64 - 1, None], pa.uint64()),
    "double": pa.array([0.1, None]),
    "float": pa.array([0.1, None], pa.float32()),
    "bool": pa.array([True, None]),
    "empty text": pa.array(["", None]),
    "decimal": pa.array([Decimal("-1.50"), None], pa.decimal128(20, 2)),
    "date": pa.array([dt.date(2020, 2, 29), None]),
    "moment": pa.array([dt.datetime(2020, 2, 29, 1, 2, 3, 4), None], pa.timestamp("us")),
    "moment in a zone": pa.array(
        [dt.datetime(2020, 2, 29, 1, tzinfo=dt.UTC), None], pa.timestamp("ms", "Europe/Berlin")
    ),
    "time": pa.array([dt.time(1, 2, 3), None], pa.time64("us")),
    "duration": pa.array([dt.timedelta(days=1), None], pa.duration("s")),
    "null": pa.nulls(2),
    "bytes": pa.array([b'a,"b', None]),
    "seconds": pa.array([dt.datetime(2020, 2, 29, 1, 2, 3), None], pa.timestamp("s")),
    "seconds of the day": pa.array([dt.time(1, 2, 3), None], pa.time32("s")),
    "days in milliseconds": pa.array([dt.date(2020, 2, 29), None], pa.date64()),
    "decimal32": pa.array([Decimal("-1.50"), None], pa.decimal32(9, 2)),
    "decimal256": pa.array([Decimal("1.5"), None], pa.decimal256(30, 3)),
    "cell of 3 MB": pa.array(["x" * 3_000_000, "y"]),
    "categories": pa.array(["b", "a"]).dictionary_encode(),
    "ordered categories": pa.DictionaryArray.from_arrays(
        pa.array([0, None], pa.int8()), pa.array(["lo", "hi"]), ordered=True
    ),
    "ordered categories of numbers": pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), pa.array([4, 2]), ordered=True
    ),
}


@pytest.mark.parametrize("kind", KEPT)
def test_unchanged_columns_of_every_type_are_read_from_both_files(kind: str, tmp_path: Path):
    release = saved_with(KEPT[kind], tmp_path / "out")
    assert read_release(tmp_path / "out" / "release.parquet").table.equals(release.table)
    assert read_release(tmp_path / "out" / "release.csv").table.equals(release.table)


def test_order_of_unchanged_categories_is_kept(tmp_path: Path):
    release = saved_with(KEPT["ordered categories"], tmp_path / "out")
    for file in ("release.parquet", "release.csv"):
        assert read_release(tmp_path / "out" / file).columns == release.columns
    assert release.columns[1].order == ("lo", "hi")


def test_column_name_with_a_byte_order_mark_is_read(tmp_path: Path):
    table = pa.table({"\ufeffq": [1, 2]})
    release = anonymize(table, Schema.of(quasi_identifying=["\ufeffq"]), KAnonymity(2))
    release.save(tmp_path / "out")
    assert read_release(tmp_path / "out" / "release.csv").table.equals(release.table)


@pytest.mark.parametrize("kind", ["number", "category"])
def test_quasi_identifier_of_nulls_without_type_is_read(tmp_path: Path, kind: str):
    table = pa.table({"q": pa.nulls(3), "r": [1, 2, 3]})
    schema = Schema.of(quasi_identifying=["q", "r"], kinds={"q": kind})
    release = anonymize(table, schema, KAnonymity(2))
    release.save(tmp_path / "out")
    assert read_release(tmp_path / "out" / "release.csv").table.equals(release.table)
