"""The stand-in for ARX: its releases are k-anonymous, and no choice of levels loses less."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))  # as its scripts are run

from _full_domain import SUPPRESSED, Levels, globally, locally, recoded

TREES = {
    "age": "".join(f"{age};{age // 2 * 2}s;{age // 4 * 4}f;*\n" for age in range(8)),
    "place": "a;x;*\nb;x;*\nc;y;*\nd;y;*\n",
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(5)
    ages = np.minimum(random.geometric(0.3, 60) - 1, 7)
    places = random.choice(list("abcd"), 60, p=[0.6, 0.2, 0.15, 0.05])
    return pa.table({"age": ages, "place": places, "ill": random.choice(["flu", "gout"], 60)})


@pytest.fixture(scope="module")
def levels(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> list[Levels]:
    found = []
    for name, tree in TREES.items():
        file = tmp_path_factory.mktemp("trees") / f"{name}.csv"
        file.write_text(tree)
        found.append(Levels.of(table.column(name), file))
    return found


def cells(release: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(release.column(name).to_pylist() for name in TREES), strict=True))


@pytest.mark.parametrize("k", [2, 4, 9])
def test_who_is_not_suppressed_is_one_of_k(table: pa.Table, levels: list[Levels], k: int) -> None:
    for chosen in (globally(levels, [k])[k], locally(levels, k)):
        release = recoded(table, list(TREES), levels, chosen)
        held = Counter(cells(release.table))
        held.pop((SUPPRESSED, SUPPRESSED), None)
        assert held
        assert min(held.values()) >= k
        assert release.table.column("ill").equals(table.column("ill"))


@pytest.mark.parametrize("k", [2, 4, 9])
def test_no_choice_of_levels_loses_less(table: pa.Table, levels: list[Levels], k: int) -> None:
    found = recoded(table, list(TREES), levels, globally(levels, [2, 4, 9])[k]).gcp
    losses = []
    for node in product(range(4), range(3)):
        labels = cells(recoded(table, list(TREES), levels, [node] * 60).table)
        held = Counter(labels)
        chosen = [node if held[label] >= k else None for label in labels]
        losses.append(recoded(table, list(TREES), levels, chosen).gcp)
    assert found == pytest.approx(min(losses))
    assert recoded(table, list(TREES), levels, locally(levels, k)).gcp < found
