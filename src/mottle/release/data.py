"""What is published: the release, its certificate, and the owner's private links."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from mottle.encoding.encode import Codes, Domain, Form
from mottle.errors import PrivacyError, SchemaError
from mottle.graph.cover import Cells, Cover, NodeCells, RangeCells, SetCells, WorldCells
from mottle.graph.model import Graph, Int32s, Int64s, is_order, preimage
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.arrow import is_list
from mottle.release.cell_text import published_type, text_columns, to_texts
from mottle.release.value_totals import Totals
from mottle.schema.model import Kind, Role, Schema
from mottle.utils.arrow import as_text, dictionary_order, is_plain

if TYPE_CHECKING:
    import pandas as pd

    from mottle.queries.conditions import Where
    from mottle.queries.engine import Queries
    from mottle.queries.estimate import Estimate
    from mottle.report import InternalReport

_METADATA_KEY = b"mottle"
_EDGES_PER_BATCH = 1 << 20
_ROWS_PER_CHUNK = 1 << 16


@dataclass(frozen=True)
class PublishedColumn:
    """What a reader has to know about a column of a release."""

    name: str
    role: Role
    kind: Kind | None  # None for columns published unchanged
    form: Form | None  # None for columns published unchanged
    value_type: pa.DataType  # the type of the original values
    order: tuple[str, ...] | None = None
    hierarchy: Hierarchy | None = None
    separator: str | None = None  # between the items of sets that the original has as text
    totals: Totals | None = None  # how often its values occur

    @classmethod
    def of_domain(cls, domain: Domain, totals: Totals | None = None) -> PublishedColumn:
        """Describe a generalized column."""
        order = None
        if domain.column.kind is Kind.ORDERED:
            order = tuple(pc.cast(domain.values, pa.string()).drop_null().to_pylist())
        return cls(
            name=domain.name,
            role=Role.QUASI_IDENTIFYING,
            kind=domain.column.kind,
            form=domain.form,
            value_type=domain.values.type,
            order=order,
            hierarchy=domain.hierarchy,
            separator=domain.column.separator,
            totals=totals,
        )

    @classmethod
    def of_unchanged(cls, name: str, role: Role, values: pa.ChunkedArray) -> PublishedColumn:
        """Describe a column published as it is; ordered categories as values with an order."""
        if not pa.types.is_dictionary(values.type):
            return cls(name, role, None, None, values.type)
        categories = pc.cast(dictionary_order(values, name), pa.string())
        value_type = values.type.value_type
        return cls(name, role, None, None, value_type, order=tuple(categories.to_pylist()))

    @property
    def facts(self) -> dict[str, Any]:
        """A column published unchanged as it stands on the certificate."""
        return {"name": self.name, "role": str(self.role), "type": str(self.value_type)}

    def field(self) -> pa.Field:
        """The Arrow field, with everything a reader has to know in its metadata."""
        data_type = (
            self.value_type if self.form is None else published_type(self.form, self.value_type)
        )
        facts: dict[str, object] = {"role": self.role, "kind": self.kind, "form": self.form}
        if self.order is not None:
            facts["order"] = self.order
        if self.hierarchy is not None:
            facts["hierarchy"] = self.hierarchy.rows()
        if self.separator is not None:
            facts["separator"] = self.separator
        if self.totals is not None:
            facts["totals"] = self.totals.facts
        return pa.field(self.name, data_type, metadata={_METADATA_KEY: json.dumps(facts)})

    @classmethod
    def of_field(cls, described: pa.Field) -> PublishedColumn:
        """Read a field's metadata back."""
        facts = json.loads((described.metadata or {})[_METADATA_KEY])
        form = None if facts["form"] is None else Form(facts["form"])
        value_type = described.type
        if form is Form.RANGE:
            value_type = described.type.field("lo").type
        elif form is Form.SET:
            value_type = described.type.value_type
        elif form is Form.WORLDS:
            value_type = described.type.field("base").type
        rows = facts.get("hierarchy")
        return cls(
            name=described.name,
            role=Role(facts["role"]),
            kind=None if facts["kind"] is None else Kind(facts["kind"]),
            form=form,
            value_type=value_type,
            order=tuple(facts["order"]) if "order" in facts else None,
            hierarchy=Hierarchy.from_rows(rows, name=described.name) if rows else None,
            separator=facts.get("separator"),
            totals=Totals.of_facts(facts["totals"]) if "totals" in facts else None,
        )


