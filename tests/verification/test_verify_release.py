"""The program for outsiders accepts what mottle writes and refuses every single changed cell."""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import BetaLikeness, Hierarchy, KAnonymity, LDiversity, Schema
from mottle.io.link_file import LinkFile
from mottle.io.read_set_release import load_any_release
from mottle.verification import verify_release
from mottle.verification.evidence import program_text, write_evidence

PLACES = [("Rome", "South"), ("Bari", "South"), ("Turin", "North"), ("Ulm", "North")]
TREE = Hierarchy.from_rows([(leaf, above, "*") for leaf, above in PLACES])


def odd_table(rows: int = 40) -> pa.Table:
    """Columns of every kind, some of them with missing values and odd text."""
    random = np.random.default_rng(5)

    def some(values: list[object]) -> list[object]:
        return [values[place] for place in random.integers(0, len(values), rows)]

    return pa.table(
        {
            "age": some([*range(20, 60), None]),
            "bmi": pa.array(random.normal(25, 4, rows).round(1)),
            "born": pa.array(random.integers(0, 20_000, rows).astype("int32")).cast(pa.date32()),
            "size": some(["small", "medium", "large"]),
            "place": some([leaf for leaf, _ in PLACES]),
            "code": some(["75001", "75002", "75116", "10115", None]),
            "name|of": some(["a|b", "=1+1", "c..d", "", "{x}", "\\e", None]),
            "ill": some([["flu", "x|y"], ["flu"], [], ["a"], None, ["a", "flu"]]),
            "visit": some(["08:30:00", "09:15:00", "17:00:00"]),
            "diagnosis": some(list("abcdef")),
            "note": some(["-1", "plain", "'quoted", "1.0"]),
        }
    )


SCHEMA = Schema.of(
    quasi_identifying=[
        *("age", "bmi", "born", "size", "place", "code", "name|of", "ill", "visit"),
    ],
    sensitive=["diagnosis"],
    rest="insensitive",
    kinds={"ill": "set", "code": "prefix", "visit": "time", "name|of": "category"},
    orders={"size": ["small", "medium", "large"]},
    hierarchies={"place": TREE},
    snaps={"bmi": 5},
    tops={"age": 50},
    granularities={"born": "quarter", "visit": "hour"},
)


def written(release, original, folder: Path) -> tuple[Path, Path]:
    released, evidence = folder / "released", folder / "evidence"
    release.save(released, private=folder / "links.parquet", report=False)
    write_evidence(
        load_any_release(released), original, LinkFile(folder / "links.parquet"), evidence
    )
    return released, evidence


def verdict(released: Path, evidence: Path | None = None) -> str:
    try:
        verify_release.check_all(released, evidence, lambda what, found: None)
    except verify_release.Wrong as wrong:
        return str(wrong)
    return "holds"


