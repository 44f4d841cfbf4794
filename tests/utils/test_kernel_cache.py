"""Kernels can be defined and run wherever mottle is installed (S9)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from odd_machines import SOURCES, python

# A kernel that compiles in no time, in a package of its own beside mottle.
KERNEL = """
from numba import njit

@njit(cache=True, nogil=True)
def twice(number):
    return number * 2
"""
DEFINE = "from mottle.assignment.closed_walk import closed_walk"
RUN = "import mottle; from mottle.utils.tiny import twice; print(twice(21), twice.stats.cache_path)"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Path]:
    """A copy of the package with a small kernel, into which nobody may write."""
    place = tmp_path / "site-packages"
    shutil.copytree(SOURCES / "mottle", place / "mottle", ignore=lambda *_: ["__pycache__"])
    (place / "mottle" / "utils" / "tiny.py").write_text(KERNEL)
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield place
    for folder in folders:
        folder.chmod(0o755)


def nowhere(tmp_path: Path) -> dict[str, str | None]:
    """An environment in which Numba's own places cannot be written."""
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    return {"HOME": str(locked), "XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None}


def test_read_only_installation_and_home(installation: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    environment = {**nowhere(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    done = python(RUN, package=installation, **environment)
    assert done.returncode == 0, done.stderr
    answer, cache = done.stdout.split()
    private = tmp_path / "tmp" / f"mottle-kernels-{os.geteuid()}"
    assert answer == "42"
    assert Path(cache).parent == private
    assert private.stat().st_mode & 0o777 == 0o700
    assert list(private.rglob("*.nbi"))
    assert python(DEFINE, package=installation, **environment).returncode == 0


@pytest.mark.parametrize("planted", ["link", "open"])
def test_planted_cache_is_not_used(installation: Path, tmp_path: Path, planted: str) -> None:
    """Compiled code of somebody else would be run: better none is kept."""
    (tmp_path / "tmp").mkdir()
    cache = tmp_path / "tmp" / f"mottle-kernels-{os.geteuid()}"
    if planted == "link":
        (tmp_path / "elsewhere").mkdir()
        cache.symlink_to(tmp_path / "elsewhere")
    else:
        cache.mkdir()
        cache.chmod(0o777)
    environment = {**nowhere(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    done = python(RUN, package=installation, **environment)
    assert done.stdout.split() == ["42", "None"], done.stderr
    assert done.stderr.strip().count("\n") == 0
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert not list(cache.iterdir())


def test_unknown_user_without_a_home_leaves_nothing_in_the_current_folder(
    installation: Path, tmp_path: Path
) -> None:
    """Numba would make a folder called ``~`` there."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "here").mkdir()
    environment = {**nowhere(tmp_path), "TMPDIR": str(tmp_path / "tmp"), "HOME": None}
    unknown = """
import os, pwd, sys
def nobody(number):
    raise KeyError(number)
pwd.getpwuid = nobody
os.chdir(sys.argv[1])
"""
    done = python(unknown + RUN, tmp_path / "here", package=installation, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "42"
    assert not list((tmp_path / "here").iterdir())


def test_chosen_cache_is_used(installation: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    environment = {**nowhere(tmp_path), "NUMBA_CACHE_DIR": str(chosen)}
    done = python(RUN, package=installation, **environment)
    assert Path(done.stdout.split()[1]).parent == chosen, done.stderr


def test_two_processes_compile_at_once(installation: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(installation),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RUN],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for process in running:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert out.split()[0] == "42"
    assert python(RUN, package=installation, **environment).stdout.split()[0] == "42"
