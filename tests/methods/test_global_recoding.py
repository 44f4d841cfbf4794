"""Global recoding: no combination of levels loses less, by trying all of them."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import Column, Hierarchy, KAnonymity, Schema, UsageError
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.loss.ncp import measure
from mottle.methods.base import MethodContext
from mottle.methods.global_recoding import MOST_COMBINATIONS, Lattice, global_recoding, levels_of

REGIONS = Hierarchy.from_rows(
    [(f"{letter}{digit}", letter, "AB" if letter in "AB" else "CD", "*")
     for letter in "ABCD" for digit in range(3)]
)  # fmt: skip


def small_table(seed: int, rows: int = 60) -> tuple[pa.Table, Schema]:
    """Numbers with missing values, a hierarchy and a category."""
    random = np.random.default_rng(seed)
    ages = [None if random.random() < 0.1 else int(age) for age in random.integers(0, 90, rows)]
    places = [REGIONS.leaves[code] for code in random.integers(0, 12, rows)]
    table = pa.table({"age": ages, "place": places, "sex": random.choice(["f", "m"], rows)})
    schema = Schema(
        columns=(
            Column(name="age", role="quasi-identifying", kind="number"),
            Column(name="place", role="quasi-identifying", kind="hierarchy", hierarchy=REGIONS),
            Column(name="sex", role="quasi-identifying", kind="category"),
        )
    )
    return table, schema


def coded(seed: int) -> Codes:
    table, schema = small_table(seed)
    return encode(table, schema, "range")


def feasible(lattice: Lattice, k: int, few: int) -> list[tuple[int, ...]]:
    """All combinations with at most ``few`` records in groups below k, counted one by one."""
    found = []
    for levels in product(*(range(len(ladder)) for ladder in lattice.ladders)):
        groups: dict[tuple[int, ...], int] = {}
        for row in lattice.matrix.tolist():
            key = tuple(
                int(ladder[level][code])
                for code, level, ladder in zip(row, levels, lattice.ladders, strict=True)
            )
            groups[key] = groups.get(key, 0) + 1
        if sum(size for size in groups.values() if size < k) <= few:
            found.append(levels)
    return found


@pytest.mark.parametrize(("seed", "k"), [(1, 2), (2, 4), (3, 9)])
def test_without_suppression_nothing_that_is_feasible_loses_less(seed: int, k: int) -> None:
    codes = coded(seed)
    lattice = Lattice.of(codes)
    demand = KAnonymity(k).demand(codes.records, ())
    found = global_recoding(codes, demand, MethodContext(options={"suppressed": 0}))
    loss = measure(cover(found.graph, codes), codes).gcp
    losses = [
        measure(cover(lattice.groups(levels, k), codes), codes).gcp
        for levels in feasible(lattice, k, 0)
    ]
    assert loss == min(losses)
    assert loss < max(losses)
    assert found.facts["below_k"] == 0
    assert found.graph.sizes.min() >= k


@pytest.mark.parametrize("few", [0, 3, 60])
def test_the_lowest_are_those_with_nothing_feasible_below(few: int) -> None:
    lattice = Lattice.of(coded(4))
    all_of_them = feasible(lattice, 4, few)
    lowest = [
        levels
        for levels in all_of_them
        if not any(
            other != levels and all(a <= b for a, b in zip(other, levels, strict=True))
            for other in all_of_them
        )
    ]
    assert sorted(lattice.lowest(4, few)) == sorted(lowest)
    assert lowest


def test_suppressed_records_are_one_group_of_at_least_k() -> None:
    codes = coded(5)
    demand = KAnonymity(4).demand(codes.records, ())
    strict = global_recoding(codes, demand, MethodContext(options={"suppressed": 0}))
    found = global_recoding(codes, demand, MethodContext(options={"suppressed": 0.2}))
    assert 0 < found.facts["below_k"] <= 0.2 * codes.records
    assert found.graph.sizes.min() >= 4
    assert sorted(found.graph.members.tolist()) == list(range(codes.records))
    losses = [measure(cover(each.graph, codes), codes).gcp for each in (found, strict)]
    assert losses[0] < losses[1]


def test_levels_are_nested_and_end_with_all_values_together() -> None:
    for domain in coded(6).domains:
        ladder = levels_of(domain)
        assert len(set(ladder[-1].tolist())) == 1
        for lower, higher in pairwise(ladder):
            pairs = set(zip(lower.tolist(), higher.tolist(), strict=True))
            assert len(pairs) == len(set(lower.tolist()))  # a class lies in one of the next level
    sizes = [len(levels_of(domain)) for domain in coded(6).domains]
    assert sizes == [7, 4, 2]  # values, 32 to 2 ranges, all; a tree of four levels; values, all


def test_many_columns_have_fewer_levels_and_too_many_are_refused() -> None:
    random = np.random.default_rng(7)
    table = pa.table({f"c{place}": random.integers(0, 100, 50) for place in range(8)})
    schema = Schema.of(quasi_identifying=table.column_names)
    lattice = Lattice.of(encode(table, schema, "range"))
    assert np.prod([len(ladder) for ladder in lattice.ladders]) <= MOST_COMBINATIONS
    assert all(len(ladder) >= 2 for ladder in lattice.ladders)
    wide = pa.table({f"c{place}": [0, 1] for place in range(13)})
    with pytest.raises(UsageError, match="fewer quasi-identifiers"):
        Lattice.of(encode(wide, Schema.of(quasi_identifying=wide.column_names), "range"))


def test_a_release_of_it_says_its_levels_and_loses_more_than_cells_of_their_own() -> None:
    table, schema = small_table(8, 200)
    made = mottle.anonymize(table, schema, KAnonymity(4), method="global", seed=1)
    assert made.certificate.method.facts["levels"].keys() == {"age", "place", "sex"}
    assert made.gcp > mottle.anonymize(table, schema, KAnonymity(4), method="nh", seed=1).gcp


def test_large_tables_are_refused(monkeypatch) -> None:
    monkeypatch.setattr("mottle.methods.global_recoding.MOST_RECORDS", 50)
    codes = coded(1)
    with pytest.raises(UsageError, match="60 rows are more than its 50"):
        global_recoding(codes, KAnonymity(2).demand(codes.records, ()), MethodContext())
