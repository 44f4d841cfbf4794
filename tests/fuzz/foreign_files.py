"""A table as a file of every spreadsheet and statistics package that mottle reads.

What no installed package writes is made here: ``.xls`` and ``.ods`` byte by byte, ``.sas7bdat`` by
the library inside pyreadstat, which has no Python function for it.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import struct
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyreadstat
import xlsxwriter
from pyreadstat import _readstat_writer

SPREADSHEETS = ("xlsx", "xls", "ods")
STATISTICS = ("sav", "zsav", "por", "dta", "xpt", "sas7bdat")
LABELS = {"place": {"a": "Aachen"}, "age": {99: "unknown"}}
EPOCH = dt.date(1899, 12, 30)  # of spreadsheets


def write_foreign(table: pa.Table, path: Path) -> None:
    """Write a table of numbers, texts and days in the format that the name of the file says."""
    match path.suffix.lstrip("."):
        case "xlsx":
            _write_xlsx(table, path)
        case "xls":
            path.write_bytes(_compound_file(_biff(table)))
        case "ods":
            _write_ods(table, path)
        case "sas7bdat":
            path.write_bytes(_sas(table))
        case "xpt":
            pyreadstat.write_xport(table.to_pandas(), path)
        case "por":
            pyreadstat.write_por(table.to_pandas(), path)
        case "dta":
            labels = {"age": LABELS["age"]}  # Stata labels numbers only
            pyreadstat.write_dta(table.to_pandas(), path, variable_value_labels=labels)
        case suffix:
            pyreadstat.write_sav(
                table.to_pandas(),
                path,
                compress=suffix == "zsav",
                variable_value_labels=LABELS,
                missing_ranges={"age": [{"lo": 98, "hi": 99}]},
            )


def _rows(table: pa.Table) -> list[list[Any]]:
    return [table.column_names, *(list(row.values()) for row in table.to_pylist())]


def _write_xlsx(table: pa.Table, path: Path) -> None:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("people")
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for row, cells in enumerate(_rows(table)):
            for place, cell in enumerate(cells):
                if isinstance(cell, dt.date):
                    sheet.write_datetime(row, place, cell, day)
                elif isinstance(cell, int):
                    sheet.write_formula(row, place, f"={cell}+0", None, cell)
                elif cell is not None:
                    sheet.write_string(row, place, cell)


def _write_ods(table: pa.Table, path: Path) -> None:
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    spaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    rows = "".join(
        f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in _rows(table)
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content{spaces}><office:body>'
        f'<office:spreadsheet><table:table table:name="people">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        "</manifest:manifest>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)


def _ods_cell(cell: Any) -> str:
    if cell is None:
        return '<table:table-cell table:number-columns-repeated="1"/>'
    if isinstance(cell, dt.date):
        typed = f'office:value-type="date" office:date-value="{cell}"'
    elif isinstance(cell, int):
        typed = f'table:formula="of:={cell}+0" office:value-type="float" office:value="{cell}"'
    else:
        typed = f'office:value-type="string" office:string-value={quoteattr(cell)}'
    text = escape(str(cell))
    return f"<table:table-cell {typed}><text:p>{text}</text:p></table:table-cell>"


# ------------------------------------------------------------------------------------------- .xls


def _record(number: int, content: bytes) -> bytes:
    return struct.pack("<HH", number, len(content)) + content


def _biff(table: pa.Table) -> bytes:
    """The stream of a workbook with one sheet (BIFF8)."""
    name = b"people"
    end = _record(0x0A, b"")
    formats = b"".join(_record(0xE0, struct.pack("<HH16x", 0, number)) for number in (0, 14))
    first = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 1997, 0, 0)) + formats
    length = len(first) + 4 + 8 + len(name) + len(end)
    listed = _record(0x85, struct.pack("<IBBBB", length, 0, 0, len(name), 0) + name)
    rows = _rows(table)
    size = struct.pack("<IIHHH", 0, len(rows), 0, table.num_columns, 0)
    sheet = _record(0x809, struct.pack("<HHHHII", 0x600, 16, 0, 1997, 0, 0)) + _record(0x200, size)
    for row, cells in enumerate(rows):
        for place, cell in enumerate(cells):
            at = struct.pack("<HH", row, place)
            if isinstance(cell, dt.date):
                day = float((cell - EPOCH).days)
                sheet += _record(0x203, at + struct.pack("<Hd", 1, day))
            elif isinstance(cell, int):  # a formula: its value, and the number as an expression
                formula = struct.pack("<HdHIHBH", 0, cell, 0, 0, 3, 0x1E, cell)
                sheet += _record(0x06, at + formula)
            elif cell is not None:
                text = cell.encode("latin-1")
                sheet += _record(0x204, at + struct.pack("<HHB", 0, len(text), 0) + text)
    return first + listed + end + sheet + end


def _compound_file(stream: bytes) -> bytes:
    """A compound file (OLE2) whose only stream is ``Workbook``."""
    sector, free, last = 512, 0xFFFFFFFF, 0xFFFFFFFE
    stream = stream.ljust(max(4096, -(-len(stream) // sector) * sector), b"\0")
    count = len(stream) // sector
    assert count <= sector // 4 - 2, "one sector of the allocation table is enough for the fuzzer"
    chain = [*range(3, 2 + count), last]
    table = [0xFFFFFFFD, last, *chain]
    table += [free] * (sector // 4 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack(
        "<HHHHH6xIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, last, 0, last, 0
    )
    header += struct.pack("<109I", 0, *[free] * 108)
    entries = [_entry("Root Entry", 5, 1, last, 0), _entry("Workbook", 2, free, 2, len(stream))]
    folder = b"".join(entries).ljust(sector, b"\0")
    return header + struct.pack("<128I", *table) + folder + stream


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = (name + "\0").encode("utf-16-le")
    links = struct.pack("<III", 0xFFFFFFFF, 0xFFFFFFFF, child)
    named = text.ljust(64, b"\0") + struct.pack("<HBB", len(text), kind, 1)
    return named + links + bytes(36) + struct.pack("<IQ", start, size)


# -------------------------------------------------------------------------------------- .sas7bdat


def _sas(table: pa.Table) -> bytes:
    """What the library inside pyreadstat writes as a SAS file."""
    library = ctypes.CDLL(_readstat_writer.__file__)
    library.readstat_writer_init.restype = ctypes.c_void_p
    library.readstat_add_variable.restype = ctypes.c_void_p
    parts: list[bytes] = []

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def write(data: int, length: int, _: object) -> int:
        parts.append(ctypes.string_at(data, length))
        return length

    writer = ctypes.c_void_p(library.readstat_writer_init())
    library.readstat_set_data_writer(writer, write)
    variables = []
    for field in table.schema:
        is_text = pa.types.is_string(field.type)
        kind, width = (0, 20) if is_text else (5, 8)
        added = ctypes.c_void_p(
            library.readstat_add_variable(writer, field.name.encode(), kind, ctypes.c_size_t(width))
        )
        if pa.types.is_date(field.type):
            library.readstat_variable_set_format(added, b"DATE9")
        variables.append(added)
    done = [library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(table.num_rows))]
    for row in table.to_pylist():
        done.append(library.readstat_begin_row(writer))
        for variable, cell in zip(variables, row.values(), strict=True):
            if cell is None:
                done.append(library.readstat_insert_missing_value(writer, variable))
            elif isinstance(cell, str):
                text = cell.encode()
                done.append(library.readstat_insert_string_value(writer, variable, text))
            else:
                days = (cell - dt.date(1960, 1, 1)).days if isinstance(cell, dt.date) else cell
                number = ctypes.c_double(days)
                done.append(library.readstat_insert_double_value(writer, variable, number))
        done.append(library.readstat_end_row(writer))
    done.append(library.readstat_end_writing(writer))
    library.readstat_writer_free(writer)
    assert not any(done), done
    return b"".join(parts)
