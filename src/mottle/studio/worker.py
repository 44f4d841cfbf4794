"""The process of one run: ``mottle`` with a limit on memory."""

from __future__ import annotations

import os
import resource
import runpy

from mottle.studio.jobs import MEMORY


def limited() -> None:
    """Bound the memory of this process, as the studio asks by its environment."""
    most = os.environ.get(MEMORY)
    if most is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (int(most), int(most)))


if __name__ == "__main__":
    limited()
    runpy.run_module("mottle", run_name="__main__", alter_sys=True)
