"""Charts say what they show: numbers beside their bars, values in their order, honest digits."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from mottle.evaluation.cell_counts import Tally
from mottle.release.column import PublishedColumn
from mottle.report.columns import _bars
from mottle.report.histogram_bins import bins_of
from mottle.report.svg import Bar, _levels, horizontal, vertical
from mottle.schema.model import Role


def tally(values: list[object], order: tuple[str, ...] | None = None) -> Tally:
    cells = pa.array(values)
    counts = np.arange(len(values), 0, -1).astype(np.int64) * 3  # the first ones are most frequent
    column = PublishedColumn("x", Role.INSENSITIVE, None, None, cells.type, order=order)
    return Tally(column, cells, counts, whole=True)


def test_numbers_of_release_and_original_have_columns_of_their_own() -> None:
    bars = [Bar("a", 0.2, 0.2, 0.2, before=0.7), Bar("b", 0.8, 0.8, 0.8, before=0.3)]
    chart = str(horizontal(bars, "x"))
    shown = re.findall(r'<text class="(number(?: was)?)" x="(\d+)".*?>([^<]*)</text>', chart)
    assert {(sort, place) for sort, place, _ in shown} == {("number", "374"), ("number was", "420")}
    assert [text for sort, _, text in shown if sort == "number"] == ["20.0 %", "80.0 %"]
    assert [text for sort, _, text in shown if sort != "number"] == ["70.0 %", "30.0 %"]


def test_the_scale_of_a_histogram_does_not_pass_its_largest_share() -> None:
    for largest in (0.004, 0.03, 0.0999, 0.1, 0.26, 0.9, 1.0):
        levels = _levels(largest)
        assert 1 <= len(levels) <= 3
        assert max(levels) <= largest + 1e-12
    bars = [Bar("a", 0.2, 0.2, 0.2, before=0.9), Bar("b", 0.8, 0.8, 0.8, before=0.1)]
    assert "20.0 %</text>" not in str(vertical(bars, ["0", "1", "2"], "x"))


def test_values_that_have_an_order_keep_it() -> None:
    assert bins_of(tally([3, 1, 2])).labels == ("1", "2", "3")  # type: ignore[union-attr]
    ranges = bins_of(tally(["20-29", "5-9", "100+", "10-19"]))
    assert ranges.labels == ("5-9", "10-19", "20-29", "100+")  # type: ignore[union-attr]
    assert bins_of(tally(["b", "a"])).labels == ("b", "a")  # type: ignore[union-attr]
    order = tuple(f"v{number}" for number in range(100))
    found = bins_of(tally(list(order[::-1]), order))
    assert found is not None
    assert found.labels[0] == "v0 … v7"
    assert [value for one in found.conditions for value in one.values or ()] == list(order)


def test_values_without_an_order_stand_in_that_of_the_shares_shown() -> None:
    by_cells = bins_of(tally(["a", "b", "c"]))
    assert by_cells is not None
    assert by_cells.ranked == 3
    # Which cells hold a value most often need not be which share is expected to be highest.
    shown = tally(["c", "a", "b"])
    assert [bar.label for bar in _bars(by_cells, shown, None, 0)] == ["c", "a", "b"]
    many = bins_of(tally([f"v{number}" for number in range(20)]), 7)
    assert many is not None
    turned = tally([f"v{number}" for number in range(19, -1, -1)])
    labels = [bar.label for bar in _bars(many, turned, None, 0)]
    assert labels == [*[f"v{number}" for number in range(6, -1, -1)], "13 other values"]
