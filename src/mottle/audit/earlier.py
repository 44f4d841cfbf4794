"""Earlier releases of the same people: how they are given to an audit, and who is who in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.audit.containment.assignment_graph import check_rows
from mottle.audit.containment.coded_columns import CodedColumn, code_columns, quasi_identifiers
from mottle.audit.links.edges import Edges, read_edges
from mottle.errors import DataError, UsageError
from mottle.io.link_file import LinkFile
from mottle.io.link_history import read_history
from mottle.io.read_set_release import load_any_release
from mottle.release.data import ReleaseData
from mottle.release.history import History, hash_people
from mottle.release.links import Links
from mottle.typing import Int64Array
from mottle.utils.person_names import person_names

__all__ = ["EarlierRelease"]

BY_ROW_NUMBERS = "row numbers"


@dataclass(frozen=True, repr=False)
class EarlierRelease:
    """An earlier release of the people of an audit.

    Attributes
    ----------
    release : ReleaseData or path-like
        The release, its folder, its ``release.parquet`` or ``release.csv``.
    original : table or path-like, optional
        The table it was made from. Without it, the original of the audited release.
    private : Links or path-like, optional
        The owner's links of it.
    """

    release: object
    original: object = None
    private: object = None


@dataclass(frozen=True, repr=False)
class Release:
    """One of several releases as adversaries see it: the records, and everybody who is in it."""

    data: ReleaseData
    people: pa.Table  # quasi-identifiers
    persons: Int64Array  # [people]: the number of the person, the same in all releases
    coded: list[CodedColumn] | None = None  # if they are coded already

    @cached_property
    def columns(self) -> list[CodedColumn]:
        """Originals and published cells in common codes."""
        return code_columns(self.people, self.data) if self.coded is None else self.coded


@dataclass(frozen=True, repr=False)
class Series:
    """Several releases, the audited one last, with what only their owner has."""

    releases: tuple[Release, ...]
    originals: tuple[pa.Table, ...]
    edges: tuple[Edges | None, ...]
    matched_by: str  # what says who is who


def described_by(original: pa.Table, private: object) -> pa.Table:
    """Return the rows that a release describes: of a release over time, those in its links."""
    history = history_of(private)
    return original if history is None else history.described(original)


def history_of(private: object) -> History | None:
    """Return what the links say about releases over time, if anything."""
    if isinstance(private, Links):
        return private.history
    if isinstance(private, str | os.PathLike):
        return read_history(LinkFile(Path(private)))
    return None


def read_series(
    original: pa.Table,
    release: ReleaseData,
    private: object,
    edges: Edges | None,
    earlier: Sequence[object],
    same: str | None,
    seed: int,
    read_original: Callable[[object], pa.Table],
) -> Series:
    """Read earlier releases and number everybody who is in any of them.

    ``original`` is what was given; releases over time describe other rows, which their links have.
    ``read_original`` reads the original of another release as a table.
    """
    given = [_as_earlier(each) for each in earlier]
    data = [*(_read(each.release) for each in given), release]
    privates = [
        each.private if each.private is not None else of.links
        for each, of in zip(given, data, strict=False)
    ]
    privates.append(private)
    tables = [original if each.original is None else read_original(each.original) for each in given]
    tables.append(original)
    histories = [history_of(each) for each in privates]
    identities, matched_by = _identities(tables, histories, same)
    described = [
        table if history is None else history.described(table)
        for table, history in zip(tables, histories, strict=True)
    ]
    for table, of in zip(described, data, strict=True):
        check_rows(table.num_rows, of.table.num_rows)
    numbers = _numbered(identities)
    releases = tuple(
        Release(of, table.select([column.name for column in quasi_identifiers(of)]), persons)
        for of, table, persons in zip(data, described, numbers, strict=True)
    )
    links = [
        None if each is None else read_edges(each, of.table.num_rows, seed)
        for each, of in zip(privates[:-1], data, strict=False)
    ]
    return Series(releases, tuple(described), (*links, edges), matched_by)


def _as_earlier(given: object) -> EarlierRelease:
    return given if isinstance(given, EarlierRelease) else EarlierRelease(given)


def _read(release: object) -> ReleaseData:
    if isinstance(release, ReleaseData):
        return release
    if isinstance(release, str | os.PathLike):
        return load_any_release(Path(release))
    raise UsageError(
        f"A {type(release).__name__} is not a release.",
        "Give a Release, its folder or one of its files.",
    )


def _identities(
    tables: Sequence[pa.Table], histories: Sequence[History | None], same: str | None
) -> tuple[list[list[object]], str]:
    """Say who each described row is: by hashes if links have some, by a column, or by number."""
    known = [history for history in histories if history is not None]
    if known:
        first = known[0]
        if any((history.key, history.same) != (first.key, first.same) for history in known):
            raise DataError(
                "The links are of releases that do not continue each other.",
                f"Make them with --previous, or compare them without links by --same {first.same}.",
            )
        if same not in (None, first.same):
            raise UsageError(f"The links tell people apart by column '{first.same}'.", "Name it.")
        return [
            (
                hash_people(table, first.same, first.key) if history is None else history.people
            ).tolist()
            for table, history in zip(tables, histories, strict=True)
        ], f"column '{first.same}'"
    if same is None:
        return [list(range(table.num_rows)) for table in tables], BY_ROW_NUMBERS
    found = []
    for table in tables:
        if same not in table.column_names:
            raise DataError(
                f"A table has no column '{same}' (--same).", "Name a column that all of them have."
            )
        values = person_names(table.column(same), same, "--same")
        if values.null_count or pc.count_distinct(values).as_py() < len(values):
            raise DataError(
                f"Column '{same}' (--same) is missing or repeats in some rows.",
                "Name a column that has one value for each person.",
            )
        found.append(values.to_pylist())
    return found, f"column '{same}'"


def _numbered(identities: Sequence[Sequence[object]]) -> list[Int64Array]:
    """Number people; those of the last release have the numbers of their rows."""
    number: dict[object, int] = {person: row for row, person in enumerate(identities[-1])}
    for people in identities:
        for person in people:
            number.setdefault(person, len(number))
    return [np.array([number[person] for person in people], np.int64) for people in identities]
