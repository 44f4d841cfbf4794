"""What people bring along: projects of other tools, files, cells, and the messages they meet.

Usage: python benchmarks/doors.py [PART …]; all parts without arguments. Each part writes
benchmarks/results/doors-PART.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import _doors_arx
import _doors_cells
import _doors_files
import _doors_messages

PARTS: dict[str, Callable[[], None]] = {
    "files": _doors_files.main,
    "cells": _doors_cells.main,
    "arx": _doors_arx.main,
    "messages": _doors_messages.main,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        if part not in PARTS:
            sys.exit(f"There is no part '{part}': {', '.join(PARTS)}.")
        PARTS[part]()
