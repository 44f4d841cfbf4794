"""Releases of sets: their data and columns, and how the published table is built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.cover import SetCells
from mottle.encoding.domain import Form
from mottle.encoding.sensitive import as_counted
from mottle.errors import PrivacyError, UsageError
from mottle.graph.bit_voting import Votes
from mottle.graph.model import is_order
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.data import ItemSets
from mottle.release import set_cell_text
from mottle.release.column import METADATA_KEY, PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.item_totals import ItemTotals
from mottle.release.links import Links
from mottle.release.possible_worlds import PossibleWorlds
from mottle.release.publish import reordered
from mottle.schema.model import Role
from mottle.typing import Int32Array
from mottle.utils.untrusted.text import parse_json, texts_of

_ROWS_PER_CHUNK = 1 << 16


@dataclass(frozen=True, repr=False)
class SetReleaseData(ReleaseData):
    """Published sets: one column of sets, then the labels if there are any."""

    def __repr__(self) -> str:
        promised = "no certificate"
        if self.certified is not None:
            promised = f"{self.certified.guarantee.name}, er={self.error_rate}"
        return f"{type(self).__name__}({self.num_rows} records, {promised})"

    @property
    def column(self) -> str:
        """The column that holds the sets."""
        return self.columns[0].name

    @property
    def labels(self) -> list[str]:
        """The columns published unchanged."""
        return [column.name for column in self.columns[1:]]

    @property
    def error_rate(self) -> float | None:
        """ER: misreported items per item held, mean over records."""
        return None if self.certified is None else self.certified.error_rate

    def worlds(self, row: int) -> PossibleWorlds:
        """Return the sets that one published record may stand for.

        Parameters
        ----------
        row : int
            Number of the record in the release.

        Returns
        -------
        PossibleWorlds
            Base set, uncertain items and distance.
        """
        cell = self.table.column(self.column)[row].as_py()
        base, uncertain = frozenset(cell["base"]), frozenset(cell["uncertain"])
        return PossibleWorlds(base, uncertain, cell["distance"])

    def text_of(self, table: pa.Table) -> pa.Table:
        """Return some rows with their sets as text, as in ``release.csv``.

        Parameters
        ----------
        table : pyarrow.Table
            Rows of the attribute `table`.

        Returns
        -------
        pyarrow.Table
            Three columns of text for the sets, then the labels.
        """
        names = [f"{self.column}.{part}" for part in set_cell_text.PARTS]
        chunks = [set_cell_text.to_text(chunk) for chunk in table.column(self.column).chunks]
        if not chunks:
            chunks = [set_cell_text.to_text(pa.array([], set_cell_text.TYPE))]
        parts = [pa.chunked_array(part) for part in zip(*chunks, strict=True)]
        columns = dict(zip(names, parts, strict=True))
        return pa.table(columns | {name: table.column(name) for name in self.labels})

    def coded_text_of(self, table: pa.Table) -> pa.Table:
        """As `text_of`: few sets occur twice.

        Parameters
        ----------
        table : pyarrow.Table
            Rows of the attribute `table`.

        Returns
        -------
        pyarrow.Table
            As `text_of`.
        """
        return self.text_of(table)


def set_column(
    name: str, totals: ItemTotals | None = None, hierarchy: Hierarchy | None = None
) -> PublishedColumn:
    """Describe the column that holds published sets, of nodes if there is a hierarchy."""
    lists = set_cell_text.TYPE.field("base").type
    role = Role.QUASI_IDENTIFYING
    return PublishedColumn(
        name, role, None, Form.WORLDS, lists, hierarchy=hierarchy, item_totals=totals
    )


def set_field(
    name: str, totals: ItemTotals | None = None, hierarchy: Hierarchy | None = None
) -> pa.Field:
    """Return the Arrow field of the column that holds published sets."""
    facts: dict[str, object] = {"role": str(Role.QUASI_IDENTIFYING), "form": "worlds"}
    if hierarchy is not None:
        facts["hierarchy"] = hierarchy.rows()
    if totals is not None:
        facts["item_totals"] = totals.facts
    return pa.field(name, set_cell_text.TYPE, metadata={METADATA_KEY: json.dumps(facts)})


def described_by_field(described: pa.Field) -> tuple[ItemTotals | None, Hierarchy | None]:
    """Read the totals and the hierarchy of items from the field of a release of sets.

    Raises TypeError, ValueError or KeyError for metadata that no release has.
    """
    stated = (described.metadata or {}).get(METADATA_KEY)
    facts = {} if stated is None else parse_json(stated)
    if not isinstance(facts, Mapping):
        raise TypeError("not a description of a column")
    totals = ItemTotals.of_facts(facts["item_totals"]) if "item_totals" in facts else None
    rows = facts.get("hierarchy")
    if not rows:
        return totals, None
    return totals, Hierarchy.from_rows([texts_of(row) for row in rows], name=described.name)


def describe_columns(
    data: ItemSets, totals: ItemTotals | None = None, hierarchy: Hierarchy | None = None
) -> tuple[PublishedColumn, ...]:
    """Describe the columns of the release of ``data``."""
    if data.labels is None:
        return (set_column(data.column, totals, hierarchy),)
    label = PublishedColumn.of_unchanged(data.label_name, Role.SENSITIVE, data.labels)
    return set_column(data.column, totals, hierarchy), label


def publish(
    data: ItemSets,
    votes: Votes,
    links: Links,
    totals: ItemTotals | None = None,
    hierarchy: Hierarchy | None = None,
) -> pa.Table:
    """Build the released table: the outcome of the votes, and the true records' labels."""
    rows = votes.row_of[links.position_of_row]
    chunks = [
        _cells(data.names, votes, rows[first : first + _ROWS_PER_CHUNK])
        for first in range(0, len(rows), _ROWS_PER_CHUNK)
    ]
    fields = [set_field(data.column, totals, hierarchy)]
    arrays = [pa.chunked_array(chunks, set_cell_text.TYPE)]
    if data.labels is not None:
        described = PublishedColumn.of_unchanged(data.label_name, Role.SENSITIVE, data.labels)
        fields.append(described.field())
        labels = as_counted(data.labels)
        arrays.append(reordered(labels, described.value_type, links.original_of_row))
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


def based_items(cells: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the different items that the base sets of some cells hold."""
    return pc.unique(pc.list_flatten(pc.struct_field(cells, "base")))


def check_published(data: ItemSets, table: pa.Table, links: Links) -> dict[str, object]:
    """Check invariant 5: only sets and labels are published, in uniformly random order.

    Such an order reveals nothing. Returns what was measured, or raises `PrivacyError`.
    """
    expected = [data.column] + ([] if data.labels is None else [data.label_name])
    if table.column_names != expected or table.schema.field(0).type != set_cell_text.TYPE:
        raise PrivacyError("Invariant 5: the release holds columns other than sets and labels.")
    if table.num_rows != data.records or not is_order(links.position_of_row):
        raise PrivacyError("Invariant 5: the rows of the release are not an order of the records.")
    return {"columns": len(expected), "row_order": "uniformly random"}


def check_names(column: str, label: str | None) -> None:
    """Raise `UsageError` if columns would have the same name in release.csv."""
    if label in {column, *(f"{column}.{part}" for part in set_cell_text.PARTS)}:
        raise UsageError(
            f"The labels cannot be named '{label}': the sets have that name.",
            "Rename the column of labels.",
        )
