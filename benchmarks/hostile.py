"""Hostile and damaged input: what the readers do with it, in which time and memory.

``damage`` reads bit-flipped and truncated files, ``limits`` measures peak memory on input that is
made to exhaust it, ``work`` compares what work takes with the estimate by which it is refused,
``cost`` what validation costs on ordinary files, ``wide`` many columns.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from _shared import markdown_table, report

from mottle import KAnonymity, Schema, anonymize, read_release
from mottle.inspection.inspect import BYTES_PER_CELL as INSPECTING
from mottle.io.normalize import normalize
from mottle.io.read_table import read_table
from mottle.pipeline.anonymize import BYTES_PER_CELL, BYTES_PER_ROW
from mottle.release.validation import check_release
from mottle.utils.untrusted.arrow import validated

DAMAGED = 1000  # files of each type
AT_ONCE = 250  # files that one process reads
ROWS = 300_000
COLUMNS = 5000

READER = """
import sys
from mottle.errors import DataError
from mottle.io.read_table import read_table
for path in sys.argv[1:]:
    print(path, end=" ", flush=True)
    try:
        read_table(path).to_pylist()
        print("read", flush=True)
    except DataError:
        print("refused", flush=True)
    except (OverflowError, ValueError):
        print("read", flush=True)  # by mottle; the dates are none that Python has
    except Exception as error:
        print(type(error).__name__, flush=True)
"""
SPARE = 4  # GB that a measured process may take besides what its libraries take
MEASURED = """
import os, resource, sys
from pathlib import Path
from typer.testing import CliRunner
from mottle.cli.app import app
import pandas, pyarrow.parquet, pyarrow.csv, duckdb

def resident():
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024

spare, *arguments = sys.argv[1:]
warm = os.environ.get("WARM", "")
if warm:
    CliRunner().invoke(app, [warm if word == arguments[1] else word for word in arguments])
