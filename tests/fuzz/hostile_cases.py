"""Hostile release folders and files: what is damaged, how, and the command that reads it."""

from __future__ import annotations

import datetime as dt
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import damage
import duckdb
import pyarrow as pa
from checker import Edges, Folder
from hypothesis import strategies as st
from runs import VALID, Ended, Failure, command, judged, state
from table_cases import write_table
from values import MARK, SECRET
from worker import Worker

BROKEN = 6  # exit codes: of an audit
NO_HIERARCHY = 4  # of lint-hierarchy
WORDS = ["--qi", "age,place,born", "--sensitive", "ill", "--id", "name", "--k", "2"]
COUNT = "SELECT count(*) FROM release"

# By target: the file that is damaged, and the commands that read it. {} is the case's folder.
RELEASE = {
    "query": ["query", "{}/out", COUNT],
    "query csv": ["query", "{}/out/release.csv", COUNT],
    "query plain": ["query", "{}/out", COUNT, "--plain"],
    "sample": ["sample", "{}/out", "-o", "{}/samples", "-m", "1"],
    "report": ["report", "{}/out", "-o", "{}/again.html"],
    "report there": ["report", "{}/out", "--overwrite"],
    "internal report": [
        "report", "{}/out", "--original", "{}/people.parquet", "--private", "{}/links.parquet",
        "-o", "{}/internal.html",
    ],
    "audit": ["audit", "{}/people.parquet", "{}/out", "--private", "{}/links.parquet"],
    "clean": ["clean", "{}/out", "--yes", "--work", "{}/work"],
    "overwrite": [
        "anonymize", "{}/people.parquet", *WORDS, "-o", "{}/out", "--overwrite", "--another-draw",
    ],
    "as input": ["inspect", "{}/out/release.parquet", "-o", "{}/proposed.toml"],
}  # fmt: skip
SETS = {
    name: arguments
    for name, arguments in {
        **RELEASE,
        "audit": ["audit", "{}/baskets.dat", "{}/out", "--private", "{}/links.parquet"],
    }.items()
    if name not in ("internal report", "overwrite")
}
TO = ["-o", "{}/new", "--private", "{}/new-links.parquet"]


def _table(path: str) -> dict[str, list[str]]:
    return {
        "anonymize": ["anonymize", path, *WORDS, *TO],
        "in chunks": ["anonymize", path, *WORDS, *TO, "--memory", "2GB", "--work", "{}/work"],
        "inspect": ["inspect", path, "-o", "{}/proposed.toml"],
        "audit": ["audit", path, "{}/out", "--private", "{}/links.parquet"],
    }


def _database(path: str) -> dict[str, list[str]]:
    table = ["--table", "people"]
    return {
        "anonymize": ["anonymize", path, *table, *WORDS, *TO],
        "inspect": ["inspect", path, *table, "-o", "{}/proposed.toml"],
        "write": [
            "anonymize", "{}/people.parquet", *WORDS, "--to", path, "--to-table", "released",
        ],
    }  # fmt: skip


LINKS = {
    "audit": RELEASE["audit"],
    "internal report": RELEASE["internal report"],
    "previous": [
        "anonymize", "{}/people.parquet", "--qi", "age,place,born", "--sensitive", "ill", "--id",
        "name", "--k", "2", *TO, "--same", "name", "--previous", "{}/links.parquet",
    ],
}  # fmt: skip
SCHEMA = {
    "anonymize": ["anonymize", "{}/people.parquet", "--schema", "{}/mottle.toml", "--k", "2", *TO],
    "audit": ["audit", "{}/people.parquet", "{}/out", "--schema", "{}/mottle.toml"],
}
TREE = {
    "anonymize": SCHEMA["anonymize"],
    "lint": ["lint-hierarchy", "{}/place.csv"],
    "lint data": [
        "lint-hierarchy", "{}/place.csv", "--data", "{}/people.parquet", "--column", "place",
    ],
}  # fmt: skip
BASKETS = {
    "anonymize-sets": ["anonymize-sets", "{}/baskets.dat", "--k", "2", *TO],
    "audit": SETS["audit"],
}
KEY = {"anonymize": ["anonymize", "{}/people.parquet", *WORDS, *TO, "--key", "{}/key"]}


@dataclass(frozen=True)
class Target:
    """A file that is damaged."""

    base: str  # the folder of the material in which it lies
    file: str
    commands: dict[str, list[str]]
    ways: tuple[str, ...] = ("bytes", "bytes", "place")


_JSON = ("json", "json", "json", "bytes", "place")
_PARQUET = ("bytes", "metadata", "metadata", "cells", "cells", "place")
_TEXT = ("bytes", "text", "text", "place")
TARGETS = {
    "certificate": Target("table", "out/certificate.json", RELEASE, _JSON),
    "release.parquet": Target("table", "out/release.parquet", RELEASE, _PARQUET),
    "release.csv": Target("table", "out/release.csv", RELEASE, _TEXT),
    "two tables": Target("anatomy", "out/sensitive.parquet", RELEASE, _PARQUET),
    "two tables' certificate": Target("anatomy", "out/certificate.json", RELEASE, _JSON),
    "certificate of sets": Target("sets", "out/certificate.json", SETS, _JSON),
    "release of sets": Target("sets", "out/release.parquet", SETS, _PARQUET),
    "links": Target("table", "links.parquet", LINKS, _PARQUET),
    "Parquet": Target("table", "people.parquet", _table("{}/people.parquet")),
    "Arrow": Target("table", "people.arrow", _table("{}/people.arrow"), ("bytes",)),
    "CSV": Target("table", "people.csv", _table("{}/people.csv"), _TEXT),
    "SQLite": Target("table", "people.sqlite", _database("{}/people.sqlite")),
    "DuckDB": Target("table", "people.duckdb", _database("{}/people.duckdb")),
    "schema": Target("table", "mottle.toml", SCHEMA, _TEXT),
    "hierarchy": Target("table", "place.csv", TREE, _TEXT),
    "baskets": Target("sets", "baskets.dat", BASKETS, ("bytes", "text")),
    "key": Target("table", "key", KEY),
}


