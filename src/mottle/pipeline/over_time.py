"""Releases over time: people who were published keep their block and draw, newcomers get their own.

A release is a union of blocks, each drawn once. What a further release publishes follows from
earlier draws, from who is in the table (which the adversary knows), and from the draw of the
newcomers among themselves; docs/guarantees.md, "Releases over time", has the proof. Nothing here
decides by values, except that a run is refused where they changed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.errors import DataError, UsageError, did_you_mean
from mottle.graph.model import Graph, restricted
from mottle.guarantees.base import Guarantee
from mottle.io.link_history import read_links
from mottle.methods.base import Method
from mottle.pipeline.settings import Settings
from mottle.pipeline.spine import Part
from mottle.release.certificate import HistoryFacts
from mottle.release.data import ReleaseData
from mottle.release.history import (
    History,
    People,
    Presence,
    as_before,
    changed_cells,
    hash_people,
    seals_of,
)
from mottle.release.links import Links
from mottle.schema.model import Kind, Role, Schema
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils.csprng import Secret

__all__ = ["CHANGED", "LEAVERS", "OverTime", "Wishes"]

LEAVERS = ("keep", "drop")  # what happens to the block of somebody who is no longer in the table
CHANGED = ("refuse", "keep")  # what happens if a published person has other values by now

# Newcomers who are published at once under a guarantee on sensitive values, unless the owner says
# otherwise: with fewer, their own values often do not allow it, and the run would be refused.
FEWEST_WITH_VALUES = 100
# The share of the people of the latest release who have to be in the table, unless the owner says
# that most left: with fewer, their names have probably changed.
LEAST_FOUND = 0.5
KNOWN_RECORDS = "known_records"  # a fact about `buckets`, see docs/guarantees.md

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wishes:
    """What the owner asked for; see `mottle.anonymize`."""

    same: str | None = None
    previous: object = None
    leavers: str = LEAVERS[0]
    changed: str = CHANGED[0]
    least_newcomers: int | None = None
    few_remain: bool = False  # the owner says that most people of the earlier release left

    @property
    def given(self) -> bool:
        """Whether the release is one of several over time."""
        return self.same is not None or self.previous is not None

    def check(self, method: Method, guarantee: Guarantee, settings: Settings) -> None:
        """Raise `UsageError` for what has no proof over several releases."""
        for option, word, known in (
            ("leavers", self.leavers, LEAVERS),
            ("changed", self.changed, CHANGED),
        ):
            if word not in known:
                raise UsageError(
                    f"There is no rule '{word}' for {option}.", did_you_mean(word, known)
                )
        if self.least_newcomers is not None and self.least_newcomers < 1:
            raise UsageError("--least-newcomers must be at least 1.")
        if not self.given:
            return
        if settings.unsafe or method.exact or method.dummies is not None:
            raise UsageError(
                f"Method '{method.name}' publishes exact or unsafe records; several releases of"
                " them would add up.",
                "Leave --same and --previous out, or use method 'auto'.",
            )
        if guarantee.about_values and method.name not in ("auto", "buckets"):
            raise UsageError(
                f"Method '{method.name}' has no proof for sensitive values over several releases.",
                "Use method 'buckets', or 'auto', which picks it.",
            )
        for part in guarantee.parts:
            if part.depends_on_shares:
                raise UsageError(
                    f"{part.name} compares with how often values occur in the table, and that"
                    " changes from release to release.",
                    "Use --l or --cap, whose bounds stay the same.",
                )


@dataclass(frozen=True)
class OverTime:
    """One release of several: which rows it describes, and where they come from."""

    table: pa.Table  # what the release describes: rows kept, then newcomers
    history: History
    kept: Graph | None  # over the rows that are kept; None: there are none
    truth: Int32Array  # [kept]: position of the true original at every position
    facts: HistoryFacts

    @property
    def newcomers(self) -> int:
        """The number of people who are published for the first time."""
        return self.facts.new

    @classmethod
    def of(
        cls,
        table: pa.Table,
        schema: Schema,
        guarantee: Guarantee,
        settings: Settings,
        wishes: Wishes,
        owner: bytes | None = None,
    ) -> OverTime:
        """Find out who stays, who is new and who left; see `mottle.anonymize`.

        ``owner`` is the owner's key, if there is one.
        """
        if schema.person is not None:
            raise UsageError(
                "Releases over time need one row for each person, so that no column says whose row"
                " it is (--person).",
                f"If column '{schema.person}' has a different value in every row, name it with --id"
                " and --same.",
            )
        names = [column.name for column in schema.columns if column.role is not Role.IDENTIFYING]
        made = _made(schema, names, guarantee, settings)
        usual = FEWEST_WITH_VALUES if guarantee.about_values else guarantee.degree
        least = max(wishes.least_newcomers or usual, guarantee.degree)
        if wishes.previous is None:
            assert wishes.same is not None
            _check_identifying(wishes.same, schema)
            hashing = Secret.draw() if owner is None else Secret.of_owner(owner, b"", "people")
            history = History.first(table, wishes.same, made, names, hashing.key)
            return cls(
                history.rows,
                replace(history, seeded=settings.seed is not None),
                None,
                np.empty(0, np.int32),
                _facts(history, wishes, least, new=table.num_rows),
            )
        links = previous_links(wishes.previous)
        _check_same_promise(links, wishes, made)
        return _continued(links, table, schema, settings, wishes, least)

    @property
    def decisive(self) -> dict[str, str]:
        """What decides the release besides the table, for a run with the owner's key."""
        # a first release is the same whether others will follow or not
        return {"history": self.history.digest()} if self.facts.release > 1 else {}

    def notes(self) -> list[str]:
        """Return what a reader of the certificate should know; it follows from who was present."""
        facts, notes = self.facts, []
        if facts.release > 1:
            notes.append(
                f"This is release {facts.release} of a chain; {facts.kept:,} of its records were"
                " published before. The guarantee holds for all releases of the chain together,"
                " provided that each was continued only once and that nobody waited for a later"
                " release because of values."
            )
        if facts.left:
            notes.append(
                f"{facts.left:,} records describe people who are no longer in the table: without"
                " them, the records of others would be recognized."
            )
        if self.history.seeded:
            notes.append(
                "Records of this release were drawn with a seed: anyone who knows it can repeat the"
                " draw. Do not publish this release."
            )
        return notes

    def finished(self, part: Part) -> Links:
        """Return the owner's links with the history, after checking what is published again."""
        seals = seals_of(part.published.table, part.published.columns)
        history = self.history.sealed(seals, part.links.original_of_row)
        known = part.measurements.facts.get(KNOWN_RECORDS)
        return replace(part.links, history=replace(history, known_records=known))