CASES = {
    "k, freeform": (KAnonymity(4), "freeform", "range"),
    "k, sets of values": (KAnonymity(4), "nh", "set"),
    "l": (LDiversity(2), "buckets", "range"),
    "beta": (BetaLikeness(2), "buckets", "range"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_accepts_every_release_and_refuses_every_changed_cell(case, tmp_path):
    guarantee, method, representation = CASES[case]
    table = odd_table()
    release = mottle.anonymize(
        table, SCHEMA, guarantee, method=method, representation=representation, effort=0, seed=3
    )
    released, evidence = written(release, table, tmp_path)
    assert verdict(released, evidence) == "holds"
    content = (released / "release.csv").read_text("utf-8")
    rows = list(csv.reader(io.StringIO(content, newline=""), strict=True))
    for row in range(1, len(rows)):  # every cell at least once, those of some rows in many ways
        for place, text in enumerate(rows[row]):
            others = {each[place] for each in rows[1:]} | {"", text + "0", "{1|2}", "..", "*"}
            inside = text[1:-1] if text[:1] == "{" else text
            others |= {f"{{{inside}|7}}", f"{{{inside}|}}", f"{inside}..7", f"7..{inside}"}
            different = sorted(others - {text})
            many = row % 10 == 1
            for other in different[:8] if many else [different[(row + place) % len(different)]]:
                replace_cell(released, rows, row, place, other)
                assert verdict(released, evidence) != "holds", (rows[0][place], text, other)
        replace_cell(released, rows, row, 0, rows[row][0])
    assert verdict(released, evidence) == "holds"


def replace_cell(released: Path, rows: list[list[str]], row: int, place: int, text: str) -> None:
    """Change a cell of release.csv, and the certificate so that its checksum fits."""
    changed = [list(each) for each in rows]
    changed[row][place] = text
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(changed)
    (released / "release.csv").write_text(file.getvalue(), "utf-8", newline="")
    certificate = json.loads((released / "certificate.json").read_text("utf-8"))
    checksum = hashlib.sha256((released / "release.csv").read_bytes()).hexdigest()
    certificate["sha256"]["release.csv"] = checksum
    (released / "certificate.json").write_text(json.dumps(certificate), "utf-8")


def test_sets_and_every_change_of_links_and_certificate(tmp_path):
    random = np.random.default_rng(2)
    baskets = [sorted({f"i{n}" for n in random.integers(0, 9, 3)}) for _ in range(30)]
    sets = mottle.ItemSets.of([*baskets, [], ["a|b"]])
    release = mottle.anonymize_sets(sets, KAnonymity(4), effort=0, seed=1)
    released, evidence = written(release, sets, tmp_path)
    assert verdict(released, evidence) == "holds"
    assert verdict(released) == "holds"
    content = (released / "release.csv").read_text("utf-8")
    rows = list(csv.reader(io.StringIO(content, newline=""), strict=True))
    for row in range(1, len(rows)):
        for place, text in enumerate(rows[row]):
            others = {each[place] for each in rows[1:]} | {"", "{i1}", "{}", "7"}
            for other in sorted(others - {text})[row % 3 :: 4]:
                replace_cell(released, rows, row, place, other)
                assert verdict(released, evidence) != "holds", (rows[0][place], text, other)
        replace_cell(released, rows, row, 0, rows[row][0])
    assert verdict(released, evidence) == "holds"
    links = (evidence / "links.csv").read_text("utf-8").splitlines()
    for place in (1, 5, 60):
        published, original, true = links[place].split(",")
        for changed in (
            f"{published},{(int(original) + 1) % 32},{true}",
            f"{published},{original},{1 - int(true)}",
            f"{(int(published) + 1) % 32},{original},{true}",
        ):
            lines = [*links[:place], changed, *links[place + 1 :]]
            (evidence / "links.csv").write_text("\n".join(lines) + "\n", "utf-8")
            assert verdict(released, evidence) != "holds"
    (evidence / "links.csv").write_text("\n".join(links) + "\n", "utf-8")
    certificate = json.loads((released / "certificate.json").read_text("utf-8"))
    certificate["guarantee"]["k"] = 5
    (released / "certificate.json").write_text(json.dumps(certificate), "utf-8")
    assert verdict(released, evidence) == "a published row may stand for 4 originals only, not 5"


def test_nodes_of_items_and_every_changed_cell(tmp_path):
    random = np.random.default_rng(4)
    names = [f"i{number}" for number in range(9)]
    tree = Hierarchy.from_rows([(name, f"g{n // 3}", "*") for n, name in enumerate(names)])
    held = [sorted({"i0", *random.choice(names[3:], 2)}) for _ in range(24)]
    sets = mottle.ItemSets.of(held)
    release = mottle.anonymize_sets(
        sets, KAnonymity(3), effort=0, seed=1, item_hierarchy=tree, node_holders=8
    )
    released, evidence = written(release, sets, tmp_path)
    content = (released / "release.csv").read_text("utf-8")
    assert "g1" in content
    assert "i0" in content
    assert verdict(released, evidence) == "holds"
    rows = list(csv.reader(io.StringIO(content, newline=""), strict=True))
    for row in range(1, len(rows)):
        for place, text in enumerate(rows[row]):
            others = {each[place] for each in rows[1:]}
            if place < 2:  # base and uncertain: nodes in the place of items, and items of nodes
                others |= {text.replace(f"g{n}", f"i{3 * n}") for n in range(3)}
                others |= {text.replace("i0", "g0"), text.replace("i0", "i1"), "{}", "{*}"}
            for other in sorted(others - {text}):
                replace_cell(released, rows, row, place, other)
                assert verdict(released, evidence) != "holds", (rows[0][place], text, other)
    replace_cell(released, rows, 1, 0, rows[1][0])
    assert verdict(released, evidence) == "holds"


def test_households_and_every_changed_cell(tmp_path):
    table = odd_table(24)
    release = mottle.anonymize(
        table, SCHEMA.with_unit("household"), KAnonymity(3), method="nh", effort=0, seed=1
    )
    released, evidence = written(release, table, tmp_path)
    assert verdict(released, evidence) == "holds"
    content = (released / "release.csv").read_text("utf-8")
    rows = list(csv.reader(io.StringIO(content, newline=""), strict=True))
    for row in range(1, len(rows)):
        for place, text in enumerate(rows[row]):
            others = sorted({each[place] for each in rows[1:]} - {text})
            if others:
                replace_cell(released, rows, row, place, others[(row + place) % len(others)])
                assert verdict(released, evidence) != "holds", (rows[0][place], text)


def test_people_with_several_rows_are_counted(tmp_path):
    random = np.random.default_rng(1)
    table = pa.table(
        {
            "who": [f"P{n // 2}" for n in range(60)],
            "age": random.integers(20, 60, 60),
            "sex": random.choice(["f", "m"], 60),
        }
    )
    schema = Schema.of(quasi_identifying=["age", "sex"], person="who")
    release = mottle.anonymize(table, schema, KAnonymity(3), effort=0, seed=1)
    released, evidence = written(release, table, tmp_path)
    assert verdict(released, evidence) == "holds"
    text = (evidence / "original.csv").read_text("utf-8")
    for number in range(30):
        text = text.replace(f"P{number}\n", "P0\n")
    (evidence / "original.csv").write_text(text, "utf-8")
    assert "one person's" in verdict(released, evidence)


def test_the_program_is_short_and_needs_the_standard_library_alone(tmp_path):
    text = program_text()
    assert len(text.splitlines()) < 300
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {name.split(".")[0] for name in imported} <= sys.stdlib_module_names
    table = odd_table(30)
    released, evidence = written(
        mottle.anonymize(table, SCHEMA, KAnonymity(3), method="nh", seed=1), table, tmp_path
    )
    command = [sys.executable, "-I", "-S", evidence / "verify_release.py", released, evidence]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("Everything holds.\n")
    (released / "release.csv").write_bytes(b"x")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:5]) == (1, "WRONG")
