"""Everything a report says, gathered before a word of HTML is written."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from mottle import methods
from mottle.audit._columns import comparable
from mottle.errors import DataError
from mottle.release import Release
from mottle.report.accuracy import Accuracy, measure_accuracy
from mottle.report.columns import ColumnReport, describe_columns, roles
from mottle.report.reproduce import command_of, schema_of
from mottle.report.words import Promise, checks, limits, promises, warnings
from mottle.schema import Role
from mottle.utility import Queries

EXAMPLES = 10
_LIBRARIES = ("numpy", "numba", "scipy", "pyarrow", "duckdb")


@dataclass(frozen=True)
class Owner:
    """What only the owner of the data can add to a report; never to be published."""

    original: pa.Table
    command: str = ""  # as it was typed, without passwords
    source: str = ""  # where the original was read from
    examples: Sequence[int] | None = None  # whose the first records are, to be shown beside them


@dataclass(frozen=True)
class Examples:
    """Some people's rows before and after."""

    headings: list[str]
    pairs: list[tuple[list[str], list[str]]]  # original and published cells


@dataclass(frozen=True)
class Content:
    """A report, ready to be written down."""

    internal: bool
    certificate: Mapping[str, Any]
    roles: Mapping[Role, list[str]]
    method: str  # what it does
    promises: list[Promise]
    limits: list[str]
    warnings: list[str]
    notes: list[str]
    checks: list[tuple[str, bool]]
    columns: list[ColumnReport]
    accuracy: list[Accuracy]
    command: str
    schema: str
    versions: dict[str, str]
    date: str
    examples: Examples | None = None
    source: str = ""
    sizes: dict[str, str] = field(default_factory=dict)  # of sets, instead of columns


def gather(release: Any, certificate: Mapping[str, Any], owner: Owner | None = None) -> Content:
    """All that a report says about a release of a table or of sets.

    Without ``owner`` it holds nothing beyond the release and its certificate.
    """
    is_table = isinstance(release, Release)
    asked = Queries.of(release) if is_table else None
    original = None if owner is None or not is_table else _prepared(owner.original, release)
    said = list(warnings(certificate))
    today = dt.date.today()
    return Content(
        internal=owner is not None,
        certificate=certificate,
        roles=roles(certificate),
        method=_method(certificate) if is_table else certificate["method"]["title"],
        promises=promises(certificate["guarantee"]),
        limits=list(limits(certificate)),
        warnings=said,
        notes=[note for note in certificate.get("notes", []) if note not in said],
        checks=checks(certificate),
        columns=[] if asked is None else describe_columns(release, asked, original),
        accuracy=[] if asked is None else measure_accuracy(release, asked, original),
        command=_command(certificate, owner) if is_table else "",
        schema=_toml(release) if is_table else "",
        versions=_versions(certificate),
        date=f"{today.day} {today:%B %Y}",
        examples=None
        if owner is None or owner.examples is None
        else _examples(owner.original, owner.examples, release),
        source="" if owner is None else owner.source,
        sizes={} if is_table else _set_sizes(release),
    )


def _prepared(original: pa.Table, release: Release) -> Queries:
    """The original in the types of the release, ready for the same questions."""
    columns = list(release.columns)
    names = [column.name for column in columns if column.name in original.column_names]
    apart = [] if release.sensitive is None else release.sensitive.column_names[1:]
    missing = [column.name for column in columns if column.name not in original.column_names]
    if original.num_rows != release.table.num_rows or (missing and not apart):
        raise DataError(
            "The original is not the table that the release was made from.",
            "Give the table that was anonymized.",
        )
    arrays = {
        column.name: comparable(original.column(column.name).combine_chunks(), column)
        for column in columns
        if column.name in names
    }
    arrays |= {name: original.column(name) for name in apart if name in original.column_names}
    return Queries.of(pa.table(arrays))


def _method(certificate: Mapping[str, Any]) -> str:
    """What the method does; where one was picked automatically, that one."""
    facts = certificate["method"]
    known = methods.registered().get(str(facts.get("picked", facts["name"])))
    return str(facts["title"]) if known is None else known.title


def _command(certificate: Mapping[str, Any], owner: Owner | None) -> str:
    return owner.command if owner is not None and owner.command else command_of(certificate)


def _examples(original: pa.Table, people: Sequence[int], release: Release) -> Examples:
    """Ten people's rows beside their records; the first of the release, whose order is random."""
    headings = [column.name for column in release.columns]
    published = release.slice(0, len(people)).to_text()
    originals = original.select([name for name in headings if name in original.column_names]).take(
        pa.array(people)
    )
    pairs = [
        (
            [_shown(before.get(name)) for name in headings],
            [_shown(after[name]) for name in headings],
        )
        for before, after in zip(originals.to_pylist(), published.to_pylist(), strict=True)
    ]
    return Examples(headings, pairs)


def _shown(value: object) -> str:
    return "" if value is None else str(value)


def _toml(release: Release) -> str:
    """mottle.toml without the explanations at its beginning."""
    text = schema_of(release).to_toml()
    return text[text.index("[columns") :].strip() + "\n"


def _versions(certificate: Mapping[str, Any]) -> dict[str, str]:
    known = {"mottle": str(certificate["mottle"]), "Python": platform.python_version()}
    return known | {name: importlib.metadata.version(name) for name in _LIBRARIES}


def _set_sizes(release: Any) -> dict[str, str]:
    """What can be said of published sets in a few numbers."""
    sets = release.table.column(0).combine_chunks()
    sizes = {
        "items per record that are published as certain guess": sets.field("base"),
        "items per record that are uncertain": sets.field("uncertain"),
    }
    mean = {
        what: f"{len(lists.flatten()) / max(len(lists), 1):,.1f} on average"
        for what, lists in sizes.items()
    }
    return mean | {"error rate (bits flipped per item held)": f"{release.error_rate:.4f}"}
