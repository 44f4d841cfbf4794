"""``python -m mottle``, and the command ``mottle``.

Ctrl-C and a lack of memory are reported in one line also while modules are being imported, which
takes most of the time of a short command.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from mottle.utils.lazy import lazy_module
from mottle.utils.lean_process import end_at_once, end_without_finalizing, own_process

if TYPE_CHECKING:
    from mottle.cli import app
else:
    app = lazy_module("mottle.cli.app")

INTERRUPTED, NO_MEMORY = 130, 71  # exit codes

# What libraries read when they are imported.
_SETTINGS = {
    # Matrices are small: a second thread of BLAS only waits.
    "OPENBLAS_NUM_THREADS": "1",
    # Arrow's own allocator takes huge pages, which the system has to clear before their first use:
    # a tenth of the time of a short run.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # Pydantic looks for plugins in the metadata of every package that is installed.
    "PYDANTIC_DISABLE_PLUGINS": "1",
}


def main() -> None:
    """Run the command line, and end the process with it."""
    try:
        run()
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            end_without_finalizing(ending.code or 0)
        raise


def run() -> None:
    """Run the command line, for those who go on afterwards; it ends by `SystemExit`."""
    prepare()
    try:
        app.main()
    except SystemExit as ending:
        # Threads of Arrow and of kernels may still run: finalizing Python beneath them can crash.
        if ending.code in (INTERRUPTED, NO_MEMORY):
            _end_now(int(ending.code))
        raise
    except KeyboardInterrupt:
        _end("Interrupted: nothing was written.", INTERRUPTED)
    except MemoryError:
        _end("Error: There is not enough memory. Nothing was written.", NO_MEMORY)
    except ImportError as error:
        if "annot allocate memory" not in str(error) and "failed to map" not in str(error):
            raise
        _end("Error: There is not enough memory. Nothing was written.", NO_MEMORY)
    finally:
        end_at_once()


def prepare() -> None:
    """Make the process one of the command line, before libraries are imported."""
    own_process()
    for name, setting in _SETTINGS.items():
        os.environ.setdefault(name, setting)


def _end(message: str, code: int) -> None:
    """End the process without running anything else, which might be half imported."""
    os.write(2, f"{message}\n".encode())
    _end_now(code)


def _end_now(code: int) -> None:
    """End the process with what was printed, and without finalizing Python."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a pipe that nobody reads any more
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
