"""A project: the folder of one piece of work, its mottle.toml, its options and its runs.

Everything that a page shows is made from these files, so a page may be loaded again, sleep, or be
open twice. What the studio does is what the command line does: `Project.command` is the command
that a run executes and that the drawer shows.

==========================  ================================================================
file                        what it holds
==========================  ================================================================
``mottle.toml``             roles and kinds of the columns, reading options
``.studio/project.json``    the data and the options of the command
``.studio/history/N.json``  earlier states of both, for undo
``.studio/runs/N.json``     the figures of finished runs
``.studio/verified.json``   the release that was verified last
``.studio/variants.json``   what variants lose that were tried and not kept
``.studio/errors.json``     how far pinned questions were off, by release
``.studio/audits.json``     what adversaries achieved
``.studio/other.toml``      how another tool's file is read
``.studio/stored.json``     where in databases a release was written to
``.studio/signer.pub``      the public key of the last signature by an agent
``.studio/dropped/``        tables from elsewhere, removed when the studio ends
``released/``               the release, which leaves
``copies/``                 the same as files of other programs
``stays-here/``             the owner's key and links, which do not
==========================  ================================================================
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mottle.errors import DataError, MottleError, StorageError
from mottle.io.staged_files import write_atomic, write_together
from mottle.schema.context import Context
from mottle.schema.external_release import ExternalRelease, Tool
from mottle.schema.model import Schema
from mottle.studio.layout import HIDDEN, STAYS, TOML, plain
from mottle.studio.wishes import Wishes
from mottle.utils.untrusted.text import parse_json, read_text

_MOST_STATES = 1000  # of the history


@dataclass(frozen=True)
class Snapshot:
    """One state of a project."""

    toml: str
    wishes: Wishes


class Project:
    """The state of one folder, read from its files whenever it is asked for.

    Parameters
    ----------
    folder : Path
        The folder; the files are made when something is changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own = folder / HIDDEN

    # ------------------------------------------------------------------------------------- state

    @property
    def exists(self) -> bool:
        """Whether the folder holds a project."""
        return (self._own / "project.json").is_file() or (self.folder / TOML).is_file()

    @property
    def state(self) -> Snapshot:
        """The current state."""
        toml = self.folder / TOML
        own = self._own / "project.json"
        return Snapshot(
            read_text(toml) if toml.is_file() else "",
            Wishes.of(_parsed(own)) if own.is_file() else Wishes(),
        )

    def change(self, *, toml: str | None = None, **wishes: Any) -> None:
        """Change the schema or some wishes; the state before can be had back by `undo`.

        Parameters
        ----------
        toml : str, optional
            The new text of mottle.toml.
        **wishes : object
            New entries of `Wishes`.
        """
        before = self.state
        after = Snapshot(before.toml if toml is None else toml, replace(before.wishes, **wishes))
        if after != before:
            self._remember(before)
            self._write(after)

    def undo(self) -> bool:
        """Go back to the state before the last change; False if there was none."""
        current = self.state
        for path in reversed(self._history()):
            before = self._remembered(path)
            if before != current:
                self._write(before)
            path.unlink()
            if before != current:
                return True
        return False

    def difference(self) -> str:
        """What the last change did to mottle.toml, as a unified diff."""
        current = self.state
        earlier = (self._remembered(path) for path in reversed(self._history()))
        before = next((state.toml for state in earlier if state != current), "")
        lines = difflib.unified_diff(
            before.splitlines(), current.toml.splitlines(), TOML, TOML, lineterm="", n=2
        )
        return "\n".join(lines)

    def _history(self) -> list[Path]:
        found = [path for path in (self._own / "history").glob("*.json") if path.stem.isdigit()]
        return sorted(found, key=lambda path: int(path.stem))

    @staticmethod
    def _remembered(path: Path) -> Snapshot:
        """An earlier state; it is the current one where the change after it was not written."""
        content = _parsed(path)
        if not isinstance(content, dict) or not isinstance(content.get("toml"), str):
            raise DataError("The history of the studio is damaged.", "Remove its folder .studio.")
        return Snapshot(content["toml"], Wishes.of(content.get("wishes")))

    def _remember(self, state: Snapshot) -> None:
        earlier = self._history()
        number = int(earlier[-1].stem) + 1 if earlier else 1
        folder = self._private("history")
        content = {"toml": state.toml, "wishes": asdict(state.wishes)}
        write_atomic(folder / f"{number}.json", json.dumps(content, ensure_ascii=False))
        for path in earlier[: -_MOST_STATES + 1]:
            path.unlink()

    def _private(self, name: str = "") -> Path:
        """A folder of the studio's own files, which nobody else may read."""
        self._own.mkdir(mode=0o700, exist_ok=True)
        folder = self._own / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _write(self, state: Snapshot) -> None:
        self._private()
        wishes = json.dumps(asdict(state.wishes), indent=1, ensure_ascii=False)
        (self.folder / STAYS).mkdir(mode=0o700, exist_ok=True)
        write_together({self._own / "project.json": wishes, self.folder / TOML: state.toml})

    # ---------------------------------------------------------------------------------- commands

    def command(self, output: str, **instead: str | bool) -> list[str]:
        """The words of the command that makes the release.

        Parameters
        ----------
        output : str
            The folder of the release.
        **instead : str or bool
            Options that differ from the project's, such as ``method="nh"`` for a preview.

        Returns
        -------
        list of str
            The words after ``mottle``.
        """
        wishes = self.state.wishes
        options = {**wishes.options, **instead}
        words = ["anonymize", self.data_word, "--schema", TOML]
        for name, value in options.items():
            option = "--" + name.replace("_", "-")
            if value is True:
                words.append(option)
            elif value is not False:
                words += [option, str(value)]
        words += [f"--cap={value}={share}" for value, share in wishes.caps.items()]
        return [*words, "-o", output]

    @property
    def data_word(self) -> str:
        """The table as it is named in a command; it lies in the project's folder."""
        return plain(self.state.wishes.data or "DATA")

    # ------------------------------------------------------------------------------------ schema

    def schema(self) -> Schema:
        """Read mottle.toml."""
        return Schema.read(self.folder / TOML)

    @property
    def context(self) -> Context:
        """What the owner states about releases."""
        try:
            return self.schema().context or Context()
        except MottleError:  # pages say what is wrong with the schema
            return Context()

    @property
    def questions(self) -> tuple[str, ...]:
        """Pinned questions, which measure every variant and stand in the report."""
        return self.context.questions

    def write_schema_of_other(self, tool: Tool) -> str:
        """Write the schema by which another tool's file is read.

        Parameters
        ----------
        tool : Tool
            The tool that wrote the file.

        Returns
        -------
        str
            The schema's path in the project's folder.
        """
        place = self._private() / "other.toml"
        other = self.schema().model_copy(update={"release": ExternalRelease(tool=tool)})
        write_atomic(place, other.to_toml(folder=place.parent))
        return str(place.relative_to(self.folder))

    @staticmethod
    def column_named(line: str) -> str | None:
        """The column that a line of mottle.toml begins; None if it begins none."""
        if not line.startswith("[columns."):
            return None
        try:
            return str(next(iter(tomllib.loads(line)["columns"])))
        except (tomllib.TOMLDecodeError, KeyError, StopIteration):
            return None

    def stamp(self, path: Path) -> tuple[str, int, int]:
        """By which it is seen that a file has changed."""
        try:
            found = path.stat()
        except OSError:
            raise StorageError(
                f"There is no file {path.name} in the folder any more.", "Open another."
            ) from None
        return str(path), found.st_size, found.st_mtime_ns

    @property
    def fingerprint(self) -> str:
        """By which a state is recognized: the data, the schema and the options of the command.

        Not by ``[context]``, which changes what is said of a release and not the release.
        """
        wishes = self.state.wishes
        return self._print([sorted(wishes.options.items()), sorted(wishes.caps.items())])

    @property
    def fingerprint_of_data(self) -> str:
        """By which data, schema and pinned questions are recognized, whatever is promised."""
        return self._print(list(self.questions))

    def _print(self, more: list[Any]) -> str:
        state = self.state
        name = state.wishes.data
        data = None if name is None else (name, *self.stamp(self.folder / name)[1:])
        content = [_without_context(state.toml), data, more]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    # -------------------------------------------------------------------------------------- runs

    def current_run(self) -> dict[str, Any] | None:
        """The last run, if it belongs to the current state and its release is the one there."""
        runs = self.runs()
        if runs and runs[-1].get("state") == self.fingerprint:
            return runs[-1]
        return None

    def add_verified(self, state: str, release: str) -> None:
        """Keep which release was verified."""
        content = json.dumps({"state": state, "release": release})
        write_atomic(self._own / "verified.json", content)

    def is_verified(self, release: str) -> bool:
        """Tell whether a release was verified."""
        path = self._own / "verified.json"
        found = _parsed(path) if path.is_file() else {}
        return isinstance(found, dict) and found.get("release") == release

    def stored(self, release: str) -> list[str]:
        """The places in databases that a release was written to."""
        path = self._own / "stored.json"
        found = _parsed(path) if path.is_file() else {}
        places = found.get(release, []) if isinstance(found, dict) else []
        return [str(each) for each in places] if isinstance(places, list) else []

    def add_stored(self, release: str, place: str) -> None:
        """Keep that a release was written to a database."""
        content = {release: [*self.stored(release), place]}
        write_atomic(self._private() / "stored.json", json.dumps(content, ensure_ascii=False))

    def write_signer(self, key: str) -> str:
        """Write the public key by which an agent is asked to sign; returns its path."""
        write_atomic(self._private() / "signer.pub", f"{key}\n")
        return f"{HIDDEN}/signer.pub"

    def errors(self) -> dict[str, dict[str, float]]:
        """How far pinned questions were off, by release and question."""
        path = self._own / "errors.json"
        found = _parsed(path) if path.is_file() else {}
        return found if isinstance(found, dict) else {}

    def add_errors(self, release: str, errors: Mapping[str, float]) -> None:
        """Keep how far pinned questions were off in a release."""
        found = self.errors()
        kept = {**found, release: {**found.get(release, {}), **errors}}
        write_atomic(self._private() / "errors.json", json.dumps(kept, ensure_ascii=False))

    def audits(self) -> dict[str, Any]:
        """Reports of the adversaries, by what they attacked."""
        path = self._own / "audits.json"
        found = _parsed(path) if path.is_file() else {}
        return found if isinstance(found, dict) else {}

    def add_audit(self, name: str, report: Mapping[str, Any]) -> None:
        """Keep what adversaries achieved against our release, or another tool's file."""
        text = json.dumps({**self.audits(), name: report}, ensure_ascii=False)
        write_atomic(self._private() / "audits.json", text)

    def variants(self) -> list[dict[str, Any]]:
        """What variants lose that were tried and not kept, the oldest first."""
        path = self._own / "variants.json"
        found = _parsed(path) if path.is_file() else []
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def set_variants(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Keep the figures of variants."""
        text = json.dumps([dict(each) for each in found], ensure_ascii=False)
        write_atomic(self._private() / "variants.json", text)

    def runs(self) -> list[dict[str, Any]]:
        """The figures of finished runs, the oldest first."""
        folder = self._own / "runs"
        found = sorted((path for path in folder.glob("*.json") if path.stem.isdigit()),
                       key=lambda path: int(path.stem))  # fmt: skip
        return [content for content in map(_parsed, found) if isinstance(content, dict)]

    def add_run(self, words: Sequence[str], figures: Mapping[str, Any]) -> int:
        """Keep the figures of a run; returns its number."""
        folder = self._private("runs")
        number = 1 + max((int(path.stem) for path in folder.glob("[0-9]*.json")), default=0)
        content = {"number": number, "command": list(words), **figures}
        write_atomic(folder / f"{number}.json", json.dumps(content, ensure_ascii=False))
        return number


def _parsed(path: Path) -> Any:
    try:
        return parse_json(read_text(path))
    except ValueError:
        raise DataError("A file of the studio is damaged.", "Remove the folder .studio.") from None


def _without_context(toml: str) -> str:
    """What a schema says about rows and columns, as JSON."""
    try:
        content = tomllib.loads(toml)
    except tomllib.TOMLDecodeError:
        return toml
    content.pop("context", None)
    return json.dumps(content, default=str)
