"""Items published as nodes of a hierarchy: what is chosen, what is promised, what is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle.errors import DataError, UsageError
from mottle.hierarchy.tree import Hierarchy
from mottle.io.read_sets import as_sets
from mottle.pipeline.published_nodes import nodes_of_sets
from mottle.pipeline.release import SetRelease
from mottle.pipeline.settings import Settings

BASKETS = as_sets(mottle.datasets.baskets(400, 60, 5.0, seed=3))
NAMES = BASKETS.names.to_pylist()
TREE = Hierarchy.from_rows(
    [(name, f"five {place // 5}", f"twenty {place // 20}", "*") for place, name in enumerate(NAMES)]
)
RECORDS = [set(BASKETS.record(number)) for number in range(BASKETS.records)]
BELOW = {label: set(TREE.leaves_under(label)) for label in TREE.labels}


@pytest.fixture(scope="module")
def release() -> SetRelease:
    return mottle.anonymize_sets(
        BASKETS, mottle.KAnonymity(4), seed=1, effort=0, item_hierarchy=TREE
    )


def shown(found: SetRelease) -> set[str]:
    """All labels that cells name."""
    cells = found.table.column("items").to_pylist()
    return {label for cell in cells for part in ("base", "uncertain") for label in cell[part]}


def true_count(held: Sequence[str], absent: Sequence[str]) -> int:
    """How many baskets hold something below each of some labels, and nothing below others."""
    return sum(
        all(record & BELOW[label] for label in held)
        and not any(record & BELOW[label] for label in absent)
        for record in RECORDS
    )


def test_no_published_node_is_below_another_and_every_item_has_one(release: SetRelease) -> None:
    labels = shown(release)
    covered = [BELOW[label] for label in labels]
    assert sum(map(len, covered)) == len(set().union(*covered))
    assert set().union(*covered) >= set(NAMES)
    assert any(len(BELOW[label]) > 1 for label in labels)


def test_nodes_lose_less_than_items_alone(release: SetRelease) -> None:
    plain = mottle.anonymize_sets(BASKETS, mottle.KAnonymity(4), seed=1, effort=0)
    assert release.error_rate < plain.error_rate
    assert release.certificate.columns[0].nodes
    assert plain.certificate.columns[0].nodes is None
    assert any("published as" in note for note in release.certificate.notes)


@pytest.mark.parametrize("totals", [True, False])
def test_bounds_hold_for_items_below_nodes_and_labels_above_them(totals: bool) -> None:
    found = mottle.anonymize_sets(
        BASKETS, mottle.KAnonymity(4), seed=2, effort=0, item_hierarchy=TREE, totals=totals
    )
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        chosen = [TREE.labels[place] for place in random.integers(len(TREE.labels), size=4)]
        held, absent = chosen[: random.integers(1, 4)], chosen[3 : 3 + random.integers(2)]
        answer, true = found.count_items(held, without=absent), true_count(held, absent)
        assert answer.certain <= true <= answer.possible, (held, absent)
        assert answer.certain <= answer.expected <= answer.possible
        covered += abs(answer.expected - true) <= 1.96 * answer.error + 0.5
    assert covered >= 180


def test_totals_of_items_below_nodes_are_exact(release: SetRelease) -> None:
    held = {name: sum(name in record for record in RECORDS) for name in NAMES}
    frequent = [name for name in set(NAMES) - shown(release) if held[name] >= 5]
    assert frequent
    for name in frequent:
        assert release.count_items([name]).expected == held[name]
        assert release.count_items([name]).error == 0


def test_sql_takes_every_label_of_the_hierarchy(release: SetRelease, tmp_path: Path) -> None:
    release.save(tmp_path)
    read = mottle.read_release(tmp_path)
    assert read.columns[0].hierarchy == TREE
    for label in ("twenty 1", "five 2", NAMES[0]):
        asked = f"SELECT count(*) FROM release WHERE contains(items, '{label}')"
        answer = read.query(asked).to_pylist()[0]
        assert answer["count_low"] <= true_count([label], []) <= answer["count_high"]


def test_the_audit_finds_the_promise_kept_and_a_planted_victim(release: SetRelease) -> None:
    assert mottle.audit_release(BASKETS, release).passed
    labels = shown(release)
    held = [frozenset(one for one in labels if record & BELOW[one]) for record in RECORDS]
    victim = next(one for one in held if held.count(one) == 1)
    cells = release.table.column("items").to_pylist()
    cells[7] = {"base": sorted(victim), "uncertain": [], "distance": 0}
    field = release.table.schema.field("items")
    planted = pa.table([pa.array(cells, field.type)], schema=pa.schema([field]))
    assert not mottle.audit_release(BASKETS, replace(release, stored=planted, links=None)).passed


def test_items_that_the_hierarchy_lacks_are_refused() -> None:
    tree = Hierarchy.from_rows([("milk", "*"), ("tea", "*")])
    with pytest.raises(DataError, match="lacks 1 of the distinct values"):
        mottle.anonymize_sets([["milk"], ["rum"]], mottle.KAnonymity(2), item_hierarchy=tree)


def test_the_number_of_holders_needs_a_hierarchy() -> None:
    with pytest.raises(UsageError, match="--item-hierarchy"):
        mottle.anonymize_sets([["a"], ["b"]], mottle.KAnonymity(2), node_holders=3)


def test_nodes_held_by_so_many_records_are_published_if_asked_for() -> None:
    found = mottle.anonymize_sets(
        BASKETS, mottle.KAnonymity(4), seed=1, effort=0, item_hierarchy=TREE, node_holders=50
    )
    assert all(true_count([label], []) >= 50 for label in shown(found))


def test_what_is_chosen_does_not_depend_on_labels() -> None:
    random = np.random.default_rng(1)
    choices = []
    for _ in range(2):
        labelled = BASKETS.with_labels(pa.array(random.choice(["a", "b", "c", "d"], 400)), "label")
        found = mottle.anonymize_sets(
            labelled, mottle.LDiversity(2), seed=1, effort=0, item_hierarchy=TREE
        )
        choices.append(shown(found))
    assert choices[0] == choices[1]


@pytest.mark.parametrize("method", ["gray-ring", "freeform"])
def test_a_release_with_nodes_is_one_of_the_sets_of_nodes(method: str) -> None:
    settings = Settings.of(item_hierarchy=TREE)
    nodes = nodes_of_sets(BASKETS, settings, 4)
    assert nodes is not None
    options: dict[str, Any] = {"method": method, "seed": 5, "effort": 0, "totals": False}
    found = mottle.anonymize_sets(BASKETS, mottle.KAnonymity(4), item_hierarchy=TREE, **options)
    expected = mottle.anonymize_sets(nodes.of_sets(BASKETS), mottle.KAnonymity(4), **options)
    assert found.table.to_pylist() == expected.table.to_pylist()
    assert found.links is not None
    assert expected.links is not None
    assert found.links.original_of_row.tolist() == expected.links.original_of_row.tolist()
    assert found.links.graph.members.tolist() == expected.links.graph.members.tolist()
