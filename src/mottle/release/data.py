"""The data of a release: the published table, its columns, its certificate, the owner's links.

Everything below the pipeline works on `ReleaseData`; the public `mottle.Release` adds queries,
samples, files and the audit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from mottle.errors import DataError
from mottle.release.cell_text import text_columns, to_texts
from mottle.release.certificate import Certificate
from mottle.release.coded_cells import CodedCells, CodedTable
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.release.rows import Rows, tables_of
from mottle.schema.reading import ReadOptions
from mottle.utils.distinct_cells import distinct_cells

if TYPE_CHECKING:
    import pandas as pd

ROWS_PER_PART = 1 << 17


@dataclass(frozen=True)
class ExternalSource:
    """Where a release of another tool comes from."""

    tool: str
    notes: tuple[str, ...]  # what an auditor needs to know about how it was read


@dataclass(frozen=True)
class ReleaseData:
    """A published table; its rows are in memory or in a file.

    The owner's links and audit are never pickled, copied or printed.
    """

    stored: Rows  # typed cells, see `mottle.release.cell_text`
    columns: tuple[PublishedColumn, ...]
    certified: Certificate | None = None  # None: read without one, or another tool's
    links: Links | None = field(default=None, repr=False, compare=False)
    sensitive: pa.Table | None = None  # sensitive values by group, when published separately
    external: ExternalSource | None = None  # of a release that another tool made
    # How the original was read; None where that is not known: it is not part of what is published.
    reading: ReadOptions | None = field(default=None, repr=False, compare=False)
    # The distinct cells of ``stored``, as they are known after a run; no part of the release.
    coded: CodedTable | None = field(default=None, repr=False, compare=False)
    # The owner's `mottle.AuditReport` of a run with ``audit="full"``; never written with a release.
    audited: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, data: ReleaseData) -> Self:
        """Return the same release as an object of this class.

        Parameters
        ----------
        data : ReleaseData
            Any release.

        Returns
        -------
        ReleaseData
            An object of the class on which this method was called.
        """
        return cls(**{name: getattr(data, name) for name in cls.__dataclass_fields__})

    def __repr__(self) -> str:
        promised = "no certificate"
        if self.certified is not None:
            promised = f"{self.certified.guarantee.name}, gcp={self.gcp}"
        return f"{type(self).__name__}({self.num_rows} rows, {promised})"

    def __getstate__(self) -> dict[str, Any]:
        fields = type(self).__dataclass_fields__
        unset = dict.fromkeys(("links", "audited", "coded"))
        return {name: getattr(self, name) for name in fields} | unset

    @property
    def certificate(self) -> Certificate:
        """The certificate.

        Raises
        ------
        DataError
            The release has none.
        """
        if self.certified is None:
            raise DataError(
                "The release has no certificate.",
                "Read it from a folder that holds certificate.json.",
            )
        return self.certified

    @property
    def num_rows(self) -> int:
        """Number of published records."""
        return int(self.stored.num_rows)

    @cached_property
    def table(self) -> pa.Table:
        """All rows in memory, with typed cells."""
        if isinstance(self.stored, pa.Table):
            return self.stored
        names = [column.name for column in self.columns]
        batches = list(self.stored.to_batches(ROWS_PER_PART))
        return pa.Table.from_batches(batches, self.stored.schema).select(names)

    @property
    def gcp(self) -> float | None:
        """Global certainty penalty: 0 nothing lost, 1 everything lost; None when unknown."""
        return None if self.certified is None else self.certified.gcp

    def tables(self, size: int = ROWS_PER_PART) -> Iterator[pa.Table]:
        """Iterate over all rows without holding them at once.

        Parameters
        ----------
        size : int, optional
            Number of rows of each table but the last.

        Returns
        -------
        iterator of pyarrow.Table
            The published columns with typed cells.
        """
        names = [column.name for column in self.columns]
        return (table.select(names) for table in tables_of(self.stored, size))

    def to_arrow(self) -> pa.Table:
        """Return the release with typed cells: ranges as structs, sets as lists.

        Returns
        -------
        pyarrow.Table
            The table itself, not a copy.
        """
        return self.table

    def to_text(self) -> pa.Table:
        """Return the release with its cells as text, as in ``release.csv``.

        Returns
        -------
        pyarrow.Table
            One column of text for each column; three for a column of sets of items.
        """
        return self.text_of(self.table)

    def text_of(self, table: pa.Table) -> pa.Table:
        """Return some rows of the release with their cells as text.

        Parameters
        ----------
        table : pyarrow.Table
            Rows of the attribute `table`.

        Returns
        -------
        pyarrow.Table
            As `to_text`.
        """
        texts: dict[str, pa.ChunkedArray] = {}
        for column in self.columns:
            names = text_columns(column.name, column.form)
            texts |= zip(names, _text_columns(table.column(column.name), column), strict=True)
        return pa.table(texts)

    def coded_text_of(self, table: pa.Table) -> pa.Table:
        """Return some rows of the release with their cells as text, repeated ones as a dictionary.

        Parameters
        ----------
        table : pyarrow.Table
            Rows of the attribute `table`, with all or some of its columns.

        Returns
        -------
        pyarrow.Table
            As `text_of`; columns in which few cells are distinct are dictionary-encoded.
        """
        texts: dict[str, pa.ChunkedArray] = {}
        for column in self.columns:
            if column.name not in table.column_names:
                continue
            names = text_columns(column.name, column.form)
            cells = table.column(column.name)
            coded = None if column.form is None or len(names) > 1 else _coded_text(cells, column)
            texts |= zip(names, coded or _text_columns(cells, column), strict=True)
        return pa.table(texts)

    @property
    def distinct(self) -> Mapping[str, CodedCells]:
        """The distinct cells of those columns of which they are known."""
        if self.coded is None or self.coded.table is not self.stored:
            return {}
        return self.coded.columns

    def distinct_texts(self) -> dict[str, tuple[pa.Array, CodedCells]]:
        """Return the cells of the attribute `distinct` as text.

        Returns
        -------
        dict of str to (pyarrow.Array, CodedCells)
            By the name of a column of text.
        """
        forms = {column.name: column for column in self.columns}
        found = {}
        for name, coded in self.distinct.items():
            column = forms[name]
            if column.form is not None and text_columns(name, column.form) == (name,):
                (texts,) = to_texts(coded.cells, column.form, column.rule)
                found[name] = (texts, coded)
        return found

    def to_pandas(self) -> pd.DataFrame:
        """Return the release as a pandas DataFrame, cells as text.

        Returns
        -------
        pandas.DataFrame
            As `to_text`.
        """
        return self.to_text().to_pandas()

    def with_seconds(self, **seconds: float) -> Self:
        """Return the release with further times at the front of its certificate.

        Parameters
        ----------
        **seconds : float
            Seconds by stage.

        Returns
        -------
        ReleaseData
            A release of the same class.
        """
        taken = {stage: round(time, 4) for stage, time in seconds.items()}
        certificate = self.certificate
        changed = certificate.with_changes(seconds={**taken, **certificate.seconds})
        return replace(self, certified=changed)

    def with_notes(self, *notes: str) -> Self:
        """Return the release with further notes at the end of those on its certificate.

        Parameters
        ----------
        *notes : str
            What a reader should know in addition; no cell values.

        Returns
        -------
        ReleaseData
            A release of the same class.
        """
        certificate = self.certificate
        changed = certificate.with_changes(notes=(*certificate.notes, *notes))
        return replace(self, certified=changed)

    def slice(self, first: int, length: int) -> Self:
        """Return some of the rows, without links.

        Parameters
        ----------
        first : int
            Number of the first row.
        length : int
            Number of rows.

        Returns
        -------
        ReleaseData
            A release of the same class.
        """
        return replace(self, stored=self.table.slice(first, length), links=None, audited=None)


def _coded_text(column: pa.ChunkedArray, described: PublishedColumn) -> list[pa.Array] | None:
    """The text of the distinct cells, and which one each is; None unless these are few."""
    assert described.form is not None
    cells = column.combine_chunks()
    found = distinct_cells(cells)
    if found is None or 2 * len(found[0]) > len(cells):
        return None
    (texts,) = to_texts(cells.take(pa.array(found[0])), described.form, described.rule)
    return [pa.DictionaryArray.from_arrays(pa.array(found[1]), texts)]


def _text_columns(column: pa.ChunkedArray, described: PublishedColumn) -> list[pa.ChunkedArray]:
    """A published column as text; a column published unchanged keeps its type."""
    form = described.form
    if form is None:
        return [column]
    parts = zip(*(to_texts(chunk, form, described.rule) for chunk in column.chunks), strict=True)
    texts = [pa.chunked_array(list(part), pa.string()) for part in parts]
    return texts or [pa.chunked_array([], pa.string()) for _ in text_columns("", form)]
