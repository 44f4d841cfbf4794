"""What is published: the release, its certificate, and the owner's private links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mottle.encoding.domain import Form
from mottle.release.cell_text import text_columns, to_texts
from mottle.release.column import PublishedColumn
from mottle.release.links import Links

if TYPE_CHECKING:
    import pandas as pd

    from mottle.queries.conditions import Where
    from mottle.queries.engine import Queries
    from mottle.queries.estimate import Estimate
    from mottle.report import InternalReport


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

    def queries(self, *, fit: str = "fitted") -> Queries:
        """Prepare the release for questions; the same object is returned every time.

        Parameters
        ----------
        fit : str
            "fitted" (values of a cell as likely as the whole release says) or "uniform".

        Returns
        -------
        Queries
            What answers `count`, `total` and the like; see `mottle.queries`.
        """
        return self._queries(fit)

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


def _text_columns(column: pa.ChunkedArray, form: Form | None) -> list[pa.ChunkedArray]:
    """A published column as text; columns published unchanged stay as they are."""
    if form is None:
        return [column]
    parts = zip(*(to_texts(chunk, form) for chunk in column.chunks), strict=True)
    texts = [pa.chunked_array(list(part), pa.string()) for part in parts]
    return texts or [pa.chunked_array([], pa.string()) for _ in text_columns("", form)]
