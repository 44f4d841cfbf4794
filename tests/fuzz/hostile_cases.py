"""Hostile release folders and files: what is damaged, how, and the command that reads it."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import container_damage
import damage
from checker import Edges, Folder
from hostile_material import make_material
from hostile_targets import TARGETS
from hypothesis import strategies as st
from runs import VALID, Ended, Failure, judged, state
from values import MARK, SECRET
from worker import Worker

BROKEN = 6  # exit codes: of an audit
NO_HIERARCHY = 4  # of hierarchy lint


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
        case "archive":
            container_damage.change_archive(path, chance)
        case "fields":
            container_damage.change_fields(path, chance)
        case "format":
            container_damage.change_format(path, chance)
    certificate = folder / "out" / "certificate.json"
    if case.sealed and path != certificate and certificate.is_file():
        damage.reseal(folder / "out")


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
    if case.command.startswith(("lint", "show", "query plain")):
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
