"""Compressed text: what is decompressed; a file does not choose how much memory that takes."""

from __future__ import annotations

import lzma
import zlib
from pathlib import Path

import pytest

import mottle
from mottle import DataError
from mottle.io.text.encodings import whole_content

ROWS = b"a,b\n" + b"1,2\n" * 50_000


def test_parts_of_an_xz_file_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.xz"
    path.write_bytes(lzma.compress(ROWS[:90]) + bytes(8) + lzma.compress(ROWS[90:]) + bytes(4))
    assert whole_content(path) == ROWS
    assert mottle.read_table(path).num_rows == 50_000


def test_xz_files_in_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.xz"
    path.write_bytes(lzma.compress("name\nMüller\nFaß\nGrün\n".encode("cp1252")))
    assert mottle.read_table(path).column("name").to_pylist() == ["Müller", "Faß", "Grün"]


@pytest.mark.parametrize("content", [b"", b"x", bytes(8), lzma.compress(ROWS)[:-9], b"\xfd7zXZ\0"])
def test_damaged_xz_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.csv.xz"
    path.write_bytes(content)
    with pytest.raises(DataError):
        mottle.read_table(path)


def test_an_xz_file_that_asks_for_4_gb_is_refused(tmp_path: Path) -> None:
    content = bytearray(lzma.compress(ROWS, filters=[{"id": lzma.FILTER_LZMA2}]))
    length = 4 * (content[12] + 1)  # of the header of the first block
    assert content[14:16] == b"\x21\x01"
    content[16] = 40  # a dictionary of 4 GB
    end = 12 + length - 4
    content[end : end + 4] = zlib.crc32(content[12:end]).to_bytes(4, "little")
    assert lzma.decompress(content) == ROWS  # where there is as much memory
    path = tmp_path / "a.csv.xz"
    path.write_bytes(content)
    with pytest.raises(DataError):
        mottle.read_table(path)
