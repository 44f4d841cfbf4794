"""Runs with an owner's key: their random numbers follow from the key, the table and the options."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from mottle.guarantees.base import Guarantee
from mottle.itemsets.data import ItemSets
from mottle.pipeline.settings import Settings
from mottle.schema.model import Column, Objective, Role, Schema
from mottle.utils.csprng import Secret
from mottle.utils.table_digest import Fingerprint, TableDigest

_LATER_OPTIONS = ("objective", "shift", "snap", "bottom", "top", "granularity", "node_holders")


@dataclass(frozen=True)
class OwnedTable:
    """The owner's key and the table that it is used on."""

    key: bytes
    columns: tuple[str, ...]  # those that count: all but identifying ones
    digest: bytes

    def __repr__(self) -> str:
        return f"OwnedTable(columns={self.columns})"

    @classmethod
    def of(cls, key: bytes, schema: Schema, batches: Iterable[pa.Table]) -> OwnedTable:
        """Read a table; ``schema`` covers all its columns."""
        names = [column.name for column in schema.columns if column.role is not Role.IDENTIFYING]
        return cls._of(key, names, batches)

    @classmethod
    def of_sets(cls, key: bytes, data: ItemSets) -> OwnedTable:
        """Read sets of items and their labels."""
        sets = pa.LargeListArray.from_arrays(pa.array(data.starts), data.names.take(data.items))
        columns: dict[str, object] = {data.column: sets}
        if data.labels is not None:
            columns[data.label_name] = data.labels
        return cls._of(key, list(columns), [pa.table(columns)])

    @classmethod
    def of_batches_of_sets(cls, key: bytes, batches: Iterator[pa.Table]) -> OwnedTable:
        """Read sets of items and their labels in batches, as `of_sets` makes them."""
        first = next(batches)
        return cls._of(key, first.column_names, chain([first], batches))

    @classmethod
    def _of(cls, key: bytes, names: Sequence[str], batches: Iterable[pa.Table]) -> OwnedTable:
        digest = TableDigest(names)
        for rows in batches:
            digest.add(rows)
        return cls(key, tuple(names), digest.digest())

    def secret(
        self,
        schema: Schema | None,
        guarantee: Guarantee,
        settings: Settings,
        engine: Mapping[str, object],
    ) -> Secret:
        """Derive the secret of a run on this table.

        Parameters
        ----------
        schema : Schema or None
            Covers all columns of the table; None for sets.
        guarantee : Guarantee
            What the release has to promise.
        settings : Settings
            The options of the run.
        engine : mapping of str to object
            The engine and what decides how it cuts the table into chunks.

        Returns
        -------
        Secret
            The secret; another one if any of this is different.
        """
        decisive = {
            "columns": [] if schema is None else described_columns(schema, self.columns),
            "guarantee": guarantee.canonical_text(),
            "method": settings.method,
            "representation": str(settings.representation),
            "walk": settings.walk,
            "effort": settings.effort,
            "totals": settings.totals,
            "unsafe": settings.unsafe,
            "engine": dict(engine),
            **_objective(settings),
            **_item_nodes(settings),
            **({"options": dict(settings.options)} if settings.options else {}),
        }
        text = json.dumps(decisive, sort_keys=True, default=str)
        return Secret.of_owner(self.key, self.digest, text)

    def fingerprint(self, secret: Secret) -> Fingerprint:
        """Return what the owner's link file says about the table; it does not contain the key."""
        return Fingerprint.of(self.columns, self.digest, secret.part("fingerprint").key)


def fingerprint_of(schema: Schema, batches: Iterable[pa.Table], secret: Secret) -> Fingerprint:
    """Return what the link file of a run without an owner's key says about its table."""
    return OwnedTable.of(b"", schema, batches).fingerprint(secret)


def described_columns(schema: Schema, names: Collection[str]) -> list[object]:
    """Describe some columns of a schema, each with the content of its hierarchy."""
    return [
        (
            column.model_dump_json(
                exclude={"hierarchy", "hierarchy_file", *_absent(column)}, by_alias=True
            ),
            column.hierarchy.rows() if column.hierarchy is not None else None,
        )
        for column in schema.columns
        if column.name in names
    ]


def _objective(settings: Settings) -> dict[str, str]:
    """The objective, if it is another than that of earlier versions."""
    followed = settings.objective
    return {} if followed in (None, Objective.NCP) else {"objective": str(followed)}


def _item_nodes(settings: Settings) -> dict[str, object]:
    """The hierarchy of items, if there is one."""
    if settings.item_hierarchy is None:
        return {}
    rows = settings.item_hierarchy.rows()
    return {"item_hierarchy": rows, "node_holders": settings.node_holders}


def _absent(column: Column) -> list[str]:
    """The later options that a column does not have; keys of earlier versions did not know them."""
    return [name for name in _LATER_OPTIONS if getattr(column, name) is None]
