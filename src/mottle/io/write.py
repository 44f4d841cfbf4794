"""Release files: Parquet, CSV, certificate and the private link file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mottle.errors import StorageError, UsageError
from mottle.io.links import write_links
from mottle.io.staging import Move, hidden_folder, refuse_existing, staged, writing_to

if TYPE_CHECKING:
    from mottle.release import Links

PARQUET, CSV, CERTIFICATE = "release.parquet", "release.csv", "certificate.json"
SENSITIVE_PARQUET, SENSITIVE_CSV = "sensitive.parquet", "sensitive.csv"
# the certificate last: it says that the others are complete
FILES = (PARQUET, CSV, SENSITIVE_PARQUET, SENSITIVE_CSV, CERTIFICATE)
_ROWS_PER_GROUP = 1 << 17
_ROWS_PER_BATCH = 1 << 14  # of CSV: no column's text comes near Arrow's limit of 2 GB


class Publishable(Protocol):
    """What is written: a release of a table or of sets."""

    @property
    def table(self) -> pa.Table:
        """Typed cells."""

    @property
    def certificate(self) -> dict[str, Any]:
        """What is known of them."""

    @property
    def links(self) -> Links | None:
        """The owner's secret."""

    @property
    def sensitive(self) -> pa.Table | None:
        """Sensitive values by group, when published apart."""

    def slice(self, first: int, length: int) -> Self:
        """Some of the rows."""

    def to_text(self) -> pa.Table:
        """The cells as text."""


def save_release(
    release: Publishable, folder: Path, private: str | Path | None, *, overwrite: bool
) -> dict[str, Any]:
    """Write the files of a release, all or none; see `Release.save`."""
    if private is None:
        with _staged(release, folder, overwrite=overwrite) as stage:
            return _write_files(release, stage)
    if release.links is None:
        raise UsageError("A release read from files has no private links to save.")
    link_file = Path(private)
    with writing_to(link_file):
        _check_private_place(link_file, folder, overwrite=overwrite)
        with hidden_folder(link_file.parent) as hidden:
            links = (hidden / link_file.name, link_file)
            with _staged(release, folder, overwrite=overwrite, afterwards=[links]) as stage:
                certificate = _write_files(release, stage)
                with writing_to(link_file):
                    write_links(release.links, hidden / link_file.name)
    return certificate


def check_places(folder: Path, private: Path | None, *, overwrite: bool) -> None:
    """Raise before a long run what `save_release` would raise after it."""
    refuse_existing(folder, FILES, overwrite=overwrite)
    if folder.is_file():
        raise StorageError(f"{folder} is a file.", "Name a folder for the release.")
    if private is not None:
        _check_private_place(private, folder, overwrite=overwrite)


def _staged(
    release: Publishable, folder: Path, *, overwrite: bool, afterwards: Sequence[Move] = ()
) -> AbstractContextManager[Path]:
    """Where to write the files this release has; those of an earlier one go."""
    without = (SENSITIVE_PARQUET, SENSITIVE_CSV) if release.sensitive is None else ()
    names = [name for name in FILES if name not in without]
    return staged(folder, names, overwrite=overwrite, afterwards=afterwards, obsolete=without)


def _write_files(release: Publishable, stage: Path) -> dict[str, Any]:
    _write_parquet(release.table, stage / PARQUET)
    _write_csv(release.table, lambda *rows: release.slice(*rows).to_text(), stage / CSV)
    written = [PARQUET, CSV]
    if release.sensitive is not None:
        _write_parquet(release.sensitive, stage / SENSITIVE_PARQUET)
        _write_csv(release.sensitive, release.sensitive.slice, stage / SENSITIVE_CSV)
        written += [SENSITIVE_PARQUET, SENSITIVE_CSV]
    certificate = {
        **release.certificate,
        "sha256": {name: sha256_of(stage / name) for name in written},
    }
    text = json.dumps(certificate, indent=2, ensure_ascii=False) + "\n"
    (stage / CERTIFICATE).write_text(text, encoding="utf-8")
    return certificate


def _write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", row_group_size=_ROWS_PER_GROUP)


def _write_csv(table: pa.Table, to_text: Callable[[int, int], pa.Table], path: Path) -> None:
    """Write cells as text, a batch at a time so that memory stays bounded.

    ``to_text(first, length)`` are rows of ``table`` with cells that can be cast to text.
    """
    with open(path, "wb") as file:
        for first in range(0, table.num_rows, _ROWS_PER_BATCH):
            texts = to_text(first, _ROWS_PER_BATCH)
            if first == 0:
                header = pa.array(texts.column_names)
                file.write(_lines([header.slice(place, 1) for place in range(len(header))]))
            file.write(_lines([column.combine_chunks() for column in texts.columns]))


def _lines(columns: list[pa.Array]) -> pa.Buffer:
    """Columns as lines of CSV, quoted only where needed; missing is empty, empty text is ``""``."""
    fields = [_quoted(column) for column in columns]
    if len(fields) == 1:  # a line without any character would be read as no record
        fields = [pc.if_else(pc.equal(fields[0], ""), '""', fields[0])]
    fields[-1] = pc.binary_join_element_wise(fields[-1], _text("\n"), _text(""))
    lines = pc.binary_join_element_wise(*fields, _text(","))
    _, offsets, content = lines.buffers()  # the lines lie one after the other in memory already
    return content.slice(0, int(np.frombuffer(offsets, np.int64)[len(lines)]))


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _quoted(column: pa.Array) -> pa.Array:
    """Fields of CSV; quoted also where a reader would take U+FEFF for a byte order mark."""
    texts = pc.cast(column, pa.large_string())
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        doubled = pc.replace_substring(texts, '"', '""')
        needed = pc.or_(pc.equal(texts, ""), pc.match_substring_regex(texts, '^\ufeff|[,"\r\n]'))
        texts = pc.if_else(
            needed, pc.binary_join_element_wise(_text('"'), doubled, _text('"'), _text("")), texts
        )
    return pc.fill_null(texts, "")


def _check_private_place(link_file: Path, folder: Path, *, overwrite: bool) -> None:
    if folder.resolve() in (link_file.resolve(), *link_file.resolve().parents):
        raise UsageError(
            f"The private link file {link_file} would lie in the release folder {folder}.",
            "It undoes the anonymization: keep it elsewhere.",
        )
    if link_file.is_dir():
        raise UsageError(f"{link_file} is a folder.", "Name a file for the private links.")
    if link_file.exists() and not overwrite:
        raise StorageError(
            f"{link_file} already exists.", "Choose another file, or replace it with --overwrite."
        )


def sha256_of(path: Path) -> str:
    """Checksum of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
