"""Rows of all chunks come out once, in an order that is uniformly random over the whole release."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pytest
from scipy.stats import chisquare

from mottle import KAnonymity, Schema, anonymize
from mottle.errors import PrivacyError
from mottle.pipeline.chunked.write import write_files
from mottle.pipeline.destination import Outgoing
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.streaming.chunk_files import ChunkFiles
from mottle.utils.csprng import Secret


def measured(rows: int) -> Measurements:
    return Measurements(
        rows=rows,
        loss=0.5,
        ncp={"age": 0.5},
        degree=(2, 2),
        degrees={2: rows},
        blocks=1,
        covered={"pairs": 2 * rows},
        records=rows,
        matches=2 * rows,
        marketer=rows / 2,
        within={"capped_values": 0},
        within_caps=True,
        anonymous={},
        draw="closed",
        facts={"blocks": 1},
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
    ages = pa.table({"age": [20, 21, 22, 23]})
    release = anonymize(ages, Schema.of(quasi_identifying=["age"]), KAnonymity(2), seed=1)
    too_few = release.table.slice(0, 3)
    with pytest.raises(PrivacyError, match="more or fewer"):
        write_files(iter([too_few]), release, release.certificate, Outgoing(tmp_path))
