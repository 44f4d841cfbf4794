"""Collect the notes in changes/ into CHANGELOG.md.

    python tools/changelog.py            # shows what the notes add to "Unreleased"
    python tools/changelog.py --write    # adds them and removes the notes
    python tools/changelog.py --release 0.2.0    # the same, and "Unreleased" gets this name

A change that users notice comes with a file ``changes/NAME.md``: one list item, in their words.
Branches that each add a file do not conflict, as they would at the top of the changelog.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
NOTES = ROOT / "changes"
HEADING = "## Unreleased\n"
ITEM = re.compile(r"- \S[^\n]*\n(?:  \S[^\n]*\n)*")


def main() -> None:
    """Show or write the changelog with the notes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="add the notes and remove them")
    parser.add_argument("--release", metavar="VERSION", help="and give them to this version")
    options = parser.parse_args()
    paths = notes_in(NOTES)
    texts = [checked(path) for path in paths]
    if not (options.write or options.release):
        sys.stdout.write("".join(texts))
        return
    text = with_notes(CHANGELOG.read_text("utf-8"), texts)
    if options.release:
        text = released(text, options.release, dt.date.today())
    CHANGELOG.write_text(text, encoding="utf-8")
    for path in paths:
        path.unlink()


def notes_in(folder: Path) -> list[Path]:
    """All notes, by name."""
    return sorted(path for path in folder.glob("*.md") if path.name != "README.md")


def checked(path: Path) -> str:
    """Return a note, which has to be one list item."""
    text = path.read_text("utf-8")
    if ITEM.fullmatch(text) is None:
        sys.exit(
            f"changes/{path.name} is not one list item: a line that begins with '- ',"
            " further lines with two spaces, and no empty line."
        )
    return text


def with_notes(changelog: str, notes: Iterable[str]) -> str:
    """Return a changelog with the notes at the top of what is not released."""
    if HEADING not in changelog:
        changelog = changelog.replace("# Changes\n", f"# Changes\n\n{HEADING}", 1)
    before, after = changelog.split(HEADING, 1)
    after = after.lstrip("\n")
    gap = "\n" if after.startswith("#") else ""
    return f"{before}{HEADING}\n{''.join(notes)}{gap}{after}"


def released(changelog: str, version: str, day: dt.date) -> str:
    """Return a changelog whose unreleased changes are those of a version."""
    return changelog.replace(HEADING, f"## {version}, {day.isoformat()}\n", 1)


if __name__ == "__main__":
    main()
