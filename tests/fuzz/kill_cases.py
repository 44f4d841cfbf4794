"""Runs that are killed at a random moment, and what they leave behind."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import postgresql_server
from checker import Edges, Folder, check_no_secrets
from hostile_material import make_material
from hostile_targets import WORDS
from hypothesis import strategies as st
from runs import Failure, command, environment, state
from values import SECRET

HERE = Path(__file__).parent
SECONDS = 400
COUNT = "SELECT count(*) FROM released"
AGAIN = ["--overwrite", "--another-draw"]
SOURCE = "{}/people.parquet"
MEMORY = ["--memory", "2GB", "--work", "{}/work"]
OUT = ["-o", "{}/out", "--private", "{}/mine/links.parquet"]
DATABASE = ["--to-table", "released", "--private", "{}/mine/links.parquet"]

# By name: the command that is killed. Those that write to {}/out find an older release there if
# the name says so.
SCENARIOS: dict[str, list[str]] = {
    "memory": ["anonymize", SOURCE, *WORDS, *OUT],
    "memory, over a release": [
        "anonymize", SOURCE, *WORDS, *OUT, *AGAIN, "--internal-report", "{}/mine/internal.html",
    ],
    "streaming": ["anonymize", SOURCE, *WORDS, *OUT, *MEMORY],
    "streaming, over a release": ["anonymize", SOURCE, *WORDS, *OUT, *AGAIN, *MEMORY],
    "anatomy, over a release": [
        "anonymize", SOURCE, *WORDS[:-2], "--l", "2", "--method", "anatomy", *OUT, *AGAIN,
    ],
    "over time": ["anonymize", SOURCE, *WORDS, *OUT, "--same", "name"],
    "sets": ["anonymize-sets", "{}/baskets.dat", "--k", "2", *OUT],
    "sets, over a release": ["anonymize-sets", "{}/baskets.dat", "--k", "2", *OUT, *AGAIN],
    "sets, streaming": ["anonymize-sets", "{}/baskets.dat", "--k", "2", *OUT, *MEMORY],
    "sets, streaming, over a release": [
        "anonymize-sets", "{}/baskets.dat", "--k", "2", *OUT, *AGAIN, *MEMORY,
    ],
    "report": ["report", "{}/out", "--overwrite"],
    "sample": ["sample", "{}/out", "-o", "{}/samples", "-m", "2", "--overwrite"],
    "inspect": ["inspect", SOURCE, "-o", "{}/proposed.toml", "--overwrite"],
    "compare": [
        "compare", SOURCE, *WORDS, "--methods", "nh,mondrian", "-o", "{}/compared", "--overwrite",
    ],
    "clean": ["clean", "{}/out", "--yes", "--work", "{}/work"],
    "SQLite": ["anonymize", SOURCE, *WORDS, "--to", "sqlite:///{}/open.sqlite", *DATABASE, *AGAIN],
    "DuckDB": ["anonymize", SOURCE, *WORDS, "--to", "duckdb:///{}/open.duckdb", *DATABASE, *AGAIN],
    "PostgreSQL": ["anonymize", SOURCE, *WORDS, "--to", "{postgresql}", *DATABASE, *AGAIN],
    "SQLite, streaming": [
        "anonymize", SOURCE, *WORDS, "--to", "sqlite:///{}/open.sqlite", *DATABASE, *AGAIN, *MEMORY,
    ],
    "DuckDB, streaming": [
        "anonymize", SOURCE, *WORDS, "--to", "duckdb:///{}/open.duckdb", *DATABASE, *AGAIN, *MEMORY,
    ],
    "Spark": ["anonymize", SOURCE, *WORDS, "-o", "{}/out", "--engine", "spark", "--master",
              "local[1]", "--work", "{}/work"],
}  # fmt: skip
NEED_RELEASE = {"report", "sample", "clean"} | {name for name in SCENARIOS if "over a" in name}


@dataclass(frozen=True)
class KillCase:
    """A command, and when it is killed: at a share of its disk calls, or of its time."""

    scenario: str
    by_call: bool
    share: float
    cleaned: bool  # whether `mottle clean` runs before the command is repeated


@st.composite
def kill_cases(draw: st.DrawFn, scenarios: tuple[str, ...] = tuple(SCENARIOS)) -> KillCase:
    """Kills of all commands and engines."""
    often = [name for name in scenarios if name != "Spark"] * 4
    name = draw(st.sampled_from(often + [name for name in scenarios if name == "Spark"]))
    return KillCase(
        name,
        draw(st.integers(0, 3)) > 0,
        draw(st.integers(1, 1000)) / 1000,
        draw(st.booleans()),
    )


@dataclass
class Killer:
    """Runs commands that die, on copies of material that is made once."""

    material: Path
    postgresql: str = ""
    calls: dict[str, int] = field(default_factory=dict)  # of the undisturbed command
    seconds: dict[str, float] = field(default_factory=dict)
    said: str = ""  # what the last command wrote to its standard error

    def prepare(self, scenario: str, folder: Path) -> list[str]:
        """Fill a folder; returns the arguments of the command."""
        base = "sets" if scenario.startswith("sets") else "table"
        shutil.copytree(self.material / base, folder, dirs_exist_ok=True)
        (folder / "mine").mkdir()
        if scenario not in NEED_RELEASE:
            shutil.rmtree(folder / "out")
        (folder / "links.parquet").rename(folder / "mine" / "links.parquet")
        if scenario not in NEED_RELEASE:
            (folder / "mine" / "links.parquet").unlink()
        arguments = SCENARIOS[scenario]
        if self.postgresql:
            arguments = [word.replace("{postgresql}", self.postgresql) for word in arguments]
        return [word.replace("{}", str(folder)) for word in arguments]

    def run(self, at: int, arguments: list[str], folder: Path, after: float | None = None) -> int:
        """Run a command that dies at a call or after some seconds; returns its exit code."""
        words = [sys.executable, str(HERE / "mortal.py"), str(at), str(folder / "calls")]
        with tempfile.TemporaryFile() as printed:
            process = subprocess.Popen(
                [*words, *arguments],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=printed.fileno(),
                env=environment(folder / "work"),
                start_new_session=True,
            )
            try:
                code = process.wait(SECONDS if after is None else after)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
            printed.seek(0)
            self.said = printed.read().decode("utf-8", "replace")
        return code

    def measure(self, scenario: str) -> None:
        """Count the calls of the undisturbed command, and its time."""
        if scenario in self.calls:
            return
        with tempfile.TemporaryDirectory(prefix="mottle-kills-") as place:
            arguments = self.prepare(scenario, Path(place))
            began = time.perf_counter()
            code = self.run(0, arguments, Path(place))
            self.seconds[scenario] = time.perf_counter() - began
            if code != 0:
                raise Failure(f"the undisturbed command ends with exit code {code}")
            self.calls[scenario] = int((Path(place) / "calls").read_text())


@contextmanager
def kill_runs() -> Iterator[Callable[[KillCase, Path], str]]:
    """Runs of cases; PostgreSQL runs as long."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mottle-kills-")))
        make_material(place / "material")
        server = stack.enter_context(postgresql_server.running_server())
        killer = Killer(place / "material", stack.enter_context(server.new_database()))
        yield lambda case, folder: run_kill(case, folder, killer)