def previous_links(previous: object) -> Links:
    """Return the links of the earlier release, with their history."""
    if isinstance(previous, ReleaseData):
        previous = previous.links
    if isinstance(previous, str | os.PathLike):
        return read_links(Path(previous))
    if isinstance(previous, Links):
        if previous.history is None:
            raise DataError(
                "The earlier release does not say who is who, so that it cannot be continued.",
                "Name the identifying column with same=COLUMN in the run of the first release.",
            )
        return replace(previous, history=replace(previous.history, source=None))
    raise UsageError(
        f"A {type(previous).__name__} has no links of an earlier release.",
        "Give the file that 'mottle anonymize --private FILE --same COLUMN' wrote.",
    )


def _made(
    schema: Schema, names: list[str], guarantee: Guarantee, settings: Settings
) -> dict[str, Any]:
    """What must be the same in all releases."""
    for column in schema.columns:
        if column.bins is not None and guarantee.about_values:
            raise UsageError(
                f"Quantile bins (column '{column.name}') change from release to release.",
                f"Say where bins begin: --breaks {column.name}=….",
            )
        if column.kind == Kind.SET and column.hierarchy is not None:
            raise UsageError(
                f"The nodes that items of column '{column.name}' are published as would change from"
                " release to release.",
                "Leave out --same and --previous; or leave out the hierarchy, and replace items by"
                " their groups in the data.",
            )
    return {
        "columns": repr(
            [
                (
                    column.model_dump_json(
                        exclude={"hierarchy", "hierarchy_file"},
                        exclude_defaults=True,
                        by_alias=True,
                    ),
                    None if column.hierarchy is None else column.hierarchy.rows(),
                )
                for column in schema.columns
                if column.name in names
            ]
        ),
        "guarantee": guarantee.canonical_text(),
        "representation": str(settings.representation),
    }


def _check_identifying(same: str, schema: Schema) -> None:
    if same not in [column.name for column in schema.with_role(Role.IDENTIFYING)]:
        raise UsageError(
            f"Column '{same}' (--same) is not an identifying column.",
            f"Name it with --id {same}: it is removed from the release.",
        )


def _check_same_promise(links: Links, wishes: Wishes, made: Mapping[str, Any]) -> None:
    history = links.history
    assert history is not None
    if wishes.same not in (None, history.same):
        raise UsageError(
            f"The earlier release tells people apart by column '{history.same}', not by"
            f" '{wishes.same}' (--same).",
            "Leave --same out.",
        )
    for entry, what in (
        ("columns", "roles, kinds, importance or hierarchies of columns"),
        ("guarantee", "guarantee"),
        ("representation", "representation"),
    ):
        if history.made[entry] != made[entry]:
            raise UsageError(
                f"The earlier release (--previous) was made with another {what}.",
                "Records that are published again must have been made in the same way: repeat the"
                " options of the first run.",
            )


