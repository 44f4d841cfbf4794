"""The screen that shows what leaves and what stays, states the context and verifies the release."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mottle.errors import MottleError, UsageError
from mottle.io.write_release import LIST, SIGNATURE
from mottle.release.certificate import Certificate
from mottle.report.checklists import checklists_of
from mottle.schema.context import CHECKLISTS, Context
from mottle.studio.figures import certificate, release_mark
from mottle.studio.jobs import State
from mottle.studio.layout import COPIES, LINKS, RELEASED, STAYS, TOML
from mottle.studio.publishing import (
    FORMATS,
    export_words,
    is_signed,
    key_file,
    signing_keys,
    store,
)
from mottle.studio.screens.base import Mark, Screen, text_of
from mottle.studio.state import Studio
from mottle.studio.stating import state_context
from mottle.utils.untrusted.text import read_text

_WORDS = {
    "release.csv": "the table, as text",
    "release.parquet": "the table, for programs",
    "release_sensitive.csv": "sensitive values, in a table of their own",
    "report.html": "a report for people",
    "certificate.json": "what is promised, measured and checked",
    LIST: "checksums of all files",
    SIGNATURE: "the signature over them",
    "owner.key": "the key under which the run can be repeated",
    "links.parquet": "which record is whose",
}
_LISTS = {
    "iso27559": "ISO/IEC 27559",
    "wp216": "WP 216 of the Article 29 Working Party",
    "ema": "EMA Policy 0070",
    "hipaa": "HIPAA, expert determination",
}
_PURPOSES = ("restate", "export", "sign", "verify")  # of jobs on this page


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
    if run is None:
        return {"current": None}
    data = studio.project.state.wishes.data
    stays = [(name, size, _WORDS.get(name, "")) for name, size in _sizes(folder / STAYS)]
    if data is not None and (folder / data).is_file():
        stays.insert(0, (data, _size(folder / data), "the original"))
    found = release_mark(folder / RELEASED)
    job = next((job for job in reversed(list(studio.jobs)) if job.purpose in _PURPOSES), None)
    return {
        "current": run,
        "changed": run["release"] != found,
        "leaves": [(name, size, _WORDS.get(name, "")) for name, size in _sizes(folder / RELEASED)],
        "copies": _sizes(folder / COPIES),
        "stale": _stale(folder),
        "stored": studio.project.stored(found),
        "formats": FORMATS,
        "stays_files": stays,
        "context": studio.project.context,
        "restated": studio.project.context == _stated(folder / RELEASED),
        "checklists": {name: _LISTS[name] for name in CHECKLISTS},
        "filled": _filled(folder / RELEASED),
        "signed": is_signed(folder / RELEASED),
        "keys": signing_keys(studio),
        "working": None if job is None or not job.is_active else job,
        "failed": job if job is not None and job.state is State.FAILED else None,
        "verified": studio.project.is_verified(found),
        "report": (folder / RELEASED / "report.html").is_file(),
    }


def _stated(folder: Path) -> Context:
    """What the certificate of a release says about its context."""
    try:
        return Context.of_toml(certificate(folder).get("context"), "certificate.json") or Context()
    except MottleError:
        return Context()


def _filled(folder: Path) -> list[tuple[str, int, int, list[str]]]:
    """Of the checklists on a certificate: title, lines that are answered, all lines, open ones."""
    path = folder / "certificate.json"
    try:
        found = checklists_of(Certificate.from_json(read_text(path)))
    except (MottleError, ValidationError, ValueError):
        return []
    return [
        (
            each.title,
            sum(line.shown for line in each.lines),
            len(each.lines),
            [line.asks for line in each.lines if not line.shown],
        )
        for each in found
    ]


def _stale(folder: Path) -> bool:
    """Whether copies are older than the release."""
    made = folder / RELEASED / "release.parquet"
    copies = list((folder / COPIES).glob("release.*")) if (folder / COPIES).is_dir() else []
    return made.is_file() and any(
        each.stat().st_mtime_ns < made.stat().st_mtime_ns for each in copies
    )


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


async def _state(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write the context down, and state it on certificate and report."""
    entries = {
        "purpose": text_of(body, "purpose").strip() or None,
        "recipients": _lines(text_of(body, "recipients")),
        "controls": _lines(text_of(body, "controls")),
        "reviewer": text_of(body, "reviewer").strip() or None,
        "review_by": text_of(body, "review_by").strip() or None,
        "checklists": tuple(name for name in CHECKLISTS if body.get(f"list-{name}") is True),
    }
    await asyncio.to_thread(state_context, studio, **entries)
    if studio.project.current_run() is not None:
        await _restate(studio, body)
    return {}


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


async def _restate(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write certificate and report of the release anew, with the present context."""
    _check_there(studio)
    if studio.project.schema().context is None:
        raise UsageError("Nothing is stated.", "State something, or run again without it.")
    _start(studio, "restate", ["report", RELEASED, "--context", TOML, "--overwrite"])
    return {}


async def _export(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write the release as a file of another program."""
    _check_there(studio)
    _start(studio, "export", export_words(studio, text_of(body, "format")))
    return {}


async def _store(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write the release into a database."""
    _check_there(studio)
    address, table, password = (text_of(body, name) for name in ("address", "table", "password"))
    await asyncio.to_thread(store, studio, address, table, password)
    return {}


async def _sign(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Sign the files of the release with the owner's SSH key."""
    _check_there(studio)
    key = await asyncio.to_thread(key_file, studio, text_of(body, "key"))
    _start(studio, "sign", ["sign", RELEASED, "--ssh-key", key, "--overwrite"])
    return {}


async def _verify(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Check every cell of the release against the original, along the links."""
    _check_there(studio)
    data = studio.project.data_word
    _start(studio, "verify", ["verify", RELEASED, "--original", data, "--private", LINKS])
    return {}


def _start(studio: Studio, purpose: str, words: list[str]) -> None:
    if studio.running(purpose) is None:
        studio.start(purpose, words)


def _check_there(studio: Studio) -> None:
    if studio.project.current_run() is None:
        raise UsageError("There is no release of what is shown here.", "Run it first.")


PUBLISH = Screen(
    "publish",
    "Publish",
    _measure,
    _content,
    {
        "state": _state,
        "restate": _restate,
        "export": _export,
        "store": _store,
        "sign": _sign,
        "verify": _verify,
    },
)