def run_kill(case: KillCase, folder: Path, killer: Killer) -> str:
    """Kill a command, look at what is left, clean up, and let it run again."""
    killer.measure(case.scenario)
    arguments = killer.prepare(case.scenario, folder)
    out = folder / "out"
    old = state(out) if out.exists() else {}
    if case.by_call and killer.calls[case.scenario]:
        at = 1 + int(case.share * (killer.calls[case.scenario] - 1))
        code = killer.run(at, arguments, folder)
    else:
        code = killer.run(10**9, arguments, folder, case.share * killer.seconds[case.scenario])
    ended = {0: "finished before"}.get(code, "killed")
    if code not in (0, -signal.SIGKILL):
        raise Failure(f"the command ended with exit code {code}\n{killer.said}")
    check_left(folder, old, before=True)
    if case.cleaned:
        targets = [out] if out.is_dir() else []
        cleaned = command("clean", *targets, "--yes", "--work", folder / "work")
        if cleaned.code or cleaned.traceback:
            raise Failure(f"mottle clean failed\n{cleaned.output}{cleaned.traceback}")
        check_left(folder, old, before=False)
        if rows := [path for path in (folder / "work").rglob("*") if path.is_file()]:
            raise Failure(f"left after mottle clean: {rows}")
    found = _which(folder, old)
    check_database(case.scenario, folder, killer, whole=False)
    again = [
        *arguments,
        *([] if set(AGAIN) & set(arguments) or "--overwrite" in arguments else _again(arguments)),
    ]
    if (code := killer.run(0, again, folder)) != 0:
        raise Failure(f"repeated, the command ends with exit code {code}\n{killer.said}")
    if hidden := [str(path) for path in folder.rglob(".mottle-*")]:
        raise Failure(f"left after the command was repeated: {hidden}")
    if rows := [str(path) for path in (folder / "work").rglob("*") if path.is_file()]:
        raise Failure(f"left after the command was repeated: {rows}")
    if out.is_dir():
        rows_of = Folder.read(out).table.num_rows
        if (folder / "mine" / "links.parquet").exists():
            Edges.read(folder / "mine" / "links.parquet", rows_of)
    check_database(case.scenario, folder, killer, whole=True)
    return f"valid: {ended}, {found}"