def _continued(
    links: Links,
    table: pa.Table,
    schema: Schema,
    settings: Settings,
    wishes: Wishes,
    least: int,
) -> OverTime:
    before = links.history
    assert before is not None
    _check_identifying(before.same, schema)
    people = hash_people(table, before.same, before.key)
    row_now = {person: row for row, person in enumerate(people.tolist())}
    now = np.array([row_now.get(person, -1) for person in before.people.tolist()], np.int64)
    if not wishes.few_remain:
        _check_recognized(before, now)
    presence = _presence(before, table, now, wishes)
    block_kept = _kept_blocks(links.graph, presence, wishes.leavers)
    rows, graph, truth = np.empty(0, np.int64), None, np.empty(0, np.int32)
    if block_kept.any():
        graph, positions = restricted(links.graph, block_kept)
        rows = np.sort(links.graph.members[positions]).astype(np.int64)
        graph = graph._replace(members=np.searchsorted(rows, graph.members).astype(np.int32))
        truth = np.searchsorted(positions, links.truth[positions]).astype(np.int32)
    left_out = np.ones(len(before.people), np.bool_)
    left_out[rows] = False
    withheld: People = np.concatenate([before.withheld, before.people[left_out]])
    is_new = ~np.isin(people, before.people) & ~np.isin(people, before.withheld)
    waiting = 0
    if np.count_nonzero(is_new) < least:
        waiting, is_new = int(np.count_nonzero(is_new)), np.zeros(len(people), np.bool_)
    new = np.flatnonzero(is_new)
    if len(rows) + len(new) == 0:
        raise DataError(
            "Nobody is left to publish: all blocks are left out, and newcomers are too few.",
            "Wait until there are more newcomers.",
        )
    joined = pa.concat_tables([before.rows.take(pa.array(rows)), _as_earlier(before, table, new)])
    number = before.releases + 1
    history = replace(
        before,
        rows=joined.combine_chunks(),
        people=np.concatenate([before.people[rows], people[new]]),
        cohort=np.concatenate([before.cohort[rows], np.full(len(new), number, np.int32)]),
        presence=np.concatenate([presence[rows], np.zeros(len(new), np.uint8)]),
        seals=np.concatenate([before.seals[rows], np.zeros(len(new), np.uint64)]),
        withheld=withheld,
        made={**before.made, "releases": number},
        seeded=before.seeded or settings.seed is not None,
    )
    facts = _facts(
        history,
        wishes,
        least,
        new=len(new),
        waiting=waiting,
        withheld=int(np.count_nonzero(np.isin(people, withheld))),
    )
    return OverTime(history.rows, history, graph, truth, facts)


def _check_recognized(before: History, now: Int64Array) -> None:
    """Refuse a table in which most people of the latest release are not found again.

    If their names were merely changed, all of them would be published a second time.
    """
    were = before.presence != Presence.LEFT
    found, before_now = int(np.count_nonzero(were & (now >= 0))), int(np.count_nonzero(were))
    if found < LEAST_FOUND * before_now:
        raise DataError(
            f"Of {before_now:,} people of the earlier release, {found:,} are in the table, by"
            f" column '{before.same}' (--same): if the others have other values there now, they"
            " would be published again, which tells whose records these are.",
            "Check that the column names people as it did then (the same system, the same key); if"
            " most of them really left, say --few-remain.",
        )


def _presence(
    before: History, table: pa.Table, now: Int64Array, wishes: Wishes
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """How each published person stands in the table; refuse other values unless they are kept."""
    there = np.flatnonzero(now >= 0)
    cells = changed_cells(before.rows.take(pa.array(there)), table.take(pa.array(now[there])))
    changed = np.zeros(len(there), np.bool_)
    for cell in cells.values():
        changed |= cell
    if changed.any():
        names = ", ".join(f"'{name}'" for name, cell in cells.items() if cell.any())
        message = f"{np.count_nonzero(changed):,} people have other values by now in {names}"
        if wishes.changed == "refuse":
            raise DataError(
                f"{message}: publishing them anew would tell whose records these are.",
                "Say --changed keep to publish them as they were first published.",
            )
        _log.warning("%s; they are published as they were at first.", message)
    presence = np.full(len(now), Presence.LEFT, np.uint8)
    presence[there] = np.where(changed, Presence.CHANGED, Presence.PRESENT)
    return presence


def _kept_blocks(graph: Graph, presence: Int32Array | Any, leavers: str) -> BoolArray:
    """Which blocks are published again: decided by who is in the table, and by nothing else."""
    left = (presence == Presence.LEFT)[graph.members].astype(np.int64)
    lost = np.add.reduceat(left, graph.starts[:-1])
    return np.asarray(lost == 0 if leavers == "drop" else lost < graph.sizes, np.bool_)


def _as_earlier(before: History, table: pa.Table, rows: Int64Array) -> pa.Table:
    """Some rows of the table, with columns and types as they were."""
    taken = table.take(pa.array(rows))
    return pa.table([as_before(taken, field) for field in before.rows.schema], before.rows.schema)


def _facts(
    history: History,
    wishes: Wishes,
    least: int,
    *,
    new: int,
    waiting: int = 0,
    withheld: int = 0,
) -> HistoryFacts:
    return HistoryFacts(
        release=history.releases,
        rule=wishes.leavers,
        least_newcomers=least,
        kept=len(history.people) - new,
        new=new,
        left=int(np.count_nonzero(history.presence == Presence.LEFT)),
        waiting=waiting,
        withheld=withheld,
    )
