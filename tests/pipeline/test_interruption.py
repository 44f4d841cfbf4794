"""Ctrl-C, kill and a full disk in the middle of a run leave no file that looks like a release."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import mottle

ROWS = 200_000
PATIENCE = 120.0  # seconds until a test gives up on its process


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.parquet"
    pq.write_table(mottle.datasets.population(ROWS, seed=1), path)
    return path


def start(
    people: Path, folder: Path, *, limit: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "mottle",
        "anonymize",
        str(people),
        "-o",
        str(folder),
        "--k",
        "5",
        "--method",
        "nh",
        "--id",
        "person_id",
        "--qi",
        "age,sex,education,origin",
        "--rest",
        "insensitive",
    ]
    return subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit
    )


def wait_until_it_writes(process: subprocess.Popen[str], folder: Path, least: int = 0) -> None:
    """Return as soon as the process has more than ``least`` bytes in its hidden folder."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "the run ended before it could be disturbed"
        waiting = folder.parent.glob(".mottle-unfinished-*/new/out/release*")
        written = [path.stat().st_size for path in waiting]
        if sum(written) > least:
            return
    pytest.fail("the run never began to write")


FILES = ["certificate.json", "release.csv", "release.parquet", "report.html"]


def release_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("[!.]*"))


def test_ctrl_c_while_writing_leaves_nothing(people: Path, tmp_path: Path) -> None:
    process = start(people, tmp_path / "out")
    wait_until_it_writes(process, tmp_path / "out")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert "nothing was written" in errors
    assert not (tmp_path / "out").exists()


def test_ctrl_c_while_computing_leaves_nothing(people: Path, tmp_path: Path) -> None:
    process = start(people, tmp_path / "out")
    deadline = time.monotonic() + PATIENCE
    loaded = Path(f"/proc/{process.pid}/maps")
    while "libarrow" not in loaded.read_text() and time.monotonic() < deadline:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert not (tmp_path / "out").exists()


def test_kill_leaves_only_a_hidden_folder_that_the_next_run_removes(
    people: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    process = start(people, folder)
    wait_until_it_writes(process, folder, least=1_000_000)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert not folder.exists()
    assert len(list(tmp_path.glob(".mottle-unfinished-*"))) == 1
    again = start(people, folder)
    _, errors = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, errors
    assert release_files(folder) == FILES
    assert list(tmp_path.glob(".mottle-unfinished-*")) == []


def test_full_disk_is_reported_and_leaves_nothing(people: Path, tmp_path: Path) -> None:
    def no_large_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    process = start(people, tmp_path / "out", limit=no_large_files)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5, errors
    assert "Nothing was published" in errors
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or not Path("/bin/mount").exists(),
    reason="needs root to mount a small file system",
)
def test_small_file_system_that_fills_up_leaves_nothing(people: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("this machine does not let us mount")
    try:
        process = start(people, disk / "out")
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 5, errors
        assert "No space left" in errors
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
