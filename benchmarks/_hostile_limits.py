"""Input that is made to exhaust memory, and what commands do with it at which peak."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import xlsxwriter
from _shared import markdown_table

from mottle import KAnonymity, Schema, anonymize

COLUMNS = 5000
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
again = ["--overwrite", "--another-draw"][: 2 if arguments[0] == "anonymize" else 1]
result = CliRunner().invoke(app, arguments + (again if warm else []))
caught = result.exception
ended = "exit %d" % result.exit_code
if caught is not None and not isinstance(caught, SystemExit):
    ended = type(caught).__name__
child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
print(ended, max(resident() - before, child), sep="|")
"""


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

    def table_file(name: str, path: Path) -> None:
        cases[name] = ["inspect", str(path)]

    certified("certificate: a million brackets", "[" * 1_000_000)
    certified("certificate: a number of a million digits", '{"rows": ' + "9" * 1_000_000 + "}")
    certified("certificate: 100 MB of notes", json.dumps({**certificate, "notes": ["x" * 10**8]}))
    listed = json.dumps({**certificate, "notes": []})[:-1] + ', "more": ['
    certified("certificate: 60 MB of empty objects", listed + "{}," * 20_000_000 + "1]}")
    certified("certificate: 10^15 rows", json.dumps({**certificate, "rows": 10**15}))

    bomb = folder / "numbers.parquet"
    zeros = pa.table({"n": np.zeros(100_000_000, np.int8)})
    pq.write_table(zeros, bomb, row_group_size=10**9)
    table_file(f"Parquet, {_sized(bomb)}: 100 million equal numbers", bomb)
    bomb = folder / "more numbers.parquet"
    with pq.ParquetWriter(bomb, zeros.schema) as writer:
        for _ in range(10):
            writer.write_table(zeros, row_group_size=10**9)
    table_file(f"Parquet, {_sized(bomb)}: a billion equal numbers", bomb)
    bomb = folder / "texts.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, np.int32)), ["x" * 10**6])
    pq.write_table(pa.table({"a": texts}), bomb)
    table_file(f"Parquet, {_sized(bomb)}: a text of 1 MB a million times", bomb)
    bomb = folder / "list.parquet"
    items = pa.array(np.zeros(200_000_000, np.int64))
    listed = pa.table({"a": pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)})
    with pq.ParquetWriter(bomb, listed.schema) as writer:
        for _ in range(3):
            writer.write_table(listed)
    table_file(f"Parquet, {_sized(bomb)}: 3 lists of 200 million equal numbers", bomb)
    del items, listed
    bomb = folder / "wide.parquet"
    some = pa.array(np.zeros(200_000, np.int8))
    pq.write_table(pa.table({f"c{place}": some for place in range(COLUMNS)}), bomb)
    table_file(f"Parquet, {_sized(bomb)}: {COLUMNS:,} columns of 200,000 equal numbers", bomb)
    bomb = folder / "numbers.arrow"
    with pa.ipc.new_file(
        bomb, zeros.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as ipc:
        for _ in range(60):
            ipc.write_table(zeros)
    table_file(f"Arrow, zstd, {_sized(bomb)}: 6 billion equal numbers", bomb)
    bomb = folder / "categories.arrow"
    some = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2000, np.int8)), ["x" * 10**6])
    with pa.ipc.new_file(bomb, pa.schema({"a": some.type})) as ipc:
        for _ in range(50):
            ipc.write_table(pa.table({"a": some}))
    table_file(f"Arrow, {_sized(bomb)}: a category of 1 MB in 100,000 rows", bomb)
    bomb = folder / "bomb.csv.gz"
    part = gzip.compress(b"1,2\n" * (1 << 24))  # parts of a gzip file may follow each other
    bomb.write_bytes(gzip.compress(b"a,b\n") + part * 400)
    table_file(f"CSV, gzip of {_sized(bomb)}: 25 GB of rows", bomb)
    bomb = folder / "bomb.csv.xz"
    part = lzma.compress(b"1,2\n" * (1 << 24))
    bomb.write_bytes(lzma.compress(b"a,b\n") + part * 400)
    table_file(f"CSV, xz of {_sized(bomb)}: 25 GB of rows", bomb)
    bomb = folder / "columns.csv"
    bomb.write_text(",".join(f"c{place}" for place in range(10_000)) + "\n", encoding="utf-8")
    with bomb.open("a", encoding="utf-8") as file:
        file.write((",".join(["1"] * 10_000) + "\n") * 3)
    table_file(f"CSV, {_sized(bomb)}: 10,000 columns", bomb)
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
    for path, what in _foreign(folder):
        table_file(f"{path.suffix}, {_sized(path)}: {what}", path)
    project = folder / "project.deid"
    with zipfile.ZipFile(project, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.xml", "<metadata/>")
        archive.writestr("input/definition.xml", "<definition/>")
        _write_much(archive, "data/input.csv", b"a;b\n", b"1;2\n", b"")
    words = ["import", "arx", str(project), "-o", str(folder / "imported")]
    cases[f"project of ARX, {_sized(project)}: 4 GB of rows"] = words
    return cases


def _sized(path: Path) -> str:
    size = path.stat().st_size
    return f"{size >> 20} MB" if size >> 20 else f"{max(size >> 10, 1)} kB"


def _foreign(folder: Path) -> Iterator[tuple[Path, str]]:
    """Workbooks and files of statistics packages, and what is in them."""
    first, last = folder / "cells.xlsx", (1_048_575, 16_383)
    with xlsxwriter.Workbook(first) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "a")
        sheet.write(*last, 1)
    yield first, "two cells, in the corners of the sheet"
    path = folder / "texts.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for row in range(300_000):
            sheet.write_string(row, 0, "x" * 32_767)
    yield path, "a text of 32,767 characters in 300,000 cells"
    path = folder / "blank.xlsx"
    with zipfile.ZipFile(first) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if "sheet1.xml" in name and name.endswith(".xml"):
                place = content.index(b"<sheetData>") + len(b"<sheetData>")
                _write_much(new, name, content[:place], b"<row/>", content[place:])
            else:
                new.writestr(name, content)
    yield path, "4 GB of empty rows"
    path = folder / "repeated.ods"
    spaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    content = (
        f"<office:document-content{spaces}><office:body><office:spreadsheet>"
        '<table:table table:name="x"><table:table-row table:number-rows-repeated="1048576">'
        '<table:table-cell table:number-columns-repeated="16384" office:value-type="string">'
        "<text:p>x</text:p></table:table-cell></table:table-row></table:table>"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        new.writestr("content.xml", content)
        new.writestr("META-INF/manifest.xml", "<x/>")
    yield path, "one cell, repeated 17 billion times"
    zeros = pd.DataFrame({"a": np.zeros(20_000_000)})
    path = folder / "zeros.zsav"
    pyreadstat.write_sav(zeros, path, compress=True)
    yield path, "20 million equal numbers"
    few = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    path = folder / "rows.sav"
    pyreadstat.write_sav(few, path)
    _overwrite(path, 80, b"\xff\xff\xff\x7f")
    yield path, "2 rows that are said to be 2 billion"
    path = folder / "rows.dta"
    pyreadstat.write_dta(few, path, version=13)
    place = path.read_bytes().index(b"<N>") + 3
    _overwrite(path, place, b"\xff\xff\xff\x7f")
    yield path, "2 rows that are said to be 2 billion"


def _write_much(
    archive: zipfile.ZipFile, name: str, before: bytes, repeated: bytes, after: bytes
) -> None:
    """Write a file of 4 GB into an archive."""
    piece = repeated * ((1 << 20) // len(repeated))
    with archive.open(name, "w", force_zip64=True) as file:
        file.write(before)
        for _ in range(4096):
            file.write(piece)
        file.write(after)


def _overwrite(path: Path, place: int, content: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(content)


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
    """How hostile inputs end, and the memory of the process or of the child that reads them."""
    rows = []
    for name, command in hostile_inputs(folder).items():
        ended, grown, seconds = measured(command, SPARE)
        rows.append([name, ended, f"{grown:,}", f"{seconds:.1f}"])
        print(*rows[-1], sep=" | ", flush=True)
    header = [f"input, in a process that may take {SPARE} GB", "ends with"]
    return markdown_table([*header, "MB more at the peak (resident)", "seconds"], rows)