if spare != "0":
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    limit = used + (int(spare) << 30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
before = resident()
result = CliRunner().invoke(app, [*arguments, "--overwrite"] if warm else arguments)
caught = result.exception
ended = "exit %d" % result.exit_code
if caught is not None and not isinstance(caught, SystemExit):
    ended = type(caught).__name__
print(ended, resident() - before, sep="|")
"""


def sample(rows: int) -> pa.Table:
    """A table with columns of most types."""
    chance = np.random.default_rng(1)
    texts = [f"v{row % 17}" if row % 5 else None for row in range(rows)]
    return pa.table(
        {
            "whole": chance.integers(0, 100, rows),
            "real": chance.random(rows),
            "text": texts,
            "level": pa.array(texts).dictionary_encode(),
            "list": [[row, row + 1] for row in range(rows)],
            "struct": [{"x": row, "y": f"s{row}"} for row in range(rows)],
            "long": pa.array(texts, pa.large_string()),
            "date": pa.array(chance.integers(0, 20_000, rows), pa.int32()).cast(pa.date32()),
            "flag": [row % 2 == 0 for row in range(rows)],
        }
    )


def write_file(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, table.num_rows // 3)


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, table.num_rows // 3)


FORMATS: dict[str, tuple[str, Callable[[pa.Table, Path], None]]] = {
    "Arrow file": ("arrow", write_file),
    "Arrow stream": ("arrow", write_stream),
    "Feather, LZ4": ("feather", pyarrow.feather.write_feather),
    "Parquet": ("parquet", pq.write_table),
}


def damage(folder: Path) -> str:
    """Tally what becomes of damaged files; a crash would show as a signal."""
    rows = []
    for name, (suffix, write) in FORMATS.items():
        write(sample(60), folder / "whole")
        content = (folder / "whole").read_bytes()
        chance = random.Random(f"damage {name}")
        tally: Counter[str] = Counter()
        for _ in range(DAMAGED // AT_ONCE):
            paths = []
            for number in range(AT_ONCE):
                damaged = bytearray(content)
                if number % 4 == 3:
                    del damaged[chance.randrange(len(damaged)) :]
                else:
                    for _ in range(chance.choice([1, 1, 4, 20])):
                        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
                paths.append(folder / f"{number}.{suffix}")
                paths[-1].write_bytes(damaged)
            while paths:
                command = [sys.executable, "-c", READER, *map(str, paths)]
                done = subprocess.run(command, capture_output=True, text=True)
                ends = [line.split()[-1] for line in done.stdout.splitlines()]
                if done.returncode:
                    ends[-1] = f"signal {-done.returncode}"
                tally.update(ends)
                paths = paths[len(ends) :]
        others = {end: count for end, count in tally.items() if end not in ("read", "refused")}
        shown = ", ".join(f"{count} × {end}" for end, count in others.items()) or "–"
        rows.append([name, tally.total(), tally["refused"], tally["read"], shown])
    return markdown_table(["files", "damaged", "refused", "read", "crash or traceback"], rows)


def hostile_inputs(folder: Path) -> dict[str, Sequence[str]]:
    """Input that is made to exhaust memory or time, and the command that reads it."""
    release = folder / "release"
    table = pa.table({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", "b"]})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["ill"])
    anonymize(table, schema, KAnonymity(2), seed=1).save(release)
    certificate = json.loads((release / "certificate.json").read_text(encoding="utf-8"))
    cases: dict[str, Sequence[str]] = {}

    def certified(name: str, text: str) -> None:
        place = folder / f"release {len(cases)}"
        place.mkdir()
        for file in release.iterdir():
            (place / file.name).write_bytes(file.read_bytes())
        (place / "certificate.json").write_text(text, encoding="utf-8")
        cases[name] = ["report", str(place), "--overwrite"]

    certified("certificate: a million brackets", "[" * 1_000_000)
    certified("certificate: a number of a million digits", '{"rows": ' + "9" * 1_000_000 + "}")
    certified("certificate: 100 MB of notes", json.dumps({**certificate, "notes": ["x" * 10**8]}))
    listed = json.dumps({**certificate, "notes": []})[:-1] + ', "more": ['
    certified("certificate: 60 MB of empty objects", listed + "{}," * 20_000_000 + "1]}")
    certified("certificate: 10^15 rows", json.dumps({**certificate, "rows": 10**15}))

    def table_file(name: str, path: Path) -> None:
        cases[name] = ["inspect", str(path)]

    def sized(path: Path) -> str:
        size = path.stat().st_size
        return f"{size >> 20} MB" if size >> 20 else f"{max(size >> 10, 1)} kB"

    bomb = folder / "numbers.parquet"
    zeros = pa.table({"n": np.zeros(100_000_000, np.int8)})
    pq.write_table(zeros, bomb, row_group_size=10**9)
    table_file(f"Parquet, {sized(bomb)}: 100 million equal numbers", bomb)
    bomb = folder / "more numbers.parquet"
    with pq.ParquetWriter(bomb, zeros.schema) as writer:
        for _ in range(10):
            writer.write_table(zeros, row_group_size=10**9)
    table_file(f"Parquet, {sized(bomb)}: a billion equal numbers", bomb)
    bomb = folder / "texts.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, np.int32)), ["x" * 10**6])
    pq.write_table(pa.table({"a": texts}), bomb)
    table_file(f"Parquet, {sized(bomb)}: a text of 1 MB a million times", bomb)
    bomb = folder / "list.parquet"
    items = pa.array(np.zeros(200_000_000, np.int64))
    listed = pa.table({"a": pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)})
    with pq.ParquetWriter(bomb, listed.schema) as writer:
        for _ in range(3):
            writer.write_table(listed)
    table_file(f"Parquet, {sized(bomb)}: 3 lists of 200 million equal numbers", bomb)
    del items, listed
    bomb = folder / "wide.parquet"
    some = pa.array(np.zeros(200_000, np.int8))
    pq.write_table(pa.table({f"c{place}": some for place in range(COLUMNS)}), bomb)
    table_file(f"Parquet, {sized(bomb)}: {COLUMNS:,} columns of 200,000 equal numbers", bomb)
    bomb = folder / "numbers.arrow"
    with pa.ipc.new_file(
        bomb, zeros.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as ipc:
        for _ in range(60):
            ipc.write_table(zeros)
    table_file(f"Arrow, zstd, {sized(bomb)}: 6 billion equal numbers", bomb)
    bomb = folder / "categories.arrow"
    some = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2000, np.int8)), ["x" * 10**6])
    with pa.ipc.new_file(bomb, pa.schema({"a": some.type})) as ipc:
        for _ in range(50):
            ipc.write_table(pa.table({"a": some}))
    table_file(f"Arrow, {sized(bomb)}: a category of 1 MB in 100,000 rows", bomb)
    bomb = folder / "bomb.csv.gz"
    part = gzip.compress(b"1,2\n" * (1 << 24))  # parts of a gzip file may follow each other
    bomb.write_bytes(gzip.compress(b"a,b\n") + part * 400)
    table_file(f"CSV, gzip of {sized(bomb)}: 25 GB of rows", bomb)
    bomb = folder / "columns.csv"
    bomb.write_text(",".join(f"c{place}" for place in range(10_000)) + "\n", encoding="utf-8")
    with bomb.open("a", encoding="utf-8") as file:
        file.write((",".join(["1"] * 10_000) + "\n") * 3)
    table_file(f"CSV, {sized(bomb)}: 10,000 columns", bomb)
    brackets = folder / "brackets.toml"
    brackets.write_text("a = " + "[" * 1_000_000, encoding="utf-8")
    (folder / "p.csv").write_text("age\n1\n2\n", encoding="utf-8")
    run = ["anonymize", str(folder / "p.csv"), "--k", "2", "-o", str(folder / "o"), "--schema"]
    cases["schema: a million brackets"] = [*run, str(brackets)]
    tables = folder / "tables.toml"
    tables.write_text("a = [" + "{}," * 2_000_000 + "]", encoding="utf-8")
    cases["schema: 6 MB of empty tables"] = [*run, str(tables)]
    huge = folder / "huge.csv"
    with open(huge, "wb") as opened:
        opened.truncate(20 << 30)
    cases["hierarchy of 20 GB"] = ["lint-hierarchy", str(huge)]
    cases["certificate that is a device"] = ["query", str(folder / "device"), "SELECT count(*)"]
    (folder / "device").mkdir()
    (folder / "device" / "release.parquet").symlink_to(release / "release.parquet")
    (folder / "device" / "certificate.json").symlink_to("/dev/zero")
    return cases


def measured(command: Sequence[str], spare: int, warm: str = "") -> tuple[str, int, float]:
    """How a command ends in a process of its own, the MB that it takes at its peak, and seconds."""
    words = [sys.executable, "-c", MEASURED, str(spare), *command]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as here:  # inspect writes a mottle.toml
        environment = {**os.environ, "WARM": warm}
        done = subprocess.run(words, capture_output=True, text=True, cwd=here, env=environment)
    last = done.stdout.strip().splitlines()[-1:] or [f"signal {-done.returncode}|-1"]
    ended, grown = last[0].split("|")
    return ended, int(grown), time.perf_counter() - began


def limits(folder: Path) -> str:
    rows = []
    for name, command in hostile_inputs(folder).items():
        ended, grown, seconds = measured(command, SPARE)
        rows.append([name, ended, f"{grown:,}", f"{seconds:.1f}"])
        print(*rows[-1], sep=" | ", flush=True)
    header = [f"input, in a process that may take {SPARE} GB", "ends with"]
    return markdown_table([*header, "MB more at the peak (resident)", "seconds"], rows)


def work(folder: Path) -> str:
    """What work on tables takes, and the least that it is taken to need before it begins."""
    rows = []
    for count, columns, names in ((500_000, 1, 1), (300_000, 6, 100)):
        chance = np.random.default_rng(1)
        cells = {f"c{place}": chance.integers(0, names, count) for place in range(columns)}
        table = pa.table(cells)
        pq.write_table(table, folder / "table.parquet")
        pq.write_table(table.slice(0, 3000), folder / "small.parquet")
        known = [word for name in cells for word in ("--qi", name)]
        content = table.nbytes >> 20
        for method in ("", "mondrian", "nh", "freeform"):
            words = ["inspect", str(folder / "table.parquet")]
            least = INSPECTING * count * columns
            if method:
                words[0] = "anonymize"
                words += ["-o", str(folder / "out"), "--k", "5", "--method", method, *known]
                least = count * (BYTES_PER_ROW + BYTES_PER_CELL * columns)
            ended, grown, _ = measured(words, 0, str(folder / "small.parquet"))
            title = f"{words[0]} {method}".strip()
            shape = f"{count:,} × {columns}, {names} different values"
            rows.append([title, shape, ended, content, least >> 20, grown])
    header = ["command", "rows × columns", "ends with", "MB of the table"]
    return markdown_table([*header, "least MB besides", "MB more at the peak"], rows)


def timed(call: Callable[[], object], runs: int = 5) -> float:
    """Median milliseconds."""
    found = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        found.append(1000 * (time.perf_counter() - began))
    return statistics.median(found)


def cost(folder: Path) -> str:
    """What is validated at every reading, on ordinary files."""
    table = sample(ROWS)
    rows = []
    for name, (suffix, write) in FORMATS.items():
        path = folder / f"people.{suffix}"
        write(table, path)
        whole, checks = timed(lambda path=path: read_table(path)), 0.0
        again = normalize(read_table(path))
        checks = timed(lambda again=again: validated(again, "table"))
        rows.append([f"read {name}", f"{whole:.0f}", f"{checks:.0f}"])
    known = table.select(["whole", "real", "text", "date"])
    schema = Schema.of(quasi_identifying=known.column_names)
    release = anonymize(known, schema, KAnonymity(5), method="nh", seed=1)
    release.save(folder / "out")
    whole = timed(lambda: read_release(folder / "out"))
    checks = timed(lambda: check_release([release.table], release.columns, None, "release"))
    checks += timed(lambda: validated(release.table, "release"))
    rows.append(["read a release of 4 quasi-identifiers", f"{whole:.0f}", f"{checks:.0f}"])
    return markdown_table([f"{ROWS:,} rows", "ms", "of which validation"], rows)


def wide(folder: Path) -> str:
    cells = np.random.default_rng(0).integers(0, 9, (200, COLUMNS))
    lines = [",".join(f"c{place}" for place in range(COLUMNS))]
    lines += [",".join(map(str, row)) for row in cells]
    (folder / "wide.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = read_table(folder / "wide.csv")
    pq.write_table(table, folder / "wide.parquet")
    rows = [
        [name, f"{timed(lambda path=folder / name: read_table(path), 3) / 1000:.2f}"]
        for name in ("wide.csv", "wide.parquet")
    ]
    return markdown_table([f"{COLUMNS:,} columns, 200 rows", "seconds"], rows)


SECTIONS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "damage": ("Damaged files", damage),
    "limits": ("Input that is made to exhaust memory", limits),
    "work": ("Memory for work on tables", work),
    "cost": ("What validation costs", cost),
    "wide": ("Many columns", wide),
}


def main() -> None:
    for name in sys.argv[1:] or SECTIONS:
        title, measure = SECTIONS[name]
        with tempfile.TemporaryDirectory() as folder:
            report(f"hostile-{name}", title, [measure(Path(folder))], f"hostile.py {name}")


if __name__ == "__main__":
    main()