@dataclass(frozen=True)
class HostileCase:
    """One damaged file and the command that reads it."""

    target: str
    way: str
    command: str
    sealed: bool  # whether the certificate states the checksums of the damaged files
    seed: int


@st.composite
def hostile_cases(draw: st.DrawFn) -> HostileCase:
    """Damage of every kind to every file that a command reads."""
    name = draw(st.sampled_from([*TARGETS, "certificate", "release.parquet", "release.parquet"]))
    target = TARGETS[name]
    way = draw(st.sampled_from(target.ways))
    called = draw(st.sampled_from(sorted(target.commands)))
    sealed = target.file.startswith("out/") and draw(st.integers(0, 3)) > 0
    return HostileCase(name, way, called, sealed, draw(st.integers(0, 2**32)))


def apply(case: HostileCase, folder: Path) -> None:
    """Damage the file of a case in its folder."""
    path, chance = folder / TARGETS[case.target].file, Random(case.seed)
    match case.way:
        case "bytes":
            damage.change_bytes(path, chance.choice(list(damage.BYTES)), chance)
        case "place":
            damage.change_place(path, chance)
        case "json":
            damage.change_json(path, chance)
        case "metadata":
            damage.change_metadata(path, chance)
        case "cells":
            damage.change_cells(path, chance)
        case "text":
            damage.change_text(path, chance)
    certificate = folder / "out" / "certificate.json"
    if case.sealed and path != certificate and certificate.is_file():
        damage.reseal(folder / "out")


# ----------------------------------------------------------------------------------- material


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
    (base / "place.csv").write_text("".join(";".join(row) + "\n" for row in rows), "utf-8")
    roles = {
        "name": "identifying",
        "age": "quasi-identifying",
        "born": "quasi-identifying",
        "ill": "sensitive",
    }
    lines = [f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items()]
    lines.append(
        '[columns.place]\nrole = "quasi-identifying"\nhierarchy = "place.csv"\nweight = 2.0\n'
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


def _made(ended: Ended) -> None:
    assert ended.code == 0, ended.output + ended.traceback


# --------------------------------------------------------------------------------------- runs


@contextmanager
def hostile_runs() -> Iterator[Callable[[HostileCase, Path], str]]:
    """Runs of cases in a process of their own, on copies of material that is made once."""
    with tempfile.TemporaryDirectory(prefix="mottle-hostile-") as place:
        material = Path(place) / "material"
        make_material(material)
        worker = Worker(Path(place))
        try:
            yield lambda case, folder: run_hostile(case, folder, material, worker)
        finally:
            worker.close()


def run_hostile(case: HostileCase, folder: Path, material: Path, worker: Worker) -> str:
    """Return how the command ended: with a result, or the name of the error."""
    target = TARGETS[case.target]
    shutil.copytree(material / target.base, folder, dirs_exist_ok=True)
    (folder / "home").mkdir()
    (folder / "home" / "victim.txt").write_text("mine")
    apply(case, folder)
    pipes = [path for path in folder.rglob("*") if path.is_fifo()]
    before = {} if pipes else state(folder)
    arguments = [argument.replace("{}", str(folder)) for argument in target.commands[case.command]]
    code, output, traceback = worker.command(*arguments)
    if code < 0:
        raise Failure(f"signal {signal.Signals(-code).name} {output}".strip())
    planted = [f"{MARK}{number:07d}" for number in range(4)] + [SECRET]
    if case.command.startswith(("lint", "query plain")):
        planted = []  # they show what is in the file
    if case.command.startswith("lint") and code == NO_HIERARCHY and not traceback:
        return "exit code 4: a list of what is wrong"
    result = judged(Ended(code, output, traceback), planted, [BROKEN])
    victims = {path.name: path.read_text() for path in (folder / "home").iterdir()}
    if victims != {"victim.txt": "mine"}:
        raise Failure("a file outside the release was changed")
    if not pipes:
        _check_left(case, folder, before, result)
    return result


def _check_left(case: HostileCase, folder: Path, before: dict[str, bytes], result: str) -> None:
    """An error leaves everything as it was; a new release is whole."""
    after = state(folder)
    if result != VALID:
        written = {name for name, content in after.items() if before.get(name) != content}
        written -= {"key"} if case.target == "key" else set()
        written -= {
            f"people.{name}{wal}"
            for name in ("duckdb", "sqlite")
            for wal in ("", ".wal", "-wal", "-shm", "-journal")
        }
        changed = sorted(written | (set(before) - set(after) - {"people.duckdb.wal"}))
        if changed and result != f"exit code {BROKEN}":
            raise Failure(f"left after an error: {changed}")
        return
    if (folder / "new").is_dir():
        rows = Folder.read(folder / "new").table.num_rows
        Edges.read(folder / "new-links.parquet", rows)
