"""Files of SPSS, Stata and SAS as tables, with what they say about their columns.

Value labels become categories, in the order of their codes where the file calls the column
ordinal; codes that the file declares missing become missing, or categories if that is asked for;
codes of a nominal column are text. docs/files.md states the rules.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.foreign.codebook import LETTERS, Code, Variable, code_of_letter, code_text
from mottle.io.foreign.formats import SPSS

__all__ = ["read_codebook", "read_statistics"]

_ROWS_AT_ONCE = 100_000  # Python objects in memory at a time
_EXACT = 2**53
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_WITH_RANGES = (".sav", ".zsav")  # whose missing codes are numbers that the owner chose
_CATALOGUE = ".sas7bcat"
Warn = Callable[[str], None]


class _Range(NamedTuple):
    """Codes that are declared missing."""

    low: Code
    high: Code

    def holds(self, code: Code) -> bool:
        """Whether a code is one of them."""
        if isinstance(code, str) or isinstance(self.low, str) or isinstance(self.high, str):
            return code == self.low
        return self.low <= code <= self.high


_ANY_LETTER = _Range(LETTERS, float("inf"))


def read_statistics(path: Path, warn: Warn, *, user_missing: bool = False) -> pa.Table:
    """Read a file of SPSS, Stata or SAS.

    Parameters
    ----------
    path : Path
        The file.
    warn : callable
        Gets what the user should know.
    user_missing : bool
        Whether codes that are declared missing are categories of columns with labels; they are
        missing otherwise.

    Returns
    -------
    pyarrow.Table
        All rows, with labels in the place of codes.

    Raises
    ------
    DataError
        The catalogue beside a SAS file is damaged.
    """
    read = _reader(path)
    parts: dict[str, list[pa.Array]] = {}
    facts: Any = None
    first = 0
    while True:
        columns, facts = read(
            str(path),
            output_format="dict",
            row_offset=first,
            row_limit=_ROWS_AT_ONCE,
            **_keeping(path, user_missing),
        )
        for name in facts.column_names:
            is_text = facts.readstat_variable_types[name] == "string"
            parts.setdefault(name, []).append(_array(columns[name], is_text=is_text))
        rows = len(next(iter(columns.values()), ()))
        first += rows
        if rows < _ROWS_AT_ONCE:
            break
    labels, declared = _all_labels(path, facts, warn), _declared_missing(path)
    return pa.table(
        {
            name: _described(
                _joined(arrays),
                labels.get(name, {}),
                declared.get(name, [_ANY_LETTER]),
                facts.variable_measure.get(name, "unknown"),
                f"{path}: column '{name}'",
                warn,
                keep=user_missing,
            )
            for name, arrays in parts.items()
        }
    )


def read_codebook(path: Path) -> dict[str, Variable]:
    """Read what a file says about its columns, without any rows.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict of str to Variable
        Label, level of measurement, value labels and missing codes of every column.
    """
    _, facts = _reader(path)(str(path), metadataonly=True, output_format="dict")
    declared = _declared_missing(path)
    all_labels = _all_labels(path, facts, lambda _: None)
    found = {}
    for name in facts.column_names:
        ranges = declared.get(name, [_ANY_LETTER])
        labels = all_labels.get(name, {})
        codes = sorted(labels, key=lambda code: (isinstance(code, str), code))
        texts = _texts(codes, labels)
        found[name] = Variable(
            label=facts.column_names_to_labels.get(name) or "",
            measure=facts.variable_measure.get(name, "unknown"),
            codes=tuple(
                (code, text, _is_declared(code, ranges))
                for code, text in zip(codes, texts, strict=True)
            ),
            missing=tuple((_finite(one.low), _finite(one.high)) for one in declared.get(name, [])),
        )
    return found


def _reader(path: Path) -> Any:
    return getattr(SPSS.package.load(), _READERS[path.suffix.lower()])


def _keeping(path: Path, user_missing: bool) -> dict[str, bool]:
    """The option by which declared codes stay, of formats that have them."""
    has_codes = path.suffix.lower() not in (".por", ".xpt")
    return {"user_missing": True} if user_missing and has_codes else {}


def _all_labels(path: Path, facts: Any, warn: Warn) -> dict[str, dict[Code, str]]:
    """The value labels of every column; of SAS, those of the catalogue beside the file."""
    found: Mapping[str, Mapping[Any, str]] = facts.variable_value_labels
    catalogue = _catalogue(path)
    if catalogue is not None:
        package = SPSS.package.load()
        try:
            _, formats = package.read_sas7bcat(str(catalogue), output_format="dict")
        except (package.ReadstatError, ValueError):
            raise DataError(
                f"{catalogue} is damaged, or no catalogue of SAS.",
                "Save it again, or move it to another folder; the table is then read without"
                " labels.",
            ) from None
        named = facts.variable_to_label
        found = {
            name: formats.value_labels[named[name]]
            for name in facts.column_names
            if named.get(name) in formats.value_labels
        }
        warn(f"{path}: value labels of {len(found):,} columns are those of {catalogue.name}.")
    return {
        name: {
            _plain_code(code, is_text=facts.readstat_variable_types[name] == "string"): label
            for code, label in labels.items()
        }
        for name, labels in found.items()
    }


def _catalogue(path: Path) -> Path | None:
    """The catalogue of a SAS file: of its name, or formats.sas7bcat, which SAS writes."""
    if path.suffix.lower() != ".sas7bdat":
        return None
    beside = (path.with_suffix(_CATALOGUE), path.with_name(f"formats{_CATALOGUE}"))
    return next((file for file in beside if file.is_file()), None)


def _plain_code(code: Any, *, is_text: bool) -> Code:
    """A code as a text or a number; a letter among numbers is a missing value."""
    if is_text:
        return str(code)
    if isinstance(code, str):
        return code_of_letter(code[-1])
    return float(code)


def _declared_missing(path: Path) -> Mapping[str, list[_Range]]:
    """The codes that the owner of an SPSS file has declared missing, as ranges."""
    if path.suffix.lower() not in _WITH_RANGES:
        return {}
    _, facts = _reader(path)(str(path), metadataonly=True, user_missing=True, output_format="dict")
    return {
        name: [_Range(one["lo"], one["hi"]) for one in ranges]
        for name, ranges in facts.missing_ranges.items()
    }


def _finite(code: Code) -> Code:
    """A code, with the largest number for "and everything above"."""
    largest = sys.float_info.max
    return code if isinstance(code, str) else max(-largest, min(code, largest))


def _is_declared(code: Code, declared: Sequence[_Range]) -> bool:
    return any(one.holds(code) for one in declared)


def _array(cells: list[Any], *, is_text: bool) -> pa.Array:
    """Cells of one part of a column; blank texts are missing."""
    if is_text:
        return pa.array([cell.rstrip() or None if cell else None for cell in cells], pa.string())
    example = next((cell for cell in cells if cell is not None and type(cell) is not str), None)
    if isinstance(example, dt.datetime):
        return pa.array(cells, pa.timestamp("us"))
    if isinstance(example, dt.date):
        return pa.array(cells, pa.date32())
    if isinstance(example, dt.time):
        return pa.array(cells, pa.time64("us"))
    if all(cell is None for cell in cells):
        return pa.nulls(len(cells))
    cells = [_plain_code(cell, is_text=False) if isinstance(cell, str) else cell for cell in cells]
    return pa.array(cells, pa.float64(), from_pandas=True)


def _joined(arrays: list[pa.Array]) -> pa.ChunkedArray:
    """The parts of a column in one type; a part without values has none."""
    kinds = {array.type for array in arrays} - {pa.null()}
    kind = kinds.pop() if len(kinds) == 1 else pa.float64()
    column = pa.chunked_array([pc.cast(array, kind) for array in arrays], kind)
    if kind == pa.timestamp("us"):
        whole = pc.all(pc.equal(pc.microsecond(column), 0)).as_py()
        return pc.cast(column, pa.timestamp("ms")) if whole is not False else column
    return column


def _described(
    column: pa.ChunkedArray,
    labels: dict[Code, str],
    declared: Sequence[_Range],
    measure: str,
    place: str,
    warn: Warn,
    *,
    keep: bool,
) -> pa.ChunkedArray:
    """A column as its labels and its measurement level say: categories, an order, or numbers."""
    is_number = pa.types.is_floating(column.type)
    if not is_number and not pa.types.is_string(column.type):
        return column  # a day or a time
    all_codes: list[Code] = pc.unique(column).drop_null().to_pylist()
    missing = [code for code in all_codes if _is_declared(code, declared)]
    values = {code: label for code, label in labels.items() if not _is_declared(code, declared)}
    unlabelled = [code for code in all_codes if code not in values and code not in missing]
    is_category = bool(values) and not (
        is_number and (measure == "scale" or (measure == "unknown" and unlabelled))
    )
    if is_category and keep and measure != "ordinal":
        return _categories(column, labels, [*unlabelled, *missing], ordered=False)
    if missing:
        is_missing = pc.is_in(column, value_set=pa.array(missing, column.type))
        column = pc.if_else(is_missing, pa.scalar(None, column.type), column)
    if is_category:
        return _categories(column, values, unlabelled, ordered=measure == "ordinal")
    if values:
        warn(
            f"{place} has labels for some of its numbers; the numbers are kept and the labels"
            " are not. If a labelled number stands for a missing value, declare it missing in"
            " the program that wrote the file."
        )
    if is_number:
        return _as_codes(column) if measure == "nominal" else _numbers(column)
    return column


def _categories(
    column: pa.ChunkedArray, labels: dict[Code, str], unlabelled: list[Code], *, ordered: bool
) -> pa.ChunkedArray:
    """Labels in the place of codes."""
    codes: list[Any] = list(dict.fromkeys([*labels, *unlabelled]))
    if all(isinstance(code, float) for code in codes):
        codes.sort()
    places = pc.index_in(column, value_set=pa.array(codes, column.type))
    known = pa.array(_texts(codes, labels), pa.string())
    if not ordered:
        return pc.take(known, places)
    kind = pa.dictionary(pa.int32(), pa.string(), ordered=True)
    chunks = [pa.DictionaryArray.from_arrays(one, known, ordered=True) for one in places.chunks]
    return pa.chunked_array(chunks, kind)


def _texts(codes: Sequence[Code], labels: Mapping[Code, str]) -> list[str]:
    """The labels of codes; where two codes have one label, with the code behind it."""
    texts = [labels.get(code, "").strip() or code_text(code) for code in codes]
    often = Counter(texts)
    texts = [
        f"{text} ({code_text(code)})" if often[text] > 1 else text
        for code, text in zip(codes, texts, strict=True)
    ]
    if len(set(texts)) < len(texts):  # a label that looks like another one with its code
        texts = [code_text(code) for code in codes]
    return texts


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers if all are: these files store every number as a float."""
    if column.null_count == len(column) or not _all_whole(column):
        return column
    return pc.cast(column, pa.int64())


def _all_whole(column: pa.ChunkedArray) -> bool:
    whole = pc.and_(pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), float(_EXACT)))
    return bool(pc.all(whole).as_py())


def _as_codes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Codes of categories, which are no numbers to calculate with."""
    return pc.cast(_numbers(column), pa.string())
