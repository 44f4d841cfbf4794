"""Rows of all chunks come out once, in an order that is uniformly random over the whole release."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pytest
from mottle.pipeline.chunked.chunk_files import ChunkFiles, write_release
from scipy.stats import chisquare

from mottle.errors import PrivacyError
from mottle.pipeline.measurements import Measurements
from mottle.release.column import PublishedColumn
from mottle.schema.model import Role
from mottle.utils.csprng import Secret


def measured(rows: int) -> Measurements:
    degrees = {2: rows}
    return Measurements(
        rows, {}, 0.0, (2, 2), degrees, 1, 0, rows, 0, 0.0, {}, "closed", {"blocks": 1}
    )


def shuffled(folder: Path, chunks: list[list[int]], secret: Secret) -> list[int]:
    files = ChunkFiles(folder, len(chunks), secret)
    for number, rows in enumerate(chunks):
        files.write(number, pa.table({"row": rows}), measured(len(rows)))
    return [row for table in files.shuffled(len(chunks)) for row in table.column("row").to_pylist()]


def test_every_order_of_the_rows_is_equally_likely(tmp_path: Path) -> None:
    orders = Counter(
        tuple(shuffled(tmp_path, [[0, 1], [2, 3]], Secret.draw(seed))) for seed in range(1200)
    )
    assert set(orders) == set(permutations(range(4)))
    assert chisquare(list(orders.values())).pvalue > 1e-4


def test_what_was_measured_is_read_back(tmp_path: Path) -> None:
    files = ChunkFiles(tmp_path, 2, Secret.draw(1))
    assert files.measured(0) is None
    files.write(0, pa.table({"row": [1, 2]}), measured(2))
    assert files.measured(0) == measured(2)


def test_a_release_with_too_few_rows_is_refused(tmp_path: Path) -> None:
    column = PublishedColumn("row", Role.INSENSITIVE, None, None, pa.int64())
    tables = iter([pa.table({"row": [1, 2]}, schema=pa.schema([column.field()]))])
    with pytest.raises(PrivacyError, match="more or fewer"):
        write_release(tables, (column,), {"rows": 3}, tmp_path)
