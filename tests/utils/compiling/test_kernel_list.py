"""The list of kernels: it is what runs ask for, and callees come before those that call them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

from mottle.cli import warm
from mottle.utils.compiling.argument_types import type_of
from mottle.utils.compiling.kernel_list import CompileList, key_of


@pytest.mark.parametrize("run", warm.RUNS)
def test_every_kernel_exists_with_the_types_in_the_list(run: str) -> None:
    items = CompileList.of([run]).items
    assert items
    for item in items:
        types = [type_of(kind) for kind in item.arguments]
        assert key_of(item.dispatcher().py_func, types) == item.key


@pytest.mark.parametrize("run", warm.RUNS)
def test_python_calls_the_kernels_of_the_list_and_no_others(run: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "kernels.py", "--record", run],
        cwd=tmp_path,
        env=os.environ | {"MOTTLE_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    called = set(json.loads((tmp_path / "recorded.json").read_text("utf-8"))["called"])
    listed = CompileList.of([run])
    remedy = "run python tools/kernels.py"
    assert called <= {item.key for item in listed.items}, remedy
    assert called >= {item.key for item in listed.called_by_python()}, remedy


def test_callees_come_first_and_paths_grow_towards_them() -> None:
    items = CompileList.of(warm.RUNS).items
    for number, item in enumerate(items):
        for call in item.calls:
            assert call < number
            assert items[call].path >= item.path + items[call].seconds


def test_a_run_that_is_not_known_has_no_kernels() -> None:
    assert CompileList.of(["no such run"]).items == ()
