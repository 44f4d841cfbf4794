"""Record which kernels runs compile, for `mottle.utils.compiling.kernel_list`.

    python tools/kernels.py

Every run of `mottle warm` is made once, from an empty cache and in one thread; what it compiles is
written to ``src/mottle/utils/compiling/kernels.json``: kernels with the types of their arguments,
callees first, the kernels each one calls, and the processor seconds it took without them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "src" / "mottle" / "utils" / "compiling" / "kernels.json"
RECORD = "recorded.json"


def recorded(name: str) -> list[dict[str, Any]]:
    """Make one of the runs in a process of its own; returns what it compiled, callees first."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {"NUMBA_CACHE_DIR": str(Path(folder, "kernels")), "MOTTLE_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, __file__, "--record", name],
            cwd=folder,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"The run '{name}' failed:\n{done.stderr}")
        content: dict[str, list[dict[str, Any]]] = json.loads(Path(folder, RECORD).read_text())
        return content["compiled"]


def record(name: str) -> None:
    """Make a run in this process and write what it calls and compiles into the working folder."""
    from numba.core import caching, dispatcher, event

    from mottle.__main__ import run as mottle
    from mottle.cli import warm
    from mottle.utils.compiling.argument_types import described
    from mottle.utils.compiling.kernel_list import key_of

    found: dict[str, dict[str, Any]] = {}
    called: dict[str, None] = {}  # by Python, also what is in the cache
    running: list[list[Any]] = []  # key, began at, seconds inside, keys that it calls
    compile_as_ever = dispatcher.Dispatcher.compile

    def compile_and_note(self: Any, signature: Any) -> Any:
        key = None
        if isinstance(self._cache, caching.Cache):
            key = key_of(self.py_func, signature)
            if key is not None:
                (running[-1][3] if running else called)[key] = None
        return compile_as_ever(self, signature)

    class Noting(event.Listener):
        def on_start(self, event: event.Event) -> None:
            kept = isinstance(event.data["dispatcher"]._cache, caching.Cache)
            function, arguments = event.data["dispatcher"].py_func, event.data["args"]
            key = key_of(function, arguments) if kept else None
            # A part of NumPy counts as a part of the kernel that needs it.
            calls = {} if key is not None or not running else running[-1][3]
            running.append([key, time.process_time(), 0.0, calls])

        def on_end(self, event: event.Event) -> None:
            key, began, inside, calls = running.pop()
            seconds = time.process_time() - began
            if running:
                running[-1][2] += inside if key is None else seconds
            if key is None:
                return
            function = event.data["dispatcher"].py_func
            found[key] = {
                "kernel": f"{function.__module__}:{function.__qualname__}",
                "arguments": [described(kind) for kind in event.data["args"]],
                "calls": list(calls),
                "seconds": round(seconds - inside, 2),
            }

    dispatcher.Dispatcher.compile = compile_and_note
    event.register("numba:compile", Noting())
    folder = Path.cwd()
    warm.write_data(folder)
    sys.argv = ["mottle", *warm.RUNS[name], "-o", "released"]
    try:
        mottle()
    except SystemExit as ending:
        if ending.code:
            raise
    kernels = [entry | {"key": key} for key, entry in found.items()]
    content = {"called": list(called), "compiled": kernels}
    Path(RECORD).write_text(json.dumps(content), encoding="utf-8")


def joined(runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """All runs as the content of the file."""
    types: dict[str, int] = {}
    number: dict[str, int] = {}
    kernels: list[list[Any]] = []
    for entries in runs.values():
        for entry in entries:
            if entry["key"] in number:
                continue
            arguments = [
                types.setdefault(json.dumps(kind), len(types)) for kind in entry["arguments"]
            ]
            calls = sorted(number[key] for key in entry["calls"] if key in number)
            number[entry["key"]] = len(kernels)
            kernels.append([entry["kernel"], arguments, calls, entry["seconds"]])
    return {
        "types": [json.loads(kind) for kind in types],
        "kernels": kernels,
        "runs": {
            name: sorted(number[entry["key"]] for entry in entries)
            for name, entries in runs.items()
        },
    }


def written(content: dict[str, Any]) -> str:
    """The text of the file: a line for every type, kernel and run."""
    parts = []
    for name in ("types", "kernels"):
        lines = ",\n".join(f"  {json.dumps(entry)}" for entry in content[name])
        parts.append(f' "{name}": [\n{lines}\n ]')
    lines = ",\n".join(
        f'  "{name}": {json.dumps(entries)}' for name, entries in content["runs"].items()
    )
    parts.append(f' "runs": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    """Record all runs."""
    from mottle.cli import warm

    runs = {name: recorded(name) for name in warm.RUNS}
    FILE.write_text(written(joined(runs)), encoding="utf-8")
    for name, entries in runs.items():
        seconds = sum(entry["seconds"] for entry in entries)
        print(f"{name}: {len(entries)} kernels, {seconds:.1f} processor seconds")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record(sys.argv[2])
    else:
        main()
