"""What does not fit into memory is refused before it is read."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle.errors import DataError
from mottle.utils.untrusted import memory
from mottle.utils.untrusted.memory import available_memory, check_fits, check_work
from mottle.utils.untrusted.parquet_footer import column_values

FOLDERS = {
    "container": ("", "0::/\n", ("memory.max", "memory.current", "inactive_file")),
    "slice around it": (
        "user",
        "0::/user/app\n",
        ("memory.max", "memory.current", "inactive_file"),
    ),
    "old container": (
        "memory",
        "3:cpu:/x\n4:memory:/docker/1\n",
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ),
}


def test_more_than_the_machine_has_is_refused() -> None:
    assert 2**20 < available_memory() < 2**60
    check_fits(1, "file")
    with pytest.raises(DataError, match=r"file takes .* or more in memory, and .* are available"):
        check_fits(2**60, "file")
    check_work(1, 1, "Wait.")
    with pytest.raises(DataError, match=r"Work on 5,000 rows takes .* Wait\."):
        check_work(2**60, 5000, "Wait.")


@pytest.mark.parametrize("name", FOLDERS)
def test_the_limit_of_a_container_counts_without_what_it_caches(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, group, (limit, used, cache) = FOLDERS[name]
    (tmp_path / "groups" / folder).mkdir(parents=True)
    (tmp_path / "groups" / folder / limit).write_text("5000\n")
    (tmp_path / "groups" / folder / used).write_text("3000\n")
    (tmp_path / "groups" / folder / "memory.stat").write_text(f"anon 7\n{cache} 1500\n")
    (tmp_path / "cgroup").write_text(group)
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_PROCESS", tmp_path)
    assert available_memory() == 3500
    (tmp_path / "groups" / folder / limit).write_text("max\n")
    assert available_memory() > 2**20


def varint(number: int, size: int = 0) -> bytes:
    """A number as in the footer of a Parquet file, in ``size`` bytes or as few as possible."""
    coded, digits = 2 * number, []
    while coded or len(digits) < max(size, 1):
        digits.append(coded & 127 | 128)
        coded >>= 7
    return bytes([*digits[:-1], digits[-1] & 127])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count data so")
def test_a_file_is_refused_by_what_it_states_or_if_that_is_wrong_by_what_it_takes(
    tmp_path: Path,
) -> None:
    """A list of 50 million numbers in 600 bytes, and the same file that states a single one."""
    items = 50_000_000
    column = pa.ListArray.from_arrays(pa.array([0, items], pa.int32()), np.zeros(items, np.int8))
    path, false = tmp_path / "bomb.parquet", tmp_path / "false.parquet"
    page = {"data_page_size": 1 << 30, "write_batch_size": 1 << 30}  # a single one
    pq.write_table(pa.table({"a": column}), path, **page)
    content, number = path.read_bytes(), varint(items)
    for place in range(len(content)):
        if content[place:].startswith(number):
            end = content[place + len(number) :]
            false.write_bytes(content[:place] + varint(1, len(number)) + end)
            if list(column_values(false)) == [[1]]:
                break
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path, false], capture_output=True, text=True, check=True
    )
    stated, found = done.stdout.splitlines()
    assert "takes 0.1 GB or more in memory" in stated
    assert "takes more memory than is available" in found


LIMITED = """
import resource, sys
from pathlib import Path
from mottle.errors import DataError
from mottle.utils.untrusted import arrow, memory

arrow.available_memory = memory.available_memory = lambda: 40_000_000
before = resource.getrlimit(resource.RLIMIT_DATA)
for path in sys.argv[1:]:
    try:
        arrow.read_parquet(Path(path))
    except DataError as error:
        print(error)
assert resource.getrlimit(resource.RLIMIT_DATA) == before
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say what is used")
def test_limits_of_the_process_count() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    free = available_memory() // 2
    resource.setrlimit(resource.RLIMIT_AS, (used + free, hard))
    try:
        assert 0.5 * free < available_memory() <= free
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_work_that_cannot_end_is_refused_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    table = mottle.datasets.population(1000, seed=1)
    schema = mottle.Schema.of(quasi_identifying=["age", "sex"], rest="insensitive")
    monkeypatch.setattr(memory, "available_memory", lambda: 100_000)
    with pytest.raises(DataError, match=r"Work on 1,000 rows .* --memory 4GB"):
        mottle.anonymize(table, schema, mottle.KAnonymity(5))
    with pytest.raises(DataError, match=r"Inspect a part of the rows"):
        mottle.inspect(table)
