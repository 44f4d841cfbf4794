"""What is published of sets: the release, its certificate, and the owner's private links."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mottle.encoding.cover import SetCells
from mottle.errors import PrivacyError, UsageError
from mottle.graph.bit_voting import Votes
from mottle.graph.model import is_order
from mottle.itemsets.data import ItemSets
from mottle.release import set_cell_text
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.release.possible_worlds import PossibleWorlds
from mottle.release.publish import reordered
from mottle.schema.model import Role
from mottle.typing import Int32Array

if TYPE_CHECKING:
    import pandas as pd

    from mottle.report import InternalReport

_ROWS_PER_CHUNK = 1 << 16
METADATA = {b"mottle": json.dumps({"role": str(Role.QUASI_IDENTIFYING), "form": "worlds"})}


@dataclass(frozen=True)
class SetRelease:
    """Published sets with their certificate.

    ``links`` is the owner's secret; it is None on a release that was read from files.
    """

    table: (
        pa.Table
    )  # the sets as in `mottle.release.set_cell_text`, then the labels if there are any
    certificate: dict[str, Any]
    links: Links | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        guarantee = self.certificate.get("guarantee", {}).get("name", "unknown guarantee")
        return f"SetRelease({self.table.num_rows} records, {guarantee}, er={self.error_rate})"

    @property
    def sensitive(self) -> None:
        """Labels are never published apart."""

    @property
    def column(self) -> str:
        """The column that holds the sets."""
        return str(self.table.column_names[0])

    @property
    def error_rate(self) -> float | None:
        """ER: bits flipped per item held."""
        rate = self.certificate.get("error_rate")
        return None if rate is None else float(rate)

    def worlds(self, row: int) -> PossibleWorlds:
        """The sets that one published record may stand for."""
        cell = self.table.column(self.column)[row].as_py()
        base, uncertain = frozenset(cell["base"]), frozenset(cell["uncertain"])
        return PossibleWorlds(base, uncertain, cell["distance"])

    def sample(self, seed: int | None = None) -> list[list[str]]:
        """One possible world of every record, all worlds of a record equally likely.

        Most of a record's worlds are as far from its base set as is possible: samples show what
        the release does not rule out, while the base sets are its best guess.
        """
        random = Random(seed)
        return [sorted(self.worlds(row).sample(random)) for row in range(self.table.num_rows)]

    def to_arrow(self) -> pa.Table:
        """The release with typed cells."""
        return self.table

    def to_text(self) -> pa.Table:
        """The release with its sets as text, as in ``release.csv``."""
        chunks = [set_cell_text.to_text(chunk) for chunk in self.table.column(self.column).chunks]
        names = [f"{self.column}.{part}" for part in set_cell_text.PARTS]
        parts = [pa.chunked_array(part) for part in zip(*chunks, strict=True)]
        columns = dict(zip(names, parts, strict=True))
        return pa.table(columns | {name: self.table.column(name) for name in self.labels})

    @property
    def labels(self) -> list[str]:
        """The columns published unchanged."""
        return [str(name) for name in self.table.column_names[1:]]

    def slice(self, first: int, length: int) -> SetRelease:
        """Rows ``first .. first + length - 1``, without links."""
        return SetRelease(self.table.slice(first, length), self.certificate)

    def to_pandas(self) -> pd.DataFrame:
        """The release as a pandas DataFrame, sets as text."""
        return self.to_text().to_pandas()

    def save(
        self,
        folder: str | Path,
        *,
        private: str | Path | None = None,
        overwrite: bool = False,
        report: bool = True,
        internal: InternalReport | None = None,
    ) -> dict[str, Any]:
        """Write ``release.parquet``, ``release.csv``, ``report.html`` and ``certificate.json``.

        All or none, as `mottle.Release.save`; ``private`` names the owner's link file,
        ``internal`` asks for a report that compares with the original, and ``report=False`` leaves
        ``report.html`` out.
        """
        from mottle.io.write_release import save_release
        from mottle.report import page_of

        return save_release(
            self,
            Path(folder),
            private,
            overwrite=overwrite,
            report=page_of(self) if report else None,
            internal=None if internal is None else (internal.path, internal.page_of(self)),
        )


def publish(data: ItemSets, votes: Votes, links: Links) -> pa.Table:
    """The released table: the votes' outcome, and the true records' labels."""
    rows = votes.row_of[links.position_of_row]
    chunks = [
        _cells(data.names, votes, rows[first : first + _ROWS_PER_CHUNK])
        for first in range(0, len(rows), _ROWS_PER_CHUNK)
    ]
    fields = [pa.field(data.column, set_cell_text.TYPE, metadata=METADATA)]
    arrays = [pa.chunked_array(chunks, set_cell_text.TYPE)]
    if data.labels is not None:
        described = PublishedColumn.of_unchanged(data.label_name, Role.SENSITIVE, data.labels)
        fields.append(described.field())
        arrays.append(reordered(data.labels, described.value_type, links.original_of_row))
    return pa.table(arrays, schema=pa.schema(fields))


def _cells(names: pa.Array, votes: Votes, rows: Int32Array) -> pa.Array:
    parts = [
        _lists(names, SetCells(votes.base_starts, votes.base).take(rows)),
        _lists(names, SetCells(votes.uncertain_starts, votes.uncertain).take(rows)),
        pa.array(votes.distance[rows]),
    ]
    return pa.StructArray.from_arrays(parts, fields=list(set_cell_text.TYPE))


def _lists(names: pa.Array, lists: SetCells) -> pa.Array:
    members = names.take(pa.array(lists.values))
    return pa.ListArray.from_arrays(pa.array(lists.offsets, pa.int32()), members)


def check_published(data: ItemSets, table: pa.Table, links: Links) -> dict[str, object]:
    """Invariant 5: nothing but sets and labels is there, in an order that tells nothing.

    Returns what was measured, or raises `PrivacyError`.
    """
    expected = [data.column] + ([] if data.labels is None else [data.label_name])
    if table.column_names != expected or table.schema.field(0).type != set_cell_text.TYPE:
        raise PrivacyError("Invariant 5: the release holds something else than sets and labels.")
    if table.num_rows != data.records or not is_order(links.position_of_row):
        raise PrivacyError("Invariant 5: the rows of the release are not an order of the records.")
    return {"columns": len(expected), "row_order": "uniformly random"}


def check_names(data: ItemSets) -> None:
    """Refuse names of columns that release.csv could not tell apart."""
    taken = {data.column, *(f"{data.column}.{part}" for part in set_cell_text.PARTS)}
    if data.labels is not None and data.label_name in taken:
        raise UsageError(
            f"The labels cannot be named '{data.label_name}': the sets have that name.",
            "Rename the column of labels.",
        )
