"""The public `Release` and `SetRelease`: queries, samples, files and audits of a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mottle.audit.report import AuditReport
from mottle.errors import UsageError
from mottle.io.databases import DatabaseTable, write_database
from mottle.io.read_release import load_release
from mottle.io.read_set_release import holds_sets, load_set_release
from mottle.io.read_table import as_table
from mottle.io.successor import Successor
from mottle.io.write_release import save_release
from mottle.pipeline.item_questions import ItemQuestions
from mottle.queries.conditions import Where
from mottle.queries.engine import FITS, Queries
from mottle.queries.estimate import Estimate
from mottle.queries.frames import frame
from mottle.queries.sampling import sample
from mottle.queries.sql.source import TABLE
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.release.set_release import SetReleaseData
from mottle.report.report import InternalReport, page_of
from mottle.utils.html import html_table
from mottle.utils.lazy import lazy_module
from mottle.utils.steps import Step

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from mottle.pipeline import replay
    from mottle.queries.sql import answer
    from mottle.queries.sql import plain as plain_sql
else:  # what a release that is written and not asked does without
    replay = lazy_module("mottle.pipeline.replay")
    answer = lazy_module("mottle.queries.sql.answer")
    plain_sql = lazy_module("mottle.queries.sql.plain")

_ROWS_SHOWN, _LONGEST = 5, 40  # rows, and characters of a cell, in notebooks


class _Saved(ReleaseData):
    """Writing a release, of a table or of sets, to a folder, and auditing it."""

    def save(
        self,
        output: str | Path | DatabaseTable,
        *,
        private: str | Path | None = None,
        overwrite: bool = False,
        another_draw: bool = False,
        report: bool = True,
        internal: InternalReport | None = None,
    ) -> Certificate:
        """Write ``release.parquet``, ``release.csv``, ``report.html`` and ``certificate.json``.

        A database gets the tables that docs/databases.md describes instead. Sensitive values that
        are published separately go into ``sensitive.parquet`` and ``sensitive.csv``. Either
        everything appears or nothing.

        Parameters
        ----------
        output : str, Path or DatabaseTable
            A folder, or `DatabaseTable(url, table)`.
        private : str or Path, optional
            File for the owner's links, outside the folder (mode 0600).
        overwrite : bool
            Whether to replace an earlier release in ``output``.
        another_draw : bool
            Says that the earlier release was never published. Without it, ``overwrite`` replaces
            only the same release and releases with a seed, because two draws of the same people
            give away what each of them hides (docs/guarantees.md).
        report : bool
            Whether ``report.html`` is written; a database has none.
        internal : InternalReport, optional
            A report for the owner that compares with the original, outside the folder (mode 0600).

        Returns
        -------
        Certificate
            As written, with the files' checksums.

        Raises
        ------
        StorageError
            A file exists already, or cannot be written.
        UsageError
            Another release would be replaced by another draw, or has continued the same link file,
            ``private`` is given but the release has no links, a file for the owner is inside the
            folder, or an internal report is requested for a database.
        """
        successor = Successor.of(self.links)
        if successor is not None:
            successor.check(another_draw=another_draw)
        certificate = self._write(output, private, overwrite, another_draw, report, internal)
        if successor is not None:
            successor.record()
        return certificate

    def _write(
        self,
        output: str | Path | DatabaseTable,
        private: str | Path | None,
        overwrite: bool,
        another_draw: bool,
        report: bool,
        internal: InternalReport | None,
    ) -> Certificate:
        """Write the files, or the tables of a database; as `save`."""
        if isinstance(output, DatabaseTable):
            if internal is not None:
                raise UsageError(
                    "An internal report is written for a release in a folder, not in a database.",
                    "Name a folder, or leave the report out.",
                )
            write_database(
                self,
                output.url,
                output.table,
                private=private,
                overwrite=overwrite,
                another_draw=another_draw,
            )
            return self.certificate
        return save_release(
            self,
            Path(output),
            private,
            overwrite=overwrite,
            another_draw=another_draw,
            report=page_of(self) if report else None,
            internal=None if internal is None else (internal.path, internal.page_of(self)),
        )

    def audit(self, original: object, **options: Any) -> AuditReport:
        """Run adversaries against the release.

        Parameters
        ----------
        original : table, sets or path
            What the release was made from.
        **options : object
            As for `mottle.audit_release`. The method is repeated as the certificate describes it,
            unless ``replay`` says otherwise.

        Returns
        -------
        AuditReport
            What each adversary achieved, compared with what the guarantee allows.
        """
        return replay.audit_and_replay(original, self, **options)


@dataclass(frozen=True, repr=False)
class Release(ItemQuestions, _Saved):
    """A published table with its certificate, in memory or backed by its files.

    ``links`` is the owner's secret: it is None on a release that was read from files, and it is
    left out when a release is pickled, copied or printed.
    """

    @property
    def survey_weight(self) -> str | None:
        """The published column of sampling weights; None if there is none."""
        name = None if self.certified is None else self.certified.survey_weight
        return name if name in {column.name for column in self.columns} else None

    def count(
        self, where: Where | None = None, *, weight: str | None = None, fit: str = "fitted"
    ) -> Estimate:
        """Estimate how many true records satisfy conditions.

        Parameters
        ----------
        where : mapping of str to object, optional
            Maps a column to a value, a range ``(low, high)``, a list of values or None for
            missing; see docs/queries.md. Without it, all records count.
        weight : str, optional
            A column of weights, such as `survey_weight`: every record counts as often as it says.
        fit : {"fitted", "uniform"}
            "fitted": the values of a cell are as likely as the whole release says. "uniform": they
            are equally likely, as in the papers.

        Returns
        -------
        Estimate
            Expected value, bounds that hold for certain, and standard error.

        Examples
        --------
        >>> import mottle
        >>> ages = pa.table({"age": [20, 21, 22, 23]})
        >>> schema = mottle.Schema.of(quasi_identifying=["age"])
        >>> release = mottle.anonymize(ages, schema, mottle.KAnonymity(4), seed=1)
        >>> release.count({"age": (20, 21)})
        Estimate(expected=2.0, certain=0.0, possible=4.0, error=1.0)
        """
        return self.queries(fit).count(where, weight=weight)

    def total(
        self,
        column: str,
        where: Where | None = None,
        *,
        weight: str | None = None,
        fit: str = "fitted",
    ) -> Estimate:
        """Estimate the sum of a number column over the true records that satisfy conditions.

        Parameters
        ----------
        column : str
            A column of numbers.
        where : mapping of str to object, optional
            As for `count`.
        weight : str, optional
            As for `count`.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        Estimate
            Expected value, bounds and standard error.
        """
        return self.queries(fit).total(column, where, weight=weight)

    def average(
        self,
        column: str,
        where: Where | None = None,
        *,
        weight: str | None = None,
        fit: str = "fitted",
    ) -> Estimate:
        """Estimate the mean of a number column over the true records that satisfy conditions.

        Parameters
        ----------
        column : str
            A column of numbers.
        where : mapping of str to object, optional
            As for `count`.
        weight : str, optional
            As for `count`.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        Estimate
            Expected value, bounds and standard error.
        """
        return self.queries(fit).average(column, where, weight=weight)

    def group_by(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        *,
        breaks: Mapping[str, Sequence[object]] | None = None,
        fit: str = "fitted",
    ) -> pa.Table:
        """Estimate counts for every combination of the columns' values.

        Parameters
        ----------
        columns : sequence of str
            Columns to group by.
        where : mapping of str to object, optional
            As for `count`.
        breaks : mapping of str to sequence, optional
            Where ranges of a column begin, to group by ranges instead of values.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        pa.Table
            One row per combination with expected count, bounds and standard error.
        """
        return self.queries(fit).group_by(columns, where, breaks)

    def cube(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        *,
        breaks: Mapping[str, Sequence[object]] | None = None,
        fit: str = "fitted",
    ) -> pa.Table:
        """Group by every subset of the columns.

        Parameters
        ----------
        columns : sequence of str
            As for `group_by`.
        where : mapping of str to object, optional
            As for `group_by`.
        breaks : mapping of str to sequence, optional
            As for `group_by`.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        pa.Table
            As `group_by`; null stands for "all values".
        """
        return self.queries(fit).cube(columns, where, breaks)

    def query(
        self,
        sql: str,
        *,
        tables: Mapping[str, object] | None = None,
        plain: bool = False,
        fit: str = "fitted",
    ) -> pa.Table:
        """Answer SQL with expected values, bounds and standard errors; see docs/queries.md.

        Parameters
        ----------
        sql : str
            A SELECT statement on the table ``release``.
        tables : mapping of str to object, optional
            Code lists that the query joins, by name: tables of Arrow, pandas or polars, or files.
        plain : bool
            Whether DuckDB evaluates the SQL without any estimation, on the typed cells of
            ``to_arrow()``.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        pa.Table
            The answer.

        Raises
        ------
        UsageError
            The query cannot be answered; the message says what to write instead.
        """
        lists = {name: _as_table(name, table) for name, table in (tables or {}).items()}
        if plain:
            return plain_sql.query_plain(self.table, self.sensitive, sql, lists)
        return answer.query(self.queries(fit), sql, lists)

    def sample(
        self,
        m: int = 5,
        *,
        seed: int | None = None,
        fit: str = "fitted",
        on_progress: Callable[[Step], None] | None = None,
    ) -> list[pa.Table]:
        """Draw complete ordinary tables that the release allows.

        Run an analysis on each of them and pool the results by `mottle.queries.combine` (Rubin's
        rules).

        Parameters
        ----------
        m : int
            The number of tables.
        seed : int, optional
            Makes the draw repeatable.
        fit : {"fitted", "uniform"}
            As for `count`.
        on_progress : callable, optional
            Called with every `Step`.

        Returns
        -------
        list of pa.Table
            Tables with the columns of the original, in its types.
        """
        pairs = fit == FITS[0]
        return sample(self.queries(fit), self, m, seed, pairs=pairs, on_progress=on_progress)

    def to_arrow(self, cells: str = "struct") -> pa.Table:
        """Return the release as an Arrow table.

        Parameters
        ----------
        cells : {"struct", "text", "midpoint", "expected"}
            What a cell becomes. "struct": ranges are structs, sets are lists. "text": as in
            ``release.csv``. "midpoint": numbers, dates and ordered values are the middle of their
            range, other cells text. "expected": numbers and dates are expected values, other
            columns their most likely value, as fitted to the whole release.

        Returns
        -------
        pyarrow.Table
            For "struct" the table itself, not a copy.
        """
        return frame(self, cells, self.queries)

    def to_pandas(self, cells: str = "text") -> pd.DataFrame:
        """Return the release as a pandas DataFrame.

        Parameters
        ----------
        cells : {"text", "midpoint", "expected", "struct"}
            As for `to_arrow`.

        Returns
        -------
        pandas.DataFrame
            One column for each column; three for a column of sets of items as text.

        Raises
        ------
        UsageError
            pandas is not installed.
        """
        try:
            return self.to_arrow(cells).to_pandas()
        except ImportError:
            raise UsageError("pandas is not installed.", "pip install pandas") from None

    def to_polars(self, cells: str = "text") -> pl.DataFrame:
        """Return the release as a Polars DataFrame.

        Parameters
        ----------
        cells : {"text", "midpoint", "expected", "struct"}
            As for `to_arrow`.

        Returns
        -------
        polars.DataFrame
            One column for each column; three for a column of sets of items as text.

        Raises
        ------
        UsageError
            Polars is not installed.
        """
        try:
            import polars as pl
        except ImportError:
            raise UsageError("Polars is not installed.", "pip install polars") from None
        return pl.DataFrame(self.to_arrow(cells))

    def _repr_html_(self) -> str:
        """Return the first rows as they are published, for notebooks."""
        shown = self.slice(0, _ROWS_SHOWN).to_text()
        promised = ""
        if self.certified is not None:
            promised = f", {self.certified.guarantee.name}, {self.certified.loss:.1%} lost"
        caption = f"Release of {self.num_rows:,} rows{promised}"
        rows = [[_cut(cell) for cell in row.values()] for row in shown.to_pylist()]
        if self.num_rows > _ROWS_SHOWN:
            rows.append(["…"] * shown.num_columns)
        return html_table(shown.column_names, rows, caption)

    def queries(self, fit: str = "fitted") -> Queries:
        """Prepare the release for queries, once for each way to fit.

        Parameters
        ----------
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        Queries
            The object that answers `count` and the other queries.
        """
        if fit not in self._prepared:
            self._prepared[fit] = Queries.of(self, fit)
        return self._prepared[fit]

    @cached_property
    def _prepared(self) -> dict[str, Queries]:
        return {}


@dataclass(frozen=True, repr=False)
class SetRelease(SetReleaseData, Release):
    """Published sets with their certificate: a `Release` with one column of sets.

    ``links`` is the owner's secret, as on `Release`.
    """


def _cut(cell: object) -> str | None:
    """A cell for display, without most of a long text."""
    text = None if cell is None else str(cell)
    return text if text is None or len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _as_table(name: str, source: object) -> pa.Table:
    """A code list as a table."""
    if name.lower() == TABLE:
        raise UsageError(
            f"A code list cannot be called '{name}', as the release is.", "Give it another name."
        )
    return as_table(source)


def read_release(path: str | Path) -> Release:
    """Read a release from its folder, its ``release.parquet`` or its ``release.csv``.

    A release of sets is a `SetRelease`, which is a `Release` with one column of sets.

    A file that does not have the checksum on its certificate is refused. The certificate says what
    the columns of ``release.csv`` are, but holds no values; the orders and hierarchies of columns
    come from ``release.parquet`` if that file is in the same folder, and are unknown if not.

    Parameters
    ----------
    path : str or Path
        The folder or one of the files.

    Returns
    -------
    Release
        The release, without links.

    Raises
    ------
    StorageError
        There is no complete release.
    DataError
        A file was changed, or was not written by mottle.

    Examples
    --------
    >>> import tempfile, mottle
    >>> ages = pa.table({"age": [20, 21, 22, 23]})
    >>> schema = mottle.Schema.of(quasi_identifying=["age"])
    >>> release = mottle.anonymize(ages, schema, mottle.KAnonymity(2), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(Path(folder, "out"), report=False)
    ...     read_release(Path(folder, "out")).num_rows
    4
    """
    if holds_sets(path):
        return read_set_release(path)
    return Release.of(load_release(path))


def read_set_release(path: str | Path) -> SetRelease:
    """Read a release of sets from its folder, its ``release.parquet`` or its ``release.csv``.

    The certificate has to be in the same folder; a file whose checksum differs from that on the
    certificate is refused.

    Parameters
    ----------
    path : str or Path
        The folder or one of the files.

    Returns
    -------
    SetRelease
        The release, without links.

    Raises
    ------
    StorageError
        There is no complete release.
    DataError
        A file was changed, or is not a release of sets written by mottle.

    Examples
    --------
    >>> import tempfile
    >>> from mottle import KAnonymity, anonymize_sets
    >>> release = anonymize_sets([{"tea"}, {"rum"}, set()], KAnonymity(2), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(Path(folder, "out"), report=False)
    ...     again = read_set_release(Path(folder, "out"))
    >>> again.table.equals(release.table)
    True
    """
    return SetRelease.of(load_set_release(path))
