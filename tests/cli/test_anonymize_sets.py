"""``mottle anonymize-sets`` as its users meet it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

import mottle
from mottle.cli.app import app

LINES = ["milk tea", "milk", "", "tea rum", "rum milk tea", "milk milk bread"]


def mottle_command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(result: Result, exit_code: int, *words: str) -> None:
    assert result.exit_code == exit_code, result.output
    said = re.sub(r"\s+", " ", result.output)
    for word in words:
        assert word in said
    assert "Traceback" not in result.output


@pytest.fixture
def baskets(tmp_path: Path) -> Path:
    path = tmp_path / "baskets.dat"
    path.write_text("\n".join(LINES) + "\n")
    return path


def test_a_transaction_file_becomes_a_release_that_can_be_read(
    baskets: Path, tmp_path: Path
) -> None:
    result = mottle_command("anonymize-sets", baskets, "-k", "2", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "error rate (ER)" in result.output
    release = mottle.read_set_release(tmp_path / "out")
    assert release.table.num_rows == len(LINES)
    again = mottle.read_set_release(tmp_path / "out" / "release.csv")
    assert again.table.equals(release.table)


def test_measures_and_json_are_printed_when_asked_for(baskets: Path, tmp_path: Path) -> None:
    result = mottle_command(
        "anonymize-sets", baskets, "-k", "2", "-o", tmp_path / "out", "--measure", "--json"
    )
    found = json.loads(result.output[result.output.index("{") :])
    assert found["rows"] == len(LINES)
    assert set(found["measured"]) == {
        "error_rate",
        "query_error_present",
        "query_error_absent",
        "item_frequency_error",
        "pair_support_error",
    }


def test_counts_are_measured_on_as_many_items_as_asked_for(baskets: Path, tmp_path: Path) -> None:
    common = ("anonymize-sets", baskets, "-k", "2", "--seed", "1", "--json", "-o")
    found = []
    for number, items in enumerate([(), ("--measured-items", "2,4"), ("--measured-items", "1,1")]):
        result = mottle_command(*common, tmp_path / str(number), "--measure", *items)
        found.append(json.loads(result.output[result.output.index("{") :])["measured"])
    assert found[0] == found[1]
    assert found[1]["query_error_present"] != found[2]["query_error_present"]
    for wrong in (("--measured-items", "2,4"), ("--measure", "--measured-items", "2")):
        refused(mottle_command(*common, tmp_path / "wrong", *wrong), 2, "--measured-items")


def test_labels_of_a_table_are_protected(tmp_path: Path) -> None:
    rows = [f"{'a;b' if row % 3 else 'c'},job {row % 5}" for row in range(40)]
    (tmp_path / "visits.csv").write_text("\n".join(["visited,job", *rows]) + "\n")
    result = mottle_command(
        "anonymize-sets",
        tmp_path / "visits.csv",
        "--column",
        "visited",
        "--separator",
        ";",
        "--sensitive-label",
        "job",
        "--l",
        "3",
        "-o",
        tmp_path / "out",
    )
    assert result.exit_code == 0, result.output
    assert "buckets" in result.output
    assert mottle.read_set_release(tmp_path / "out").labels == ["job"]


def test_a_long_table_is_read_by_record_and_item(tmp_path: Path) -> None:
    lines = ["basket,article", "1,tea", "1,milk", "2,tea", "3,rum"]
    (tmp_path / "sales.csv").write_text("\n".join(lines) + "\n")
    result = mottle_command(
        "anonymize-sets",
        tmp_path / "sales.csv",
        "--record",
        "basket",
        "--item",
        "article",
        "-k",
        "3",
        "-o",
        tmp_path / "out",
        "--no-report",
    )
    assert result.exit_code == 0, result.output
    assert mottle.read_set_release(tmp_path / "out").table.num_rows == 3


def test_sets_go_in_chunks_from_a_database_to_a_database(tmp_path: Path) -> None:
    source, target = tmp_path / "shop.duckdb", tmp_path / "open.duckdb"
    with duckdb.connect(str(source)) as shop:
        rows = "SELECT i % 30 AS basket, i % 7 AS article FROM range(90) r(i)"
        shop.execute(f"CREATE TABLE sales AS {rows}")
    arguments = (
        "anonymize-sets", f"duckdb:///{source}", "--table", "sales", "--record", "basket",
        "--item", "article", "-k", "3", "--memory", "2GB", "--work", tmp_path / "work",
        "--to", f"duckdb:///{target}", "--to-table", "released",
    )  # fmt: skip
    result = mottle_command(*arguments)
    assert result.exit_code == 0, result.output
    assert "invariants" in result.output
    refused(mottle_command(*arguments), 5, "released")
    with duckdb.connect(str(target)) as release:
        rows = release.execute("SELECT items.base, items.uncertain FROM released").fetchall()
    assert len(rows) == 30
    assert not list((tmp_path / "work").rglob("*"))


def test_what_needs_all_sets_in_memory_is_refused_in_chunks(baskets: Path, tmp_path: Path) -> None:
    common = ("anonymize-sets", baskets, "-k", "2", "--memory", "2GB", "-o", tmp_path / "out")
    refused(mottle_command(*common, "--measure"), 2, "--measure needs the whole table in memory")
    refused(mottle_command(*common, "--engine", "spark"), 2, "--memory is for the engine")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_done_is_refused_in_words(baskets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused(mottle_command("anonymize-sets", baskets, "-o", out), 2, "--k 10")
    refused(mottle_command("anonymize-sets", baskets, "-k", "9", "-o", out), 3, "k is 6")
    refused(mottle_command("anonymize-sets", "x.csv", "-k", "2", "-o", out), 2, "--column")
    refused(mottle_command("anonymize-sets", "none.dat", "-k", "2", "-o", out), 5, "not exist")
    refused(
        mottle_command("anonymize-sets", baskets, "-k", "2", "-o", out, "--record", "a"),
        2,
        "--item",
    )
    refused(
        mottle_command("anonymize-sets", baskets, "-k", "2", "-o", out, "--method", "nh"),
        2,
        "no method for sets 'nh'",
    )
    (tmp_path / "empty.dat").write_text("")
    refused(mottle_command("anonymize-sets", tmp_path / "empty.dat", "-k", "2", "-o", out), 4)
    assert not out.exists()


def test_groups_of_labels_are_refused(baskets: Path, tmp_path: Path) -> None:
    refused(
        mottle_command("anonymize-sets", baskets, "--group-cap", "a=0.5", "-o", tmp_path / "out"),
        2,
        "does not give group caps for sets",
    )


def test_methods_for_sets_are_listed() -> None:
    listed = json.loads(mottle_command("methods", "--sets", "--json").output)
    assert {"auto", "freeform", "buckets", "gray-tsp-ring", "cahd"} <= {
        method["name"] for method in listed
    }


def test_only_files_that_were_written_are_listed(baskets: Path, tmp_path: Path) -> None:
    run = ("anonymize-sets", baskets, "-k", "2", "-o", tmp_path / "out")
    assert "report.html" in mottle_command(*run).output
    assert "report.html" not in mottle_command(*run, "--overwrite", "--no-report").output


def test_a_release_of_sets_is_queried_sampled_and_exported(baskets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = mottle_command("anonymize-sets", baskets, "-k", "2", "-o", out, "--no-report")
    assert made.exit_code == 0, made.output
    sql = "SELECT count(*) FROM release WHERE contains(items, 'milk') AND contains(items, 'tea')"
    answer = json.loads(mottle_command("query", out, sql, "--json").output)[0]
    assert answer["count_low"] <= 2 <= answer["count_high"]
    listed = mottle_command("query", out, "--rules", "--support", "0.1", "--confidence", "0.1")
    assert listed.exit_code == 0, listed.output
    assert "confidence" in listed.output
    found = json.loads(mottle_command("query", out, "--itemsets", "--json").output)
    assert {"items", "support_low", "support_high"} <= set(found[0])
    refused(mottle_command("query", out, sql, "--rules"), 2, "without SQL")
    drawn = mottle_command("sample", out, "-o", tmp_path / "worlds", "-m", "1")
    assert drawn.exit_code == 0, drawn.output
    assert len((tmp_path / "worlds" / "sample-1.csv").read_text().splitlines()) == len(LINES) + 1
    exported = mottle_command("export", out, "-o", tmp_path / "sets.xlsx")
    assert exported.exit_code == 0, exported.output


def test_sets_are_read_from_and_written_to_a_database(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as shop:
        shop.execute("CREATE TABLE sales (basket INTEGER, article VARCHAR)")
        shop.executemany(
            "INSERT INTO sales VALUES (?, ?)",
            [(number, item) for number, line in enumerate(LINES) for item in line.split()],
        )
    url = f"duckdb:///{tmp_path}/shop.duckdb"
    source = ("--table", "sales", "--record", "basket", "--item", "article")
    to = ("--to", url, "--to-table", "open")
    made = mottle_command("anonymize-sets", url, *source, "-k", "2", *to, "--no-totals")
    assert made.exit_code == 0, made.output
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as shop:
        cells = shop.sql("SELECT items FROM open").fetchall()
        assert {"base", "uncertain", "distance"} == set(cells[0][0])
        assert len(cells) == len(LINES) - 1  # an empty basket has no row of sales
    refused(
        mottle_command("anonymize-sets", "x.dat", "--table", "t", "-k", "2", "-o", tmp_path / "o"),
        2,
        "--table is for databases",
    )


@pytest.mark.parametrize("more", [[], ["--memory", "1GB"]], ids=["memory", "chunks"])
def test_items_are_published_as_nodes_of_a_hierarchy_and_verified(
    baskets: Path, tmp_path: Path, more: list[str]
) -> None:
    tree = tmp_path / "articles.csv"
    tree.write_text("milk;food;*\nbread;food;*\ntea;drinks;*\nrum;drinks;*\n")
    out, links = tmp_path / "out", tmp_path / "links.parquet"
    options = ["--item-hierarchy", tree, "--node-holders", "3", "--private", links, *more]
    result = mottle_command("anonymize-sets", baskets, "-k", "2", "-o", out, *options)
    assert result.exit_code == 0, result.output
    cells = mottle.read_set_release(out).table.column("items").to_pylist()
    shown = {item for cell in cells for item in (*cell["base"], *cell["uncertain"])}
    assert shown == {"food", "drinks"}
    evidence = tmp_path / "evidence"
    owned = ["--original", baskets, "--private", links]
    checked = mottle_command("verify", out, *owned, "--export", evidence)
    assert checked.exit_code == 0, checked.output
    program = [sys.executable, evidence / "verify_release.py", out, evidence]
    assert subprocess.run(program, check=False).returncode == 0
    asked = "SELECT count(*) FROM release WHERE contains(items, 'rum')"
    assert mottle_command("query", out, asked).exit_code == 0
    refused(
        mottle_command("audit", baskets, out / "release.csv"), 2, "does not carry the hierarchy"
    )
    assert mottle_command("audit", baskets, out, "--private", links).exit_code == 0
