"""k^m-anonymity keeps its promise for every combination, and no other."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from mottle import Hierarchy
from mottle.errors import DataError, GuaranteeError, UsageError
from mottle.evaluation.k_to_the_m import ItemTree, RecodedSets, k_to_the_m
from mottle.itemsets.data import ItemSets


def published(found: RecodedSets) -> list[list[int]]:
    """The sets of nodes."""
    sets: list[list[int]] = [[] for _ in range(found.records)]
    for record, node in zip(found.record.tolist(), found.node.tolist(), strict=True):
        sets[record].append(node)
    return sets


def drawn(seed: int, records: int = 60, items: int = 23) -> ItemSets:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 6, size=records)
    return ItemSets.of([(random.choice(items, size) ** 2 // items).tolist() for size in sizes])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("m", [1, 2, 3])
def test_up_to_m_items_are_in_k_records_or_in_none(seed: int, m: int) -> None:
    data, k = drawn(seed), 4
    found = k_to_the_m(data, k, m, ItemTree.balanced(data.universe, 3))
    sets = published(found)
    for size in range(1, m + 1):
        counted = Counter(one for nodes in sets for one in combinations(nodes, size))
        assert min(counted.values(), default=k) >= k
    # Every record's nodes are those of its items, and one item has one node everywhere.
    for record, nodes in enumerate(sets):
        held = data.items[data.starts[record] : data.starts[record + 1]]
        assert nodes == sorted(set(found.node_of[held].tolist()))


def test_nothing_is_raised_without_need_and_answers_are_then_exact() -> None:
    data = ItemSets.of(["ab"] * 5 + ["c"] * 5 + [""])
    found = k_to_the_m(data, 5)
    assert found.leaves.tolist() == [1.0, 1.0, 1.0]
    assert found.counts([(0,), (0, 1), (0, 2)]).tolist() == [5.0, 5.0, 0.0]
    assert found.linked == pytest.approx(3 / 11)


def test_whoever_knows_more_than_m_items_may_find_the_record() -> None:
    sets = [*combinations("abcd", 2), *combinations("abcd", 2), "abc"]
    found = k_to_the_m(ItemSets.of(sets), 2)
    assert found.leaves.max() == 1.0
    assert published(found).count([0, 1, 2]) == 1  # three known items single the record out


def test_a_hierarchy_of_items_says_what_goes_together() -> None:
    food = Hierarchy.from_rows(
        [("rum", "drink", "*"), ("bread", "food", "*"), ("tea", "drink", "*"), ("ham", "food", "*")]
    )
    data = ItemSets.of([["rum"], ["tea"], ["bread"], ["bread"], ["ham"], ["ham"]])
    found = k_to_the_m(data, 2, 1, ItemTree.of(food, data.names))
    of = dict(zip(data.names.to_pylist(), found.node_of.tolist(), strict=True))
    assert of["rum"] == of["tea"]
    assert len({of["rum"], of["bread"], of["ham"]}) == 3
    assert found.counts([(data.names.index("rum").as_py(),)]).tolist() == [1.0]
    with pytest.raises(DataError, match="lacks 1"):
        ItemTree.of(food, pa.array(["rum", "gin"]))


def test_too_few_records_and_a_large_m_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="Only 1 records"):
        k_to_the_m(ItemSets.of(["a", ""]), 2)
    with pytest.raises(UsageError, match="m = 4"):
        k_to_the_m(ItemSets.of(["a", "a"]), 2, 4)
