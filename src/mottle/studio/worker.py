"""The process of one run: ``mottle`` with a limit on memory."""

from __future__ import annotations

import importlib
import os
import resource
import runpy

from mottle.studio.jobs import MEMORY


def limited() -> None:
    """Bound the memory of this process, as the studio asks by its environment.

    OpenBLAS reserves memory when it is loaded, and tries again without end if there is none; so
    it is loaded first.
    """
    most = os.environ.get(MEMORY)
    if most is not None:
        importlib.import_module("scipy.linalg")
        resource.setrlimit(resource.RLIMIT_DATA, (int(most), int(most)))


if __name__ == "__main__":
    limited()
    runpy.run_module("mottle", run_name="__main__", alter_sys=True)
