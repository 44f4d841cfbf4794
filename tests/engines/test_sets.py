"""Sets of items are released alike by every engine, from every form of input."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import KAnonymity, LDiversity, UsageError
from mottle.io.link_file import LinkFile
from mottle.io.read_sets import read_sets
from mottle.pipeline.chunked.sets.input import SetLayout
from mottle.pipeline.owner import OwnedTable

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

CHUNK = 80
ODD = ["7", "10", "\x1f", "a;b", "é"]


@pytest.fixture(scope="module")
def baskets() -> pa.Table:
    """One row per record: lists with missing, repeated and odd items, empty and missing lists."""
    random, held = np.random.default_rng(5), []
    for row in range(200):
        items = random.choice(12, size=random.integers(0, 5)).tolist()
        names: list[str | None] = [ODD[item] if item < len(ODD) else str(item) for item in items]
        held.append(None if row % 60 == 9 else [*names, "7", "7", None] if row % 50 == 0 else names)
    labels = pa.array(random.choice(["flu", "cold", "none"], 200).tolist())
    return pa.table({"set": pa.array(held, pa.list_(pa.string())), "label": labels})


def released(
    engine: Any, file: Path, layout: SetLayout, guarantee: Any, **more: Any
) -> mottle.SetRelease:
    options: dict[str, Any] = {"effort": 0, "seed": 1, **more}
    named = dataclasses.asdict(layout)
    if engine.name == "memory":
        return mottle.anonymize_sets(read_sets(file, **named), guarantee, **options)
    out = engine.folder / "out"
    if engine.name == "streaming":
        return mottle.anonymize_sets_stream(
            file, guarantee, out, **named, chunk_rows=CHUNK, private=out.parent / "l.pq", **options
        )
    return mottle.spark.anonymize_sets_file(
        file, layout, guarantee, out, master="local[1]", chunk_rows=CHUNK, **options
    )


@pytest.mark.parametrize("guarantee", [KAnonymity(4), LDiversity(2)], ids=["k", "l"])
def test_every_engine_makes_the_same_promises_and_states_the_same_totals(
    engine, baskets, guarantee
) -> None:
    file = engine.folder / "baskets.parquet"
    pq.write_table(baskets, file, row_group_size=70)
    layout = SetLayout(column="set", label="label")
    release = released(engine, file, layout, guarantee)
    expected = mottle.anonymize_sets(
        read_sets(baskets, column="set", label="label"), guarantee, effort=0, seed=1
    )
    stated, known = release.certificate, expected.certificate
    assert (engine.name == "memory") == (stated.engine is None)
    assert stated.engine is None or stated.engine.chunks > 1
    for name in ("kind", "guarantee", "items", "rows", "columns", "sensitive", "unit"):
        assert getattr(stated, name) == getattr(known, name), name
    assert stated.risk.before == known.risk.before
    assert [check.name for check in stated.checks] == [check.name for check in known.checks]
    assert [note for note in stated.notes if "item" in note and "base" not in note] == [
        note for note in known.notes if "item" in note and "base" not in note
    ]
    assert abs(stated.error_rate - known.error_rate) < 0.2
    totals, truth = (one.columns[0].item_totals for one in (release, expected))
    assert dataclasses.replace(totals, factors=()) == dataclasses.replace(truth, factors=())
    assert sorted(release.table.column("label").to_pylist()) == sorted(
        baskets.column("label").to_pylist()
    )
    again = release if engine.name == "memory" else mottle.read_release(engine.folder / "out")
    found = again.count({"set": "7"})
    held = sum(items is not None and "7" in items for items in baskets.column("set").to_pylist())
    assert found.certain <= held <= found.possible
    based = {item for cell in release.table.column("set").to_pylist() for item in cell["base"]}
    assert any("in no base set" in note for note in stated.notes) == (len(based) < stated.items)


def test_every_engine_publishes_items_as_nodes_and_answers_about_what_is_below(
    engine, baskets
) -> None:
    file = engine.folder / "baskets.parquet"
    lists = [
        [item for item in held or [] if item != "\x1f"]
        for held in baskets.column("set").to_pylist()
    ]  # a hierarchy takes no label of blanks
    table = pa.table({"set": lists})
    pq.write_table(table, file)
    known = read_sets(table, column="set")
    tree = mottle.Hierarchy.from_rows(
        [(name, f"node {place // 3}", "*") for place, name in enumerate(known.names.to_pylist())]
    )
    layout = SetLayout(column="set")
    release = released(engine, file, layout, KAnonymity(4), item_hierarchy=tree, node_holders=60)
    assert release.certificate.columns[0].nodes == 3
    again = release if engine.name == "memory" else mottle.read_release(engine.folder / "out")
    assert again.columns[0].hierarchy == tree
    held = [set(known.record(number)) for number in range(known.records)]
    for label in tree.labels:
        answer, below = again.count({"set": label}), set(tree.leaves_under(label))
        assert answer.certain <= sum(bool(each & below) for each in held) <= answer.possible
    audit = mottle.audit_release(
        known, again, private=None if engine.name != "streaming" else engine.folder / "l.pq"
    )
    assert audit.passed


def test_all_forms_of_input_are_read_as_in_memory(baskets, tmp_path: Path) -> None:
    lists = [[item for item in held or [] if item] for held in baskets.column("set").to_pylist()]
    lists = [[item.replace(";", "").replace("\x1f", "u") for item in held] for held in lists]
    labels = baskets.column("label").to_pylist()
    rows = [
        (f"r{number % 7}{number}", item, labels[number])
        for number, held in enumerate(lists)
        for item in held or [None]
    ]
    order = np.random.default_rng(1).permutation(len(rows))
    long = pa.table(
        {name: [rows[place][part] for place in order] for part, name in enumerate("rif")}
    )
    pq.write_table(long, tmp_path / "long.parquet", row_group_size=50)
    text = pa.table({"set": [";".join(held) for held in lists], "label": labels})
    pq.write_table(text, tmp_path / "text.parquet")
    lines = "\r\n".join(" ".join(held) for held in lists)
    (tmp_path / "lines.dat").write_text(lines, "utf-8", newline="")
    forms = {
        "long.parquet": SetLayout(record="r", item="i", label="f"),
        "text.parquet": SetLayout(column="set", separator=";", label="label"),
        "lines.dat": SetLayout(),
    }
    for name, layout in forms.items():
        links = tmp_path / f"{name}.links"
        release = mottle.anonymize_sets_stream(
            tmp_path / name,
            KAnonymity(3),
            tmp_path / f"{name}.out",
            **dataclasses.asdict(layout),
            method="gray-ring",
            chunk_rows=CHUNK,
            private=links,
            report=False,
        )
        original = read_sets(tmp_path / name, **dataclasses.asdict(layout))
        assert release.num_rows == original.records, name
        fingerprint = LinkFile(links).fingerprint
        made_from = OwnedTable.of_sets(b"", original)
        assert fingerprint is not None
        assert fingerprint == type(fingerprint).of(
            made_from.columns, made_from.digest, fingerprint.key
        ), name
        audit = mottle.audit_release(original, tmp_path / f"{name}.out", private=links)
        assert audit.passed, name


def test_labels_are_protected_in_chunks_by_buckets_alone(baskets, tmp_path: Path) -> None:
    pq.write_table(baskets, tmp_path / "baskets.parquet")
    with pytest.raises(UsageError, match="buckets"):
        mottle.anonymize_sets_stream(
            tmp_path / "baskets.parquet",
            LDiversity(2),
            tmp_path / "out",
            column="set",
            label="label",
            method="cahd",
        )
    assert not (tmp_path / "out").exists()


def test_records_with_two_labels_are_refused_with_the_row(tmp_path: Path) -> None:
    long = pa.table({"r": ["a", "b", "a"], "i": ["x", "y", "z"], "f": ["1", "2", "3"]})
    pq.write_table(long, tmp_path / "long.parquet")
    with pytest.raises(mottle.DataError, match="row 3: the record has another 'f'"):
        mottle.anonymize_sets_stream(
            tmp_path / "long.parquet",
            KAnonymity(2),
            tmp_path / "out",
            record="r",
            item="i",
            label="f",
        )
