"""Encodings of text files: detects the encoding, or reports where the given one fails."""

from __future__ import annotations

import codecs
import io
import logging
import lzma
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from mottle.errors import DataError, UsageError
from mottle.utils.lazy import lazy_module
from mottle.utils.untrusted.memory import available_memory, check_fits

if TYPE_CHECKING:
    import charset_normalizer
else:  # for text that is not Unicode
    charset_normalizer = lazy_module("charset_normalizer")

__all__ = [
    "HEAD_BYTES",
    "Sample",
    "check_size",
    "decode",
    "decode_and_name",
    "known_encoding",
    "open_bytes",
    "utf8_sample",
    "whole_content",
]

logger = logging.getLogger(__name__)

HEAD_BYTES = 1 << 20  # what detection looks at; the header has to fit into it
_BLOCK_BYTES = 1 << 24
_PER_CELL = 16  # bytes of a cell in addition to its text: its place, and its value once it is typed
_MOST_PER_BYTE = 2 + _PER_CELL  # if a cell ends at every byte
_BORDERS = (b"\n", b",", b";", b"\t", b"|")
_XZ, _ZIP = ".xz", ".zip"  # which pyarrow does not know
_MOST_FOR_XZ = 1 << 28  # bytes of memory for decompressing; xz -9 takes a quarter of it
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4", ".br", _XZ, _ZIP}
GUESS_BYTES = 1 << 16  # beyond ASCII, by which an encoding is guessed
BYTE_ORDER_MARKS = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
GUESSED_ENCODINGS = [
    *("cp1252", "iso8859_15", "latin_1", "cp1250", "iso8859_2", "cp1251", "koi8_r", "iso8859_5"),
    *("cp1253", "iso8859_7", "cp1254", "iso8859_9", "cp1257", "cp437", "cp850", "mac_roman"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
]
_ENCRYPTED = 0x1  # a flag of zip archives
_UNPACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # lzma takes what memory the file demands
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
CONTROL_CHARACTERS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))


@dataclass(frozen=True)
class Sample:
    """The beginning of a text."""

    text: str
    complete: bool  # whether it is the whole text


def known_encoding(encoding: str | None) -> str | None:
    """Return the canonical name of an encoding.

    Parameters
    ----------
    encoding : str or None
        A name that Python may know, or None to have the encoding detected.

    Returns
    -------
    str or None
        Its canonical name.

    Raises
    ------
    UsageError
        There is no such text encoding.
    """
    if encoding is None:
        return None
    try:
        # Unlike codecs.lookup this refuses codecs that are not for text, such as "hex".
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise UsageError(
            f"Unknown encoding {encoding!r}.",
            "Give one that Python knows, such as utf-8, cp1252, latin-1 or utf-16.",
        ) from None


def open_bytes(path: Path) -> pa.NativeFile:
    """Open a file, decompressed according to its suffix.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    pyarrow.NativeFile
        A stream of bytes.

    Raises
    ------
    DataError
        An archive does not hold exactly one file, or is protected by a password.
    """
    suffix = path.suffix.lower()
    if suffix == _XZ:
        return pa.PythonFile(_Xz(path), mode="r")
    if suffix == _ZIP:
        return pa.PythonFile(_Member(_only_member(path)), mode="r")
    return pa.input_stream(str(path), compression="detect")


def _only_member(path: Path) -> IO[bytes]:
    """The one file of a zip archive; folders and what macOS adds do not count."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise OSError("damaged") from None
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise DataError(
            f"{path} holds {len(members):,} files; an archive is read if it holds one text file.",
            "Unpack it, and give the file that holds the table.",
        )
    if members[0].compress_type not in _UNPACKED:
        raise DataError(
            f"{path} is compressed in a way that is not read.", "Unpack it, and give the file."
        )
    if members[0].flag_bits & _ENCRYPTED:
        raise DataError(f"{path} is protected by a password.", "Unpack it, and give the file.")
    try:
        return archive.open(members[0])
    except (zipfile.BadZipFile, NotImplementedError):
        raise OSError("damaged") from None


class _Member(io.RawIOBase):
    """The content of a file in an archive; damage is an OSError, as in other files."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Read as many bytes as are asked for, fewer only at the end."""
        try:
            return self._file.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError):
            raise OSError("damaged") from None

    def close(self) -> None:
        self._file.close()
        super().close()


