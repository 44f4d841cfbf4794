"""Run the command line in this process and print, as JSON, the processor seconds of its parts.

    python benchmarks/_speed_parts.py anonymize DATA …

The time of a part does not include that of parts inside it. Threads count with the part that
waits for them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from mottle.__main__ import prepare
from mottle.__main__ import run as command_line

# Where a part is called: module and attribute, as the caller finds it.
PARTS = {
    "read": ["mottle.cli._sources:read_table", "mottle.pipeline.anonymize:as_table"],
    "encode": ["mottle.pipeline.anonymize:encode"],
    "arrange": ["mottle.pipeline.table_records:TableRecords.arrange"],
    "cover": ["mottle.pipeline.table_records:TableRecords.cover"],
    "assign": ["mottle.pipeline.spine:assign"],
    "publish": ["mottle.pipeline.table_records:TableRecords.publish"],
    "certificate": ["mottle.pipeline.anonymize:certify"],
    "calibration": ["mottle.pipeline.calibration_sample:CalibrationSample.calibrate"],
    "write Parquet and CSV": ["mottle.io.write_release:write_rows"],
    "report": ["mottle.report.report:report_html"],
}
REST = "imports, checks and the rest"


class Clock:
    """Processor seconds by name, of the innermost name that is running."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._running = [REST]
        self._since = 0.0  # the process has used nothing before

    def enter(self, name: str) -> None:
        """Begin a part."""
        self._count()
        self._running.append(name)

    def leave(self) -> None:
        """End the part that was begun last."""
        self._count()
        self._running.pop()

    def _count(self) -> None:
        now = time.process_time()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose calls are counted."""

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            self.enter(name)
            try:
                return function(*arguments, **named)
            finally:
                self.leave()

        return call


def main() -> None:
    prepare()  # before NumPy and Arrow are imported, as in a process of the command line
    clock = Clock()
    for name, places in PARTS.items():
        for place in places:
            module, _, path = place.partition(":")
            *outer, attribute = path.split(".")
            owner = functools.reduce(getattr, outer, importlib.import_module(module))
            setattr(owner, attribute, clock.timed(name, getattr(owner, attribute)))
    sys.argv = ["mottle", *sys.argv[1:]]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            command_line()
        except SystemExit as end:
            if end.code:
                raise
    clock.enter(REST)
    print(json.dumps(clock.seconds))


if __name__ == "__main__":
    main()
