"""Hierarchies: FAST07's golden values, every finding of the linter, and trees at random."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from paths import DATA

from mottle.errors import DataError, StorageError, UsageError
from mottle.hierarchy.arx import read_rows
from mottle.hierarchy.tree import Hierarchy
from mottle.hierarchy.validation import FindingCode, HierarchyFinding, Severity, lint

REAL = sorted((DATA / "hierarchies").glob("**/*.csv"))
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"no real data at {DATA}")

Rows = list[list[str]]


def cells(text: str) -> Rows:
    return [line.split(";") for line in text.split()]


COUNTRIES = cells("Italy;Europe;* US;America;* France;Europe;* Canada;America;* Spain;Europe;*")


def found(
    text: str, values: list[str] | None = None
) -> list[tuple[str, int | None, int | None, str]]:
    findings = lint(cells(text), values=values)
    return [(str(f.code), f.row, f.level, str(f.severity)) for f in findings]


# FAST07, figure 11


@pytest.mark.parametrize(
    ("values", "ancestor", "ncp"),
    [
        (["Italy", "France"], "Europe", 3 / 5),
        (["US", "Spain"], "*", 1.0),
        (["Italy"], "Italy", 0.0),
        (["Italy", "Italy"], "Italy", 0.0),
        (["Canada", "US"], "America", 2 / 5),
    ],
)
def test_countries_of_fast07_cost_what_the_paper_says(
    values: list[str], ancestor: str, ncp: float
) -> None:
    countries = Hierarchy.from_rows(COUNTRIES)
    assert countries.lowest_common_ancestor(values) == ancestor
    assert countries.ncp(values) == ncp


def test_leaves_and_nodes_are_numbered_in_order() -> None:
    countries = Hierarchy.from_rows(COUNTRIES)
    assert countries.leaves == ("Italy", "France", "Spain", "US", "Canada")
    assert countries.labels == (*countries.leaves, "Europe", "America", "*")
    assert countries.cardinality.tolist() == [1, 1, 1, 1, 1, 3, 2, 5]
    assert countries.ancestors[:, 1].tolist() == [5, 5, 5, 6, 6]
    assert set(countries.ancestors[:, -1].tolist()) == {7}
    assert (countries.ancestors.dtype, countries.cardinality.dtype) == (np.int32, np.int64)


def test_containment_follows_the_tree() -> None:
    countries = Hierarchy.from_rows(COUNTRIES)
    assert countries.leaves_under("America") == ("US", "Canada")
    assert countries.contains("Europe", "Spain")
    assert countries.contains("Spain", "Spain")
    assert not countries.contains("America", "Spain")


def test_arrays_of_a_hierarchy_cannot_be_overwritten() -> None:
    countries = Hierarchy.from_rows(COUNTRIES)
    with pytest.raises(ValueError, match="read-only"):
        countries.ancestors[0, 0] = 1


# Questions that have no answer


def test_unknown_node_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="Did you mean 'Europe'"):
        Hierarchy.from_rows(COUNTRIES).leaves_under("Eruope")


def test_no_values_have_no_ancestor() -> None:
    with pytest.raises(UsageError):
        Hierarchy.from_rows(COUNTRIES).ncp([])


def test_values_of_the_data_are_counted_but_never_named() -> None:
    countries = Hierarchy.from_rows(COUNTRIES)
    countries.check_covers(["Italy", "US"])
    secrets = ["Atlantis", "Italy", "Utopia", "Utopia"]
    for ask in (countries.check_covers, countries.ncp, countries.lowest_common_ancestor):
        with pytest.raises(DataError, match="lacks 2 of") as caught:
            ask(secrets)
        assert "Atlantis" not in str(caught.value)
    with pytest.raises(DataError):
        countries.contains("Europe", "Atlantis")
    missing = lint(COUNTRIES, values=[*countries.leaves, *secrets])
    assert [finding.label for finding in missing] == ["Atlantis", "Utopia"]
    assert "Atlantis" not in repr(missing)
    assert missing[0].message.endswith("(1 of 2).")


# The linter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("no-rows", None, None, "error")]),
        ("a b", [("single-column", None, None, "error")]),
        ("*", [("single-column", None, None, "error")]),
        (
            "a;A;* b;* c;A;* d;A;A;* e;A;*",
            [("ragged-row", 2, None, "error"), ("ragged-row", 4, None, "error")],
        ),
        (
            "a;;* ;A;* c;A;",
            [
                ("empty-cell", 1, 1, "error"),
                ("empty-cell", 2, 0, "error"),
                ("empty-cell", 3, 2, "error"),
            ],
        ),
        (
            "a;A;* a;A;* b;A;* a;B;*",
            [("duplicate-leaf", 2, 0, "error"), ("duplicate-leaf", 4, 0, "error")],
        ),
        (
            "a;A;any b;A;* c;A;all",
            [("root-missing", 1, 2, "error"), ("root-missing", 3, 2, "error")],
        ),
        (
            "a;A;X;* b;A;Y;* c;B;Y;* d;B;X;* e;A;Y;*",
            [("two-parents", 2, 1, "error"), ("two-parents", 4, 1, "error")],
        ),
        ("a;A;B;* b;C;A;*", [("ambiguous-label", 2, 2, "error")]),
        ("a;b;* b;A;*", [("ambiguous-label", 1, 1, "error")]),
        ("A;A;* b;A;*", [("ambiguous-label", 1, 1, "error")]),
        ("A;A;A;* b;B;A;*", [("ambiguous-label", 1, 2, "error")]),
        ("a;A;B;A;* b;A;B;A;* c;C;B;A;* d;D;E;A;*", [("ambiguous-label", 1, 3, "error")]),
        ("*;* b;*", [("ambiguous-label", 1, 1, "error")]),
        ("a;A;A;* b;A;A;* c;B;A;*", [("nested-label", 1, 2, "warning")]),
        ("x;* y;*", []),
        ("x;*", []),
        ("*;*", []),
        ("US;US;Americas;* Peru;South;Americas;*", []),
        ("a;A;A;* b;A;A;*", []),
        ("a;*;* b;*;*", []),
    ],
)
def test_linter_names_every_finding(
    text: str, expected: list[tuple[str, int | None, int | None, str]]
) -> None:
    assert found(text) == expected


def test_linter_compares_leaves_with_the_data() -> None:
    assert found("a;* b;* c;*", ["b", "z", "b", "y"]) == [
        ("missing-leaf", None, 0, "error"),
        ("missing-leaf", None, 0, "error"),
        ("unused-leaf", 1, 0, "warning"),
        ("unused-leaf", 3, 0, "warning"),
    ]


def test_linter_finds_ambiguity_behind_broken_rows() -> None:
    codes = {code for code, *_ in found("a;A;X;* a;A;Y;* b;B;* c;;X;* X;C;Y;all")}
    assert codes == {
        *("duplicate-leaf", "two-parents", "ragged-row"),
        *("empty-cell", "root-missing", "ambiguous-label"),
    }


def test_findings_count_rows_with_empty_lines() -> None:
    assert [finding.row for finding in lint([["a", "*"], [], ["b", ""]])] == [3]


def test_every_finding_says_where() -> None:
    (finding,) = lint([["a", "*"], ["b", "all"]], name="sex.csv")
    assert finding == HierarchyFinding(
        FindingCode.ROOT_MISSING,
        "sex.csv:2: the last level is not the root '*'.",
        row=2,
        level=1,
        severity=Severity.ERROR,
        label="all",
    )


@pytest.mark.parametrize("count", [1, 10, 11, 25])
def test_error_lists_ten_findings_and_counts_the_rest(count: int) -> None:
    rows = [["good", "*"], *([f"leaf{number}", ""] for number in range(count))]
    with pytest.raises(DataError) as caught:
        Hierarchy.from_rows(rows, name="odd.csv")
    message = str(caught.value)
    assert message.count("odd.csv:") == min(count, 10)
    assert (f"and {count - 10} more" in message) == (count > 10)


def test_label_nested_in_its_own_parent_means_the_parent() -> None:
    text = "Kenya;Africa;Africa;* Egypt;Africa;Africa;* Other;Other;Africa;* Peru;Peru;America;*"
    countries = Hierarchy.from_rows(cells(text))
    assert countries.lowest_common_ancestor(["Kenya", "Egypt"]) == "Africa"
    assert countries.leaves_under("Africa") == ("Kenya", "Egypt", "Other")
    assert countries.ncp(["Kenya", "Egypt"]) == countries.ncp(["Kenya", "Other"]) == 3 / 4
    assert Counter(countries.labels).most_common(1)[0][1] == 1


# Files


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hierarchy.csv"


def test_delimiter_quotes_and_byte_order_mark_are_read(file: Path) -> None:
    file.write_text('\ufeff"a,1",A,*\r\n"b ""2""",A,*\r\n\r\n', encoding="utf-8", newline="")
    assert Hierarchy.read(file, delimiter=",").leaves == ("a,1", 'b "2"')


