"""Where a release can go: files of other programs, a database, a signature."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from mottle.errors import MottleError, UsageError
from mottle.io.databases.write import write_database
from mottle.io.write_release import LIST, SIGNATURE
from mottle.pipeline.release import read_release
from mottle.studio.elsewhere import source_of, without_password
from mottle.studio.figures import release_mark
from mottle.studio.layout import COPIES, RELEASED, STAYS
from mottle.studio.state import Studio

FORMATS = {"xlsx": "Excel", "sav": "SPSS", "dta": "Stata"}
_WITH_CODES = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")  # originals to be like
_MOST_SECONDS = 5  # for asking the agent


def export_words(studio: Studio, suffix: str) -> list[str]:
    """The command that writes the release as a file of another program.

    Parameters
    ----------
    studio : Studio
        The state.
    suffix : str
        One of `FORMATS`.

    Returns
    -------
    list of str
        The words after ``mottle``.
    """
    if suffix not in FORMATS:
        raise UsageError("There is no such format.", "Choose another.")
    (studio.project.folder / COPIES).mkdir(exist_ok=True)
    words = ["export", RELEASED, "-o", f"{COPIES}/release.{suffix}", "--overwrite"]
    data = studio.project.state.wishes.data
    if suffix != "xlsx" and data is not None and data.lower().endswith(_WITH_CODES):
        words += ["--like", studio.project.data_word]
    return words


def store(studio: Studio, address: str, table: str, password: str) -> None:
    """Write the release into a database, as ``mottle export --to`` does.

    Parameters
    ----------
    studio : Studio
        The state.
    address : str
        A URL, or a file below the studio's folders.
    table : str
        ``table`` or ``schema.table``.
    password : str
        Empty if there is none, or if the environment or a file holds it.

    Raises
    ------
    MottleError
        It cannot be written; the message does not hold the password.
    """
    if not address.strip() or not table.strip():
        raise UsageError("The address or the table is missing.", "Type both.")
    place = studio.project.folder / RELEASED
    try:
        source, shown = source_of(studio, address.strip(), password)
        names = write_database(read_release(place), source, table.strip())
    except MottleError as error:
        raise without_password(error, password) from None
    studio.project.add_stored(release_mark(place), f"{shown}: {', '.join(names)}")


def signing_keys(studio: Studio) -> list[str]:
    """The SSH keys that can sign: those of the agent, and files in the folder of what stays.

    Parameters
    ----------
    studio : Studio
        The state.

    Returns
    -------
    list of str
        Public keys of the agent, and names of files.
    """
    folder = studio.project.folder / STAYS
    files = []
    if folder.is_dir():
        files = [
            f"{STAYS}/{path.stem}"
            for path in sorted(folder.glob("*.pub"))
            if path.with_suffix("").is_file() and not path.with_suffix("").is_symlink()
        ]
    return [*_of_agent(), *files]


def key_file(studio: Studio, chosen: str) -> str:
    """The file by which ``mottle sign`` finds a key; the public one if an agent holds it.

    Parameters
    ----------
    studio : Studio
        The state.
    chosen : str
        One of `signing_keys`.

    Returns
    -------
    str
        Its path in the project's folder.
    """
    if chosen not in signing_keys(studio):
        raise UsageError("There is no such key.", "Load the page again.")
    if chosen.startswith(f"{STAYS}/"):
        return chosen
    return studio.project.write_signer(chosen)


def is_signed(folder: Path) -> bool | None:
    """Whether a release is signed; None if files have changed since.

    Parameters
    ----------
    folder : Path
        The release.

    Returns
    -------
    bool or None
        True, False, or None.
    """
    signature = folder / SIGNATURE
    if not signature.is_file():
        return False
    others = [path for path in folder.iterdir() if path.name not in (LIST, SIGNATURE)]
    newest = max(path.stat().st_mtime_ns for path in others) if others else 0
    return True if newest <= signature.stat().st_mtime_ns else None


def _of_agent() -> list[str]:
    """The public keys that the user's agent holds."""
    program = shutil.which("ssh-add")
    if program is None or not os.environ.get("SSH_AUTH_SOCK"):
        return []
    try:
        done = subprocess.run(
            [program, "-L"], capture_output=True, text=True, timeout=_MOST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return []
    lines = done.stdout.splitlines() if done.returncode == 0 else []
    return [line for line in lines if line.isprintable()][:20]
