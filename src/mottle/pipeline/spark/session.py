"""Runs Spark on files: in a new session, with the table read and written on this machine."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.io.atomic_write import translating_os_errors
from mottle.io.batch_source import copied, open_source, parquet_source
from mottle.io.changing_input import InputState
from mottle.io.databases import DatabaseTable, redacted
from mottle.io.lakes import is_lake
from mottle.io.owner_key import owner_key
from mottle.io.work_folder import VARIABLE, temporary_run_folder, work_folder
from mottle.pipeline.chunked.contents import Contents, SetContents, TableContents
from mottle.pipeline.chunked.memory import DEFAULT_MEMORY, memory_bytes
from mottle.pipeline.chunked.sets.input import SetLayout
from mottle.pipeline.destination import Destination
from mottle.pipeline.progress import Progress
from mottle.pipeline.release import Release
from mottle.pipeline.spark.engine import SparkRelease, anonymize_owned, anonymize_owned_sets
from mottle.report.report import InternalReport
from mottle.schema.context import Context
from mottle.schema.model import Schema
from mottle.schema.reading import ReadOptions
from mottle.utils.option_values import check_key
from mottle.utils.paths import resolved

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FEW_CORES = 4
# Bundles are compressed. Sums over what lies on this machine's disk for seconds, which Java would
# compute for all that it writes and reads, took a fifth of its processor time.
_LOCAL = {
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}


def anonymize_file(
    data: str | Path | pa.RecordBatchReader,
    schema: Schema,
    guarantee: Guarantee,
    output: str | Path | DatabaseTable,
    *,
    master: str = "local[*]",
    text: ReadOptions | None = None,
    source: str = "",
    key: str | Path | bytes | None = None,
    overwrite: bool = False,
    another_draw: bool = False,
    report: bool = True,
    internal: InternalReport | None = None,
    work: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Release:
    """Anonymize a file or the batches of a database on Spark, and write the release.

    Parameters
    ----------
    data : str, Path or pa.RecordBatchReader
        The path of a CSV, Parquet or Arrow file, or a reader of record batches (a database).
    schema : Schema
        As for `mottle.anonymize`.
    guarantee : Guarantee
        As for `mottle.anonymize`.
    output : str, Path or DatabaseTable
        A folder, or a table of a database.
    master : str
        The cluster: ``spark://…``, ``yarn``, ``k8s://…`` or ``local[*]``.
    text : ReadOptions, optional
        Delimiter, quote, encoding and missing values of a text file.
    source : str
        A name for ``data``, for messages and reports.
    key : str, Path or bytes, optional
        As for `mottle.anonymize`. The partitions that Spark makes of the file decide as well: the
        release is the same for the same settings and number of cores of the cluster.
    overwrite : bool
        As for `Release.save`.
    another_draw : bool
        As for `Release.save`.
    report : bool
        As for `Release.save`.
    internal : InternalReport, optional
        As for `Release.save`, without examples.
    work : str or Path, optional
        As for `mottle.anonymize_stream`. A cluster needs one that all its machines can reach.
    progress : callable, optional
        As for `mottle.anonymize`.
    **options : object
        Further options of `mottle.spark.anonymize`.

    Returns
    -------
    Release
        The release, backed by what was written to ``output``.

    Raises
    ------
    UsageError
        Spark is not installed, the internal report asks for examples, or a cluster has no place
        for intermediate rows.
    """
    reading = (text or ReadOptions()).over(schema.reading)
    contents = TableContents(data, schema, reading, source)
    return _anonymize(
        contents,
        lambda stage: _as_parquet(data, stage, reading, source),
        partial(anonymize_owned, guarantee=guarantee),
        output,
        master=master,
        key=key,
        overwrite=overwrite,
        another_draw=another_draw,
        report=report,
        internal=internal,
        work=work,
        progress=progress,
        options=options,
    )


def anonymize_sets_file(
    data: str | Path | pa.RecordBatchReader,
    layout: SetLayout,
    guarantee: Guarantee,
    output: str | Path | DatabaseTable,
    *,
    master: str = "local[*]",
    source: str = "",
    context: Context | None = None,
    key: str | Path | bytes | None = None,
    overwrite: bool = False,
    another_draw: bool = False,
    report: bool = True,
    internal: InternalReport | None = None,
    work: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Release:
    """Anonymize sets of items on Spark, as `anonymize_file` does tables.

    Parameters
    ----------
    data : str, Path or pa.RecordBatchReader
        As for `mottle.anonymize_sets_stream`. The sets are copied to one file on this machine.
    layout : SetLayout
        Where the sets are.
    guarantee : Guarantee
        As for `mottle.anonymize_sets`.
    output : str, Path or DatabaseTable
        A folder, or a table of a database.
    master : str
        As for `anonymize_file`.
    source : str
        As for `anonymize_file`.
    context : Context, optional
        As for `mottle.anonymize_sets`.
    key, overwrite, another_draw, report, internal, work, progress
        As for `anonymize_file`.
    **options : object
        Further options of `mottle.anonymize_sets_stream`.

    Returns
    -------
    SetRelease
        The release, backed by what was written to ``output``.

    Raises
    ------
    UsageError
        As for `anonymize_file`.
    """
    layout.check()
    contents = SetContents(data, layout, source, context)
    sorting = memory_bytes(DEFAULT_MEMORY) // 2

    def prepared(stage: Path) -> Path:
        copy = stage / "input.parquet"
        if isinstance(data, pa.RecordBatchReader):
            arriving = stage / "arriving.parquet"
            copied(lambda: (pa.Table.from_batches([batch]) for batch in data), arriving, source)
            contents.open_copy(arriving, copy, sorting)
        else:
            contents.open(Path(data), copy, sorting)
        return resolved(copy)

    return _anonymize(
        contents,
        prepared,
        partial(anonymize_owned_sets, guarantee=guarantee),
        output,
        master=master,
        key=key,
        overwrite=overwrite,
        another_draw=another_draw,
        report=report,
        internal=internal,
        work=work,
        progress=progress,
        options=options,
    )


def _anonymize(
    contents: Contents,
    as_parquet: Callable[[Path], Path],
    run: Callable[..., SparkRelease],
    output: str | Path | DatabaseTable,
    *,
    master: str,
    key: str | Path | bytes | None,
    overwrite: bool,
    another_draw: bool,
    report: bool,
    internal: InternalReport | None,
    work: str | Path | None,
    progress: Callable[[Progress], None] | None,
    options: dict[str, Any],
) -> Release:
    """Run on Spark what ``as_parquet`` writes into the folder of the run, and save the release."""
    data, source = contents.data, contents.named
    if internal is not None and internal.examples:
        raise UsageError(
            "Examples need the number of each row in the input, which rows in Spark do not have.",
            "Leave the examples out, or use the engine 'streaming'.",
        )
    written: dict[str, Any] = {
        "overwrite": overwrite,
        "another_draw": another_draw,
        "report": report,
    }
    if not master.startswith("local") and work is None and VARIABLE not in os.environ:
        raise UsageError(
            "The machines of a cluster need a common folder for intermediate rows.",
            "Name one that all of them can reach with --work DIR.",
        )
    check_key(key, options.get("seed"), options.get("effort"))
    destination = Destination.of(output, private=None, internal=internal, key=key, **written)
    destination.check()
    root = work_folder(work, published=destination.published)
    note = {
        "command": f"{contents.command} {redacted(source) or 'rows'} to {destination.named}"
        " on Spark",
        "target": destination.named,
    }
    with translating_os_errors(root), temporary_run_folder(root, note) as stage:
        before = None if isinstance(data, pa.RecordBatchReader) else InputState(Path(data))
        rows = as_parquet(stage)
        opened = parquet_source(rows, source)
        owned = None if key is None else contents.owned(owner_key(key), opened)
        scratch = resolved(stage) / "spark" if master.startswith("local") else None
        with spark_session(master, scratch) as session:
            # Another session than asked for may be running already.
            is_local = (session.conf.get("spark.master", None) or "").startswith("local")
            release = run(
                session.read.parquet(str(rows)),
                contents.schema,
                file=rows if is_local and rows.is_file() else None,
                staging=resolved(stage),
                owned=owned,
                progress=progress,
                **options,
            )
            if progress is not None:
                progress(Progress("write", release.certificate.loss))
            if internal is not None:
                owner = internal.owner_of(contents.original(opened), ())
                internal = replace(internal, owner=owner)
            if before is not None:
                before.check()
            release = replace(release, reading=contents.reading)
            certificate = release.save(output, internal=internal, **written)
    stored = destination.rows(release.stored.schema, certificate)
    return contents.release_of(stored, release.columns, certificate)


def _as_parquet(
    data: str | Path | pa.RecordBatchReader, stage: Path, text: ReadOptions, name: str
) -> Path:
    """Return a path that Spark can read: that of the input, or of a copy."""
    copy = stage / "input.parquet"
    if isinstance(data, pa.RecordBatchReader):
        copied(lambda: (pa.Table.from_batches([batch]) for batch in data), copy, name)
        return copy
    path = Path(data)
    is_folder = path.is_dir() and not is_lake(path)
    if not text.missing and (is_folder or path.suffix.lower() in (".parquet", ".pq")):
        return resolved(path)
    opened = open_source(path, copy, text)
    if not copy.exists():
        copied(opened.read, copy, name)
    return resolved(copy)


@contextmanager
def spark_session(master: str, scratch: Path | None = None) -> Iterator[SparkSession]:
    """Start a Spark session whose workers run this Python, and stop it at the end.

    Where one is running already, as in a notebook, it is used and goes on running.

    Spark keeps shuffled rows in ``scratch``, if it is given: rows of the original would otherwise
    lie in the folder for temporary files, where they stay when the run is killed.
    """
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError(
            "Spark is not installed.", "Install it with: pip install 'mottle[spark]'."
        ) from None
    if (running := SparkSession.getActiveSession()) is not None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master(master)
        .appName("mottle")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    if master.startswith("local"):
        for name, value in (_LOCAL | {"spark.driver.extraJavaOptions": _java_options()}).items():
            builder = builder.config(name, value)
    if scratch is not None:
        os.environ.pop("SPARK_LOCAL_DIRS", None)  # it would count instead of the setting
        scratch.mkdir(mode=0o700)
        builder = builder.config("spark.local.dir", str(scratch))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    java: Any = session.sparkContext._jvm
    try:
        yield session
    finally:
        session.stop()
        if scratch is not None:
            _forget_folders(java)


def _java_options() -> str:
    """Java's settings on one machine: it moves bundles, which pays for no compiling twice.

    Collectors of garbage that work beside the program take processors from Python's workers.
    """
    collector = "Serial" if (os.cpu_count() or 1) <= _FEW_CORES else "Parallel"
    return f"-XX:TieredStopAtLevel=1 -XX:+Use{collector}GC"


def _forget_folders(java: Any) -> None:
    """Let the next session of this process use its own folder: Spark remembers the first one's."""
    utilities = getattr(java.org.apache.spark.util, "Utils$")
    getattr(utilities, "MODULE$").clearLocalRootDirs()
