"""The line from sets to a release: any input gives a valid release or a named error."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mottle
from mottle import GuaranteeError, ItemSets, KAnonymity, anonymize_sets, read_sets
from mottle.methods.sets import registered

METHODS = [name for name, method in registered().items() if method.gives(KAnonymity(2))]
ODD = ["a|b", "{x}", "\\", "..", " ", "", "ä\n", "a,b", '"', "\ufeff", "1e5", "é" * 40]


def check(release: mottle.SetRelease, data: ItemSets) -> None:
    """Everybody is a possible world of all of its matches, as the owner can check."""
    edges = pa.Table.from_batches(release.links.batches())
    for row, original in zip(
        edges.column("published").to_pylist(), edges.column("original").to_pylist(), strict=True
    ):
        assert data.record(original) in release.worlds(row)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "gray-genetic-ring"])
@given(
    st.lists(st.lists(st.sampled_from([*ODD[:6], "a", "b"])), min_size=1, max_size=12), st.data()
)
@settings(max_examples=12)
def test_any_sets_are_released_or_refused(
    method: str, lists: list[list[str]], data: st.DataObject
) -> None:
    sets = ItemSets.of(lists)
    k = data.draw(st.integers(2, len(lists) + 1))
    if k > len(lists):
        with pytest.raises(GuaranteeError, match="cannot be"):
            anonymize_sets(sets, KAnonymity(k), method=method)
        return
    release = anonymize_sets(sets, KAnonymity(k), method=method, seed=1)
    assert release.certificate.degree.min >= k
    check(release, sets)


@pytest.mark.parametrize(
    "lists",
    [
        [[], [], [], []],
        [["only"], [], ["only"], []],
        [["a", "b"]] * 7,
        [[item] for item in ODD],
        [["a", "a", "a"], ["b", "b"], ["a"], []],
    ],
    ids=["empty sets", "one item", "identical", "odd characters", "repeats"],
)
def test_odd_data_survive_the_files(lists: list[list[str]], tmp_path: Path) -> None:
    data = ItemSets.of(lists)
    release = anonymize_sets(data, KAnonymity(2), seed=1)
    check(release, data)
    release.save(tmp_path / "out", report=False)
    for file in ("release.parquet", "release.csv"):
        assert mottle.read_set_release(tmp_path / "out" / file).table.equals(release.table)
    text = (tmp_path / "out" / "certificate.json").read_text()
    assert json.loads(text)["rows"] == len(lists)
    assert "é" not in text


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    anonymize_sets([["a"], ["b"]], KAnonymity(2)).save(tmp_path, report=False)
    with open(tmp_path / "release.csv", "a") as file:
        file.write("{a},{b},1\n")
    with pytest.raises(mottle.DataError, match="checksums differ"):
        mottle.read_set_release(tmp_path / "release.csv")


def test_comparison_counts_in_base_sets() -> None:
    data = read_sets([["a"], ["a"], ["a", "b"], ["b"]])
    release = anonymize_sets(data, KAnonymity(4), seed=1)
    found = mottle.compare_sets(data, release, present=1, absent=1)
    assert release.worlds(0).base == {"a"}
    assert found.item_frequency_error == pytest.approx(3 / 5)  # a: 4 for 3, b: 0 for 2
    assert 0.25 <= found.query_error_present <= 0.5
    assert found.pair_support_error == 1.0


def test_sets_are_read_from_wherever_they_lie(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("tea milk\n\n")
    table = pa.table({"l": [["tea", "milk"], None], "t": ["tea;milk", ""]})
    long = pa.table({"r": [1, 1, 2], "i": ["tea", "milk", None]})
    for data in (
        read_sets(tmp_path / "a.dat"),
        read_sets(table, column="l"),
        read_sets(table, column="t", separator=";"),
        read_sets(long, record="r", item="i"),
        read_sets([{"tea", "milk"}, set()]),
    ):
        assert [data.record(number) for number in range(2)] == [["milk", "tea"], []]
    with pytest.raises(mottle.UsageError, match="not in both"):
        read_sets(table, column="l", record="r", item="i")
    with pytest.raises(mottle.UsageError, match="Labels are a column"):
        read_sets([["a"]], label="x")
