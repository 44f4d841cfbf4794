"""Hostile and damaged input: what the readers do with it, in which time and memory.

``damage`` reads bit-flipped and truncated files, ``limits`` measures peak memory on input that is
made to exhaust it, ``work`` compares what work takes with the estimate by which it is refused,
``cost`` what validation costs on ordinary files, ``wide`` many columns.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from _hostile_limits import COLUMNS, limits, measured
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


def work(folder: Path) -> str:
    """What work on tables takes, and the least that it is taken to need before it begins."""
    rows = []
    for count, columns, names in ((300_000, 1, 1), (150_000, 6, 100)):
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
    """Median milliseconds of the processors, over all threads: other work does not count."""
    found = []
    for _ in range(runs):
        began = time.process_time()
        call()
        found.append(1000 * (time.process_time() - began))
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
    return markdown_table([f"{ROWS:,} rows", "processor ms", "of which validation"], rows)


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
    return markdown_table([f"{COLUMNS:,} columns, 200 rows", "processor seconds"], rows)


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
