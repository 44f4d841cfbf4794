"""Vega, Vega-Lite and vega-embed, from the bundle that vl-convert carries.

So nothing of them is copied into mottle, and no page requests them from elsewhere.
"""

from __future__ import annotations

import subprocess
import sys
import threading

_SCRIPT = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"


class VegaBundle:
    """The library as a module of JavaScript, made when it is first asked for and kept."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._made: bytes | None = None

    def script(self) -> bytes | None:
        """Return the module; None if vl-convert is missing or does not work.

        Two pages that ask for it wait for one process, whose memory is free afterwards.
        """
        with self._turn:
            if self._made is None:
                words = [sys.executable, "-P", "-c", _SCRIPT]
                done = subprocess.run(words, capture_output=True, check=False)
                self._made = done.stdout if done.returncode == 0 else None
            return self._made
