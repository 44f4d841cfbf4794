"""Releases, originals, links, schemas, databases and projects of other tools, to be damaged."""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
from arx_project import Attribute, parts_of_project, write_project
from foreign_files import SPREADSHEETS, STATISTICS, write_foreign
from hostile_targets import WORDS
from runs import Ended, command
from table_cases import write_table
from values import MARK, SECRET


def people(rows: int = 24) -> pa.Table:
    """A table with a column of most kinds."""
    chance = Random(1)
    places = [f"{MARK}-{place}" for place in "abcdef"]
    born = [dt.date(1950 + chance.randrange(60), 1 + chance.randrange(12), 3) for _ in range(rows)]
    return pa.table(
        {
            "name": [f"{SECRET}{row:05d}" for row in range(rows)],
            "age": [None if row % 9 == 0 else chance.randrange(20, 90) for row in range(rows)],
            "place": [chance.choice(places) for _ in range(rows)],
            "born": born,
            "ill": [f"{MARK}{row % 4:07d}" for row in range(rows)],
        }
    )


def make_material(folder: Path, run: Callable[..., Ended] = command) -> None:
    """Make releases, originals, links, schemas and databases to be damaged."""
    table = people()
    base = folder / "table"
    base.mkdir(parents=True)
    for suffix in ("parquet", "arrow", "csv"):
        write_table(table, base / f"people.{suffix}")
    rows = [[value, "group", "*"] for value in sorted(set(table.column("place").to_pylist()))]
    codes = "".join(f"{value},{'xyz'[at % 3]}\n" for at, (value, *_) in enumerate(rows))
    (base / "codes.csv").write_text(f"place,region\n{codes}", "utf-8")
    (base / "place.csv").write_text("".join(";".join(row) + "\n" for row in rows), "utf-8")
    roles = {
        "name": "identifying",
        "age": "quasi-identifying",
        "born": "quasi-identifying",
        "ill": "sensitive",
    }
    lines = [f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items()]
    lines.append(
        '[columns.place]\nrole = "quasi-identifying"\nhierarchy = "place.csv"\nimportance = 2.0\n'
    )
    (base / "mottle.toml").write_text("".join(lines), "utf-8")
    connection = sqlite3.connect(base / "people.sqlite")
    with connection:
        connection.execute(
            "CREATE TABLE people (name TEXT, age INTEGER, place TEXT, born TEXT, ill TEXT)"
        )
        cells = [
            [str(cell) if isinstance(cell, dt.date) else cell for cell in row.values()]
            for row in table.to_pylist()
        ]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", cells)
    connection.close()
    with duckdb.connect(str(base / "people.duckdb")) as opened:
        opened.register("arriving", table)
        opened.execute("CREATE TABLE people AS SELECT * FROM arriving")
    private = ["--private", base / "links.parquet"]
    source = base / "people.parquet"
    _made(run("anonymize", source, *WORDS, "-o", base / "keyed", "--key", base / "key"))
    shutil.rmtree(base / "keyed")
    guarantee = ["--k", "2", "--seed", "1"]
    _made(
        run(
            "anonymize",
            source,
            "--schema",
            base / "mottle.toml",
            *guarantee,
            "-o",
            base / "out",
            *private,
            "--same",
            "name",
        )
    )
    base = folder / "anatomy"
    shutil.copytree(folder / "table", base, ignore=shutil.ignore_patterns("out", "links.parquet"))
    private = ["--private", base / "links.parquet"]
    words = [
        "--qi",
        "age,place,born",
        "--sensitive",
        "ill",
        "--id",
        "name",
        "--l",
        "2",
        "--method",
        "anatomy",
    ]
    _made(
        run(
            "anonymize",
            base / "people.parquet",
            *words,
            "-o",
            base / "out",
            *private,
            "--seed",
            "1",
        )
    )
    base = folder / "sets"
    base.mkdir()
    chance = Random(2)
    lines = [" ".join(chance.sample([f"{MARK}{item}" for item in range(9)], 3)) for _ in range(20)]
    (base / "baskets.dat").write_text("\n".join(lines) + "\n")
    write_table(table, base / "people.parquet")
    private = ["--private", base / "links.parquet"]
    _made(run("anonymize-sets", base / "baskets.dat", *guarantee, "-o", base / "out", *private))
    _make_projects(folder / "projects", table)
    base = folder / "foreign"
    shutil.copytree(folder / "table", base, ignore=shutil.ignore_patterns("*.csv", "*.duckdb"))
    for suffix in (*SPREADSHEETS, *STATISTICS):
        write_foreign(table, base / f"people.{suffix}")


def _make_projects(folder: Path, table: pa.Table) -> None:
    """A project of ARX, a script of sdcMicro, and a hierarchy and rules of Amnesia."""
    folder.mkdir()
    places = sorted(set(table.column("place").to_pylist()))
    attributes = [
        Attribute("name", "IDENTIFYING"),
        Attribute("age", "QUASI_IDENTIFYING", "Integer"),
        Attribute("place", "QUASI_IDENTIFYING", "String", [[one, "west", "*"] for one in places]),
        Attribute("born", "QUASI_IDENTIFYING", "Date/Time", more={"format": "yyyy-MM-dd"}),
        Attribute("ill", "SENSITIVE", more={"responseVariable": "true"}),
    ]
    rows = [list(row.values()) for row in table.to_pylist()]
    parts = parts_of_project(attributes, rows, weights={"age": 1.0}, output=rows)
    write_project(folder / "project.deid", parts)
    tree = "distinct\nname place\ntype string\nheight 2\n\nAny has " + " ".join(places)
    (folder / "place.txt").write_text(f"{tree}\n", "utf-8")
    rules = "".join(f"{place}->Any\n" for place in places)
    (folder / "rules.txt").write_text(f"Anonymization rules:\nplace\n{rules}\n", "utf-8")
    (folder / "script.R").write_text(
        'keys <- c("age", "place")\n'
        'sdc <- createSdcObj(dat = read.csv("people.csv"), keyVars = keys, sensibleVar = "ill")\n'
        "sdc <- kAnon(sdc, k = c(3))\n",
        "utf-8",
    )


def _made(ended: Ended) -> None:
    assert ended.code == 0, ended.output + ended.traceback