class _Xz(io.RawIOBase):
    """The content of a file that is compressed by xz; damage is an OSError, as in other files.

    A file says itself how much memory it takes to decompress it; `lzma.open` would obey.
    """

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 - closed with this object
        self._part = _xz_part()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Read as many bytes as are asked for, fewer only at the end."""
        blocks = []
        while size and (block := self._block(size if size > 0 else _BLOCK_BYTES)):
            blocks.append(block)
            size -= len(block) if size > 0 else 0
        return b"".join(blocks)

    def _block(self, most: int) -> bytes:
        """The next bytes; none at the end."""
        block = b""
        while not block:
            arrived = b""
            if self._part.eof:  # files may have several parts, with zeros between them
                arrived = self._part.unused_data.lstrip(b"\0")
                while not arrived and (piece := self._file.read(_BLOCK_BYTES)):
                    arrived = piece.lstrip(b"\0")
                if not arrived:
                    break
                self._part = _xz_part()
            elif self._part.needs_input and not (arrived := self._file.read(_BLOCK_BYTES)):
                raise OSError("damaged")
            try:
                block = self._part.decompress(arrived, most)
            except lzma.LZMAError:
                raise OSError("damaged") from None
        return block

    def close(self) -> None:
        self._file.close()
        super().close()


def _xz_part() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_FOR_XZ)


def check_size(path: Path) -> None:
    """Check that the content of a file, decompressed and as columns, fits into memory.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    DataError
        It does not: a small compressed file can have any content, and a cell of one digit takes
        many times its size in memory.
    """
    limit, compressed = available_memory(), path.suffix.lower() in _COMPRESSED
    if not compressed and path.stat().st_size * _MOST_PER_BYTE < limit:
        return
    needed = 0
    with open_bytes(path) as stream:
        while needed <= limit and (block := bytes(stream.read(_BLOCK_BYTES))):
            cells = sum(block.count(border) for border in _BORDERS)
            needed += 2 * len(block) + _PER_CELL * cells
    check_fits(needed, str(path), limit)


def whole_content(path: Path) -> bytes:
    """Read all bytes of a file, decompressed according to its suffix.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bytes
        The content.
    """
    with open_bytes(path) as stream:  # whose size is not known if it is compressed
        return b"".join(iter(lambda: bytes(stream.read(_BLOCK_BYTES)), b""))


def utf8_sample(path: Path, encoding: str | None) -> Sample | None:
    """Read the beginning of a file that is UTF-8.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str or None
        Its encoding, if that is known.

    Returns
    -------
    Sample or None
        None when the file is not UTF-8, or ``encoding`` or its byte order mark names another one.

    Raises
    ------
    DataError
        The file is empty or holds binary data.
    """
    with open_bytes(path) as stream:
        head = bytes(stream.read(HEAD_BYTES + 1))
    complete = len(head) <= HEAD_BYTES
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise DataError(f"{path} is empty.", "Give a table with a header row, or one set per line.")
    marked = _marked_encoding(head)
    if encoding is None and marked in (None, "utf-8"):
        _check_is_text(path, head)
    if (encoding or marked or "utf-8") not in ("utf-8", "utf-8-sig"):
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=complete)
    except UnicodeDecodeError:
        return None
    return Sample(text, complete)


def _marked_encoding(content: bytes) -> str | None:
    return next((name for mark, name in BYTE_ORDER_MARKS.items() if content.startswith(mark)), None)


def _check_is_text(path: Path, head: bytes) -> None:
    workbook = _workbook(head)
    if workbook:
        raise DataError(
            f"{path} is {workbook}, not a text file.",
            "Give it the suffix of a workbook (.xlsx, .xls, .ods), or save the sheet as CSV there"
            " (in Excel: File, Save As, 'CSV UTF-8').",
        )
    controls = len(head) - len(head.translate(None, delete=CONTROL_CHARACTERS))
    if b"\0" in head or controls > len(head) / 50:
        raise DataError(
            f"{path} is not text: it holds binary data.",
            "Export the table as CSV or Parquet; "
            "for text in UTF-16 without a byte order mark give encoding utf-16-le or utf-16-be.",
        )


def _workbook(head: bytes) -> str:
    """Name the kind of spreadsheet that a file is; empty if it is none."""
    if head.startswith(_OLD_OFFICE):
        return "an Excel workbook (.xls) or another old Office file"
    if not head.startswith(b"PK\x03\x04"):
        return ""
    if b"application/vnd.oasis.opendocument.spreadsheet" in head[:200]:
        return "an OpenDocument spreadsheet (.ods)"
    return "an Excel workbook (.xlsx)" if b"xl/" in head or b"[Content_Types].xml" in head else ""


def decode(path: Path, content: bytes, encoding: str | None) -> str:
    """Decode the content of a file.

    Parameters
    ----------
    path : Path
        The file, for messages.
    content : bytes
        Its content.
    encoding : str or None
        The encoding; without it that of the byte order mark, UTF-8 or a guess, in this order.

    Returns
    -------
    str
        The text, without a byte order mark.

    Raises
    ------
    DataError
        The content is not text in that encoding, or no encoding can be guessed.
    """
    return decode_and_name(path, content, encoding)[0]


def decode_and_name(path: Path, content: bytes, encoding: str | None) -> tuple[str, str]:
    """Decode the content of a file, and say which encoding it has.

    Parameters
    ----------
    path : Path
        The file, for messages.
    content : bytes
        Its content.
    encoding : str or None
        As for `decode`.

    Returns
    -------
    text : str
        The text, without a byte order mark.
    encoding : str
        Its encoding: that which is given, marked or guessed.

    Raises
    ------
    DataError
        As for `decode`.
    """
    named = encoding or _marked_encoding(content)
    try:
        return content.decode(named or "utf-8").removeprefix("\ufeff"), named or "utf-8"
    except UnicodeError as error:
        if named is not None:
            raise _undecodable(path, content, named, error) from None
    return _decode_by_guess(path, content)


def _undecodable(path: Path, content: bytes, encoding: str, error: UnicodeError) -> DataError:
    place = ""
    if isinstance(error, UnicodeDecodeError):
        before = content[: error.start].decode(encoding, errors="ignore")
        line = 1 + len(re.findall(r"\r\n|\r|\n", before))
        place = f" at byte {error.start} (line {line})"
    return DataError(
        f"{path} is not {encoding} text: it cannot be decoded{place}.",
        "Give the file's own encoding, or none to have it detected.",
    )


def _decode_by_guess(path: Path, content: bytes) -> tuple[str, str]:
    for encoding in _likely_encodings(content):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        logger.warning("%s is not UTF-8; read as %s, which is a guess.", path, encoding)
        return text, encoding
    raise DataError(
        f"{path} is neither UTF-8 nor text in an encoding that can be guessed.",
        "Give its encoding, such as cp1252.",
    )


def _likely_encodings(content: bytes) -> list[str]:
    """Rank encodings by how plausible the lines beyond ASCII look when decoded with them."""
    lines = dict.fromkeys(line for line in content.splitlines() if not line.isascii())
    distinctive = b"\n".join(lines)[:GUESS_BYTES]
    matches = list(charset_normalizer.from_bytes(distinctive, cp_isolation=GUESSED_ENCODINGS))
    if not matches:
        return []
    least = min(match.chaos for match in matches)
    ranked = [name for match in matches for name in match.could_be_from_charset]
    tied = {
        name
        for match in matches
        if match.chaos <= least + 0.01
        for name in match.could_be_from_charset
    }
    # š and ž have the same codes in cp1250 and cp1252, and are common in the languages of the
    # first; otherwise the second is by far the more common encoding.
    central = distinctive.translate(None, delete=b"\x8a\x8e\x9a\x9e") != distinctive
    preferred = [name for name in [("cp1252", "cp1250")[central]] if name in tied]
    return list(dict.fromkeys(preferred + ranked))
