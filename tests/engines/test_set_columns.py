"""A table with a column of sets is released alike by every engine."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Schema, UsageError
from mottle.pipeline.chunked.memory import check_sets_fit

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

SCHEMA = Schema.of(quasi_identifying=["age", "sex", "visited"], sensitive=["diagnosis"])
ODD = ["Rome", "\x1f", "\x1e_0", "", "a;b"]


@pytest.fixture(scope="module")
def travellers() -> pa.Table:
    """People and where they were: empty, missing, repeated and odd items among them."""
    rows, random = 1100, np.random.default_rng(2)
    visited: list[list[str | None] | None] = []
    for row in range(rows):
        places = random.choice(40, size=random.integers(0, 5)).tolist()
        held: list[str | None] = [
            ODD[place] if place < len(ODD) else str(place) for place in places
        ]
        if row % 50 == 0:
            held = [*held, "Rome", "Rome", None]
        visited.append(None if row % 40 == 7 else held)
    table = mottle.datasets.population(rows, seed=4).select(["age", "sex", "diagnosis"])
    return table.append_column("visited", pa.array(visited, pa.list_(pa.string())))


@pytest.mark.parametrize(
    ("guarantee", "method"),
    [(KAnonymity(5), "nh"), (KAnonymity(3), "auto"), (LDiversity(2), "auto")],
)
def test_sets_are_released_by_every_engine(engine, travellers, guarantee, method) -> None:
    options = {"method": method, "effort": 0, "seed": 1}
    release = engine.anonymize(travellers, SCHEMA, guarantee, **options)
    in_memory = mottle.anonymize(travellers, SCHEMA, guarantee, **options)
    assert [column.field().type for column in release.columns] == [
        column.field().type for column in in_memory.columns
    ]
    stated, expected = (
        next(column.item_totals for column in one.columns if column.name == "visited")
        for one in (release, in_memory)
    )
    assert dataclasses.replace(stated, factors=()) == dataclasses.replace(expected, factors=())
    assert len(stated.factors) == len(expected.factors) == 3
    notes = [note for note in release.certificate.notes if "visited" in note]
    assert notes == [note for note in in_memory.certificate.notes if "visited" in note]
    assert len(notes) >= 2
    for item in ("Rome", "\x1f", "", "17"):
        true = sum(item in (held or ()) for held in travellers.column("visited").to_pylist())
        counted = release.count({"visited": item, "sex": "female"})
        women = [sex == "female" for sex in travellers.column("sex").to_pylist()]
        held = [item in (one or ()) for one in travellers.column("visited").to_pylist()]
        assert counted.certain <= sum(map(all, zip(women, held, strict=True))) <= counted.possible
        assert release.count_items(item, column="visited").possible >= true


def test_every_engine_publishes_the_same_nodes_of_a_hierarchy(engine, travellers) -> None:
    held = [
        None if each is None else [one for one in each if one and one != "\x1f"]
        for each in travellers.column("visited").to_pylist()
    ]  # a hierarchy takes no label of blanks
    place = travellers.column_names.index("visited")
    table = travellers.set_column(place, "visited", pa.array(held, pa.list_(pa.string())))
    items = sorted({item for each in held for item in each or ()})
    tree = mottle.Hierarchy.from_rows(
        [(name, f"node {number // 4}", "*") for number, name in enumerate(items)]
    )
    schema = Schema.of(
        quasi_identifying=["age", "sex", "visited"],
        sensitive=["diagnosis"],
        kinds={"visited": "set"},
        hierarchies={"visited": tree},
    )
    options = {"method": "nh", "effort": 0, "seed": 1}
    release = engine.anonymize(table, schema, KAnonymity(4), **options)
    in_memory = mottle.anonymize(table, schema, KAnonymity(4), **options)
    stated, expected = (one.certificate for one in (release, in_memory))
    facts = {facts.name: facts for facts in expected.columns}["visited"]
    assert facts.nodes
    assert facts in stated.columns
    assert stated.risk.before == expected.risk.before
    assert [note for note in stated.notes if "nodes" in note] == [
        note for note in expected.notes if "nodes" in note
    ]
    (column,) = (column for column in release.columns if column.name == "visited")
    assert column.hierarchy == tree
    women = [sex == "female" for sex in table.column("sex").to_pylist()]
    for label in tree.labels:
        below = set(tree.leaves_under(label))
        true = sum(
            woman and bool(below & set(each or ())) for woman, each in zip(women, held, strict=True)
        )
        answer = release.count({"visited": label, "sex": "female"})
        assert answer.certain <= true <= answer.possible, label
    assert mottle.audit_release(table, release, schema=schema).passed


@pytest.mark.parametrize("as_text", [False, True])
def test_a_streamed_release_of_sets_survives_the_audit(travellers, as_text, tmp_path: Path) -> None:
    plain = [
        None if held is None else sorted({item for item in held if item and ";" not in item})
        for held in travellers.column("visited").to_pylist()
    ]
    if as_text:
        cells = pa.array([None if held is None else ";".join(held) or ";" for held in plain])
        schema = Schema.of(
            quasi_identifying=["age", "sex", "visited"],
            sensitive=["diagnosis"],
            kinds={"visited": "set"},
        )
    else:
        cells, schema = pa.array(plain, pa.list_(pa.string())), SCHEMA
    place = travellers.column_names.index("visited")
    table = travellers.set_column(place, "visited", cells)
    pq.write_table(table, tmp_path / "people.parquet")
    release = mottle.anonymize_stream(
        tmp_path / "people.parquet",
        schema,
        LDiversity(2),
        tmp_path / "out",
        chunk_rows=400,
        effort=0,
        private=tmp_path / "links.parquet",
    )
    assert release.certificate.engine.chunks > 2
    audited = mottle.audit_release(
        tmp_path / "people.parquet",
        tmp_path / "out",
        schema=schema,
        private=tmp_path / "links.parquet",
    )
    assert audited.passed, audited


def test_sets_that_need_more_memory_are_refused_with_the_memory_they_need() -> None:
    check_sets_fit({"visited": 10**8}, 4 * 10**9)
    with pytest.raises(UsageError, match="'visited' holds so many different sets") as refused:
        check_sets_fit({"visited": 10**9, "bought": 10**8}, 4 * 10**9)
    assert "--memory 12GB" in str(refused.value)
    check_sets_fit({"visited": 10**9, "bought": 10**8}, 12 * 10**9)
