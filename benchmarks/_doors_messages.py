"""Messages that misled people: what is said now, command by command."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from _shared import ROOT, markdown_table, report

sys.path.insert(0, str(ROOT / "tests" / "support"))

from messages import SITUATIONS

_GUARANTEE = """
import mottle, pyarrow
schema = mottle.Schema.of(quasi_identifying=["age"])
try:
    mottle.anonymize(pyarrow.table({"age": [1, 2]}), schema, 5)
except mottle.MottleError as error:
    print(error)
"""
_CHECKS = "anonymize people.csv --qi age,sex --k 3 --method nh -o out"


def main() -> None:
    """Bring every situation about and write down what is printed."""
    rows = []
    for situation in SITUATIONS:
        with tempfile.TemporaryDirectory() as name:
            situation.prepare(Path(name))
            said = _said([sys.executable, "-m", "mottle", *shlex.split(situation.command)], name)
        if situation.exit_code == 0:
            said = " … ".join(line for line in re.findall(r"Read with: .*?yyyy", said))
        rows.append([situation.name, f"`mottle {situation.command}`", situation.before, said])
    with tempfile.TemporaryDirectory() as name:
        said = _said([sys.executable, "-c", _GUARANTEE], name)
        rows.append(
            ["a number as guarantee", "`anonymize(table, schema, 5)`", "A int is not …", said]
        )
        people = "".join(f"{20 + n % 7},{'ab'[n % 2]}\n" for n in range(30))
        Path(name, "people.csv").write_text(f"age,sex\n{people}", encoding="utf-8")
        said = _said([sys.executable, "-m", "mottle", *shlex.split(_CHECKS)], name)
        page = Path(name, "out", "report.html").read_text(encoding="utf-8")
        terminal = re.search(r"\d+ of \d+ hold", said)
        shown = re.search(r"\d+ of \d+(?=\s*<)", page)
        now = f"terminal: {terminal and terminal[0]}; report: {shown and shown[0]} checks hold"
        before = "5 of 5 invariants on the terminal, 4 of 4 checks in the report"
        rows.append(["checks that are counted", f"`mottle {_CHECKS}`", before, now])
    sections = [
        "What misled people, and what is said now; the tests are in"
        " `tests/cli/test_plain_messages.py`.",
        markdown_table(["situation", "command", "before", "now"], rows),
    ]
    report("doors-messages", "Messages before and after", sections, "doors.py messages")


def _said(command: list[str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    text = re.sub(r"[│┃╭╮╰╯─┌┐└┘├┤]", " ", done.stdout + done.stderr)
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()
