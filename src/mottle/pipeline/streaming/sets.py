"""Anonymizes sets of items in chunks on one machine; see `mottle.pipeline.streaming.run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from mottle.guarantees.base import Guarantee
from mottle.hierarchy.tree import Hierarchy
from mottle.io.databases import DatabaseTable
from mottle.pipeline.chunked.contents import SetContents
from mottle.pipeline.chunked.sets.input import SetLayout
from mottle.pipeline.chunked.sets.run import check_chunked_sets
from mottle.pipeline.destination import Destination
from mottle.pipeline.progress import Clock, Progress
from mottle.pipeline.release import SetRelease
from mottle.pipeline.settings import Settings
from mottle.pipeline.streaming.run import Limits, run_in_stream
from mottle.report.report import InternalReport
from mottle.schema.context import Context
from mottle.utils.paths import resolved


def anonymize_sets(
    data: str | Path | pa.RecordBatchReader,
    guarantee: Guarantee,
    output: str | Path | DatabaseTable,
    *,
    column: str | None = None,
    record: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
    memory: str | int = "4GB",
    method: str = "auto",
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    key: str | Path | bytes | None = None,
    source: str = "",
    chunk_rows: int | None = None,
    totals: bool = True,
    overwrite: bool = False,
    another_draw: bool = False,
    report: bool = True,
    private: str | Path | None = None,
    internal: InternalReport | None = None,
    context: Context | Mapping[str, object] | None = None,
    item_hierarchy: Hierarchy | str | Path | None = None,
    node_holders: int | None = None,
    work: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> SetRelease:
    """Anonymize sets of items whose release does not fit into memory.

    The different sets have to fit; what is published for them and everything on the way does not.
    Files appear as for `mottle.anonymize_stream`, all or none, and the same call resumes an
    interrupted run.

    Parameters
    ----------
    data : str, Path or pa.RecordBatchReader
        The path of a transaction file or of a table, or a reader of record batches (a database).
    guarantee : Guarantee
        As for `mottle.anonymize_sets`.
    output : str, Path or DatabaseTable
        A folder, or `DatabaseTable(url, table)`.
    column, record, item, separator, label : str, optional
        Where the sets are, as for `mottle.read_sets`.
    encoding : str, optional
        Of a transaction file; UTF-8 if it is not given.
    memory : str or int
        As for `mottle.anonymize_stream`.
    method : str
        As for `mottle.anonymize_sets`; guarantees about labels are given by ``"buckets"`` alone.
    walk : {"closed", "closed-printed", "backtracking"}
        As for `mottle.anonymize_sets`.
    effort : float, optional
        Seconds for improving the result, for each chunk.
    seed : int, optional
        As for `mottle.anonymize_sets`.
    key : str, Path or bytes, optional
        As for `mottle.anonymize_stream`.
    source : str
        A name for ``data`` when it is a reader, by which an interrupted run is recognized.
    chunk_rows : int, optional
        Sets worked on at once, instead of what ``memory`` allows.
    totals : bool
        As for `mottle.anonymize_sets`.
    overwrite : bool
        Whether to replace an earlier release in ``output``.
    another_draw : bool
        As for `Release.save`.
    report : bool
        As for `Release.save`.
    private : str or Path, optional
        As for `Release.save`.
    internal : InternalReport, optional
        As for `Release.save`; its owner does not have to name the original, which has to fit into
        memory.
    context : Context or mapping, optional
        As for `mottle.anonymize_sets`.
    item_hierarchy : Hierarchy, str or Path, optional
        As for `mottle.anonymize_sets`.
    node_holders : int, optional
        As for `mottle.anonymize_sets`.
    work : str or Path, optional
        As for `mottle.anonymize_stream`.
    progress : callable, optional
        As for `mottle.anonymize_stream`; the loss is the error rate.

    Returns
    -------
    SetRelease
        The release, backed by the files of ``output``.

    Raises
    ------
    UsageError
        An option has a wrong value, the method does not give the guarantee in chunks, or the
        different sets need more memory.
    DataError, GuaranteeError
        As for `mottle.anonymize_sets`.
    StorageError
        Files exist already or cannot be written, or there is no place for intermediate rows.

    Examples
    --------
    >>> import tempfile, mottle
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     baskets = Path(folder, "baskets.dat")
    ...     _ = baskets.write_text("milk tea\\nmilk\\ntea rum\\nrum\\n" * 50)
    ...     release = anonymize_sets(baskets, mottle.KAnonymity(5), Path(folder, "out"),
    ...                              chunk_rows=100, seed=1)
    ...     release.num_rows, release.certificate.engine.chunks, release.certificate.degree.min
    (200, 2, 5)
    """
    layout = SetLayout(column, record, item, separator, label, encoding)
    layout.check()
    settings = Settings.of(
        method=method,
        walk=walk,
        effort=effort,
        seed=seed,
        totals=totals,
        key=key,
        item_hierarchy=item_hierarchy,
        node_holders=node_holders,
    )
    settings = check_chunked_sets(guarantee, settings)
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
    stated = Context.of_toml(context, "the context")
    release = run_in_stream(
        SetContents(data, layout, named, stated),
        guarantee,
        settings,
        destination,
        Limits.of(memory, chunk_rows),
        Clock.of(progress),
        key=key,
        work=work,
    )
    assert isinstance(release, SetRelease)
    return release
