"""FROM: the release, joined with code lists of the analyst's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mottle.errors import UsageError, did_you_mean
from mottle.queries.expressions.code_list import CodeList
from mottle.queries.expressions.tree import Expression, Lookup, Reference
from mottle.queries.sql.translate import Node, unsupported

TABLE = "release"
_JOIN = "Write FROM release JOIN codes ON release.origin = codes.code (or LEFT JOIN)."


@dataclass(frozen=True)
class Source:
    """The tables of a query, by the names that it gives them."""

    columns: tuple[str, ...]  # of the release
    release: tuple[str, ...]  # names of the release
    lists: tuple[CodeList, ...]
    inner: frozenset[str]  # code lists outside which no record counts

    def knows(self, path: Sequence[str]) -> bool:
        """Whether a name means a column of one of the tables."""
        return bool(self._candidates(path))

    def resolve(self, path: Sequence[str]) -> Expression:
        """Return what a name stands for."""
        name = str(path[-1])
        found = self._candidates(path)
        if len(found) > 1:
            raise UsageError(
                f"Column '{name}' is in several tables.", f"Write {TABLE}.{name}, for instance."
            )
        if not found:
            of_lists = [one for codes in self.lists for one in codes.table.column_names]
            raise UsageError(
                f"The release has no column '{name}'.",
                did_you_mean(name, [*self.columns, *of_lists]),
            )
        return found[0]

    def _candidates(self, path: Sequence[str]) -> list[Expression]:
        name, table = str(path[-1]), str(path[-2]).lower() if len(path) > 1 else None
        found: list[Expression] = []
        if table is None or table in self.release:
            found += [Reference(column) for column in _matching(name, self.columns)]
        for codes in self.lists:
            is_key = table is None and bool(found) and name.lower() == codes.key.lower()
            if table in (None, codes.name) and not is_key:
                found += [
                    Lookup(codes.column, codes.name, attribute)
                    for attribute in _matching(name, codes.table.column_names)
                ]
        return found


def source_of(node: Node, columns: Sequence[str], tables: Mapping[str, pa.Table]) -> Source:
    """Read FROM, or raise a `UsageError` that says what to write instead."""
    if node["type"] == "BASE_TABLE":
        names = {str(node[part]).lower() for part in ("table_name", "alias") if node[part]}
        if _table_name(node) != TABLE:
            raise UsageError(
                f"There is no table '{node['table_name']}'.", f"The release is named '{TABLE}'."
            )
        return Source(tuple(columns), tuple(names), (), frozenset())
    if node["type"] != "JOIN":
        raise unsupported("anything but FROM release and joins with code lists (no subqueries)")
    if node["join_type"] not in ("INNER", "LEFT") or node["ref_type"] != "REGULAR":
        raise unsupported(f"{node['join_type'].lower()} and other joins", _JOIN)
    left = source_of(node["left"], columns, tables)
    codes = _joined(node, left, tables)
    inner = left.inner | ({codes.name} if node["join_type"] == "INNER" else set())
    return Source(left.columns, left.release, (*left.lists, codes), inner)


def _plain_name(table: Node) -> str:
    """A name to join a table by, where the query may name a file."""
    return re.sub(r"\W+", "_", str(table["table_name"]).rsplit("/", 1)[-1].split(".", 1)[0])


def _joined(node: Node, left: Source, tables: Mapping[str, pa.Table]) -> CodeList:
    """The code list on the right of a join."""
    right = node["right"]
    if right["type"] != "BASE_TABLE":
        raise unsupported("joins with anything but a code list", _JOIN)
    given = {name.lower(): table for name, table in tables.items()}
    stated = _table_name(right)
    if stated == TABLE and TABLE not in given:
        raise unsupported("joins of the release with itself", _JOIN)
    if stated not in given:
        raise UsageError(
            f"There is no table '{right['table_name']}' to join.",
            f"Name its file: --with {_plain_name(right)}=FILE.csv (in Python, tables={{...}})."
            f" {did_you_mean(str(right['table_name']), tables)}".rstrip(),
        )
    name = str(right["alias"] or stated).lower()
    if name in (*left.release, *(codes.name for codes in left.lists)):
        raise UsageError(f"Two tables of the query are called '{name}'.", "Name one: JOIN codes c.")
    column, key = _keys(node, left, name, given[stated])
    return CodeList(name, given[stated], column, key)


def _keys(node: Node, left: Source, name: str, table: pa.Table) -> tuple[str, str]:
    """The column of the release and that of the code list that have to be equal."""
    using = node.get("using_columns") or []
    if len(using) == 1:
        sides = [[using[0]], [name, using[0]]]
    else:
        condition = node.get("condition")
        if not condition or condition["type"] != "COMPARE_EQUAL":
            raise unsupported("joins on anything but one equality", _JOIN)
        parts = [condition["left"], condition["right"]]
        if any(part["class"] != "COLUMN_REF" for part in parts):
            raise unsupported("joins on anything but columns", _JOIN)
        sides = [part["column_names"] for part in parts]
    for own, other in (sides, sides[::-1]):
        matching = _matching(str(other[-1]), table.column_names)
        is_other = len(other) == 1 or str(other[-2]).lower() == name
        if matching and is_other and left.knows(own):
            found = left.resolve(own)
            if isinstance(found, Reference):
                return found.column, matching[0]
    raise UsageError(
        f"The join with '{name}' does not name a column of the release and one of '{name}'.", _JOIN
    )


def _table_name(node: Node) -> str:
    """The name of a table in lower case; raise for files, schemas and samples."""
    if node["schema_name"] or node["catalog_name"]:
        raise UsageError(
            f"There is no table '{node['table_name']}'.", f"The release is named '{TABLE}'."
        )
    if node["sample"] is not None:
        raise unsupported("a sample")
    return str(node["table_name"]).lower()


def _matching(name: str, columns: Sequence[str]) -> list[str]:
    """The columns of a name: of exactly that, or regardless of capitals."""
    exact = [column for column in columns if column == name]
    return exact or [column for column in columns if column.lower() == name.lower()]
