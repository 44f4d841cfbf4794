"""Processes on odd machines: without the right to write everywhere, or without a home."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def obeying_modes() -> None:
    """Let a process of root obey the modes of files as any other user has to."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)
        assert not failed, os.strerror(ctypes.get_errno())


def python(
    code: str, *arguments: object, package: Path = SOURCES, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """Run a program with these changes of the environment; None removes a variable."""
    changed = {**os.environ, "PYTHONPATH": str(package), **environment}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={name: value for name, value in changed.items() if value is not None},
        preexec_fn=obeying_modes,
    )
