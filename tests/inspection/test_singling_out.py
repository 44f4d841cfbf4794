"""Rows that are singled out by few columns, against plain counting."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from mottle.inspection.singling_out import group_sizes, hashes_of, singled_out
from mottle.typing import Int32Array


@pytest.fixture(params=[(200, 4, 6), (60, 7, 40), (500, 3, 300)])
def columns(request: pytest.FixtureRequest) -> dict[str, Int32Array]:
    rows, number, most = request.param
    random = np.random.default_rng(rows)
    sizes = random.integers(2, most, number)
    return {f"c{i}": random.integers(0, size, rows, np.int32) for i, size in enumerate(sizes)}


def counted(columns: dict[str, Int32Array], chosen: tuple[str, ...]) -> float:
    rows = list(zip(*(columns[name].tolist() for name in chosen), strict=True))
    return sum(count == 1 for count in Counter(rows).values()) / len(rows)


def test_shares_are_those_of_plain_counting(columns: dict[str, Int32Array]) -> None:
    rows = len(next(iter(columns.values())))
    for known in singled_out(columns, rows):
        if known.tried == known.possible and known.worst:
            shares = {
                chosen: counted(columns, chosen) for chosen in combinations(columns, known.columns)
            }
            assert known.average == pytest.approx(np.mean(list(shares.values())))
            assert known.worst[0][1] == pytest.approx(max(shares.values()))
        for chosen, share in known.worst:
            assert share == pytest.approx(counted(columns, chosen))


def test_all_columns_come_last(columns: dict[str, Int32Array]) -> None:
    rows = len(next(iter(columns.values())))
    last = singled_out(columns, rows)[-1]
    assert last.columns == len(columns)
    assert last.average == pytest.approx(counted(columns, tuple(columns)))


def test_group_sizes_are_those_of_plain_counting(columns: dict[str, Int32Array]) -> None:
    rows = list(zip(*(codes.tolist() for codes in columns.values()), strict=True))
    sizes = group_sizes(list(hashes_of(columns).values()), len(rows))
    assert sorted(sizes.tolist()) == sorted(Counter(rows).values())


def test_of_many_combinations_the_most_telling_are_tried() -> None:
    random = np.random.default_rng(1)
    columns = {f"c{i}": random.integers(0, 2, 300, np.int32) for i in range(40)}
    columns["a"], columns["b"], columns["c"] = (
        random.integers(0, 50, 300, np.int32) for _ in range(3)
    )
    known = singled_out(columns, 300)
    assert known[1].tried < known[1].possible
    assert set(known[1].worst[0][0]) <= {"a", "b", "c"}
    assert set(known[2].worst[0][0]) == {"a", "b", "c"}