@dataclass(frozen=True, repr=False)
class Links:
    """The owner's secret: every edge of the graph and which edges are true."""

    graph: Graph
    position_of_row: Int64s  # [n]: the published record (position) in each row of the release
    truth: Int32s  # [n]: position of the true original of every published record

    SCHEMA = pa.schema([("published", pa.int64()), ("original", pa.int64()), ("true", pa.bool_())])

    @property
    def original_of_row(self) -> Int32s:
        """The input row that each release row really comes from."""
        return self.graph.members[self.truth[self.position_of_row]]

    @property
    def block_of_row(self) -> Int64s:
        """The block of the graph that each release row lies in."""
        sizes = self.graph.sizes
        return np.repeat(np.arange(len(sizes)), sizes)[self.position_of_row]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """One row per edge: row of the release, row of the input, whether it is the true one."""
        block_of = self.block_of_row
        ends = np.cumsum(self.graph.degrees[block_of], dtype=np.int64)
        first = 0
        while first < len(ends):
            done = ends[first - 1] if first else 0
            last = int(np.searchsorted(ends, done + _EDGES_PER_BATCH)) + 1
            last = min(last, len(ends))
            columns = _edges(
                self.graph, block_of, self.position_of_row, self.truth, first, last,
                int(ends[last - 1] - done),
            )  # fmt: skip
            yield pa.RecordBatch.from_arrays(list(columns), schema=self.SCHEMA)
            first = last


@dataclass(frozen=True)
class Release:
    """A published table with its certificate.

    ``links`` is the owner's secret; it is None on a release that was read from files.
    """

    table: pa.Table  # typed cells, see `mottle.release.cell_text`
    columns: tuple[PublishedColumn, ...]
    certificate: dict[str, Any]
    links: Links | None = field(default=None, repr=False, compare=False)
    sensitive: pa.Table | None = None  # sensitive values by group, when published apart

    def __repr__(self) -> str:
        guarantee = self.certificate.get("guarantee", {}).get("name", "unknown guarantee")
        return f"Release({self.table.num_rows} rows, {guarantee}, gcp={self.gcp})"

    @property
    def gcp(self) -> float | None:
        """Global certainty penalty: 0 nothing lost, 1 everything lost."""
        gcp = self.certificate.get("gcp")
        return None if gcp is None else float(gcp)

    def to_arrow(self) -> pa.Table:
        """The release with typed cells (ranges as structs, sets as lists)."""
        return self.table

    def to_text(self) -> pa.Table:
        """The release with its cells as text, as in ``release.csv``; sets of items in three."""
        texts: dict[str, pa.ChunkedArray] = {}
        for column in self.columns:
            names = text_columns(column.name, column.form)
            texts |= zip(
                names, _text_columns(self.table.column(column.name), column.form), strict=True
            )
        return pa.table(texts)

    def slice(self, first: int, length: int) -> Release:
        """Rows ``first .. first + length - 1``, without links."""
        return Release(self.table.slice(first, length), self.columns, self.certificate)

    def to_pandas(self) -> pd.DataFrame:
        """The release as a pandas DataFrame, cells as text."""
        return self.to_text().to_pandas()

    def count(self, where: Where | None = None, *, fit: str = "fitted") -> Estimate:
        """How many true records satisfy conditions: expected, bounds and standard error.

        ``where`` maps a column to a value, a range ``(low, high)``, a list of values or None for
        missing; see docs/queries.md. ``fit`` is "fitted" (values of a cell as likely as the whole
        release says) or "uniform" (all equally likely, as in the papers).

        >>> import mottle
        >>> ages = pa.table({"age": [20, 21, 22, 23]})
        >>> schema = mottle.Schema.of(quasi_identifying=["age"])
        >>> release = mottle.anonymize(ages, schema, mottle.KAnonymity(4), seed=1)
        >>> release.count({"age": (20, 21)})
        Estimate(expected=2.0, certain=0.0, possible=4.0, error=1.0)
        """
        return self._queries(fit).count(where)

    def total(self, column: str, where: Where | None = None, *, fit: str = "fitted") -> Estimate:
        """The sum of a number column over the true records that satisfy conditions."""
        return self._queries(fit).total(column, where)

    def average(self, column: str, where: Where | None = None, *, fit: str = "fitted") -> Estimate:
        """The mean of a number column over the true records that satisfy conditions."""
        return self._queries(fit).average(column, where)

    def group_by(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        *,
        breaks: Mapping[str, Sequence[object]] | None = None,
        fit: str = "fitted",
    ) -> pa.Table:
        """Counts for every combination of the columns' values; ``breaks`` groups by ranges."""
        return self._queries(fit).group_by(columns, where, breaks)

    def cube(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        *,
        breaks: Mapping[str, Sequence[object]] | None = None,
        fit: str = "fitted",
    ) -> pa.Table:
        """`group_by` for every subset of the columns."""
        return self._queries(fit).cube(columns, where, breaks)

    def query(self, sql: str, *, plain: bool = False, fit: str = "fitted") -> pa.Table:
        """Answer SQL with expected values, bounds and standard errors; see docs/queries.md.

        ``plain`` hands the SQL to DuckDB as it is, over the typed cells of ``to_arrow()``.
        """
        from mottle.queries.sql.answer import query
        from mottle.queries.sql.plain import query_plain

        if plain:
            return query_plain(self.table, self.sensitive, sql)
        return query(self._queries(fit), sql)

    def sample(self, m: int = 5, *, seed: int | None = None, fit: str = "fitted") -> list[pa.Table]:
        """Draw ``m`` complete ordinary tables that the release allows.

        Estimate on each of them and pool by `mottle.queries.combine` (Rubin's rules).
        """
        from mottle.queries.sampling import sample

        return sample(self._queries(fit), self, m, seed)

    def _queries(self, fit: str) -> Queries:
        """The release prepared for questions, once."""
        from mottle.queries.engine import Queries

        if fit not in self._prepared:
            self._prepared[fit] = Queries.of(self, fit)
        return self._prepared[fit]

    @cached_property
    def _prepared(self) -> dict[str, Queries]:
        return {}

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

        Sensitive values that are published apart go into ``sensitive.parquet`` and
        ``sensitive.csv``. Either all files appear or none. ``private`` names the file for the
        owner's link file (mode 0600), ``internal`` asks for a report that compares with the
        original (outside ``folder``, mode 0600); ``report=False`` leaves ``report.html`` out.
        Returns the certificate as written, with the files' checksums.
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


