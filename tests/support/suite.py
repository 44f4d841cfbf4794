"""How many tests were collected, and whether that was the whole suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

COLLECTED = pytest.StashKey[int]()  # tests collected, before -k and -m leave any out


def is_whole_suite(config: pytest.Config) -> bool:
    """Whether everything in ``testpaths`` was collected.

    Workers of pytest-xdist collect what the main process was asked to collect, so each of them can
    answer this by itself.
    """
    left_out = [config.getoption(name) for name in ("ignore", "ignore_glob", "lf")]
    if any(left_out) or any("::" in argument for argument in config.args):
        return False
    collected = [config.invocation_params.dir / argument for argument in config.args]
    return covers(collected, [config.rootpath / path for path in config.getini("testpaths")])


def covers(collected: Sequence[Path], suite: Sequence[Path]) -> bool:
    """Whether every folder of the suite lies in one that was collected.

    >>> covers([Path("/p")], [Path("/p/tests"), Path("/p/src")])
    True
    >>> covers([Path("/p/tests")], [Path("/p/tests"), Path("/p/src")])
    False
    """
    return all(any(folder.is_relative_to(each) for each in collected) for folder in suite)
