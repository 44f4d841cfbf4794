"""Damaged and hostile Parquet and Arrow files end in named errors, never in a crash."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from mottle.errors import DataError
from mottle.io.read_table import as_table, read_table
from mottle.utils.untrusted import arrow as untrusted

ROWS = 60
TEXTS = [f"v{row % 17}" if row % 5 else None for row in range(ROWS)]
PEOPLE = pa.table(
    {
        "age": list(range(ROWS)),
        "name": TEXTS,
        "level": pa.array(TEXTS).dictionary_encode(),
        "visited": [[row, row + 1] for row in range(ROWS)],
        "place": [{"x": row, "y": f"s{row}"} for row in range(ROWS)],
        "long": pa.array([f"a long text, number {row}" for row in range(ROWS)], pa.large_string()),
    }
)

# Reads every file that it is given; prints how many were refused. A crash would end it.
READER = """
import sys
from mottle.errors import DataError
from mottle.io.read_table import read_table
refused = 0
for path in sys.argv[1:]:
    try:
        read_table(path).to_pylist()
    except DataError:
        refused += 1
    except (OverflowError, ValueError):  # of to_pylist: dates that Python does not have
        pass
print(refused)
"""


def write_file(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, 20)


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, 20)


@pytest.mark.parametrize(
    ("suffix", "write"),
    [
        ("arrow", write_file),
        ("arrow", write_stream),
        ("feather", pyarrow.feather.write_feather),
        ("parquet", pq.write_table),
    ],
)
def test_damaged_files_do_not_crash_the_interpreter(
    tmp_path: Path, suffix: str, write: Callable[[pa.Table, Path], None]
) -> None:
    """At 8cdc187 every fourth such Arrow file ended the process with SIGSEGV."""
    write(PEOPLE, tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    chance = random.Random(f"damage {suffix}")
    paths = []
    for number in range(150):
        damaged = bytearray(content)
        if number % 4 == 3:
            del damaged[chance.randrange(len(damaged)) :]
        else:
            for _ in range(chance.choice([1, 1, 4, 20])):
                damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        paths.append(tmp_path / f"{number}.{suffix}")
        paths[-1].write_bytes(damaged)
    done = subprocess.run(
        [sys.executable, "-c", READER, *map(str, paths)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 50


def with_buffers(data_type: pa.DataType, length: int, *buffers: bytes) -> pa.Array:
    return pa.Array.from_buffers(data_type, length, [None, *map(pa.py_buffer, buffers)])


OUT_OF_BOUNDS = {
    "offsets of text": with_buffers(
        pa.string(), 2, np.array([0, 10**9, 2], np.int32).tobytes(), b"ab"
    ),
    "descending offsets": with_buffers(
        pa.string(), 3, np.array([0, 2, 1, 2], np.int32).tobytes(), b"ab"
    ),
    "text that is not UTF-8": with_buffers(
        pa.string(), 2, np.array([0, 1, 2], np.int32).tobytes(), b"a\xff"
    ),
    "indices of a dictionary": pa.DictionaryArray.from_arrays(
        with_buffers(pa.int32(), 2, np.array([0, 10**6], np.int32).tobytes()),
        pa.array(["a"]),
        safe=False,
    ),
}


@pytest.mark.parametrize("what", OUT_OF_BOUNDS)
def test_invalid_buffers_of_objects_are_refused(what: str) -> None:
    with pytest.raises(DataError, match="damaged"):
        as_table(pa.table({"a": OUT_OF_BOUNDS[what]}))


def invalid_text(path: Path) -> None:
    """A Parquet file with a byte that is not UTF-8, as some tools write them."""
    binary = pa.table({"a": pa.array([b"ok", b"caf\xe9"])})
    schema = pa.schema([pa.field("a", pa.string())])
    pq.write_table(
        pa.Table.from_arrays([binary.column("a").chunk(0).view(pa.string())], schema=schema), path
    )


def test_text_that_is_not_utf8_is_refused_in_parquet_files(tmp_path: Path) -> None:
    invalid_text(tmp_path / "people.parquet")
    with pytest.raises(DataError, match="damaged"):
        read_table(tmp_path / "people.parquet")


@pytest.mark.parametrize(
    "column",
    [
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
        pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array(["a"])),
        pa.array([[[[[[[[[[1]]]]]]]]]]),
    ],
    ids=["union", "run-end encoded", "deeply nested"],
)
def test_odd_types_are_refused_by_the_name_of_their_column(tmp_path: Path, column: pa.Array):
    write_file(pa.table({"fine": [1], "odd": column}), tmp_path / "a.arrow")
    with pytest.raises(DataError, match="column 'odd' has a type that is not supported"):
        read_table(tmp_path / "a.arrow")


def test_few_bytes_that_state_many_values_are_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a bomb: 3 MB of texts in memory, a few kB in the file."""
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": ["x" * 3000] * 1000, "n": [7] * 1000}), path)
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(untrusted, "available_memory", lambda: 1_000_000)
    monkeypatch.setattr("mottle.utils.untrusted.memory.available_memory", lambda: 1_000_000)
    with pytest.raises(DataError, match="or more in memory"):
        untrusted.read_parquet(path)
    with pytest.raises(DataError, match="or more in memory"):
        untrusted.check_batches(path, size=1000)
    untrusted.check_batches(path, size=100)


def test_nested_texts_are_measured_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": [["x" * 3000, "y"], []] * 500}), path)
    monkeypatch.setattr(untrusted, "available_memory", lambda: 1_000_000)
    monkeypatch.setattr("mottle.utils.untrusted.memory.available_memory", lambda: 1_000_000)
    with pytest.raises(DataError, match="or more in memory"):
        untrusted.read_parquet(path)


def test_ordinary_files_are_read_where_texts_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"a": [f"name {row % 50}" for row in range(2000)], "b": [[None, "x"]] * 2000})
    pq.write_table(table, tmp_path / "a.parquet")
    monkeypatch.setattr(untrusted, "available_memory", lambda: 200_000)
    monkeypatch.setattr("mottle.utils.untrusted.memory.available_memory", lambda: 200_000)
    assert untrusted.read_parquet(tmp_path / "a.parquet").equals(table)


@pytest.mark.parametrize("write", [write_file, write_stream])
def test_arrow_files_are_read_as_far_as_they_fit(
    write: Callable[[pa.Table, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is a category in every row that has it; each batch alone if rows are streamed."""
    path = tmp_path / "a.arrow"
    level = pa.DictionaryArray.from_arrays(pa.array([1] * 100, pa.int32()), [None, "x" * 20_000])
    write(pa.table({"level": level}), path)
    assert path.stat().st_size < 200_000
    assert read_table(path).nbytes > 2_000_000
    monkeypatch.setattr(untrusted, "available_memory", lambda: 1_000_000)
    with pytest.raises(DataError, match="or more in memory"):
        untrusted.read_arrow(path)
    assert sum(batch.num_rows for batch in untrusted.arrow_batches(path)) == 100
    monkeypatch.setattr(untrusted, "available_memory", lambda: 300_000)
    with pytest.raises(DataError, match="or more in memory"):
        list(untrusted.arrow_batches(path))
