"""Projects that were opened lately, by their folders, so that one can go on with them.

The list is the user's own: a file that only the user can read, in ``$XDG_STATE_HOME`` or
``~/.local/state``. It holds folders that the user named when a studio was started, and nothing of
their tables.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from mottle.io.staged_files import write_atomic
from mottle.studio.project import Project
from mottle.utils.untrusted.text import parse_json, read_text

_MOST = 10


def recent() -> list[Path]:
    """The folders of projects that are still there, the last one first."""
    found = []
    for folder in _listed():
        with suppress(OSError, ValueError):
            if folder.is_absolute() and folder.resolve() == folder and Project(folder).exists:
                found.append(folder)
    return found


def remember(folder: Path) -> None:
    """Put a folder at the beginning of the list; without a home, nothing is kept."""
    place = _place()
    if place is None:
        return
    listed = [str(folder), *(str(each) for each in _listed() if each != folder)]
    with suppress(OSError):  # a list that cannot be written must not stop the work
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(place, json.dumps(listed[:_MOST], ensure_ascii=False))
        place.chmod(0o600)


def _listed() -> list[Path]:
    place = _place()
    try:
        content = parse_json(read_text(place)) if place is not None and place.is_file() else []
    except (OSError, ValueError):
        return []
    return [Path(each) for each in content if isinstance(each, str)][:_MOST]


def _place() -> Path | None:
    chosen = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(chosen):
        return Path(chosen) / "mottle" / "studio.json"
    home = os.path.expanduser("~")  # stays "~" for a user that the system does not know
    return Path(home, ".local", "state", "mottle", "studio.json") if os.path.isabs(home) else None
