"""Queries on sets of items agree with enumerating all possible sets."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle.encoding.domain import Form
from mottle.errors import UsageError
from mottle.evaluation import Ordering, compare, random_counts
from mottle.evaluation.learning import learn
from mottle.queries import Condition, Queries
from mottle.queries.cells.from_set_columns import cells_of_exact_sets, cells_of_worlds
from mottle.queries.cells.item_cells import EVEN, ItemCells
from mottle.release.cell_text import published_type
from mottle.release.column import PublishedColumn
from mottle.release.possible_worlds import PossibleWorlds
from mottle.schema.model import Kind, Role

LISTS = pa.list_(pa.string())
TYPE = published_type(Form.WORLDS, LISTS)
ITEMS = list("abcde")
COLUMN = PublishedColumn("x", Role.QUASI_IDENTIFYING, Kind.SET, Form.WORLDS, LISTS)


@st.composite
def cells(draw: st.DrawFn, rows: int | None = None) -> pa.StructArray:
    """Cells as votes may produce them, and a few that votes never produce."""
    found = []
    for _ in range(rows or draw(st.integers(1, 6))):
        base = draw(st.lists(st.sampled_from(ITEMS), unique=True))
        uncertain = draw(st.lists(st.sampled_from(ITEMS), unique=True))
        distance = draw(st.integers(0, len(uncertain)))
        missing = draw(st.booleans())
        if missing and draw(st.booleans()):
            base, uncertain, distance = None, None, None
        found.append(
            {"base": base, "uncertain": uncertain, "distance": distance, "missing": missing}
        )
    return pa.array(found, TYPE)


CONDITIONS = st.lists(
    st.builds(
        Condition,
        values=st.none() | st.lists(st.sampled_from([*ITEMS, "z"]), max_size=3).map(tuple),
        excluded=st.lists(st.sampled_from([*ITEMS, "z"]), max_size=2).map(tuple),
        known=st.booleans(),
        missing=st.booleans(),
    ),
    min_size=1,
    max_size=3,
).map(tuple)


def satisfied(items: frozenset[str] | None, conditions: tuple[Condition, ...]) -> bool:
    if items is None:
        return all(condition.missing for condition in conditions)
    return all(
        condition.known
        and (condition.values is None or bool(items & set(condition.values)))
        and not items & set(condition.excluded)
        for condition in conditions
    )


def worlds_of(cell: dict, flip: float) -> list[tuple[frozenset[str] | None, float]]:
    """Every possible set and its probability, given that the value is not missing."""
    if cell["base"] is None:
        return []
    base = frozenset(cell["base"])
    worlds = PossibleWorlds(base, frozenset(cell["uncertain"]), cell["distance"])
    odds = flip / (1 - flip)
    weights = [(world, odds ** len(world ^ base)) for world in worlds]
    total = sum(weight for _, weight in weights)
    return [(world, weight / total) for world, weight in weights]


@given(cells(), CONDITIONS, st.sampled_from([EVEN, 0.1]))
def test_shares_are_those_of_all_possible_sets(
    published: pa.StructArray, conditions: tuple[Condition, ...], flip: float
):
    made = cells_of_worlds("x", published)
    made = ItemCells(**{**vars_of(made), "flip": flip, "missing_chance": 0.25})
    shares = made.shares(conditions)[made.of_row]
    several = sum(len(set(c.values or ())) > 1 for c in conditions) > 1
    for share, cell in zip(shares, published.to_pylist(), strict=True):
        worlds = worlds_of(cell, flip)
        missing_chance = 1.0 if not worlds else 0.25 if cell["missing"] else 0.0
        answers = [satisfied(world, conditions) for world, _ in worlds]
        answers += [satisfied(None, conditions)] * cell["missing"]
        if not any(answers):
            # Lists of which one item each has to be held may share their flips.
            assert share == -1 or (several and share <= 1e-12)
        elif all(answers):
            assert share == 1
        else:
            expected = sum(
                (1 - missing_chance) * chance
                for world, chance in worlds
                if satisfied(world, conditions)
            ) + missing_chance * satisfied(None, conditions)
            assert 0 <= share < 1
            assert share == pytest.approx(expected, abs=1e-9)


def vars_of(made: ItemCells) -> dict:
    return {name: getattr(made, name) for name in made.__dataclass_fields__}


@given(cells(), st.integers(0, 9))
def test_drawn_sets_are_possible(published: pa.StructArray, seed: int):
    made = cells_of_worlds("x", published)
    drawn = made.draw(np.random.default_rng(seed))
    assert drawn.type == LISTS
    for items, cell in zip(drawn.to_pylist(), published.to_pylist(), strict=True):
        if items is None:
            assert cell["missing"]
        else:
            worlds = PossibleWorlds(
                frozenset(cell["base"]), frozenset(cell["uncertain"]), cell["distance"]
            )
            assert set(items) in worlds
            assert items == sorted(set(items))


def test_sets_are_drawn_as_often_as_they_are_likely():
    cell = {"base": ["a"], "uncertain": ["a", "b", "c"], "distance": 2, "missing": False}
    made = cells_of_worlds("x", pa.array([cell] * 20_000, TYPE))
    drawn = [frozenset(items) for items in made.draw(np.random.default_rng(1)).to_pylist()]
    for world, chance in worlds_of(cell, EVEN):
        assert drawn.count(world) / len(drawn) == pytest.approx(chance, abs=0.015)


@given(st.data(), st.integers(1, 4))
def test_a_cell_lies_inside_another_if_all_its_sets_do(data: st.DataObject, rows: int):
    one, other = data.draw(cells(rows)), data.draw(cells(rows))
    inside = Form.WORLDS.inside(one, other, COLUMN)
    for lies, small, large in zip(inside, one.to_pylist(), other.to_pylist(), strict=True):
        sets = {world for world, _ in worlds_of(small, EVEN)}
        others = {world for world, _ in worlds_of(large, EVEN)}
        assert lies == (sets <= others and (not small["missing"] or large["missing"]))


def test_exact_lists_are_certain():
    made = cells_of_exact_sets("x", pa.array([["a"], [], None, ["a", "b"]], LISTS))
    assert made.shares((Condition(values=("a",)),))[made.of_row].tolist() == [1, -1, -1, 1]
    assert made.shares((Condition(known=False, missing=True),))[made.of_row].tolist() == [
        -1,
        -1,
        1,
        -1,
    ]


def test_cells_that_read_alike_are_told_apart_and_repeated_items_count_once():
    odd = {"base": ["a} ± 1 of {b"], "uncertain": [], "distance": 0, "missing": False}
    plain = {"base": ["a", "a"], "uncertain": ["b", "b"], "distance": 1, "missing": False}
    made = cells_of_worlds("x", pa.array([odd, plain, odd], TYPE))
    assert made.count == 2
    assert made.uncertain[made.of_row].tolist() == [0, 1, 0]
    assert made.shares((Condition(values=("a",)),))[made.of_row].tolist() == [-1, 1, -1]


def test_many_uncertain_items_do_not_overflow():
    items = [f"i{number}" for number in range(3000)]
    cell = {"base": items[:5], "uncertain": items[2:], "distance": 40, "missing": False}
    made = cells_of_worlds("x", pa.array([cell], TYPE)).calibrated(0.5, 10)
    share = made.shares((Condition(values=("i2999",)),))
    assert np.all((share > 0) & (share < 1))
    assert len(made.draw(np.random.default_rng(0))[0].as_py()) <= 45


# ------------------------------------------------------------------------------ through a release


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    people = mottle.datasets.population(1500, seed=5).select(["age", "sex", "marital_status"])
    return mottle.datasets.with_diagnoses(people, seed=5)


@pytest.fixture(scope="module")
def release(patients: pa.Table) -> mottle.Release:
    schema = mottle.Schema.of(
        quasi_identifying=["age", "sex", "diagnoses"], insensitive=["marital_status"]
    )
    return mottle.anonymize(patients, schema, mottle.KAnonymity(4), effort=2, seed=1)


def test_counts_lie_between_their_bounds_and_close_to_the_truth(
    patients: pa.Table, release: mottle.Release
):
    wheres = random_counts(patients, ["diagnoses"], None, conditions=1, number=20, seed=1)
    true, estimated = Queries.of(patients).counts(wheres), Queries.of(release).counts(wheres)
    assert np.all(estimated.certain <= true.expected)
    assert np.all(true.expected <= estimated.possible)
    error = np.abs(estimated.expected - true.expected).sum() / true.expected.sum()
    assert error < 0.2


def test_the_expected_number_of_items_is_the_number_held(
    patients: pa.Table, release: mottle.Release
):
    cells = Queries.of(release).column("diagnoses")
    assert isinstance(cells, ItemCells)
    assert cells.flip < EVEN
    items = cells.items.values.to_pylist()
    expected = sum(cells.holding(item)[cells.of_row].sum() for item in items)
    held = sum(len(items or ()) for items in patients.column("diagnoses").to_pylist())
    assert expected == pytest.approx(held, rel=0.1)


def test_sql_conditions_on_items(release: mottle.Release):
    sql = "SELECT count(*) FROM release WHERE diagnoses = 'migraine' AND sex = 'female'"
    answer = release.query(sql).to_pylist()[0]
    counted = release.count({"diagnoses": "migraine", "sex": "female"})
    assert answer["count"] == pytest.approx(counted.expected)
    either = "SELECT count(*) FROM release WHERE diagnoses IN ('migraine', 'asthma')"
    assert (
        release.query(either).to_pylist()[0]["count"]
        > release.count({"diagnoses": "migraine"}).expected
    )


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (lambda release: release.group_by(["diagnoses"]), "cannot be grouped by"),
        (lambda release: release.average("diagnoses"), "cannot be added up"),
        (lambda release: release.count({"diagnoses": ("a", "b")}), "have no order"),
        (
            lambda release: release.count(
                {"diagnoses": tuple(Condition(values=(item,)) for item in "abcdefghijklmno")}
            ),
            "at most 12",
        ),
    ],
)
def test_queries_that_sets_cannot_answer_are_refused(
    release: mottle.Release, query: object, words: str
):
    with pytest.raises(UsageError, match=words):
        query(release)


def test_models_can_be_trained_on_items(patients: pa.Table, release: mottle.Release):
    for training in ("samples", "ranges"):
        found = learn(
            release,
            patients,
            "marital_status",
            features=["diagnoses"],
            training=training,
            models=["logistic regression"],
            m=2,
        )
        assert found[0].auc > 0.6


def test_totals_of_items_are_met_and_saved(
    patients: pa.Table, release: mottle.Release, tmp_path: Path
):
    lists = patients.column("diagnoses").to_pylist()
    release.save(tmp_path / "out", report=False)
    again = mottle.read_release(tmp_path / "out")
    assert again.columns == release.columns
    true = sum("migraine" in (items or ()) for items in lists)
    found = again.count_items(["migraine"])
    assert found.certain == found.possible == true
    both = again.count_items(["migraine", "asthma"])
    held = sum({"migraine", "asthma"} <= set(items or ()) for items in lists)
    assert both.certain <= held <= both.possible


def test_a_release_with_sets_is_equal_to_itself(patients: pa.Table, release: mottle.Release):
    assert compare(release, release) is Ordering.EQUAL


def test_counts_of_pairs_of_items_lie_within_their_bounds(
    release: mottle.Release, patients: pa.Table
):
    for one, other in product(["migraine", "asthma"], ["back pain", "none such"]):
        both = (Condition(values=(one,)), Condition(values=(other,)))
        found, true = (Queries.of(each).count({"diagnoses": both}) for each in (release, patients))
        assert found.certain <= true.expected <= found.possible
