"""The state that all pages share: the project, the table that is open, and the runs."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pydantic import ValidationError

from mottle import methods
from mottle.encoding.people import People
from mottle.encoding.sensitive import SensitiveValues, encode_sensitive
from mottle.errors import MottleError, SchemaError, UsageError
from mottle.guarantees.base import Guarantee
from mottle.inspection import Inspection, inspect
from mottle.inspection.explain import RowExplanation
from mottle.io.read_table import read_table
from mottle.pipeline.release import read_release
from mottle.pipeline.unit import Repeats, check_people, check_repeats, columns_to_count
from mottle.release.publish import check_publishable
from mottle.schema.model import Schema
from mottle.studio.analysis import Analysis
from mottle.studio.chair import Chair, Chosen
from mottle.studio.closer import Look
from mottle.studio.current import OfRelease
from mottle.studio.dropped import Dropped
from mottle.studio.events import CHANGED, Events
from mottle.studio.exposure import Exposure, Roles, measure_exposure, roles_of
from mottle.studio.figures import audited, certificate, figures, release_mark
from mottle.studio.jobs import Job, Jobs, State
from mottle.studio.layout import LINKS, OWN, PREVIEW, RELEASED, VARIANT
from mottle.studio.places import Places
from mottle.studio.project import Project
from mottle.studio.variant import MEASURED
from mottle.utils.untrusted.text import parse_json

OTHER = "other"  # in the project's audits: another tool's file
BROKEN = 6  # exit code of an audit in which an adversary achieved more than is allowed
_MOST_VARIANTS = 50
_MOST_KEPT = 4  # results of checks that are kept


T = TypeVar("T")


@dataclass(frozen=True)
class Opened:
    """The table of the project, read with the options that its inspection found."""

    name: str
    table: pa.Table
    found: Inspection
    _kept: dict[tuple[str, str], Any] = field(default_factory=dict, compare=False, repr=False)

    def kept(self, what: str, column: str, make: Callable[[pa.ChunkedArray], T]) -> T:
        """Compute something of a column once, so that pages of large tables answer quickly."""
        key = what, column
        if key not in self._kept:
            self._kept[key] = make(self.table.column(column))
        found: T = self._kept[key]
        return found

    def repeats(self, column: str) -> Repeats:
        """How often the values of a column occur, counted once."""
        return self.kept("repeats", column, lambda _: Repeats.of(self.table, column))


@dataclass
class Studio:
    """Everything that the pages share; it lives in the server and in the project's folder."""

    places: Places
    project: Project
    events: Events = field(default_factory=Events)
    quit: asyncio.Event = field(default_factory=asyncio.Event)
    previews: dict[str, float] = field(default_factory=dict)  # losses by state of the project
    jobs: Jobs = field(init=False)
    shown_column: int = 0  # among the quasi-identifiers, on the screen of values
    examples: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # by schema, column
    frontiers: dict[str, dict[str, Any]] = field(default_factory=dict)  # by data and questions
    enough: float | None = None  # the loss at which a run is stopped and kept
    warms: bool = False  # whether a process waits for the next run, with its kernels loaded
    chosen: Chosen = field(default_factory=Chosen)  # whom the owner attacks
    second: tuple[str, Chair] | None = None  # another release of the table, by its folder
    explained: tuple[str, RowExplanation] | None = None  # by release: why a record's cells are wide
    looked: tuple[str, Look] | None = None  # by release: a closer look at columns
    analysis: OfRelease[Analysis] = field(init=False)
    chair: OfRelease[Chair] = field(init=False)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.events, ended=self._ended, progressed=self._progressed)
        self.analysis = OfRelease(self._analysis, self._mark)
        self.chair = OfRelease(self._chair, self._mark)
        self.dropped = Dropped(self.project.folder)
        self._used = [self.dropped]
        self._turn = threading.RLock()
        self._opened: tuple[object, Opened] | None = None
        self._checked: dict[str, MottleError | None] = {}
        self._exposures: dict[tuple[object, Roles], Exposure] = {}
        self._sensitive: tuple[object, list[SensitiveValues]] | None = None

    @classmethod
    def at(cls, place: Path) -> Studio:
        """Make the studio of a folder, or of a table in its folder."""
        folder = place if place.is_dir() else place.parent
        studio = cls(Places([folder]), Project(folder.resolve()))
        if not place.is_dir():
            studio.open(place.name)
        return studio

    @property
    def busy(self) -> bool:
        """Whether a page is open or something runs."""
        return any(job.is_active for job in self.jobs) or self.events.pages > 0

    async def close(self) -> None:
        """End all runs and remove what was dropped."""
        await self.jobs.close()
        for dropped in self._used:
            dropped.close()

    def move(self, folder: Path) -> None:
        """Go on in another folder, as if the studio had been started with it."""
        self.check_idle()
        self.places = Places([folder])
        self.switch(self.places.folders[0])

    def check_idle(self) -> None:
        """Raise an error while something runs."""
        if any(job.is_active for job in self.jobs):
            raise UsageError("A run goes on.", "Wait for it, or cancel it.")

    def switch(self, folder: Path) -> None:
        """Go on with another project below the studio's folders."""
        self.check_idle()
        path = self.places.allowed(folder)
        if path == self.project.folder:
            return
        self.project, self.dropped = Project(path), Dropped(path)
        self._used.append(self.dropped)
        self.chosen, self.shown_column, self.second = Chosen(), 0, None

    # ------------------------------------------------------------------------------------- table

    def open(self, name: str, *, address: str | None = None, table: str | None = None) -> Opened:
        """Make a file of the folder the project's table, and propose a schema unless one fits.

        ``address`` and ``table`` say which table of a database the file is a copy of.
        """
        path, folder = self.file(name), self.project.folder
        inside = path.is_relative_to(folder) and not OWN & set(path.relative_to(folder).parts[:1])
        if not path.is_file() or not (inside or path.parent == self.dropped.folder):
            raise UsageError(
                "This is not a table in the studio's folder.", "Put it there, or choose another."
            )
        opened = self._read(path)
        toml = self.project.state.toml
        self.project.change(
            data=str(path.relative_to(folder)),
            address=address,
            table=table,
            toml=toml if self._fits(opened) else opened.found.to_toml(),
        )
        return opened

    def file(self, name: str) -> Path:
        """A file of the project's folder that may be touched."""
        return self.places.allowed(self.project.folder / name)

    def _fits(self, opened: Opened) -> bool:
        """Whether the schema that is there describes a table."""
        try:
            schema = self.project.schema()
            schema.covering(opened.table.column_names)
        except MottleError:
            return False
        return True

    @property
    def opened(self) -> Opened | None:
        """The project's table; None if none is chosen."""
        name = self.project.state.wishes.data
        return None if name is None else self._read(self.file(name))

    def _read(self, path: Path) -> Opened:
        """Read a file, unless it is the one that was read last and has not changed."""
        with self._turn:
            key = self.project.stamp(path)
            if self._opened is None or self._opened[0] != key:
                found = inspect(path)
                table = read_table(path, **found.reading.model_dump())
                self._opened = key, Opened(path.name, table, found)
            return self._opened[1]

    def exposure(self, *, measure: bool = False) -> Exposure | None:
        """Who is singled out in the present roles; None if it has not been measured."""
        opened, key = self.opened, self._opened
        if opened is None or key is None:
            return None
        schema = self.project.schema().covering(opened.table.column_names)
        wanted = key[0], roles_of(schema)
        if measure and wanted not in self._exposures:
            while len(self._exposures) >= 2 * _MOST_KEPT:
                self._exposures.pop(next(iter(self._exposures)))
            self._exposures[wanted] = measure_exposure(opened.table, schema)
        return self._exposures.get(wanted)

    def sensitive(self) -> list[SensitiveValues]:
        """The values of every sensitive column, counted once."""
        opened = self.opened
        if opened is None or self._opened is None:
            return []
        with self._turn:
            key = self._opened[0], self.project.state.toml
            if self._sensitive is None or self._sensitive[0] != key:
                schema = self.project.schema().covering(opened.table.column_names)
                found = encode_sensitive(opened.table, schema)
                self._sensitive = key, [each for each in found if not each.joint]
            return self._sensitive[1]

    # ----------------------------------------------------------------------------------- release

    def _mark(self) -> str:
        return release_mark(self.project.folder / RELEASED)

    def _table(self) -> pa.Table:
        opened = self.opened
        if opened is None:
            raise UsageError("No table is open.", "Open one.")
        return opened.table

    def _analysis(self) -> Analysis:
        folder = self.project.folder
        release = read_release(folder / RELEASED)
        return Analysis.of(release, self._table(), folder / LINKS).prepare()

    def _chair(self) -> Chair:
        folder = self.project.folder
        release = read_release(folder / RELEASED)
        return Chair.of(release, self._table(), self.project.schema(), folder / LINKS)

    def read_second(self, name: str) -> None:
        """Read another release of the table, from a folder in the project's folder."""
        place = self.file(name)
        chair = Chair.of(read_release(place), self._table(), self.project.schema(), place / "none")
        self.second = name, chair

    # ----------------------------------------------------------------------------------- promise

    def guarantee(self) -> Guarantee | None:
        """What is asked for; None if nothing is."""
        return self.project.state.wishes.guarantee

    def check(self) -> None:
        """Raise what stands in the way of a run: roles, what a row is, an infeasible promise."""
        with self._turn:
            key = self.project.fingerprint
            if key not in self._checked:
                while len(self._checked) >= _MOST_KEPT:
                    self._checked.pop(next(iter(self._checked)))
                self._checked[key] = self._fault()
            fault = self._checked[key]
        if fault is not None:
            raise fault

    def _fault(self) -> MottleError | None:
        try:
            self._check()
        except MottleError as error:
            return error
        return None

    def _check(self) -> None:
        opened, guarantee = self.opened, self.guarantee()
        if opened is None:
            raise UsageError("No table is open.", "Open one.")
        schema, table = self.project.schema(), opened.table
        counted = columns_to_count(schema, table.schema)
        schema = schema.covering(table.column_names)
        check_publishable(table, schema)
        check_repeats(schema, (opened.repeats(name) for name in counted))
        if guarantee is None:
            raise UsageError("Nothing is promised yet.", "Choose k.")
        if schema.person is not None:
            people = People.of(table, schema.person)
            check_people(people.column, people.most, table.num_rows, guarantee, methods.get("auto"))
        if "known_records" in self.project.state.wishes.options and not guarantee.about_values:
            raise UsageError(
                "A bound on what one known record gives away goes along with a promise about"
                " sensitive values.",
                "Choose ℓ, β or caps, or leave it empty.",
            )
        sensitive = encode_sensitive(table, schema) if guarantee.about_values else ()
        guarantee.demand(table.num_rows, sensitive)

    # -------------------------------------------------------------------------------------- runs

    def start(
        self, purpose: str, words: list[str], *, state: str | None = None, module: str = "mottle"
    ) -> Job:
        """Put a command into the queue, with the state of the project that it belongs to."""
        state = self.project.fingerprint if state is None else state
        return self.jobs.start(
            purpose, words, folder=self.project.folder, state=state, module=module
        )

    def running(self, purpose: str) -> Job | None:
        """The job of a purpose that waits or runs; None if there is none."""
        for job in self.jobs:
            if job.purpose == purpose and job.is_active:
                return job
        return None

    def last(self, purpose: str) -> Job | None:
        """The last job of a purpose; None if there was none."""
        return next((job for job in reversed(list(self.jobs)) if job.purpose == purpose), None)

    def _progressed(self, job: Job) -> None:
        """Stop a run that is good enough and can be kept."""
        is_kept = job.purpose == "run" and "--seconds" in job.arguments
        most = self.enough
        if is_kept and most is not None and job.losses and job.losses[-1][1] <= most:
            self.jobs.stop(job)

    def _ended(self, job: Job) -> None:
        """Keep the figures of a run under the state of the project that it began with."""
        folder = self.project.folder
        if job.purpose == "preview":
            place = folder / PREVIEW
            if job.state is State.DONE:
                self.previews[job.belongs_to] = float(certificate(place)["gcp"])
            shutil.rmtree(place, ignore_errors=True)
        if job.purpose == "variant":
            place = folder / VARIANT
            if job.state is State.DONE:
                found = figures(place, job) | {"options": json.loads(job.belongs_to)}
                said = job.output.rpartition(MEASURED)
                found["error"] = parse_json(said[2]) if said[1] else None
                self.project.set_variants([*self.project.variants(), found][-_MOST_VARIANTS:])
            shutil.rmtree(place, ignore_errors=True)
        if job.purpose == "frontier" and job.state is State.DONE:
            while len(self.frontiers) >= _MOST_KEPT:
                self.frontiers.pop(next(iter(self.frontiers)))
            self.frontiers[job.belongs_to] = parse_json(job.output[job.output.index("{") :])
        if job.purpose == "run" and job.state is State.DONE:
            self.project.add_run(job.arguments, figures(folder / RELEASED, job))
        if job.purpose == "verify" and job.state is State.DONE:
            self.project.add_verified(job.belongs_to, release_mark(folder / RELEASED))
        if job.purpose == "audit" and job.exit_code in (0, BROKEN):
            is_ours = RELEASED in job.arguments
            name = release_mark(folder / RELEASED) if is_ours else OTHER
            self.project.add_audit(name, audited(job))
            job.state = State.DONE
        self.events.tell(CHANGED)


def schema_text(before: str, schema: Schema, folder: Path) -> str:
    """Write a schema again, with the comments that the text before has above its columns."""
    try:
        Schema(**{name: getattr(schema, name) for name in Schema.model_fields})
    except ValidationError as error:
        problem = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise SchemaError(f"The roles contradict each other: {problem}.", "Change one.") from None
    comments: dict[str, list[str]] = {}
    above: list[str] = []
    for line in before.splitlines():
        if line.startswith("#"):
            above.append(line.removeprefix("#").removeprefix(" "))
            continue
        name = Project.column_named(line)
        if name is not None:
            comments[name] = above
        above = []
    kept = {name: "\n".join(lines) for name, lines in comments.items()}
    return schema.to_toml(kept, folder)
