"""Counts of items, frequent sets and rules of a release of sets hold for the original."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mottle
from mottle import ItemSets, KAnonymity, LDiversity, SetRelease, UsageError
from mottle.queries import Condition
from mottle.queries.item_answers import narrowed
from mottle.release.item_totals import CLASSES, MOST_TOGETHER, ItemTotals

ODD = ["it's", 'say "hi"', "two\nlines", "a|b", "{}", "🥖", "=1+1", "nul\0l", " ", "é"]


def held_by(baskets: list[set[str]], items: tuple[str, ...], without: tuple[str, ...] = ()) -> int:
    return sum(set(items) <= one and not set(without) & one for one in baskets)


@pytest.fixture(scope="module")
def baskets() -> list[set[str]]:
    data = mottle.datasets.baskets(400, 12, seed=3)
    return [set(data.record(number)) for number in range(400)]


@pytest.fixture(scope="module", params=[True, False], ids=["totals", "no totals"])
def release(baskets: list[set[str]], request: pytest.FixtureRequest) -> SetRelease:
    return mottle.anonymize_sets(
        baskets, KAnonymity(4), seed=1, method="gray-ring", totals=request.param
    )


def test_bounds_of_all_items_pairs_and_differences_hold(
    release: SetRelease, baskets: list[set[str]]
):
    names = release.items().column("item").to_pylist()
    for items in [*combinations(names, 1), *combinations(names, 2)]:
        found = release.count_items(items)
        assert found.certain <= held_by(baskets, items) <= found.possible
        assert found.certain <= found.expected <= found.possible
    for one, other in combinations(names, 2):
        found = release.count_items([one], without=[other])
        assert found.certain <= held_by(baskets, (one,), (other,)) <= found.possible


def test_bounds_are_narrower_than_those_of_single_records(release: SetRelease):
    queries = release.queries()
    cells = queries.column("items")
    for item in release.items().column("item").to_pylist():
        shares = cells.shares((Condition(values=(item,)),))[cells.of_row]
        found = release.count_items([item])
        single = int((shares >= 0).sum() - (shares == 1).sum())
        assert found.possible - found.certain <= 0.6 * single


def test_looking_at_few_cells_gives_what_looking_at_all_gives(release: SetRelease):
    queries = release.queries()
    names = release.items().column("item").to_pylist()
    for items in [*combinations(names, 1), *combinations(names, 2), tuple(names[:3])]:
        conditions = {"items": tuple(Condition(values=(item,)) for item in items)}
        likely = queries.likelihoods(conditions)
        chances = np.maximum(likely, 0.0)
        answer = (
            float(chances.sum()),
            float((likely == 1).sum()),
            float((likely >= 0).sum()),
            float(np.sqrt(max((chances * (1 - chances)).sum(), 0.0))),
        )
        found = release.count_items(items)
        assert (found.expected, found.certain, found.possible, found.error) == pytest.approx(
            narrowed(queries, conditions, answer), abs=1e-6
        )


def test_totals_are_met_exactly_and_say_nothing_of_rare_items(baskets: list[set[str]]):
    rare = [*({"a", "b"} for _ in range(30)), {"a", "rare"}, {"b"}]
    release = mottle.anonymize_sets(rare, KAnonymity(2), seed=1, method="gray-ring")
    totals = release.columns[0].item_totals
    assert totals is not None
    assert dict(totals.count_of) == {"a": 31, "b": 31}
    assert release.count_items("a") == mottle.queries.Estimate(31, 31, 31, 0)
    assert release.count_items(["rare"]).possible <= 4


def test_listing_all_items_gives_what_counting_each_gives(release: SetRelease):
    for row in release.items().to_pylist():
        found = release.count_items([row["item"]])
        assert (row["certain"], row["possible"]) == (found.certain, found.possible)
        assert row["expected"] == pytest.approx(found.expected, abs=1e-6)
        assert row["error"] == pytest.approx(found.error, abs=1e-6)


def test_rules_and_supports_lie_within_their_bounds(release: SetRelease, baskets: list[set[str]]):
    sets = release.frequent_itemsets(0.05, size=3)
    assert max(len(items) for items in sets.column("items").to_pylist()) > 1
    for row in sets.to_pylist():
        true = held_by(baskets, tuple(row["items"])) / len(baskets)
        assert row["support_low"] - 1e-12 <= true <= row["support_high"] + 1e-12
    rules = release.association_rules(0.05, 0.1, size=3)
    assert rules.num_rows > 0
    for row in rules.to_pylist():
        left = held_by(baskets, tuple(row["if"]))
        true = held_by(baskets, (*row["if"], row["then"])) / left
        assert row["confidence_low"] - 1e-12 <= true <= row["confidence_high"] + 1e-12


def test_sql_asks_for_items(release: SetRelease):
    one, other = release.frequent_itemsets(0.05, size=1).column("items").to_pylist()[:2]
    one, other = one[0], other[0]
    both = release.count_items([one, other])
    for condition in (
        f"contains(items, '{one}') AND contains(items, '{other}')",
        f"list_has_all(items, ['{one}', '{other}'])",
    ):
        sql = f"SELECT count(*) FROM release WHERE {condition}"
        assert (
            release.query(sql).to_pylist()[0].items()
            >= {
                "count": both.expected,
                "count_low": both.certain,
                "count_high": both.possible,
                "count_error": both.error,
            }.items()
        )
    either = release.query(
        f"SELECT count(*) FROM release WHERE list_has_any(items, ['{one}', '{other}'])"
    ).to_pylist()[0]
    assert either["count_high"] >= release.count_items([one]).certain


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.query("SELECT count(*) FROM release WHERE contains(items)"), "contains"),
        (lambda r: r.count_items(["a"] * 13), "at most 12"),
        (lambda r: r.frequent_itemsets(0), "not a valid support"),
        (lambda r: r.association_rules(0.1, 2.0), "not a valid confidence"),
        (lambda r: r.frequent_itemsets(0.1, size=0), "not a valid number of items"),
        (lambda r: r.count_items(["a"], column="nothing"), "no column 'nothing'"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused(
    release: SetRelease, ask: object, words: str
):
    with pytest.raises(UsageError, match=words):
        ask(release)


def test_contains_is_refused_where_there_are_no_sets():
    ages = pa.table({"age": [20, 21, 22, 23], "town": list("abab")})
    schema = mottle.Schema.of(quasi_identifying=["age"], insensitive=["town"])
    release = mottle.anonymize(ages, schema, KAnonymity(2), seed=1)
    with pytest.raises(UsageError, match="'town' does not hold sets"):
        release.query("SELECT count(*) FROM release WHERE contains(town, 'a')")
    with pytest.raises(UsageError, match="no column of sets"):
        release.count_items(["a"])


def test_labels_and_items_together_stay_within_their_bounds(baskets: list[set[str]]):
    labels = [str(number % 3) for number in range(len(baskets))]
    data = ItemSets.of(baskets, labels)
    release = mottle.anonymize_sets(data, LDiversity(2), seed=1, effort=0)
    item = release.frequent_itemsets(0.05, size=1).column("items")[0].as_py()[0]
    found = release.count({"items": item, "label": "1"})
    true = sum(item in one and label == "1" for one, label in zip(baskets, labels, strict=True))
    assert found.certain <= true <= found.possible


@settings(max_examples=25)
@given(
    st.lists(st.sets(st.sampled_from(ODD[:5])), min_size=4, max_size=9),
    st.integers(2, 4),
    st.sampled_from(["gray-ring", "cahd"]),
)
def test_bounds_hold_for_small_odd_and_empty_sets(sets: list[set[str]], k: int, method: str):
    release = mottle.anonymize_sets(sets, KAnonymity(k), seed=1, method=method)
    items = sorted(set().union(*sets))
    for chosen in [*combinations(items, 1), *combinations(items, 2)]:
        found = release.count_items(chosen)
        assert found.certain <= held_by(sets, chosen) <= found.possible
        assert np.isfinite([found.expected, found.error]).all()


def test_items_of_any_name_are_read_back_and_asked(tmp_path):
    sets = [{ODD[number % len(ODD)], ODD[(number * 3 + 1) % len(ODD)]} for number in range(40)]
    release = mottle.anonymize_sets(sets, KAnonymity(3), seed=1, method="gray-ring")
    release.save(tmp_path / "out", report=False)
    again = mottle.read_release(tmp_path / "out")
    assert isinstance(again, SetRelease)
    assert again.columns == release.columns
    for item in ODD:
        found = again.count_items([item])
        assert found.certain <= held_by(sets, (item,)) <= found.possible
        quoted = item.replace("'", "''")
        if "\0" not in item:
            sql = f"SELECT count(*) FROM release WHERE contains(items, '{quoted}')"
            assert again.query(sql).column("count_low")[0].as_py() == found.certain


def test_worlds_are_drawn_as_tables_whose_items_are_possible(release: SetRelease):
    table = release.sample(1, seed=1)[0]
    for row, items in enumerate(table.column("items").to_pylist()[:100]):
        assert set(items) in release.worlds(row)


GOOD = {"items": ["a"], "counts": [7], "least": 5, "factors": []}


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [-1]},
        {"counts": [True]},
        {"counts": [7, 8]},
        {"items": ["a", "a"], "counts": [7, 7]},
        {"least": -1},
        {"factors": [[1.0]]},
        {"factors": [[float("nan")] * (len(CLASSES) + 1)] * MOST_TOGETHER},
        {"factors": [[-1.0] * (len(CLASSES) + 1)] * MOST_TOGETHER},
    ],
)
def test_totals_that_no_release_states_are_refused(change: dict):
    assert ItemTotals.of_facts(GOOD).count_of == {"a": 7}
    with pytest.raises(ValueError, match=r".+"):
        ItemTotals.of_facts(GOOD | change)
