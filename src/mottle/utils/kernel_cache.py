"""Where Numba keeps compiled kernels, on machines where its own places cannot be written.

Numba caches a kernel beside its source file or in the user's cache. In a container both may be
read-only, or the user may have no home, and Numba then refuses to define the kernel at all. This is
the one place that decides for another folder: a private one among the temporary files, because
whoever can write to the cache can run code as its user. If there is none, kernels are compiled
anew in every process. ``NUMBA_CACHE_DIR`` always has precedence.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from mottle.utils.private_folders import cache_home, private_folder

__all__ = ["UNCACHED", "choose_cache"]

UNCACHED = "The compiled kernels cannot be kept. Set NUMBA_CACHE_DIR to a folder of your own."
_VARIABLE = "NUMBA_CACHE_DIR"
_logger = logging.getLogger(__name__)


def choose_cache(package: str) -> None:
    """Give Numba a folder for compiled kernels if it would find none.

    Parameters
    ----------
    package : str
        The folder of the package whose kernels are cached.
    """
    chosen = os.environ.get(_VARIABLE)
    if chosen:
        with suppress(OSError):
            os.makedirs(chosen, exist_ok=True)
        if _is_writable(Path(chosen)):
            return
    if not chosen and (_beside_sources(Path(package)) or _in_cache_of_user()):
        return
    with suppress(OSError):
        folder = private_folder(Path(tempfile.gettempdir()), "mottle-kernels")
        if _is_writable(folder):
            os.environ[_VARIABLE] = str(folder)  # also for processes that this one starts
            if "numba" in sys.modules:
                import_module("numba").config.CACHE_DIR = str(folder)
            return
    _do_without()


def _beside_sources(package: Path) -> bool:
    cache = package / "__pycache__"
    return _is_writable(cache if cache.exists() else package)


def _in_cache_of_user() -> bool:
    home = cache_home()  # Numba takes "~" for the name of a folder if the user has no home
    if home is None:
        return False
    with suppress(OSError):
        os.makedirs(home / "numba", exist_ok=True)
        return _is_writable(home / "numba")
    return False


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _do_without() -> None:
    """Let kernels be defined without a cache."""
    _logger.warning("%s", UNCACHED)
    dispatcher = import_module("numba.core.dispatcher").Dispatcher
    dispatcher.enable_caching = lambda self: None  # what ``cache=True`` calls
