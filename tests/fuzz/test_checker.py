"""The fuzzer's checker finds what is wrong with a release; otherwise it would prove nothing."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import checker
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checker import Asked, Wrong, check_release, check_sets
from runs import command

ROWS = 12
ROLES = {
    "who": "person",
    "age": "quasi-identifying",
    "sex": "quasi-identifying",
    "ill": "sensitive",
    "note": "insensitive",
}
TABLE = pa.table(
    {
        "who": [f"person {row}" for row in range(ROWS)],
        "age": [20 + 3 * row for row in range(ROWS)],
        "sex": ["f", "m", None] * 4,
        "ill": ["flu", "gout", "ache"] * 4,
        "note": [f"n{row}" for row in range(ROWS)],
    }
)
ASKED = Asked(
    roles=ROLES,
    k=2,
    caps=[("ill", lambda _: 0.5)],
    person="who",
    secrets=[f"person {row}" for row in range(ROWS)],
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    pq.write_table(TABLE, folder / "people.parquet")
    ended = command(
        "anonymize", folder / "people.parquet", "--qi", "age,sex", "--sensitive", "ill",
        "--insensitive", "note", "--person", "who", "--l", 2, "--k", 2, "--seed", 1, "-o",
        folder / "out", "--private", folder / "links.parquet", "--no-report",
    )  # fmt: skip
    assert ended.code == 0, ended.output
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "copy")


def check(folder: Path, asked: Asked = ASKED, table: pa.Table = TABLE) -> None:
    check_release(folder / "out", folder / "links.parquet", table, asked)


def seal(folder: Path, **entries: object) -> None:
    path = folder / "out" / "certificate.json"
    content = json.loads(path.read_text()) | entries
    for name in content["sha256"]:
        content["sha256"][name] = hashlib.sha256((folder / "out" / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(content))


def change_links(folder: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    path = folder / "links.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def change_release(folder: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    path = folder / "out" / "release.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    seal(folder)


def test_it_accepts_a_release(folder: Path) -> None:
    check(folder)


def test_it_imports_nothing_of_mottle() -> None:
    tree = ast.parse(Path(checker.__file__).read_text("utf-8"))
    imported = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    imported += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in imported if name.startswith("mottle")]
    local = {path.stem for path in Path(checker.__file__).parent.glob("*.py")}
    assert not local & set(imported)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.pop(0), "regular|one true|one-to-one"),
        (
            lambda rows: rows[0].update(original=(rows[0]["original"] + 1) % ROWS),
            "regular|one-to|twice",
        ),
        (
            lambda rows: [row.update(true=not row["true"]) for row in rows[:2]],
            "one true|one-to-one",
        ),
        (lambda rows: rows.append(rows[0]), "twice|one true"),
    ],
)
def test_links_that_are_no_regular_one_to_one_graph(folder, change, words) -> None:
    change_links(folder, change)
    with pytest.raises(Wrong, match=words):
        check(folder)


def test_cell_that_does_not_cover_a_preimage(folder: Path) -> None:
    change_release(folder, lambda rows: rows[0].update(age={"lo": 1, "hi": 2, "missing": False}))
    with pytest.raises(Wrong, match=r"CSV|cover"):
        check(folder)


def test_set_that_lacks_a_preimage(folder: Path) -> None:
    edges = pq.read_table(folder / "links.parquet").to_pylist()
    sexes = TABLE.column("sex").to_pylist()
    several = next(
        row for row in range(ROWS)
        if len({sexes[edge["original"]] for edge in edges if edge["published"] == row}) > 1
    )  # fmt: skip
    change_release(folder, lambda rows: rows[several].update(sex=rows[several]["sex"][:1]))
    with pytest.raises(Wrong, match=r"CSV|cover"):
        check(folder)


def test_value_of_somebody_else(folder: Path) -> None:
    def swap(rows: list[dict[str, object]]) -> None:
        rows[0]["note"], rows[1]["note"] = rows[1]["note"], rows[0]["note"]

    change_release(folder, swap)
    with pytest.raises(Wrong, match=r"CSV|unchanged"):
        check(folder)


def test_csv_with_another_cell(folder: Path) -> None:
    path = folder / "out" / "release.csv"
    rows = list(csv.reader(path.read_text().splitlines()))
    rows[1][0] = "1..2"
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    seal(folder)
    with pytest.raises(Wrong, match="CSV"):
        check(folder)


def test_share_above_the_cap(folder: Path) -> None:
    asked = Asked(roles=ROLES, caps=[("ill", lambda value: 0.1)])
    with pytest.raises(Wrong, match="share"):
        check(folder, asked)


def test_too_few_preimages(folder: Path) -> None:
    with pytest.raises(Wrong, match="preimages"):
        check(folder, Asked(roles=ROLES, k=ROWS))


def test_person_with_too_many_preimages(folder: Path) -> None:
    one = pa.array(["somebody"] * ROWS)
    with pytest.raises(Wrong, match="person"):
        check(folder, table=TABLE.set_column(0, "who", one))


def test_file_that_was_changed(folder: Path) -> None:
    with open(folder / "out" / "release.csv", "ab") as opened:
        opened.write(b"\n")
    with pytest.raises(Wrong, match="checksum"):
        check(folder)


def test_certificate_with_another_degree(folder: Path) -> None:
    seal(folder, degree={"min": 9, "max": 9, "records": [[9, ROWS]]})
    with pytest.raises(Wrong, match="degree"):
        check(folder)


def test_identifier_in_any_file(folder: Path) -> None:
    path = folder / "out" / "release.parquet"
    table = pq.read_table(path)
    told = table.replace_schema_metadata({b"source": b"person 3"})
    pq.write_table(told, path)
    seal(folder)
    with pytest.raises(Wrong, match="identifier"):
        check(folder)


def test_file_that_does_not_belong_to_a_release(folder: Path) -> None:
    (folder / "out" / "rows.tmp").write_text("x")
    with pytest.raises(Wrong, match=re.escape("rows.tmp")):
        check(folder)


def test_set_that_is_no_possible_world(tmp_path: Path) -> None:
    baskets = [["a"], ["b"], ["a", "b"], ["c"]]
    (tmp_path / "baskets.dat").write_text("".join(" ".join(basket) + "\n" for basket in baskets))
    ended = command(
        "anonymize-sets", tmp_path / "baskets.dat", "--k", 2, "--seed", 1, "-o", tmp_path / "out",
        "--private", tmp_path / "links.parquet", "--no-report",
    )  # fmt: skip
    assert ended.code == 0, ended.output
    sets = [frozenset(basket) for basket in baskets]
    check_sets(tmp_path / "out", tmp_path / "links.parquet", sets, None, Asked(roles={}, k=2))
    others = [frozenset("xyz"), *sets[1:]]
    with pytest.raises(Wrong, match="possible world"):
        check_sets(tmp_path / "out", tmp_path / "links.parquet", others, None, Asked(roles={}, k=2))


def test_set_of_nodes_that_the_items_are_not_below(tmp_path: Path) -> None:
    baskets, tree = [["a"], ["b"], ["a", "b"], ["c"]], ["a;x;*", "b;x;*", "c;y;*"]
    (tmp_path / "baskets.dat").write_text("".join(" ".join(basket) + "\n" for basket in baskets))
    (tmp_path / "items.csv").write_text("".join(f"{row}\n" for row in tree))
    ended = command(
        "anonymize-sets", tmp_path / "baskets.dat", "--k", 2, "--seed", 1, "-o", tmp_path / "out",
        "--private", tmp_path / "links.parquet", "--no-report",
        "--item-hierarchy", tmp_path / "items.csv", "--node-holders", 1,
    )  # fmt: skip
    assert ended.code == 0, ended.output
    sets, asked = [frozenset(basket) for basket in baskets], Asked(roles={}, k=2)
    rows = [row.split(";") for row in tree]
    check_sets(tmp_path / "out", tmp_path / "links.parquet", sets, None, asked, rows)
    others = [["a", "b", "*"], *rows[1:]]
    with pytest.raises(Wrong, match="two nodes"):
        check_sets(tmp_path / "out", tmp_path / "links.parquet", sets, None, asked, others)
    with pytest.raises(Wrong, match="nobody holds"):
        check_sets(
            tmp_path / "out", tmp_path / "links.parquet", [frozenset("a")] * 4, None, asked, rows
        )


def test_nodes_of_a_set_column_that_the_items_are_not_below(tmp_path: Path) -> None:
    cells, rows = ["a", "b", "a;b", "c", "c", "c"], ["a;x;*", "b;x;*", "c;y;*"]
    table = pa.table({"age": [1, 2, 3, 4, 5, 6], "ill": cells})
    pq.write_table(table, tmp_path / "table.parquet")
    (tmp_path / "items.csv").write_text("".join(f"{row}\n" for row in rows))
    ended = command(
        "anonymize", tmp_path / "table.parquet", "--qi", "age,ill", "--kind", "ill=set",
        "--hierarchy", f"ill={tmp_path / 'items.csv'}", "--node-holders", "ill=3", "--k", 2,
        "--seed", 1, "-o", tmp_path / "out", "--private", tmp_path / "links.parquet",
        "--no-report",
    )  # fmt: skip
    assert ended.code == 0, ended.output
    roles = dict.fromkeys(table.column_names, "quasi-identifying")
    tree = [row.split(";") for row in rows]
    given = (tmp_path / "out", tmp_path / "links.parquet")
    check_release(*given, table, Asked(roles=roles, k=2, trees={"ill": tree}))
    with pytest.raises(Wrong, match="cover a preimage"):
        check_release(*given, table, Asked(roles=roles, k=2))
    others = [*tree[:2], ["c", "x", "*"]]
    with pytest.raises(Wrong, match="two nodes"):
        check_release(*given, table, Asked(roles=roles, k=2, trees={"ill": others}))


@pytest.mark.parametrize(
    ("separator", "text", "base", "others"),
    [
        (" ", "1936-05-01T12:00:00", ["1936-05-01", "12:00:00.000000"], ["1936-05-01"]),
        (";", "1936-05-01T12:00:00", ["1936-05-01 12:00:00.000000"], ["1936-05-01 12:00:01"]),
        (" ", "a b", ["a", "b"], ["a"]),
        (";", "a;b", ["b", "a"], ["a", "c"]),
    ],
)
def test_items_of_a_csv_file_are_compared_as_they_are_printed(
    separator: str, text: str, base: list[str], others: list[str]
) -> None:
    facts = {"form": "worlds", "kind": "set", "separator": separator}
    asked = Asked(roles={}, from_text=True)
    covers, key = checker._coverage(facts, pa.struct([]), pa.string(), "items", asked)
    cell = {"base": base, "uncertain": [], "distance": 0, "missing": False}
    assert covers(cell, key(text))
    assert not covers({**cell, "base": others}, key(text))
    assert not covers(cell, None)


def test_decimals_as_items_are_compared_by_value() -> None:
    facts = {"form": "worlds", "kind": "set"}
    kind = pa.decimal128(5, -3)
    covers, key = checker._coverage(facts, pa.struct([]), kind, "items", Asked(roles={}))
    cell = {"base": ["494000"], "uncertain": [], "distance": 0, "missing": False}
    assert covers(cell, key(Decimal("4.94E+5")))
    assert not covers(cell, key(Decimal("4.93E+5")))


@pytest.mark.parametrize("invariant", [1, 2, 3, 4, 5])
def test_check_that_failed_is_accepted_only_for_caps_of_an_unsafe_draw(
    folder: Path, invariant: int
) -> None:
    checks = json.loads((folder / "out" / "certificate.json").read_text())["checks"]
    seal(folder, checks=[{**check, "passed": check["invariant"] != invariant} for check in checks])
    with pytest.raises(Wrong, match="checks that failed"):
        check(folder)
    unsafe = replace(ASKED, unsafe=True)
    if invariant == checker.CAPS:
        check(folder, unsafe)
    else:
        with pytest.raises(Wrong, match="checks that failed"):
            check(folder, unsafe)
