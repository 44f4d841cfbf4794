"""Release files: Parquet, CSV, certificate and the private link file."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mottle.errors import StorageError, UsageError
from mottle.io.staging import hidden_folder, refuse_existing, staged, writing_to

if TYPE_CHECKING:
    from mottle.release import Links, Release

PARQUET, CSV, CERTIFICATE = "release.parquet", "release.csv", "certificate.json"
FILES = (PARQUET, CSV, CERTIFICATE)  # the certificate last: it says that the others are complete
_ROWS_PER_GROUP = 1 << 17
_ROWS_PER_BATCH = 1 << 14  # of CSV: no column's text comes near Arrow's limit of 2 GB


def save_release(
    release: Release, folder: Path, private: str | Path | None, *, overwrite: bool
) -> dict[str, Any]:
    """Write the files of a release, all or none; see `Release.save`."""
    if private is None:
        with staged(folder, FILES, overwrite=overwrite) as stage:
            return _write_files(release, stage)
    if release.links is None:
        raise UsageError("A release read from files has no private links to save.")
    link_file = Path(private)
    with writing_to(link_file):
        _check_private_place(link_file, folder, overwrite=overwrite)
        with hidden_folder(link_file.parent) as hidden:
            links = (hidden / link_file.name, link_file)
            with staged(folder, FILES, overwrite=overwrite, afterwards=[links]) as stage:
                certificate = _write_files(release, stage)
                with writing_to(link_file):
                    _write_links(release.links, hidden / link_file.name)
    return certificate


def check_places(folder: Path, private: Path | None, *, overwrite: bool) -> None:
    """Raise before a long run what `save_release` would raise after it."""
    refuse_existing(folder, FILES, overwrite=overwrite)
    if folder.is_file():
        raise StorageError(f"{folder} is a file.", "Name a folder for the release.")
    if private is not None:
        _check_private_place(private, folder, overwrite=overwrite)


def _write_files(release: Release, stage: Path) -> dict[str, Any]:
    _write_parquet(release.table, stage / PARQUET)
    _write_csv(release, stage / CSV)
    certificate = {
        **release.certificate,
        "sha256": {name: sha256_of(stage / name) for name in (PARQUET, CSV)},
    }
    text = json.dumps(certificate, indent=2, ensure_ascii=False) + "\n"
    (stage / CERTIFICATE).write_text(text, encoding="utf-8")
    return certificate


def _write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", row_group_size=_ROWS_PER_GROUP)


def _write_csv(release: Release, path: Path) -> None:
    """Write cells as text, a batch at a time so that memory stays bounded."""
    with open(path, "wb") as file:
        header = pa.array([column.name for column in release.columns])
        file.write(_lines([header.slice(place, 1) for place in range(len(header))]))
        for first in range(0, release.table.num_rows, _ROWS_PER_BATCH):
            texts = release.slice(first, _ROWS_PER_BATCH).to_text()
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


def _write_links(links: Links, path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # for the owner only
    with pq.ParquetWriter(path, links.SCHEMA, compression="zstd") as writer:
        for batch in links.batches():
            writer.write_batch(batch)


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
