"""Commands on machines as containers have them, and under conditions nobody ordered."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused
from odd_machines import SOURCES, python

import mottle
from mottle import DataError, KAnonymity, Release, Schema
from mottle.io.read_table import read_table
from mottle.pipeline import streaming

pytestmark = pytest.mark.usefixtures("own_work")

COMMAND = "import sys; sys.argv[0] = 'mottle'; from mottle.__main__ import main; main()"
SCHEMA = Schema.of(quasi_identifying=["age"])
TABLE = pa.table({"age": list(range(60))})


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("exists", [False, True])
def test_published_files_honour_the_umask_and_the_owners_do_not(
    release: Release, tmp_path: Path, mask: int, exists: bool
) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine"
    if exists:
        out.mkdir(mode=0o750)
    with umask(mask):
        release.save(out, private=mine / "links.parquet", report=False)
    assert modes(out) == {0o666 & ~mask}
    assert stat.S_IMODE(out.stat().st_mode) == (0o750 if exists else 0o777 & ~mask)
    assert modes(mine) == {0o600}


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_streaming_honours_the_umask_and_keeps_rows_private(
    tmp_path: Path, own_work: Path, mask: int
) -> None:
    seen: dict[Path, int] = {}

    def look(progress: mottle.Progress) -> None:
        seen.update({path: path.lstat().st_mode for path in own_work.rglob("*")})

    pq.write_table(TABLE, tmp_path / "people.parquet")
    with umask(mask):
        mottle.anonymize_stream(
            tmp_path / "people.parquet",
            SCHEMA,
            KAnonymity(3),
            tmp_path / "out",
            method="nh",
            chunk_rows=30,
            report=False,
            private=tmp_path / "mine" / "links.parquet",
            progress=look,
        )
    assert modes(tmp_path / "out") == {0o666 & ~mask}
    assert modes(tmp_path / "mine") == {0o600}
    kinds = {stat.S_ISDIR(mode): stat.S_IMODE(mode) for mode in seen.values()}
    assert kinds == {True: 0o700, False: 0o600}


@pytest.mark.parametrize("engine_options", [[], ["--memory", "2GB"]])
def test_read_only_target_is_reported_before_the_work_starts(
    tmp_path: Path, engine_options: list[str]
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    for target in (locked, locked / "out"):
        done = python(
            COMMAND, "anonymize", tmp_path / "nothing.csv", "--qi", "age", "--k", 2, "-o", target,
            *engine_options,
        )  # fmt: skip
        assert done.returncode == 5, done.stderr
        assert "Cannot write to" in done.stderr
        assert "Permission denied" in done.stderr
        assert "nothing.csv" not in done.stderr.replace("Intermediate", ""), "it was not read"


def test_no_place_for_intermediate_rows(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    (tmp_path / "people.csv").write_text("age\n" + "1\n2\n" * 5)
    done = python(
        COMMAND, "anonymize", tmp_path / "people.csv", "--qi", "age", "--k", 2, "-o",
        tmp_path / "out", "--memory", "2GB",
        MOTTLE_WORK=str(locked),
    )  # fmt: skip
    assert done.returncode == 5, done.stderr
    assert "no place for working files" in done.stderr
    assert "--work" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_home_rows_go_to_the_temporary_folder(tmp_path: Path) -> None:
    """A user whom the system does not know, in a container: a private folder in /tmp is used."""
    (tmp_path / "tmp").mkdir(mode=0o777)
    (tmp_path / "tmp").chmod(0o1777)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    code = (
        "from mottle.io.work_folder import work_folder\n"
        "folder = work_folder()\n"
        "print(folder, oct(folder.stat().st_mode & 0o7777))"
    )
    unknown = "import pwd\ndef nobody(number):\n    raise KeyError(number)\npwd.getpwuid = nobody\n"
    for home, start in ((str(locked), ""), (None, unknown)):
        done = python(
            start + code,
            HOME=home,
            XDG_CACHE_HOME=None,
            MOTTLE_WORK=None,
            TMPDIR=str(tmp_path / "tmp"),
        )
        assert done.returncode == 0, done.stderr
        place = tmp_path / "tmp" / f"mottle-work-{os.geteuid()}"
        assert done.stdout.split() == [str(place), "0o700"]


# ---------------------------------------------------------------------- input that does not rest


def test_table_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age\n1\n2\n")
    for change in (
        lambda: path.write_text("age\n1\n2\n"),  # the same content, written again
        lambda: path.open("a").close() or os.truncate(path, 6),
        lambda: path.rename(tmp_path / "away"),
    ):
        path.write_text("age\n1\n2\n")
        monkeypatch.setattr(
            sys.modules["mottle.io.read_table"],
            "validate_table",
            lambda table, name, change=change: (time.sleep(0.02), change(), table)[-1],
        )
        with pytest.raises(DataError, match="changed while it was read"):
            read_table(path)


@pytest.mark.parametrize("stage", ["survey", "sort", "chunks"])
def test_file_that_changes_during_a_streaming_run_is_refused(tmp_path: Path, stage: str) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(TABLE, path)

    def change(progress: mottle.Progress) -> None:
        if progress.stage == stage:
            pq.write_table(TABLE.slice(0, 50), path)

    with pytest.raises(DataError, match="changed while it was read"):
        streaming.anonymize(
            path,
            SCHEMA,
            KAnonymity(3),
            tmp_path / "out",
            method="nh",
            chunk_rows=30,
            report=False,
            progress=change,
        )
    assert not (tmp_path / "out").exists()


def test_the_clock_does_not_matter(release: Release, tmp_path: Path, monkeypatch) -> None:
    """Files that seem to be from the future, and a clock that runs backwards."""
    release.save(tmp_path / "out", report=False)
    for path in (tmp_path / "out", *(tmp_path / "out").iterdir()):
        os.utime(path, (4e9, 4e9))
    ticks = iter(range(10**6, 0, -1))
    monkeypatch.setattr(time, "time", lambda: float(next(ticks)))
    release.save(tmp_path / "out", report=False, overwrite=True, another_draw=True)
    pq.write_table(TABLE, tmp_path / "people.parquet")
    mottle.anonymize_stream(
        tmp_path / "people.parquet", SCHEMA, KAnonymity(3), tmp_path / "two", method="nh",
        chunk_rows=30, report=False,
    )  # fmt: skip
    assert mottle.read_release(tmp_path / "two").num_rows == 60


# --------------------------------------------------------------------------------------- processes


PROCESSES = """
import multiprocessing, sys
import pyarrow as pa
import mottle

