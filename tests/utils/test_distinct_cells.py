"""Distinct cells of lists and structs."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mottle.utils.distinct_cells import by_distinct_cell, distinct_cells

SETS = pa.list_(pa.string())
RANGES = pa.struct([("lo", pa.int8()), ("hi", pa.date32()), ("missing", pa.bool_())])


def _drawn(seed: int) -> tuple[list[list[str | None]], list[dict[str, object]]]:
    draw = random.Random(seed)
    sets = [
        [draw.choice(["a", "b", "ab", None]) for _ in range(draw.randint(0, 3))] for _ in range(60)
    ]
    ranges = [
        {"lo": draw.choice([None, 1, 2]), "hi": draw.randint(0, 3), "missing": draw.random() < 0.5}
        for _ in range(60)
    ]
    return sets, ranges


@pytest.mark.parametrize("seed", range(20))
def test_cells_have_the_number_of_their_first_equal(seed: int) -> None:
    sets, ranges = _drawn(seed)
    hi = pa.array([cell["hi"] for cell in ranges], pa.int32()).cast(pa.date32())
    structs = pa.StructArray.from_arrays(
        [
            pa.array([cell["lo"] for cell in ranges], pa.int8()),
            hi,
            pa.array([cell["missing"] for cell in ranges]),
        ],
        fields=list(RANGES),
    )
    lists = pa.array([["before"], *sets, ["after", "it"]], SETS).slice(1, len(sets))  # offsets > 0
    for cells, keys in (
        (lists, [tuple(cell) for cell in sets]),
        (structs, [tuple(cell.values()) for cell in ranges]),
    ):
        found = distinct_cells(cells)
        assert found is not None
        first, of_cell = found
        numbers: dict[object, int] = {}
        assert of_cell.tolist() == [numbers.setdefault(key, len(numbers)) for key in keys]
        assert [keys[place] for place in first] == list(numbers)


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[0.0], [-0.0]]),  # equal numbers, other texts
        pa.array([["a"], None]),
        pa.array(["a", "b"]),
        pa.array([[["a"]], [["b"]]]),
        pa.array([], SETS),
    ],
)
def test_other_cells_are_left_to_the_caller(cells: pa.Array) -> None:
    assert distinct_cells(cells) is None


def test_empty_lists_alone_are_one_cell() -> None:
    found = distinct_cells(pa.array([[], []], SETS))
    assert found is not None
    assert found[1].tolist() == [0, 0]


def test_a_function_sees_repeated_cells_once() -> None:
    seen = []

    def lengths(cells: pa.Array) -> pa.Array:
        seen.append(len(cells))
        return pc.list_value_length(cells)

    cells = pa.array([["a"], ["a", "b"], []] * 200, SETS)
    assert by_distinct_cell(lengths, cells).to_pylist() == [1, 2, 0] * 200
    assert seen == [3]
