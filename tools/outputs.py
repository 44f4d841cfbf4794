"""Show below every Python example of the documentation what it prints.

    python tools/outputs.py docs/queries.md docs/sets.md

Runs the blocks of a page in an empty folder, from the first to the last: Python in one process, and
bash with the programs beside this Python. What a Python block prints stands below it as a block of
text, which is replaced. Examples are drawn at random, as releases are, so that figures differ from
run to run; `tests/docs` runs the examples and looks that none is without its output.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(
    r"^```(?P<kind>bash|python)\n(?P<code>.*?)^```\n(?P<shown>\n```text\n.*?^```\n)?", re.M | re.S
)
PREPARED = {  # what a page takes for granted
    "scale": "import mottle, pyarrow.parquet as pq\n"
    "pq.write_table(mottle.datasets.population(500, seed=1), 'people.parquet')",
}
FRAMES = {"width": 110, "max_columns": None, "max_rows": 8, "min_rows": 6}  # how pandas shows them


def main() -> None:
    """Write the outputs of the pages that are named."""
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(with_outputs(page.read_text("utf-8"), page.stem), encoding="utf-8")


def prints(code: str) -> bool:
    """Whether an example prints something."""
    return re.search(r"^\s*print\(", code, re.M) is not None


def without_output(text: str) -> list[str]:
    """The first lines of examples of a page that print and have no output below them."""
    return [
        found["code"].splitlines()[0]
        for found in BLOCK.finditer(text)
        if found["kind"] == "python" and prints(found["code"]) and not found["shown"]
    ]


def with_outputs(text: str, name: str) -> str:
    """Return a page with the output of every example that prints."""
    import pandas as pd

    for option, value in FRAMES.items():
        pd.set_option(f"display.{option}", value)
    names: dict[str, object] = {}

    def shown(found: re.Match[str]) -> str:
        block = f"```{found['kind']}\n{found['code']}```\n"
        if found["kind"] == "bash":
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            environment = {**os.environ, "PATH": path}
            command = ["bash", "-e", "-c", found["code"]]
            subprocess.run(command, env=environment, check=True, capture_output=True)
            return block + (found["shown"] or "")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(found["code"], name, "exec"), names)
        lines = [line.rstrip() for line in printed.getvalue().strip("\n").splitlines()]
        return block + ("\n```text\n" + "\n".join(lines) + "\n```\n" if lines else "")

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(PREPARED.get(name, ""), {})
            return BLOCK.sub(shown, text)
        finally:
            os.chdir(before)


if __name__ == "__main__":
    main()