def test_missing_file_and_folder_are_storage_errors(file: Path) -> None:
    for path in (file, file.parent):
        with pytest.raises(StorageError, match="cannot be read"):
            Hierarchy.read(path)
    with pytest.raises(StorageError, match="cannot be written"):
        Hierarchy.from_rows([["x", "*"]]).write(file.parent)


@pytest.mark.parametrize(
    ("content", "delimiter", "remedy"),
    [
        (b"a,A,*\nb,A,*\n", ";", "looks like ','"),
        (b"a\t*\nb\t*\n", ";", "looks like a tab"),
        (b"a, b;A;*\nc;A;*\n", ",", "looks like ';'"),
        (b"caf\xe9;*\n", ";", "encoding='latin-1'"),
        (b"", ";", "no rows"),
        (b"\n\n", ";", "no rows"),
        (b"a\nb\n", ";", "one cell"),
        (b'"a;*\nb;*\n', ";", "stray quote"),
    ],
)
def test_unreadable_content_is_a_data_error_with_a_remedy(
    file: Path, content: bytes, delimiter: str, remedy: str
) -> None:
    file.write_bytes(content)
    with pytest.raises(DataError, match=remedy) as caught:
        Hierarchy.read(file, delimiter=delimiter)
    assert "hierarchy.csv" in caught.value.problem


