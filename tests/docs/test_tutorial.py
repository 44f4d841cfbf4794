"""The tutorial, run from its first block to its last in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import DOCS

import mottle
from mottle.queries import combine

TUTORIAL = DOCS / "tutorial.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Everything the Python blocks leave behind."""
    folder = tmp_path_factory.mktemp("tutorial")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    blocks = re.findall(r"```(bash|python)\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL)
    assert [kind for kind, _ in blocks].count("bash") >= 4
    left: dict[str, object] = {"folder": folder}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for kind, code in blocks:
            if kind == "bash":
                done = subprocess.run(
                    ["bash", "-e", "-c", code],
                    env={**os.environ, "PATH": programs},
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"
            else:
                exec(compile(code, "tutorial.md", "exec"), left)
    return left


def test_every_block_runs_and_leaves_the_files_it_speaks_of(names) -> None:
    found = {path.name for path in names["folder"].iterdir()}
    assert found == {"patients.csv", "mottle.toml", "released", "links.parquet", "internal.html"}
    assert mottle.read_release(names["folder"] / "released").certificate.guarantee.k == 10


def test_the_analysis_finds_what_is_in_the_original(names) -> None:
    for place, true in enumerate(names["true"]):
        estimates, variances = zip(
            *((one[0][place], one[1][place]) for one in names["results"]), strict=True
        )
        pooled = combine(estimates, variances)
        assert abs(pooled.estimate - true) < 3 * pooled.error
