"""Release files: Parquet, CSV, certificate and the private link file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mottle.errors import DataError, StorageError, UsageError
from mottle.io.atomic_write import (
    check_writable,
    ensure_absent,
    owner_files,
    publication,
    recover,
    translating_os_errors,
)
from mottle.io.hashed_file import HashedFile
from mottle.io.link_file import write_links
from mottle.io.link_history import history_metadata
from mottle.io.owner_key import check_key_path
from mottle.release.certificate import Certificate
from mottle.release.coded_cells import CodedCells
from mottle.release.data import ReleaseData
from mottle.release.formula_guard import GUARD, guard, guard_text
from mottle.release.links import Links
from mottle.utils import parallel
from mottle.utils.arrow import by_distinct, zoned_text
from mottle.utils.paths import resolved
from mottle.utils.untrusted.text import read_text

PARQUET, CSV, CERTIFICATE = "release.parquet", "release.csv", "certificate.json"
SENSITIVE_PARQUET, SENSITIVE_CSV = "sensitive.parquet", "sensitive.csv"
REPORT = "report.html"
# The certificate is last: its presence means that the other files are complete.
FILES = (PARQUET, CSV, SENSITIVE_PARQUET, SENSITIVE_CSV, REPORT, CERTIFICATE)
LIST, SIGNATURE = "files.sha256", "files.sha256.sig"  # see `mottle.io.signature`
Page = Callable[[Certificate], str]  # makes HTML from the certificate as it is written
ROWS_PER_GROUP = 1 << 17
_MOST_BYTES = 1 << 28  # of a certificate
# Rows of CSV that are written at once, by the bytes of a row: large batches repeat less work, and
# small ones keep the text of a column far below Arrow's limit of 2 GB.
_ROWS_PER_BATCH, _ROWS_PER_LONG_BATCH, _FEW_BYTES = 1 << 14, 1 << 16, 1 << 10


Secret = tuple[Path, Callable[[Path, Certificate], None]]  # a file for the owner, and its writer


def save_release(
    release: ReleaseData,
    folder: Path,
    private: str | Path | None,
    *,
    overwrite: bool,
    another_draw: bool = False,
    report: Page | None = None,
    internal: tuple[Path, Page] | None = None,
) -> Certificate:
    """Write the files of a release, all or none; see `Release.save`.

    Parameters
    ----------
    release : ReleaseData
        The release.
    folder : Path
        Where its files go.
    private : str or Path or None
        The private link file; None to write none.
    overwrite : bool
        Whether existing files are replaced.
    another_draw : bool, optional
        Whether another release may be replaced by this one; see `check_replaceable`.
    report : callable, optional
        Returns the text of ``report.html`` for the certificate as written.
    internal : tuple of Path and callable, optional
        The file of the owner's own report, and the function that returns its text.

    Returns
    -------
    Certificate
        The certificate as written, with the checksums of the files.
    """
    secrets: list[Secret] = []
    if private is not None:
        links = links_of(release)
        secrets.append(
            (
                Path(private),
                lambda file, written: write_links(
                    links, file, release.reading, history_metadata(links, written.sha256)
                ),
            )
        )
    if internal is not None:
        page = internal[1]
        secrets.append((internal[0], lambda file, written: write_secretly(page(written), file)))
    places = [path for path, _ in secrets]
    for path in places:
        check_private_path(path, folder, overwrite=overwrite)
    without = [] if release.sensitive is not None else [SENSITIVE_PARQUET, SENSITIVE_CSV]
    without += [] if report is not None else [REPORT]
    without += [LIST, SIGNATURE]  # of the release that is replaced
    with publication(
        folder,
        [name for name in FILES if name not in without],
        obsolete=without,
        overwrite=overwrite,
        owner=places,
        current=lambda: release_in(folder),
    ) as staging:
        certificate = _write_files(release, staging.folder, report)
        staging.sha256 = dict(certificate.sha256)
        continued = _files_continued(release)
        check_replaceable(folder, certificate, another_draw=another_draw, continued=continued)
        for path, write in secrets:
            with translating_os_errors(path):
                write(staging.owner[path], certificate)
        staging.release = release_number(certificate.to_json())
    return certificate


def release_number(certificate: str) -> str:
    """Return a checksum of a certificate's content by which its release is recognized."""
    content = json.dumps(json.loads(certificate), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def release_in(folder: Path) -> str:
    """Return the `release_number` of the release in a folder; empty if there is none."""
    file = folder / CERTIFICATE
    try:
        if file.is_file() and file.stat().st_size < _MOST_BYTES:
            return release_number(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        pass
    return ""


def write_secretly(text: str, path: Path) -> None:
    """Write a text file that only its owner can read."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


@contextmanager
def private_links(
    private: str | Path | None,
    write: Callable[[Path], None],
    *,
    overwrite: bool,
    place: str,
    certificate: Certificate,
    current: Callable[[], str],
) -> Iterator[None]:
    """Write the link file of a release that is stored elsewhere; keep it only if that succeeds.

    Parameters
    ----------
    private : str or Path or None
        The link file; None to write none.
    write : callable
        Writes it to the path that it gets.
    overwrite : bool
        Whether an existing file is replaced.
    place : str
        Where the release is stored.
    certificate : Certificate
        Its certificate.
    current : callable
        Returns the `release_number` of what is stored there.
    """
    if private is None:
        yield
        return
    path = Path(private)
    with owner_files([path], overwrite=overwrite, place=place, current=current) as files:
        with translating_os_errors(path):
            write(files.places[path])
            files.prepare(release_number(certificate.to_json()))
        yield
        files.forward()


def links_of(release: ReleaseData) -> Links:
    """Return the owner's links of a release that was just made."""
    if release.links is None:
        raise UsageError("A release read from files has no private links to save.")
    return release.links


def check_paths(
    folder: Path,
    private: Path | None,
    *,
    overwrite: bool,
    another_draw: bool = False,
    internal: Path | None = None,
    key: object = None,
    previous: Path | None = None,
) -> None:
    """Raise, before a long run, the errors about paths that `save_release` would raise after it.

    What a killed run has begun with these files is finished first.
    """
    owner = [path for path in (private, internal) if path is not None]
    recover_release(folder, owner)
    ensure_absent(folder, FILES, overwrite=overwrite)
    check_key_path(key, folder)
    if key is None and previous is None:  # else the new release may be the same, or continue it
        check_replaceable(folder, another_draw=another_draw)
    if folder.is_file():
        raise StorageError(f"{folder} is a file.", "Name a folder for the release.")
    for secret in owner:
        check_private_path(secret, folder, overwrite=overwrite)
    if private is not None and internal is not None and resolved(private) == resolved(internal):
        raise UsageError(
            f"{private} cannot be both the link file and the internal report.", "Name two files."
        )
    for place in (folder, *(path.parent for path in owner)):
        check_writable(place)


def recover_release(folder: Path, owner: Iterable[Path]) -> None:
    """Finish what a killed run has begun with a release and the owner's files."""
    recover(folder, (*FILES, LIST, SIGNATURE))
    recover_owner_files(owner, str(resolved(folder)), lambda: release_in(folder))


def recover_owner_files(owner: Iterable[Path], place: str, current: Callable[[], str]) -> None:
    """Finish what a killed run has begun with the owner's files of a release at ``place``."""
    for path in owner:
        recover(path.parent, [path.name], place=place, current=current, only_files=True)


def _files_continued(release: ReleaseData) -> Mapping[str, str]:
    """Checksums of the release that this one continues; empty if it continues none."""
    history = None if release.links is None else release.links.history
    return {} if history is None else history.files


def check_replaceable(
    folder: Path,
    new: Certificate | None = None,
    *,
    another_draw: bool,
    continued: Mapping[str, str] | None = None,
) -> None:
    """Refuse to replace a release by another draw, which would give away what both hide.

    A release with a seed is not for publication and may be replaced; so may one by itself, and by
    the release over time that continues it.

    Parameters
    ----------
    folder : Path
        The folder, with or without a release.
    new : Certificate, optional
        What is going to be written, with checksums; without it, something else.
    another_draw : bool
        Whether the owner says that the earlier release was never published.
    continued : mapping of str to str, optional
        Checksums of the files of the release that the new one continues.

    Raises
    ------
    UsageError
        There is another release, and nobody said that it was not published.
    """
    file = folder / CERTIFICATE
    if another_draw or not file.is_file():
        return
    try:
        old = Certificate.from_json(read_text(file))
    except (DataError, StorageError, ValueError):
        old = None
    if old is not None and continued and dict(continued) == dict(old.sha256):
        return
    if old is None or not may_replace(old, new):
        raise another_draw_refused(str(folder))


def may_replace(old: Certificate, new: Certificate | None) -> bool:
    """Tell whether a release may be replaced without a word about its publication."""
    same = new is not None and bool(new.sha256) and new.sha256 == old.sha256
    return same or old.seed is not None


def another_draw_refused(place: str, *, comparable: bool = True) -> UsageError:
    """Return the error for a release that would be replaced by another draw.

    ``comparable`` says whether the same release again would be recognized.
    """
    again = (
        " A release that was made with --key FILE can be made again with the same key, table and"
        " options."
    )
    return UsageError(
        f"{place} holds another release, which may have been published: two releases of the same"
        " people together give away much of what each of them hides (docs/guarantees.md).",
        "Write to another place if the tables have no person in common; a table that changed is"
        " published again with --previous. If nobody has seen the first release, add"
        f" --another-draw.{again if comparable else ''}",
    )


def _write_files(release: ReleaseData, stage: Path, report: Page | None) -> Certificate:
    checksums = write_rows(
        release.tables(),
        release.stored.schema,
        release.coded_text_of,
        stage,
        known=release.distinct_texts(),
    ).sha256
    if release.sensitive is not None:
        checksums |= _write_sensitive(release.sensitive, stage)
    certificate = release.certificate.with_changes(formula_guard=GUARD, sha256=checksums)
    if report is not None:
        (stage / REPORT).write_text(report(certificate), encoding="utf-8")
    write_certificate(certificate, stage)
    return certificate


def write_certificate(certificate: Certificate, folder: Path) -> None:
    """Write ``certificate.json``, indented for people."""
    (folder / CERTIFICATE).write_text(certificate.to_json(), encoding="utf-8")


@dataclass(frozen=True)
class Written:
    """What was written of a release."""

    rows: int
    sha256: dict[str, str]  # by the name of a file


def write_rows(
    tables: Iterable[pa.Table],
    schema: pa.Schema,
    text_of: Callable[[pa.Table], pa.Table],
    folder: Path,
    *,
    text: bool = True,
    known: Mapping[str, tuple[pa.Array, CodedCells]] | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Written:
    """Write the rows of a release as Parquet and CSV, a table at a time.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
        The rows, in the order of the release.
    schema : pyarrow.Schema
        Their columns.
    text_of : callable
        Returns rows with cells that can be cast to text, or dictionaries of such; of all columns,
        or of those that it is given.
    folder : Path
        Where the files go.
    text : bool, optional
        Whether the CSV file is written.
    known : mapping of str to (pyarrow.Array, CodedCells), optional
        Columns of which the text of all distinct cells is known, and which one every row has; of
        the others ``text_of`` is asked.
    on_progress : callable, optional
        Called with the number of rows written so far.

    Returns
    -------
    Written
        The number of rows, and the checksums of the files.
    """
    written = 0
    files: dict[str, HashedFile] = {}
    with ExitStack() as opened:
        for name in (PARQUET, CSV) if text else (PARQUET,):
            files[name] = opened.enter_context(HashedFile(folder / name))
        parquet = opened.enter_context(pq.ParquetWriter(files[PARQUET], schema, compression="zstd"))
        csv = files.get(CSV)
        if csv is not None:
            header = text_of(schema.empty_table())
            csv.write(_header(header))
        numbers = frozenset(field.name for field in schema if not _holds_text(field.type))
        fields = {
            name: (_fields(texts, guarded=name not in numbers), coded)
            for name, (texts, coded) in (known or {}).items()
            if csv is not None
        }
        beside = opened.enter_context(ThreadPoolExecutor(1))
        # Ctrl-C while a thread is being started leaves one that nobody waits for: it would go on
        # writing to a file that is closed beneath it. So it is started before it has work.
        beside.submit(int).result()
        for table in tables:
            rows = beside.submit(parquet.write_table, table, row_group_size=ROWS_PER_GROUP)
            if csv is not None:
                _append_csv(
                    table, text_of, csv, numbers, _Known(header.column_names, fields, written)
                )
            rows.result()
            written += table.num_rows
            on_progress(written)
    return Written(written, {name: file.sha256 for name, file in files.items()})


def _write_sensitive(table: pa.Table, folder: Path) -> dict[str, str]:
    """Write the second table; returns the checksums of its files."""
    with HashedFile(folder / SENSITIVE_PARQUET) as parquet:
        pq.write_table(table, parquet, compression="zstd", row_group_size=ROWS_PER_GROUP)
    with HashedFile(folder / SENSITIVE_CSV) as csv:
        csv.write(_header(table))
        numbers = frozenset(field.name for field in table.schema if not _holds_text(field.type))
        _append_csv(table, lambda rows: rows, csv, numbers)
    return {SENSITIVE_PARQUET: parquet.sha256, SENSITIVE_CSV: csv.sha256}


def _header(texts: pa.Table) -> pa.Buffer:
    names = pa.array([guard_text(name) for name in texts.column_names])
    return _lines([_quoted(names.slice(place, 1)) for place in range(len(names))])


def _holds_text(data_type: pa.DataType) -> bool:
    """Whether cells may hold any text, and not only numbers or dates."""
    if pa.types.is_dictionary(data_type):
        return _holds_text(data_type.value_type)
    if data_type.num_fields:
        return any(
            _holds_text(data_type.field(place).type) for place in range(data_type.num_fields)
        )
    return bool(pa.types.is_string(data_type) or pa.types.is_binary(data_type))


def _append_csv(
    table: pa.Table,
    text_of: Callable[[pa.Table], pa.Table],
    file: IO[bytes],
    numbers: frozenset[str],
    known: _Known | None = None,
) -> None:
    """Write cells as text, a batch at a time so that memory stays bounded.

    Columns of ``numbers`` are those whose text cannot be a formula: -5 stays -5.
    """
    others = table if known is None else table.drop_columns(list(known.fields))
    is_narrow = table.nbytes < _FEW_BYTES * table.num_rows
    rows = _ROWS_PER_LONG_BATCH if is_narrow else _ROWS_PER_BATCH

    def lines(first: int) -> pa.Buffer:
        part = others.slice(first, rows)
        texts = text_of(part) if part.num_columns else part
        found = {
            name: _fields(texts.column(name).combine_chunks(), guarded=name not in numbers)
            for name in texts.column_names
        }
        if known is not None:
            found = known.completed(found, first, min(first + rows, table.num_rows))
        return _lines(list(found.values()))

    for part in parallel.in_turn(lines, range(0, table.num_rows, rows)):
        file.write(part)


@dataclass(frozen=True)
class _Known:
    """Columns whose distinct fields of CSV are known, for a part of the rows."""

    names: Sequence[str]  # of all columns, in their order
    fields: Mapping[str, tuple[pa.Array, CodedCells]]
    before: int  # rows before the part

    def completed(
        self, others: Mapping[str, pa.Array], first: int, last: int
    ) -> dict[str, pa.Array]:
        """The fields of some rows of the part, with those of the other columns."""
        here = slice(self.before + first, self.before + last)
        found = {
            name: fields.take(pa.array(coded.of_row[here]))
            for name, (fields, coded) in self.fields.items()
        }
        return {name: found[name] if name in found else others[name] for name in self.names}


def _fields(column: pa.Array, *, guarded: bool) -> pa.Array:
    """A column as fields of CSV; texts that occur often are looked at once."""

    def fields(values: pa.Array) -> pa.Array:
        return _quoted(_guarded(values) if guarded else values)

    if pa.types.is_dictionary(column.type):
        return pc.fill_null(fields(column.dictionary).take(column.indices), "")
    if not any(is_text(column.type) for is_text in _TEXTS):
        return fields(column)
    return pc.fill_null(by_distinct(fields, column), "")


def _lines(fields: list[pa.Array]) -> pa.Buffer:
    """Fields of CSV as lines; missing is empty, empty text is ``""``."""
    if len(fields) == 1:  # a line without any character would be read as no record
        fields = [pc.if_else(pc.equal(fields[0], ""), '""', fields[0])]
    fields[-1] = pc.binary_join_element_wise(fields[-1], _text("\n"), _text(""))
    lines = pc.binary_join_element_wise(*fields, _text(","))
    _, offsets, content = lines.buffers()  # the lines are already contiguous in memory
    return content.slice(0, int(np.frombuffer(offsets, np.int64)[len(lines)]))


def _guarded(column: pa.Array) -> pa.Array:
    """Texts that do not begin like a formula; other values as they are."""
    is_text = pa.types.is_string(column.type) or pa.types.is_binary(column.type)
    return guard(pc.cast(column, pa.large_string())) if is_text else column


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _quoted(column: pa.Array) -> pa.Array:
    """Fields of CSV; also quoted where a reader would take U+FEFF for a byte order mark."""
    texts = pc.cast(column, pa.large_string())
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        texts = zoned_text(column, pa.large_string())
    elif any(is_text(column.type) for is_text in _TEXTS):
        doubled = pc.replace_substring(texts, '"', '""')
        needed = pc.or_(pc.equal(texts, ""), pc.match_substring_regex(texts, '^\ufeff|[,"\r\n]'))
        texts = pc.if_else(
            needed, pc.binary_join_element_wise(_text('"'), doubled, _text('"'), _text("")), texts
        )
    return pc.fill_null(texts, "")


_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)


def check_private_path(link_file: Path, folder: Path, *, overwrite: bool) -> None:
    """Raise an error if a file for the owner would be published, or exists already."""
    if resolved(folder) in (resolved(link_file), *resolved(link_file).parents):
        raise UsageError(
            f"{link_file}, which is for the owner only, would be in the release folder {folder}.",
            "It would be published with the release: keep it elsewhere.",
        )
    if link_file.is_dir():
        raise UsageError(f"{link_file} is a folder.", "Name a file.")
    if link_file.exists() and not overwrite:
        raise StorageError(
            f"{link_file} already exists.", "Choose another file, or replace it with --overwrite."
        )
