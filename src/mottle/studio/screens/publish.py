"""The screen that shows what leaves and what stays, and verifies the release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mottle.errors import UsageError
from mottle.studio.project import LINKS, RELEASED, STAYS
from mottle.studio.screens.base import Mark, Screen
from mottle.studio.state import Studio, release_mark

_WORDS = {
    "release.csv": "the table, as text",
    "release.parquet": "the table, for programs",
    "release_sensitive.csv": "sensitive values, in a table of their own",
    "report.html": "a report for people",
    "certificate.json": "what is promised, measured and checked",
    "owner.key": "the key under which the run can be repeated",
    "links.parquet": "which record is whose",
}


def _measure(studio: Studio) -> Mark:
    run = studio.project.current_run()
    if run is None:
        return Mark.OPEN
    found = release_mark(studio.project.folder / RELEASED)
    if found != run["release"]:
        return Mark.INVALID
    return Mark.DONE if studio.project.is_verified(found) else Mark.OPEN


def _content(studio: Studio) -> dict[str, Any]:
    folder = studio.project.folder
    run = studio.project.current_run()
    data = studio.project.state.wishes.data
    stays = [(name, size, _WORDS.get(name, "")) for name, size in _sizes(folder / STAYS)]
    if data is not None and (folder / data).is_file():
        stays.insert(0, (data, _size(folder / data), "the original"))
    found = release_mark(folder / RELEASED)
    return {
        "current": run,
        "changed": run is not None and run["release"] != found,
        "leaves": [(name, size, _WORDS.get(name, "")) for name, size in _sizes(folder / RELEASED)],
        "stays_files": stays,
        "verifying": studio.running("verify"),
        "verified": run is not None and studio.project.is_verified(found),
        "job": studio.last("verify"),
        "report": (folder / RELEASED / "report.html").is_file(),
    }


def _sizes(folder: Path) -> list[tuple[str, str]]:
    """The files of a folder with their sizes."""
    if not folder.is_dir():
        return []
    return [
        (path.name, _size(path))
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
    ]


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB"


async def _verify(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Check every cell of the release against the original, along the links."""
    if studio.project.current_run() is None:
        raise UsageError("There is no release of what is shown here.", "Run it first.")
    if studio.running("verify") is None:
        data = studio.project.data_word
        studio.start("verify", ["verify", RELEASED, "--original", data, "--private", LINKS])
    return {}


PUBLISH = Screen("publish", "Publish", _measure, _content, {"verify": _verify})
