"""Releases as frames: one value in each cell that lies inside the published cell."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mottle import Release
from mottle.errors import UsageError


def test_every_kind_of_cells_in_every_frame(release: Release) -> None:
    assert release.to_arrow() is release.table
    assert release.to_arrow("text").equals(release.to_text())
    for cells in ("text", "midpoint", "expected", "struct"):
        table = release.to_arrow(cells)
        assert table.num_rows == release.num_rows
        pandas, polars = release.to_pandas(cells), release.to_polars(cells)
        assert isinstance(pandas, pd.DataFrame)
        assert isinstance(polars, pl.DataFrame)
        assert list(pandas.columns) == polars.columns == table.column_names
        assert len(pandas) == len(polars) == release.num_rows


@pytest.mark.parametrize("cells", ["midpoint", "expected"])
def test_values_lie_inside_their_cells(release: Release, cells: str) -> None:
    table = release.to_arrow(cells)
    assert pa.types.is_float64(table.schema.field("age").type)
    assert table.schema.field("born").type == pa.date32()
    for name in ("age", "born"):
        typed = release.table.column(name).to_pylist()
        for value, cell in zip(table.column(name).to_pylist(), typed, strict=True):
            assert (value is None) == (cell["lo"] is None)
            assert value is None or cell["lo"] <= value <= cell["hi"]
    order = ["S", "M", "L"]
    sizes = release.table.column("size").to_pylist()
    for value, cell in zip(table.column("size").to_pylist(), sizes, strict=True):
        assert order.index(cell["lo"]) <= order.index(value) <= order.index(cell["hi"])


def test_expected_categories_are_members_of_their_sets(release: Release) -> None:
    values = release.to_arrow("expected").column("sex").to_pylist()
    cells = release.table.column("sex").to_pylist()
    assert all(value in cell for value, cell in zip(values, cells, strict=True))
    assert any(len(cell) > 1 for cell in cells)


def test_midpoints_are_exact(release: Release) -> None:
    cell = next(cell for cell in release.table.column("born").to_pylist() if cell["lo"] is not None)
    row = release.table.column("born").to_pylist().index(cell)
    middle = release.to_arrow("midpoint").column("born").to_pylist()[row]
    assert middle == cell["lo"] + dt.timedelta((cell["hi"] - cell["lo"]).days // 2)


def test_unknown_cells_are_refused(release: Release) -> None:
    with pytest.raises(UsageError, match="Did you mean 'midpoint'"):
        release.to_pandas("midpoints")
