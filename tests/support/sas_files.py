"""Small files of SAS, written by the library inside pyreadstat, which has no Python call for it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

STRING, DOUBLE = 0, 5  # types of readstat
_WRITER = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_NUMBER, _LETTER = ctypes.c_double, ctypes.c_char


def write_sas7bdat(
    path: Path, columns: Mapping[str, Sequence[object]], formats: Mapping[str, str]
) -> None:
    """Write a table of numbers and texts; a letter among numbers is a missing value ``.A``."""

    def table(call: Any, writer: Any) -> None:
        rows = len(next(iter(columns.values())))
        variables: dict[str, ctypes.c_void_p] = {}
        for name, values in columns.items():
            is_text = name.endswith("_text")
            width = max((len(str(value)) for value in values), default=1) if is_text else 0
            kind = STRING if is_text else DOUBLE
            variables[name] = call("add_variable", writer, name.encode(), kind, width)
            if name in formats:
                call("variable_set_format", variables[name], formats[name].encode())
        call("begin_writing_sas7bdat", writer, None, ctypes.c_long(rows))
        for row in range(rows):
            call("begin_row", writer)
            for name, variable in variables.items():
                value = columns[name][row]
                if name.endswith("_text"):
                    call("insert_string_value", writer, variable, str(value or "").encode())
                elif value is None:
                    call("insert_missing_value", writer, variable)
                elif isinstance(value, str):
                    letter = _LETTER(value.encode())
                    call("insert_tagged_missing_value", writer, variable, letter)
                else:
                    assert isinstance(value, int | float)
                    call("insert_double_value", writer, variable, _NUMBER(value))
            call("end_row", writer)

    _write(path, table)


def write_sas7bcat(path: Path, formats: Mapping[str, Mapping[int, str]]) -> None:
    """Write a catalogue: the labels of every format, by code."""

    def catalogue(call: Any, writer: Any) -> None:
        for name, labels in formats.items():
            found = call("add_label_set", writer, DOUBLE, name.encode())
            for code, label in labels.items():
                call("label_double_value", found, _NUMBER(code), label.encode())
        call("begin_writing_sas7bcat", writer, None)

    _write(path, catalogue)


def _write(path: Path, content: Any) -> None:
    library = ctypes.CDLL(import_module("pyreadstat._readstat_writer").__file__)

    def call(name: str, *arguments: Any) -> Any:
        function = getattr(library, f"readstat_{name}")
        function.restype = ctypes.c_void_p if name.startswith(("add_", "writer_init")) else None
        given = [
            ctypes.c_void_p(one) if isinstance(one, int) and one > 1000 else one
            for one in arguments
        ]
        return function(*given)

    parts: list[bytes] = []

    def written(data: int, size: int, _: object) -> int:
        parts.append(ctypes.string_at(data, size))
        return size

    callback = _WRITER(written)
    writer = call("writer_init")
    call("set_data_writer", writer, callback)
    content(call, writer)
    call("end_writing", writer)
    call("writer_free", writer)
    path.write_bytes(b"".join(parts))