def _again(arguments: list[str]) -> list[str]:
    return AGAIN if arguments[0].startswith("anonymize") else []


def check_left(folder: Path, old: dict[str, bytes], *, before: bool) -> None:
    """The target holds the old release, a whole new one, or nothing that looks like one.

    ``before`` says that nothing has been cleaned up yet: hidden folders may be there, with files to
    be published and none else.
    """
    out = folder / "out"
    if not out.is_dir():
        return
    check_no_secrets(out, [SECRET])
    hidden = [path for path in out.iterdir() if path.name.startswith(".")]
    if hidden and not before:
        raise Failure(f"left after mottle clean: {[path.name for path in hidden]}")
    certificate = out / "certificate.json"
    if not certificate.exists():
        if not before and (found := [path.name for path in out.iterdir()]):
            raise Failure(f"files without a certificate: {found}")
        return
    content = json.loads(certificate.read_text("utf-8"))
    for name, checksum in content["sha256"].items():
        if hashlib.sha256((out / name).read_bytes()).hexdigest() != checksum:
            raise Failure(f"{name} does not belong to the certificate")
    present = {path.name for path in out.iterdir() if path.suffix in (".parquet", ".csv")}
    if present != set(content["sha256"]):
        raise Failure(f"files that do not belong to the certificate: {sorted(present)}")


def _which(folder: Path, old: dict[str, bytes]) -> str:
    """What the target holds."""
    found = folder / "out"
    if not (found / "certificate.json").exists():
        return "nothing there"
    same = (found / "certificate.json").read_bytes() == old.get("certificate.json")
    return "the old release" if same else "the new release"


def check_database(scenario: str, folder: Path, killer: Killer, *, whole: bool) -> None:
    """The tables of a release are all there, with the rows that the certificate states, or none."""
    name = scenario.split(",")[0]
    if name not in ("SQLite", "DuckDB", "PostgreSQL"):
        return
    tables, query = _database(name, folder, killer)
    mine = {table for table in tables if table.startswith("released")}
    if "released_certificate" not in mine:
        if mine or whole:
            raise Failure(f"the database holds {sorted(mine)}")
        return
    if "released" not in mine:
        raise Failure("a certificate without its release")
    rows = query(COUNT)
    if rows != 24:
        raise Failure(f"the database holds {rows} rows")


def _database(name: str, folder: Path, killer: Killer) -> tuple[set[str], Callable[[str], int]]:
    """The names of a database's tables, and how to ask for a number."""
    catalogue = "SELECT table_name FROM information_schema.tables"
    if name == "PostgreSQL":
        rows = lambda query: postgresql_server.rows(killer.postgresql, query)  # noqa: E731
        return {table for (table,) in rows(catalogue)}, lambda query: rows(query)[0][0]
    path = folder / f"open.{name.lower()}"
    if not path.exists():
        return set(), lambda query: 0
    if name == "DuckDB":
        with duckdb.connect(str(path)) as opened:
            found = {table for (table,) in opened.execute(catalogue).fetchall()}
            counted = (
                opened.execute("SELECT count(*) FROM released").fetchone()
                if "released" in found
                else (0,)
            )
        return found, lambda query: counted[0]
    connection = sqlite3.connect(path)
    names = connection.execute("SELECT name FROM sqlite_master").fetchall()
    found = {table for (table,) in names}
    number = (
        connection.execute("SELECT count(*) FROM released").fetchone()[0]
        if "released" in found
        else 0
    )
    connection.close()
    return found, lambda query: number
