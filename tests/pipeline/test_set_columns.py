"""A column of sets beside ordinary ones: through all methods that take it, and back from files."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mottle
from mottle import KAnonymity, LDiversity, Schema, anonymize, methods
from mottle.encoding.cover import check_covers, cover
from mottle.encoding.encode import encode
from mottle.errors import GuaranteeError, PrivacyError, SchemaError, UsageError
from mottle.graph.model import Graph
from mottle.kernels.scales import scales
from mottle.loss.ncp import measure
from mottle.methods import SetColumns
from mottle.methods.refinement import mean_loss
from mottle.release.possible_worlds import PossibleWorlds
from mottle.schema.model import Representation

ABLE = [
    name
    for name, method in methods.registered().items()
    if method.sets is not SetColumns.REFUSED and method.dummies is None
]
UNABLE = [name for name in methods.registered() if name not in ABLE]
ODD = ["flu", "", "a|b", "{x}", "..", "é", "\\e", "a;b", "line\nbreak", '"quoted"', "N/A"]

TABLES = st.integers(2, 25).flatmap(
    lambda rows: st.fixed_dictionaries(
        {
            "age": st.lists(st.none() | st.integers(0, 9), min_size=rows, max_size=rows),
            "ill": st.lists(
                st.none() | st.lists(st.sampled_from(ODD), max_size=4),
                min_size=rows,
                max_size=rows,
            ),
            "seen": st.lists(
                st.lists(st.sampled_from("xyz"), max_size=3), min_size=rows, max_size=rows
            ),
            "value": st.lists(st.sampled_from("abcd"), min_size=rows, max_size=rows),
        }
    )
)
SCHEMA = Schema.of(quasi_identifying=["age", "ill", "seen"], sensitive=["value"])
LISTS = pa.list_(pa.string())


def table_of(columns: dict[str, list]) -> pa.Table:
    types = {"age": pa.int64(), "ill": LISTS, "seen": LISTS, "value": pa.string()}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def possible(cell: dict, items: list[str] | None) -> bool:
    """Whether a set may stand behind a published cell."""
    if items is None:
        return cell["missing"]
    if cell["base"] is None:
        return False
    worlds = PossibleWorlds(frozenset(cell["base"]), frozenset(cell["uncertain"]), cell["distance"])
    return set(items) in worlds


def expected_loss(release: mottle.Release, table: pa.Table, name: str) -> float:
    """Items told wrongly per item held, from the definition; being missing is one more item."""
    values = [{None} if items is None else set(items) for items in table.column(name).to_pylist()]
    graph = release.links.graph
    wrong = Fraction(0)
    for position in range(graph.records):
        block = int(np.searchsorted(graph.starts, position, side="right")) - 1
        voters = [values[row] for row in graph.members[graph.preimages(position)]]
        votes = Counter(item for held in voters for item in held)
        told = sum(min(count, len(voters) - count) for count in votes.values())
        wrong += Fraction(told, int(graph.degrees[block]))
    held = sum(len(items) for items in values)
    return float(wrong / held) if held else 0.0


@pytest.mark.parametrize("name", ABLE)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns=TABLES, k=st.integers(2, 5), seed=st.integers(0, 99))
def test_all_invariants_hold_for_every_method(name: str, columns: dict, k: int, seed: int):
    table = table_of(columns)
    guarantee = KAnonymity(k)
    if not methods.get(name).gives(guarantee):
        guarantee = LDiversity(2)
    try:
        release = anonymize(table, SCHEMA, guarantee, method=name, seed=seed)
    except GuaranteeError:
        return
    assert [check.passed for check in release.certificate.checks] == [True] * 5
    links = release.links
    for row, published in enumerate(release.table.to_pylist()):
        preimages = links.graph.preimages(int(links.position_of_row[row]))
        for original in links.graph.members[preimages]:
            for column in ("ill", "seen"):
                assert possible(published[column], columns[column][original])
    for column in ("ill", "seen"):
        loss = release.certificate.ncp[column]
        assert loss == pytest.approx(expected_loss(release, table, column))
        assert 0 <= loss <= 1


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns=TABLES)
def test_releases_come_back_from_all_files(columns: dict, tmp_path_factory: pytest.TempPathFactory):
    release = anonymize(table_of(columns), SCHEMA, KAnonymity(2), method="hp", seed=1)
    folder = tmp_path_factory.mktemp("release")
    release.save(folder, report=False)
    for place in ("", "release.parquet", "release.csv"):
        read = mottle.read_release(folder / place)
        assert read.table.equals(release.table)
        assert read.columns == release.columns
    (folder / "release.parquet").unlink()
    assert mottle.read_release(folder / "release.csv").table.to_pylist() == (
        release.table.to_pylist()
    )


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    people = mottle.datasets.population(600, seed=3).select(["age", "sex", "diagnosis"])
    return mottle.datasets.with_diagnoses(people, seed=3)


PATIENTS = Schema.of(quasi_identifying=["age", "sex", "diagnoses"], sensitive=["diagnosis"])


@pytest.mark.parametrize(
    ("method", "guarantee"),
    [("freeform", KAnonymity(5)), ("hungarian", KAnonymity(5)), ("buckets", LDiversity(2))],
)
def test_methods_that_vote_lose_less_than_the_order_alone(
    patients: pa.Table, method: str, guarantee: mottle.Guarantee
):
    plain = anonymize(patients, PATIENTS, guarantee, method="nh", seed=1)
    voted = anonymize(patients, PATIENTS, guarantee, method=method, effort=1, seed=1)
    assert voted.gcp < 0.9 * plain.gcp
    assert voted.certificate.ncp["diagnoses"] < plain.certificate.ncp["diagnoses"]


def test_the_engine_counts_what_is_measured(patients: pa.Table):
    codes = encode(patients, PATIENTS, Representation.RANGE)
    preimages = (np.arange(600)[:, None] + np.arange(4)).astype(np.int32) % 600
    graph = Graph.explicit(
        np.arange(600, dtype=np.int32), np.array([0, 600]), np.array([4], np.int32), preimages
    )
    loss = measure(cover(graph, codes), codes)
    assert mean_loss(scales(codes, 4), codes.matrix, preimages) == pytest.approx(loss.gcp)


def test_the_weight_of_a_set_column_moves_the_loss_to_others(patients: pa.Table):
    def lost(weight: float) -> dict[str, float]:
        schema = Schema.of(
            quasi_identifying=["age", "sex", "diagnoses"],
            sensitive=["diagnosis"],
            importance={"diagnoses": weight},
        )
        release = anonymize(patients, schema, KAnonymity(5), method="freeform", effort=1, seed=1)
        return release.certificate.ncp

    light, heavy = lost(0.05), lost(20)
    assert heavy["diagnoses"] < light["diagnoses"]
    assert heavy["age"] > light["age"]


@pytest.mark.parametrize("name", UNABLE)
def test_other_methods_say_which_column_and_which_methods(patients: pa.Table, name: str):
    method = methods.get(name)
    guarantee = next(
        one for one in (KAnonymity(3), LDiversity(2), mottle.BetaLikeness(2)) if method.gives(one)
    )
    with pytest.raises(UsageError, match=r"column 'diagnoses'.*buckets|column 'diagnoses'.*nh"):
        anonymize(
            patients,
            PATIENTS,
            guarantee,
            method=name,
            seed=1,
            unsafe_paper_randomization=method.dummies is not None,
        )


def test_csv_and_parquet_of_the_same_sets_make_the_same_release(patients: pa.Table, tmp_path: Path):
    lists = patients.column("diagnoses").to_pylist()
    texts = [None if items is None else ";".join(items) or ";" for items in lists]
    place = patients.column_names.index("diagnoses")
    text = patients.set_column(place, "diagnoses", pa.array(texts))
    pyarrow.csv.write_csv(text, tmp_path / "patients.csv")
    schema = Schema.of(
        quasi_identifying=["age", "sex", "diagnoses"],
        sensitive=["diagnosis"],
        kinds={"diagnoses": "set"},
    )
    from_text = anonymize(tmp_path / "patients.csv", schema, KAnonymity(3), method="nh", seed=2)
    from_lists = anonymize(patients, PATIENTS, KAnonymity(3), method="nh", seed=2)
    assert from_text.table.equals(from_lists.table)
    assert mottle.audit_release(tmp_path / "patients.csv", from_text, adversaries=["links"]).passed


def test_k_above_the_number_of_rows_is_refused(patients: pa.Table):
    with pytest.raises(GuaranteeError):
        anonymize(patients.slice(0, 4), PATIENTS, KAnonymity(5))


@pytest.mark.parametrize(
    "sets", [[["a"]] * 6, [[]] * 6, [None] * 6, [["a"], [], None] * 2], ids=str
)
def test_identical_records_lose_nothing(sets: list):
    table = pa.table({"x": pa.array(sets, LISTS)})
    release = anonymize(table, Schema.of(quasi_identifying=["x"]), KAnonymity(2), seed=1)
    assert release.gcp == 0
    assert sorted(map(str, release.sample(1)[0].column("x").to_pylist())) == sorted(map(str, sets))


def test_names_of_parts_must_be_free():
    table = pa.table({"x": [["a"], ["b"]], "x.base": [1, 2]})
    schema = Schema.of(quasi_identifying=["x", "x.base"])
    with pytest.raises(SchemaError, match=r"'x\.base' has the name of a part of column 'x'"):
        anonymize(table, schema, KAnonymity(2))


@pytest.mark.parametrize("part", ["base", "uncertain", "distance", "missing"])
def test_a_cell_that_leaves_a_preimage_out_is_found(patients: pa.Table, part: str):
    codes = encode(patients, PATIENTS, Representation.RANGE)
    graph = (
        methods.get("hp")
        .arrange(codes, KAnonymity(5).demand(600, ()), methods.MethodContext())
        .graph
    )
    published = cover(graph, codes)
    check_covers(graph, codes, published)
    cells = published.cells[2]
    nothing = dataclasses.replace(
        cells.base, offsets=np.zeros_like(cells.base.offsets), values=cells.base.values[:0]
    )
    broken = {
        "base": nothing,
        "uncertain": nothing,
        "distance": np.zeros_like(cells.distance),
        "missing": np.zeros_like(cells.missing),
    }[part]
    if part == "base":  # certain items of the base are no longer possible
        assert np.any(np.diff(cells.base.offsets) > 0)
    worse = dataclasses.replace(cells, **{part: broken})
    tampered = dataclasses.replace(published, cells=(*published.cells[:2], worse))
    with pytest.raises(PrivacyError, match=r"Invariant 2.*'diagnoses'"):
        check_covers(graph, codes, tampered)


def test_many_chunks_of_rows_are_published(patients: pa.Table):
    rows = 70_000
    table = pa.concat_tables([patients] * (rows // 600 + 1)).slice(0, rows).combine_chunks()
    release = anonymize(table, PATIENTS, KAnonymity(2), method="hp", seed=1)
    assert release.table.column("diagnoses").num_chunks > 1
    assert release.to_text().num_rows == rows