def check_publishable(table: pa.Table, schema: Schema) -> None:
    """Refuse columns that are to be published unchanged but cannot be written as text.

    Also columns that have the name of a part of another one.
    """
    for column in schema.with_role(Role.QUASI_IDENTIFYING):
        is_set = column.kind is Kind.SET or is_list(table.column(column.name).type)
        for name in text_columns(column.name, Form.WORLDS) if is_set else ():
            if name in table.column_names:
                raise SchemaError(
                    f"Column '{name}' has the name of a part of column '{column.name}', as its"
                    " sets are published.",
                    "Rename one of them.",
                )
    for column in schema.with_role(Role.SENSITIVE) + schema.with_role(Role.INSENSITIVE):
        values = table.column(column.name)
        if not is_plain(values.type):
            raise SchemaError(
                f"Column '{column.name}' holds {values.type} values, which release.csv cannot"
                " hold.",
                f"Turn them into text, or leave the column out: --id {column.name}.",
            )
        if pa.types.is_binary(values.type):
            as_text(values, column.name)


def publish(
    table: pa.Table,
    schema: Schema,
    codes: Codes,
    published: Cover,
    links: Links,
    least_total: int | None = None,
) -> tuple[pa.Table, tuple[PublishedColumn, ...]]:
    """Put the released table together: generalized cells, and the true records' other columns.

    ``least_total``: say how often values occur as well, counting no fewer records together.
    """
    cover_row_of_row = published.row_of[links.position_of_row]
    original_of_row = links.original_of_row
    described: list[PublishedColumn] = []
    arrays: list[pa.ChunkedArray] = []
    generalized = {
        domain.name: (place, domain, cells)
        for place, (domain, cells) in enumerate(zip(codes.domains, published.cells, strict=True))
    }
    for column in schema.columns:
        if column.role is Role.IDENTIFYING:
            continue
        if column.role is Role.QUASI_IDENTIFYING:
            place, domain, cells = generalized[column.name]
            totals = None
            if least_total is not None:
                totals = Totals.of(domain, codes.matrix[:, place], least_total)
            described.append(PublishedColumn.of_domain(domain, totals))
            arrays.append(_published_cells(cells, domain, cover_row_of_row))
        else:
            values = table.column(column.name)
            unchanged = PublishedColumn.of_unchanged(column.name, column.role, values)
            described.append(unchanged)
            arrays.append(reordered(values, unchanged.value_type, original_of_row))
    fields = [column.field() for column in described]
    return pa.table(arrays, schema=pa.schema(fields)), tuple(described)


