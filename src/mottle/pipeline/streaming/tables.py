"""Anonymizes a table in chunks on one machine; see `mottle.pipeline.streaming.run`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from mottle.guarantees.base import Guarantee
from mottle.io.databases import DatabaseTable
from mottle.pipeline.chunked.contents import TableContents
from mottle.pipeline.chunked.driver import check_chunked
from mottle.pipeline.destination import Destination
from mottle.pipeline.progress import Clock, Progress
from mottle.pipeline.release import Release
from mottle.pipeline.settings import Settings
from mottle.pipeline.streaming.run import Limits, run_in_stream
from mottle.report.report import InternalReport
from mottle.schema.model import Schema
from mottle.schema.reading import ReadOptions
from mottle.utils.paths import resolved


def anonymize(
    data: str | Path | pa.RecordBatchReader,
    schema: Schema,
    guarantee: Guarantee,
    output: str | Path | DatabaseTable,
    *,
    memory: str | int = "4GB",
    method: str = "auto",
    representation: str = "range",
    objective: str | None = None,
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    key: str | Path | bytes | None = None,
    text: ReadOptions | None = None,
    source: str = "",
    chunk_rows: int | None = None,
    totals: bool = True,
    overwrite: bool = False,
    another_draw: bool = False,
    report: bool = True,
    private: str | Path | None = None,
    internal: InternalReport | None = None,
    work: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Release:
    """Anonymize a table that does not fit into memory.

    ``release.parquet``, ``release.csv``, ``report.html`` and ``certificate.json`` appear in the
    folder ``output`` together, or not at all; or the release appears in a database, in one
    transaction. After an interruption, the same call resumes the run.

    Parameters
    ----------
    data : str, Path or pa.RecordBatchReader
        The path of a CSV, Parquet or Arrow file, or a reader of record batches (a database).
    schema : Schema
        As for `mottle.anonymize`.
    guarantee : Guarantee
        As for `mottle.anonymize`.
    output : str, Path or DatabaseTable
        A folder, or `DatabaseTable(url, table)`.
    memory : str or int
        The memory that the process may use, such as ``"4GB"``. It determines how many rows are
        worked on at once, as docs/scale.md describes.
    method : str
        ``"nh"`` or ``"freeform"`` for k-anonymity, ``"buckets"`` for sensitive values; ``"auto"``
        picks one.
    representation : {"range", "set"}
        As for `mottle.anonymize`.
    objective : {"reading", "ncp", "entropy"}, optional
        As for `mottle.anonymize`; frequencies are those of the whole table.
    walk : {"closed", "closed-printed", "backtracking"}
        As for `mottle.anonymize`.
    effort : float, optional
        Seconds for improving the result, for each chunk.
    seed : int, optional
        As for `mottle.anonymize`.
    key : str, Path or bytes, optional
        As for `mottle.anonymize`. Memory and rows per chunk are among the options that decide.
    text : ReadOptions, optional
        How a file is read, completed by the options of the schema.
    source : str
        A name for ``data`` when it is a reader, by which an interrupted run is recognized.
    chunk_rows : int, optional
        Rows worked on at once, instead of what ``memory`` allows.
    totals : bool
        As for `mottle.anonymize`.
    overwrite : bool
        Whether to replace an earlier release in ``output``.
    another_draw : bool
        As for `Release.save`.
    report : bool
        As for `Release.save`.
    private : str or Path, optional
        As for `Release.save`.
    internal : InternalReport, optional
        As for `Release.save`; its owner does not have to name the original.
    work : str or Path, optional
        Where the private folder for intermediate rows is made, instead of ``$MOTTLE_WORK``, the
        user's cache or the folder for temporary files (docs/files.md).
    progress : callable, optional
        As for `mottle.anonymize`; in addition, with the share of a stage's rows that are done.

    Returns
    -------
    Release
        The release, backed by the files of ``output``.

    Raises
    ------
    UsageError
        An option has a wrong value, or the method does not give the guarantee in chunks.
    SchemaError, DataError, GuaranteeError
        As for `mottle.anonymize`.
    StorageError
        Files exist already or cannot be written, or there is no place for intermediate rows.

    Examples
    --------
    >>> import tempfile, mottle, pyarrow.parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.parquet")
    ...     pyarrow.parquet.write_table(mottle.datasets.population(500, seed=1), people)
    ...     schema = Schema.of(quasi_identifying=["age", "sex"], identifying=["person_id"],
    ...                        rest="insensitive")
    ...     release = anonymize(people, schema, mottle.KAnonymity(5), Path(folder, "out"),
    ...                         method="nh", chunk_rows=200)
    ...     release.num_rows, release.certificate.engine.chunks, release.certificate.degree.min
    (500, 3, 5)
    """
    settings = Settings.of(
        method=method,
        representation=representation,
        objective=objective,
        walk=walk,
        effort=effort,
        seed=seed,
        totals=totals,
        key=key,
    )
    settings = check_chunked(schema, guarantee, settings)
    reading = (text or ReadOptions()).over(schema.reading)
    destination = Destination.of(
        output,
        report=report,
        private=private,
        internal=internal,
        overwrite=overwrite,
        another_draw=another_draw,
        key=key,
    )
    named = source or (str(resolved(data)) if isinstance(data, (str, Path)) else "")
    return run_in_stream(
        TableContents(data, schema, reading, named),
        guarantee,
        settings,
        destination,
        Limits.of(memory, chunk_rows),
        Clock.of(progress),
        key=key,
        work=work,
    )
