"""A column of sets whose items are published as nodes: what is chosen, promised and answered."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from bucket_worlds import World, caps_of, enumerate_releases

import mottle
from mottle import KAnonymity, LDiversity, Release, Schema
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.item_nodes import codes_of_nodes
from mottle.errors import DataError, SchemaError, UsageError
from mottle.graph.model import Graph
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.nodes import ItemNodes
from mottle.methods import Arrangement
from mottle.methods.buckets.buckets import buckets
from mottle.pipeline.published_nodes import codes_with_nodes
from mottle.release.named_nodes import codes_as_published
from mottle.schema.model import Representation

ROWS = 300
ITEMS = [f"item {number:02}" for number in range(24)]
TREE = Hierarchy.from_rows(
    [(name, f"three {n // 3}", f"twelve {n // 12}", "*") for n, name in enumerate(ITEMS)]
)
BELOW = {label: set(TREE.leaves_under(label)) for label in TREE.labels}
LISTS = pa.list_(pa.string())


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    """People with some frequent and many rare items; of every 40th nobody knows the set."""
    random = np.random.default_rng(3)
    shares = 1 / np.arange(2, len(ITEMS) + 2) ** 1.5
    held = [
        None
        if row % 40 == 7
        else [item for item, lot, share in zip(ITEMS, lots, shares, strict=True) if lot < share]
        for row, lots in enumerate(random.random((ROWS, len(ITEMS))))
    ]
    table = mottle.datasets.population(ROWS, seed=4).select(["age", "sex", "diagnosis"])
    return table.append_column("ill", pa.array(held, LISTS))


def schema(**options: object) -> Schema:
    """Age, sex and the sets of items with their hierarchy."""
    given = {"hierarchies": {"ill": TREE}, "kinds": {"ill": "set"}, **options}
    return Schema.of(quasi_identifying=["age", "sex", "ill"], sensitive=["diagnosis"], **given)


@pytest.fixture(scope="module")
def release(patients: pa.Table) -> Release:
    return mottle.anonymize(patients, schema(), KAnonymity(4), seed=1, effort=0)


def shown(found: Release) -> set[str]:
    """All labels that cells name."""
    cells = found.table.column("ill").to_pylist()
    return {label for cell in cells for part in ("base", "uncertain") for label in cell[part] or ()}


def as_shown(held: list[str] | None, labels: set[str]) -> frozenset[str] | None:
    """The set of nodes that stand for the items of a set."""
    if held is None:
        return None
    return frozenset(label for label in labels if BELOW[label] & set(held))


def test_every_item_is_one_node_everywhere_and_cells_are_the_votes_of_their_candidates(
    release: Release, patients: pa.Table
) -> None:
    labels = shown(release)
    covered = [BELOW[label] for label in labels]
    assert sum(map(len, covered)) == len(set().union(*covered))
    assert any(len(below) > 1 for below in covered)
    assert release.certificate.columns[-1].nodes == sum(len(below) > 1 for below in covered)
    assert release.links is not None
    candidates: list[list[frozenset[str] | None]] = [[] for _ in range(ROWS)]
    for batch in release.links.batches():
        for edge in batch.to_pylist():
            held = patients.column("ill")[edge["original"]].as_py()
            candidates[edge["published"]].append(as_shown(held, labels))
    for cell, sets in zip(release.table.column("ill").to_pylist(), candidates, strict=True):
        known = [held for held in sets if held is not None]
        votes = {label: sum(label in held for held in known) for label in labels}
        assert cell["missing"] == (len(known) < len(sets))
        if not known:
            assert cell["base"] is None
            continue
        assert set(cell["base"]) == {one for one, n in votes.items() if 2 * n > len(known)}
        assert set(cell["uncertain"]) == {one for one, n in votes.items() if 0 < n < len(known)}
        base = frozenset(cell["base"])
        assert cell["distance"] == max(len(base ^ held) for held in known)


def test_the_loss_counts_nodes_as_the_share_of_other_items_below_them(
    release: Release, patients: pa.Table
) -> None:
    stated, labels = release.certificate.columns[-1], shown(release)
    node_of = {item: label for label in labels for item in BELOW[label]}
    held = [item for items in patients.column("ill").to_pylist() for item in items or ()]
    costs = [(len(BELOW[node_of[item]]) - 1) / (len(ITEMS) - 1) for item in held]
    assert stated.node_loss == pytest.approx(np.mean(costs))
    whole = mottle.anonymize(
        patients, schema(node_holders={"ill": ROWS}), KAnonymity(4), seed=1, effort=0
    )
    assert shown(whole) == {"*"}
    assert whole.certificate.columns[-1].node_loss == 1
    assert whole.certificate.ncp["ill"] == pytest.approx(
        1
    )  # whoever holds anything: nothing is left of it


def test_nodes_lose_less_than_items_alone(release: Release, patients: pa.Table) -> None:
    plain = mottle.anonymize(patients, schema(hierarchies={}), KAnonymity(4), seed=1, effort=0)
    assert release.certificate.ncp["ill"] < plain.certificate.ncp["ill"]
    assert plain.certificate.columns[-1].nodes is None
    assert any(note.startswith("Column 'ill': ") for note in release.certificate.notes)
    assert release.certificate.risk.before == plain.certificate.risk.before


@pytest.mark.parametrize("totals", [True, False])
def test_bounds_hold_for_all_labels_beside_other_columns(patients: pa.Table, totals: bool) -> None:
    found = mottle.anonymize(
        patients, schema(), KAnonymity(4), seed=2, effort=0, totals=totals, method="nh"
    )
    people, random, covered = patients.to_pylist(), np.random.default_rng(0), 0
    for _ in range(150):
        label = TREE.labels[random.integers(len(TREE.labels))]
        low = int(random.integers(20, 60))
        answer = found.count({"ill": label, "age": (low, low + 25)})
        true = sum(
            low <= one["age"] <= low + 25 and bool(BELOW[label] & set(one["ill"] or ()))
            for one in people
        )
        assert answer.certain <= true <= answer.possible, (label, low)
        covered += abs(answer.expected - true) <= 1.96 * answer.error + 0.5
    assert covered >= 135


def test_files_carry_the_hierarchy_and_text_alone_is_asked_about_what_it_names(
    release: Release, tmp_path: Path
) -> None:
    release.save(tmp_path)
    read = mottle.read_release(tmp_path)
    assert read.columns[-1].hierarchy == TREE
    named = next(label for label in shown(release) if len(BELOW[label]) > 1)
    below = min(BELOW[named])
    asked = "SELECT count(*) FROM release WHERE contains(ill, '{}')"
    exact, inside = (read.query(asked.format(label)).to_pylist()[0] for label in (named, below))
    assert inside["count_low"] <= inside["count"] <= inside["count_high"] <= exact["count_high"]
    (tmp_path / "release.parquet").unlink()
    text = mottle.read_release(tmp_path / "release.csv")
    assert text.count({"ill": named}).possible >= exact["count_low"]
    with pytest.raises(UsageError, match=r"not carry the hierarchy of column 'ill'.*\n?.*parquet"):
        text.count({"ill": below})


def test_worlds_hold_the_nodes_that_cells_name(release: Release) -> None:
    (world,) = release.sample(1, seed=1)
    held = {label for items in world.column("ill").to_pylist() for label in items or ()}
    assert held <= shown(release)


def test_the_audit_finds_the_promise_kept_and_a_planted_victim(
    release: Release, patients: pa.Table
) -> None:
    assert mottle.audit_release(patients, release).passed
    labels = shown(release)
    held = [as_shown(one, labels) for one in patients.column("ill").to_pylist()]
    victim = next(one for one in held if one is not None and held.count(one) == 1)
    cells = release.table.column("ill").to_pylist()
    cells[7] = {"base": sorted(victim), "uncertain": [], "distance": 0, "missing": False}
    place = release.table.column_names.index("ill")
    field = release.table.schema.field(place)
    planted = release.table.set_column(place, field, pa.array(cells, field.type))
    assert not mottle.audit_release(
        patients, dataclasses.replace(release, stored=planted, links=None, coded=None)
    ).passed


def test_the_audit_repeats_decisions_on_the_codes_of_the_run(patients: pa.Table) -> None:
    found = mottle.anonymize(
        patients, schema(), LDiversity(2), seed=1, effort=0, audit="full", method="buckets"
    )
    assert found.audited is not None
    assert found.audited.passed
    codes = encode(patients, schema(), Representation.RANGE)
    again, run = codes_as_published(codes, found), codes_with_nodes(codes, LDiversity(2).degree)
    assert run.domains[-1].items.nodes is not None
    assert again.matrix.tolist() == run.matrix.tolist()
    for one, other in zip(again.domains, run.domains, strict=True):
        assert one.values.to_pylist() == other.values.to_pylist()
        assert one.least_loss == other.least_loss


def test_the_choice_looks_at_sets_alone(release: Release, patients: pa.Table) -> None:
    random = np.random.default_rng(1)
    for name in ("diagnosis", "age", "sex"):
        mixed = patients.column(name).take(pa.array(random.permutation(ROWS)))
        place = patients.column_names.index(name)
        other = patients.set_column(place, name, mixed)
        found = mottle.anonymize(other, schema(), KAnonymity(4), seed=1, effort=0)
        assert shown(found) == shown(release), name


# --------------------------------------------------------------------------------- enumeration

SETS = [["flu"], ["cold"], ["flu", "gout"], ["cold"], ["gout"]]
SMALL = Hierarchy.from_rows(
    [("flu", "airways", "*"), ("cold", "airways", "*"), ("gout", "joints", "*")]
)


def coded_sets(nodes: Callable[[Codes], Codes]) -> Codes:
    """Five people by age and set, with nodes in place of items."""
    table = pa.table({"age": [20, 25, 40, 44, 60], "ill": pa.array(SETS, LISTS)})
    known = Schema.of(
        quasi_identifying=["age", "ill"], hierarchies={"ill": SMALL}, kinds={"ill": "set"}
    )
    return nodes(encode(table, known, Representation.RANGE))


def cells_of(codes: Codes, graph: Graph) -> list[tuple]:
    """By position, the published cells."""
    published = cover(graph, codes)
    decoded = [
        cells.decode(domain).to_pylist()
        for cells, domain in zip(published.cells, codes.domains, strict=True)
    ]
    return [tuple(repr(column[row]) for column in decoded) for row in published.row_of.tolist()]


def raised_to(label: str) -> Callable[[Codes], Codes]:
    """Publish everything below a label as that label."""
    chosen = np.array([each == label for each in SMALL.labels])
    nodes = ItemNodes.none(SMALL, np.ones(len(chosen), np.int64)).raised_to(chosen)
    return partial(codes_of_nodes, choose=lambda *_: nodes)


@pytest.mark.parametrize("nodes", [partial(codes_with_nodes, degree=2), raised_to("airways")])
def test_belief_stays_within_caps_where_items_are_nodes(nodes: Callable[[Codes], Codes]) -> None:
    found = enumerate_releases(buckets, coded_sets(nodes), "aabbc", LDiversity(2), shown=cells_of)
    assert len(found.likelihood) > 1
    assert found.highest_over_cap(caps_of("aabbc", LDiversity(2))) <= 1


def test_the_enumeration_catches_nodes_that_follow_sensitive_values() -> None:
    """Nodes are published only if the person who holds flu alone has value a."""
    choices = [coded_sets(raised_to(label)) for label in ("flu", "airways")]

    def by_value(world: World, arranged: Arrangement, truth: np.ndarray) -> str:
        return repr(sorted(cells_of(choices[world[0] == "a"], arranged.graph)))

    found = enumerate_releases(
        buckets, choices[0], "aabbc", LDiversity(2), shown=lambda *_: [()] * 5, stated=by_value
    )
    assert found.highest_over_cap(caps_of("aabbc", LDiversity(2))) > 1


# ------------------------------------------------------------------------------------- refusals


def test_items_that_the_hierarchy_lacks_are_refused_by_column(patients: pa.Table) -> None:
    lacking = Hierarchy.from_rows([(name, "*") for name in ITEMS[1:]])
    with pytest.raises(DataError, match=r"Column 'ill': .*lacks 1 of the distinct values"):
        mottle.anonymize(patients, schema(hierarchies={"ill": lacking}), KAnonymity(2))


def test_releases_over_time_are_refused_with_the_way_out(patients: pa.Table) -> None:
    named = patients.append_column("who", pa.array(range(ROWS)))
    stated = Schema.of(
        quasi_identifying=["age", "ill"],
        identifying=["who"],
        insensitive=["sex", "diagnosis"],
        hierarchies={"ill": TREE},
        kinds={"ill": "set"},
    )
    with pytest.raises(UsageError, match=r"'ill' are published as.*\n?.*--same"):
        mottle.anonymize(named, stated, KAnonymity(2), same="who")


def test_a_sensitive_column_of_sets_is_refused(patients: pa.Table) -> None:
    with pytest.raises((SchemaError, DataError), match="ill"):
        mottle.anonymize(
            patients,
            Schema.of(
                quasi_identifying=["age"],
                sensitive=["ill"],
                insensitive=["sex", "diagnosis"],
                hierarchies={"ill": TREE},
                kinds={"ill": "set"},
            ),
            LDiversity(2),
        )


def test_nothing_is_chosen_where_no_set_is_known() -> None:
    table = pa.table({"age": [1, 2, 3], "ill": pa.array([None] * 3, LISTS)})
    stated = Schema.of(
        quasi_identifying=["age", "ill"], hierarchies={"ill": TREE}, kinds={"ill": "set"}
    )
    found = mottle.anonymize(table, stated, KAnonymity(2), seed=1)
    assert found.certificate.columns[-1].nodes == 0
    assert all(cell["base"] is None for cell in found.table.column("ill").to_pylist())