def reordered(values: pa.ChunkedArray, value_type: pa.DataType, rows: Int32s) -> pa.ChunkedArray:
    """The values of each released row, in chunks, none of which holds more text than 2 GB."""
    wide = _WIDE_TYPES.get(value_type, value_type)  # all of the text together may be more
    values = pc.cast(values, wide)
    return pa.chunked_array(
        [
            pc.cast(chunk, value_type)
            for first in range(0, len(rows), _ROWS_PER_CHUNK)
            for chunk in values.take(pa.array(rows[first : first + _ROWS_PER_CHUNK])).chunks
        ],
        value_type,
    )


_WIDE_TYPES = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def _published_cells(cells: Cells, domain: Domain, rows: Int32s) -> pa.ChunkedArray:
    """The cells of each released row, decoded in chunks so that no list array grows too long."""
    return pa.chunked_array(
        [
            decode(cells.take(rows[first : first + _ROWS_PER_CHUNK]), domain)
            for first in range(0, len(rows), _ROWS_PER_CHUNK)
        ]
    )


def decode(cells: Cells, domain: Domain) -> pa.Array:
    """Cells in code form as typed Arrow cells."""
    match cells:
        case RangeCells():
            return pa.StructArray.from_arrays(
                [
                    _take(domain.values, cells.lowest),
                    _take(domain.values, cells.highest),
                    pa.array(cells.missing),
                ],
                fields=list(published_type(Form.RANGE, domain.values.type)),
            )
        case SetCells():
            members = domain.values.take(pa.array(cells.values))
            return pa.ListArray.from_arrays(pa.array(cells.offsets, pa.int32()), members)
        case NodeCells():
            assert domain.hierarchy is not None
            return _take(pa.array(domain.hierarchy.labels, pa.string()), cells.nodes)
        case WorldCells():
            assert domain.sets is not None
            unknown = pa.array(~cells.known)
            return pa.StructArray.from_arrays(
                [
                    _lists(domain.sets.names, cells.base, unknown),
                    _lists(domain.sets.names, cells.uncertain, unknown),
                    pa.array(cells.distance, mask=~cells.known),
                    pa.array(cells.missing),
                ],
                fields=list(published_type(Form.WORLDS, domain.values.type)),
            )


def _lists(names: pa.Array, cells: SetCells, unknown: pa.Array) -> pa.Array:
    members = names.take(pa.array(cells.values))
    return pa.ListArray.from_arrays(pa.array(cells.offsets, pa.int32()), members, mask=unknown)


def check_published(
    schema: Schema, published: Sequence[PublishedColumn], links: Links
) -> dict[str, object]:
    """Invariant 5: identifying columns are gone; the order of the rows tells nothing.

    Returns what was measured, or raises `PrivacyError`.
    """
    names = {column.name for column in published}
    identifying = {column.name for column in schema.with_role(Role.IDENTIFYING)}
    if names & identifying:
        raise PrivacyError("Invariant 5: an identifying column is still in the release.")
    generalized = {column.name for column in published if column.form is not None}
    if generalized != {column.name for column in schema.with_role(Role.QUASI_IDENTIFYING)}:
        raise PrivacyError("Invariant 5: a quasi-identifier is not generalized.")
    if not is_order(links.position_of_row):
        raise PrivacyError("Invariant 5: the rows of the release are not an order of the records.")
    return {"identifying_columns": len(identifying), "row_order": "uniformly random"}


def _text_columns(column: pa.ChunkedArray, form: Form | None) -> list[pa.ChunkedArray]:
    """A published column as text; columns published unchanged stay as they are."""
    if form is None:
        return [column]
    parts = zip(*(to_texts(chunk, form) for chunk in column.chunks), strict=True)
    texts = [pa.chunked_array(list(part), pa.string()) for part in parts]
    return texts or [pa.chunked_array([], pa.string()) for _ in text_columns("", form)]


def _take(values: pa.Array, codes: Int32s) -> pa.Array:
    """Values by code, null for code -1."""
    return values.take(pa.array(codes, mask=codes < 0))


@njit(cache=True, nogil=True)
def _edges(
    graph: Graph, block_of: Int64s, position_of_row: Int64s, truth: Int32s,
    first: int, last: int, total: int,
) -> tuple[Int64s, Int64s, Any]:  # fmt: skip
    """Edges of release rows ``first .. last - 1``: published row, original row, true or not."""
    published = np.empty(total, np.int64)
    original = np.empty(total, np.int64)
    is_true = np.empty(total, np.bool_)
    edge = 0
    for row in range(first, last):
        block = block_of[row]
        position = position_of_row[row]
        start = graph.starts[block]
        for layer in range(graph.degrees[block]):
            source = start + preimage(graph, block, position - start, layer)
            published[edge] = row
            original[edge] = graph.members[source]
            is_true[edge] = truth[position] == source
            edge += 1
    return published, original, is_true
