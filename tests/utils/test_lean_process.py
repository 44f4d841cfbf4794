"""What is left out of the processes of the command line."""

from __future__ import annotations

import subprocess
import sys

from mottle.utils import lean_process

OWN = """
import sys
from mottle.utils.lean_process import leave_out_unused, own_process
own_process()
leave_out_unused()
import numba, pyarrow as pa
assert "pandas" not in sys.modules and "scipy.linalg" not in sys.modules
assert numba.njit(lambda number: number + 1)(pa.array([1])[0].as_py()) == 2
import pandas, scipy.linalg
"""


def test_a_process_of_its_own_imports_neither_pandas_nor_linear_algebra() -> None:
    subprocess.run([sys.executable, "-c", OWN], check=True)


def test_processes_of_others_are_left_alone() -> None:
    assert not lean_process._own
    before = list(sys.meta_path)
    lean_process.leave_out_unused()
    assert list(sys.meta_path) == before
