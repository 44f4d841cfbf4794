"""Files of SPSS, Stata and SAS as tables, with what they say about their columns.

Value labels become categories, in the order of their codes where the file calls the column
ordinal; codes that the file declares missing become missing; codes of a nominal column are text.
docs/files.md states the rules.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.io.foreign.formats import SPSS

__all__ = ["read_statistics"]

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
_Code = float | str
Warn = Callable[[str], None]


def read_statistics(path: Path, warn: Warn) -> pa.Table:
    """Read a file of SPSS, Stata or SAS.

    Parameters
    ----------
    path : Path
        The file.
    warn : callable
        Gets what the user should know.

    Returns
    -------
    pyarrow.Table
        All rows, with labels in the place of codes.
    """
    package = SPSS.package.load()
    suffix = path.suffix.lower()
    read = getattr(package, _READERS[suffix])
    parts: dict[str, list[pa.Array]] = {}
    facts: Any = None
    first = 0
    while True:
        columns, facts = read(
            str(path), output_format="dict", row_offset=first, row_limit=_ROWS_AT_ONCE
        )
        for name in facts.column_names:
            is_text = facts.readstat_variable_types[name] == "string"
            parts.setdefault(name, []).append(_array(columns[name], is_text=is_text))
        rows = len(next(iter(columns.values()), ()))
        first += rows
        if rows < _ROWS_AT_ONCE:
            break
    declared = _declared_missing(read, path) if suffix in (".sav", ".zsav") else {}
    return pa.table(
        {
            name: _described(
                _joined(arrays),
                _labels(
                    facts.variable_value_labels.get(name, {}),
                    declared.get(name, []),
                    is_text=facts.readstat_variable_types[name] == "string",
                ),
                facts.variable_measure.get(name, "unknown"),
                f"{path}: column '{name}'",
                warn,
            )
            for name, arrays in parts.items()
        }
    )


def _array(cells: list[Any], *, is_text: bool) -> pa.Array:
    """Cells of one part of a column; blank texts are missing."""
    if is_text:
        return pa.array([cell.rstrip() or None if cell else None for cell in cells], pa.string())
    example = next((cell for cell in cells if cell is not None), None)
    if isinstance(example, dt.datetime):
        return pa.array(cells, pa.timestamp("us"))
    if isinstance(example, dt.date):
        return pa.array(cells, pa.date32())
    if isinstance(example, dt.time):
        return pa.array(cells, pa.time64("us"))
    if example is None:
        return pa.nulls(len(cells))
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


def _declared_missing(read: Any, path: Path) -> Mapping[str, list[dict[str, Any]]]:
    """The codes that the owner of an SPSS file has declared missing, as ranges."""
    _, facts = read(str(path), metadataonly=True, user_missing=True, output_format="dict")
    found: Mapping[str, list[dict[str, Any]]] = facts.missing_ranges
    return found


def _labels(
    labels: Mapping[Any, str], missing: list[dict[str, Any]], *, is_text: bool
) -> dict[_Code, str]:
    """The labels of codes that are values, in the order of the codes.

    Of numbers, codes that are letters are missing values: ``.a`` to ``.z`` of Stata and SAS.
    """
    kept = {
        code if isinstance(code, str) else float(code): label
        for code, label in labels.items()
        if isinstance(code, str) is is_text and not any(_within(code, one) for one in missing)
    }
    numbers: list[_Code] = sorted(code for code in kept if isinstance(code, float))
    texts: list[_Code] = [code for code in kept if isinstance(code, str)]
    return {code: kept[code] for code in numbers + texts}


def _within(code: Any, declared: dict[str, Any]) -> bool:
    low, high = declared["lo"], declared["hi"]
    if isinstance(code, str) or isinstance(low, str):
        return bool(code == low)
    return bool(low <= code <= high)


def _described(
    column: pa.ChunkedArray, labels: dict[_Code, str], measure: str, place: str, warn: Warn
) -> pa.ChunkedArray:
    """A column as its labels and its measurement level say: categories, an order, or numbers."""
    is_number = pa.types.is_floating(column.type)
    if not is_number and not pa.types.is_string(column.type):
        return column  # a day or a time
    values = pc.unique(column).drop_null()
    present: list[_Code] = values.to_pylist()
    unlabelled = [code for code in present if code not in labels]
    if is_number and (measure == "scale" or (measure == "unknown" and unlabelled)):
        if labels:
            warn(
                f"{place} has labels for some of its numbers; the numbers are kept and the labels"
                " are not. If a labelled number stands for a missing value, declare it missing in"
                " the program that wrote the file."
            )
        return _numbers(column)
    if not labels:
        if is_number and measure == "nominal":
            return _as_codes(column)
        return _numbers(column) if is_number else column
    return _categories(column, labels, unlabelled, ordered=measure == "ordinal")


def _categories(
    column: pa.ChunkedArray, labels: dict[_Code, str], unlabelled: list[_Code], *, ordered: bool
) -> pa.ChunkedArray:
    """Labels in the place of codes; where two codes have one label, with the code behind it."""
    codes: list[Any] = [*labels, *unlabelled]
    if all(isinstance(code, float) for code in codes):
        codes.sort()
    texts = [labels.get(code, "").strip() or _code_text(code) for code in codes]
    often = Counter(texts)
    texts = [
        f"{text} ({_code_text(code)})" if often[text] > 1 else text
        for code, text in zip(codes, texts, strict=True)
    ]
    if len(set(texts)) < len(texts):  # a label that looks like another one with its code
        texts = [_code_text(code) for code in codes]
    places = pc.index_in(column, value_set=pa.array(codes, column.type))
    known = pa.array(texts, pa.string())
    if not ordered:
        return pc.take(known, places)
    kind = pa.dictionary(pa.int32(), pa.string(), ordered=True)
    chunks = [pa.DictionaryArray.from_arrays(one, known, ordered=True) for one in places.chunks]
    return pa.chunked_array(chunks, kind)


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


def _code_text(code: _Code) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)