def rows(method):
    table = pa.table({"age": list(range(60))})
    schema = mottle.Schema.of(quasi_identifying=["age"])
    return mottle.anonymize(table, schema, mottle.KAnonymity(3), method=method, seed=1).num_rows

if __name__ == "__main__":
    assert rows("nh") == 60  # this process has used threads before it starts others
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(rows, ["nh", "nh"]))
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_runs_in_processes_of_both_kinds(start: str, tmp_path: Path) -> None:
    """In a program of its own: a fork of the tests' process has locks of every library in it."""
    program = tmp_path / "program.py"
    program.write_text(PROCESSES)
    done = subprocess.run(
        [sys.executable, str(program), start],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert done.stdout.strip() == "[60, 60]", done.stderr


# ----------------------------------------------------------------------------- errors of imports

FAILING = """
import sys
class Failing:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise {error}
sys.meta_path.insert(0, Failing())
"""


@pytest.mark.parametrize(
    ("module", "error", "code"),
    [
        ("typer", "KeyboardInterrupt", 130),
        ("mottle.cli.commands", "KeyboardInterrupt", 130),
        ("pyarrow", "KeyboardInterrupt", 130),
        ("typer", "MemoryError", 71),
        ("pyarrow", "MemoryError", 71),
        ("pyarrow", "ImportError('x.so: failed to map segment from shared object')", 71),
    ],
)
def test_errors_during_imports_are_short(
    tmp_path: Path, module: str, error: str, code: int
) -> None:
    """Ctrl-C and a lack of memory while modules are loaded give no traceback."""
    done = python(
        FAILING.format(module=module, error=error) + COMMAND, "anonymize", tmp_path / "people.csv",
        "--qi", "age", "--k", "2", "-o", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    words = {130: "Interrupted: nothing was written.", 71: "not enough memory"}
    assert words[code] in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_lack_of_memory_in_a_run_is_an_error_of_its_own(tmp_path: Path, monkeypatch) -> None:
    def greedy(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("mottle.cli.anonymize.anonymize", greedy)
    (tmp_path / "people.csv").write_text("age\n" + "1\n2\n" * 5)
    result = mottle_command(
        "anonymize", tmp_path / "people.csv", "--qi", "age", "--k", 2, "-o", tmp_path / "out"
    )
    refused(result, 71, "not enough memory", "--memory")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("code", [130, 71])
def test_an_ended_run_does_not_wait_for_what_its_threads_do(tmp_path: Path, code: int) -> None:
    """Finalizing Python while compiled code runs in threads crashed once: it is left out."""
    program = f"""
import sys, threading
from mottle import __main__
def main():
    threading.Thread(target=threading.Event().wait).start()
    print("said")
    sys.exit({code})
__main__.app = type("App", (), {{"main": staticmethod(main)}})
__main__.main()
"""
    done = python(program)
    assert done.returncode == code, done.stderr
    assert done.stdout == "said\n"