@pytest.mark.parametrize("option", [{"delimiter": ";;"}, {"delimiter": '"'}, {"encoding": "utf-9"}])
def test_impossible_options_are_usage_errors(file: Path, option: dict[str, str]) -> None:
    file.write_text("x;*\n", encoding="utf-8")
    with pytest.raises(UsageError):
        Hierarchy.read(file, **option)


# Trees at random

labels = st.text(min_size=1, max_size=4).filter(lambda label: label.strip() and label != "*")


@st.composite
def tables(draw: st.DrawFn, *, nested: bool) -> Rows:
    """Shuffled rows of a random tree, with labels repeated upwards (and, if asked, nested)."""
    sizes = sorted(draw(st.lists(st.integers(1, 8), min_size=1, max_size=4)), reverse=True)
    names = iter(draw(st.lists(labels, min_size=sum(sizes), max_size=sum(sizes), unique=True)))
    label = [[next(names) for _ in range(size)] for size in sizes] + [["*"]]
    parent = [
        draw(st.lists(st.integers(0, len(above) - 1), min_size=len(level), max_size=len(level)))
        for level, above in pairwise(label)
    ]
    random_source = draw(st.randoms(use_true_random=False))
    chains = []
    for node in range(sizes[0]):
        chain = [node]
        for step in parent:
            chain.append(step[chain[-1]])
        chains.append(chain)
    for level in range(1, len(label) - 1):  # an only child's name may be repeated by its parent
        for node in range(len(label[level])):
            children = {chain[level - 1] for chain in chains if chain[level] == node}
            if len(children) == 1 and random_source.random() < 0.3:
                label[level][node] = label[level - 1][children.pop()]
    if nested:
        for level in range(1, len(label) - 1):
            for node in range(len(label[level])):
                if random_source.random() < 0.3:
                    label[level][node] = label[level + 1][parent[level][node]]
    rows = [[label[level][node] for level, node in enumerate(chain)] for chain in chains]
    random_source.shuffle(rows)
    return rows


def leaves_below(rows: Rows) -> dict[str, set[str]]:
    return {label: {row[0] for row in rows if label in row} for row in rows for label in row}


def naive_ancestor(rows: Rows, values: list[str]) -> str:
    """The first label, walking up from a value, that has all values below it."""
    below = leaves_below(rows)
    chain = next(row for row in rows if row[0] == values[0])
    return next(label for label in chain if below[label] >= set(values))


@given(tables(nested=False), st.data())
def test_random_tree_keeps_its_nodes_and_ancestors(rows: Rows, data: st.DataObject) -> None:
    assert lint(rows, values=[row[0] for row in rows]) == []
    check_tree(rows, data)


@given(tables(nested=True), st.data())
def test_random_tree_with_nested_labels_publishes_labels_that_cover(
    rows: Rows, data: st.DataObject
) -> None:
    assume(not any(finding.severity is Severity.ERROR for finding in lint(rows)))
    check_tree(rows, data)


def check_tree(rows: Rows, data: st.DataObject) -> None:
    tree = Hierarchy.from_rows(rows)
    below = leaves_below(rows)
    assert sorted(tree.labels) == sorted(below)
    assert tree.labels[: len(tree.leaves)] == tree.leaves
    assert tree.labels[-1] == "*"
    assert tree.cardinality[-1] == len(rows)
    first_row = {row[0]: number for number, row in enumerate(rows)}
    for node, label in enumerate(tree.labels):
        under = tree.leaves_under(label)
        start = tree.leaves.index(under[0])
        assert tree.leaves[start : start + len(under)] == under
        assert set(under) == below[label]
        assert tree.cardinality[node] == len(under)
        assert first_row[under[0]] == min(first_row[leaf] for leaf in under)
    for row in rows:
        chain = tree.ancestors[tree.leaves.index(row[0])]
        assert [tree.labels[node] for node in chain] == row

    values = data.draw(st.lists(st.sampled_from(tree.leaves), min_size=1))
    ancestor = tree.lowest_common_ancestor(values)
    assert ancestor == naive_ancestor(rows, values)
    assert all(tree.contains(ancestor, value) for value in values)
    expected = len(below[ancestor]) / len(rows) if len(below[ancestor]) > 1 else 0.0
    assert tree.ncp(values) == expected
    assert tree.ncp(values[:1]) <= tree.ncp(values[: len(values) // 2 + 1]) <= tree.ncp(values)


@given(tables(nested=False))
def test_written_hierarchy_reads_back_equal(rows: Rows) -> None:
    tree = Hierarchy.from_rows(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tree.csv")
        tree.write(path)
        again = Hierarchy.read(path)
    assert again == tree
    assert hash(again) == hash(tree)
    assert again.leaves == tree.leaves
    assert again.cardinality.tolist() == tree.cardinality.tolist()


def test_labels_that_csv_would_break_are_written_quoted(file: Path) -> None:
    tree = Hierarchy.from_rows([["\ufeffa", "line\rbreak", "*"], ["b;\"c'", "line\rbreak", "*"]])
    tree.write(file)
    assert Hierarchy.read(file) == tree


def test_trees_with_the_same_labels_but_other_edges_differ() -> None:
    one = Hierarchy.from_rows(cells("a;A;* b;A;* c;B;*"))
    other = Hierarchy.from_rows(cells("a;A;* b;B;* c;B;*"))
    assert one.labels == other.labels
    assert one != other
    assert one != "a tree"


def test_common_ancestors_of_all_pairs_agree_with_the_one_by_one_answer() -> None:
    rows = [[str(leaf), f"{leaf // 3}x", f"{leaf // 9}y", "*"] for leaf in range(40)]
    random.Random(3).shuffle(rows)
    tree = Hierarchy.from_rows(rows)
    low, high = np.triu_indices(len(tree.leaves))
    nodes = tree.common_ancestors(low, high)
    for first, last, node in zip(low, high, nodes, strict=True):
        pair = [tree.leaves[first], tree.leaves[last]]
        assert tree.labels[node] == naive_ancestor(rows, pair)


# Real hierarchies


@needs_data
def test_real_hierarchies_are_there() -> None:
    assert len(REAL) >= 18


@needs_data
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_real_hierarchy_reads_and_survives_writing(path: Path, file: Path) -> None:
    tree = Hierarchy.read(path)
    rows = read_rows(path)
    assert sorted(tree.leaves) == sorted(row[0] for row in rows)
    tree.write(file)
    assert Hierarchy.read(file) == tree


@needs_data
def test_real_country_hierarchy_warns_of_nested_continents() -> None:
    findings = lint(read_rows(DATA / "hierarchies" / "census_acs" / "country.csv"))
    assert {(finding.code, finding.label) for finding in findings} == {
        (FindingCode.NESTED_LABEL, "Africa"),
        (FindingCode.NESTED_LABEL, "Oceania"),
    }


@needs_data
def test_real_hierarchies_cover_the_adult_data() -> None:
    adult = pq.read_table(DATA / "adult_arx.parquet")
    for column in adult.column_names:
        path = DATA / "hierarchies" / "adult" / f"adult_hierarchy_{column}.csv"
        Hierarchy.read(path).check_covers(map(str, adult[column].unique().to_pylist()))


@pytest.mark.parametrize(
    "rows",
    [
        [("secret", "*"), ("secret", "*")],
        [("a", "secret", "x", "*"), ("b", "secret", "y", "*")],
        [("a", "secret", "*"), ("secret", "b", "*"), ("c", "secret", "*")],
        [("a", "*"), ("b", "secret")],
    ],
)
def test_no_label_is_in_a_message(rows: list[tuple[str, ...]]) -> None:
    assert lint(rows, values=["a"])
    assert not any("secret" in finding.message for finding in lint(rows, values=["a"]))
    with pytest.raises(DataError) as refused:
        Hierarchy.from_rows(rows)
    assert "secret" not in str(refused.value)
