"""Releases as SPSS and Stata files: codes, value labels, missing codes, levels of measurement.

With the codebook of the original, texts that are its labels get its codes, and codes that it
declares missing are declared missing again: in Stata as ``.a`` to ``.z``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.export.variables import ExportedVariable, as_text, is_number
from mottle.io.foreign.codebook import LETTERS, Codebook, Variable, code_of_letter, code_text
from mottle.io.foreign.formats import SPSS, STATA

__all__ = ["write_spss", "write_stata"]

_SPSS, _STATA = "spss", "stata"
_LONGEST_LABEL = {_SPSS: 120, _STATA: 32_000}  # bytes
_LONGEST_TEXT = {_SPSS: 32_767, _STATA: 2_045}  # bytes of a text variable
_LONGEST_TITLE = {_SPSS: 255, _STATA: 80}  # characters of the label of a variable
_MOST_LABELS = 10_000
_LONGEST_NAME = {_SPSS: 64, _STATA: 31}  # a list of labels is called as its variable
_RESERVED = (  # by SPSS or Stata, in any case
    *("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"),
    *("byte", "double", "float", "if", "in", "int", "long", "strl", "using"),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"  # of missing values in Stata
_LARGEST_CODE = 1e9  # of value labels in Stata, and of codes that are not "and everything above"
_NUMBER, _LETTER = re.compile(r"-?\d{1,10}(\.\d+)?"), re.compile(r"\.[a-z]")  # codes as texts
_MEASURES = ("nominal", "ordinal", "scale")


def write_spss(variables: list[ExportedVariable], codebook: Codebook, path: Path) -> None:
    """Write an SPSS file.

    Parameters
    ----------
    variables : list of ExportedVariable
        The columns.
    codebook : Codebook
        What is known of the columns of the original; may be empty.
    path : Path
        The file.

    Raises
    ------
    DataError
        A text is too long for the file.
    """
    facts = _Statistics.of(variables, codebook, _SPSS)
    package = SPSS.package.load()
    with _refusing(package):
        package.write_sav(
            facts.frame,
            str(path),
            column_labels=facts.labels,
            variable_value_labels=facts.codes,
            missing_ranges=facts.missing,
            variable_measure=facts.measures,
            compress=path.suffix.lower() == ".zsav",
        )


def write_stata(variables: list[ExportedVariable], codebook: Codebook, path: Path) -> None:
    """Write a Stata file.

    Parameters
    ----------
    variables : list of ExportedVariable
        The columns.
    codebook : Codebook
        What is known of the columns of the original; may be empty.
    path : Path
        The file.

    Raises
    ------
    DataError
        A text is too long for the file.
    """
    facts = _Statistics.of(variables, codebook, _STATA)
    package = STATA.package.load()
    with _refusing(package):
        package.write_dta(
            facts.frame,
            str(path),
            column_labels=facts.labels,
            variable_value_labels=facts.codes,
            missing_user_values=facts.missing,
        )


@contextmanager
def _refusing(package: Any) -> Iterator[None]:
    """Report what a format cannot hold: floats beyond its range, days before its calendar."""
    try:
        yield
    except (package.ReadstatError, package.PyreadstatError, OverflowError):
        raise DataError(
            "The release has values that the file cannot hold, such as numbers beyond its range.",
            "Use release.csv or release.parquet.",
        ) from None


_Written = float | str  # a code; in Stata a letter is a missing value


@dataclass(frozen=True)
class _Coding:
    """The codes of a column of texts."""

    codes: dict[str, _Written]  # by text
    missing: list[Any]  # ranges in SPSS, letters in Stata


@dataclass(frozen=True)
class _Statistics:
    """What pyreadstat writes."""

    frame: Any
    labels: list[str]  # of columns
    codes: dict[str, dict[_Written, str]]  # value labels, by column
    missing: dict[str, list[Any]]  # codes that are declared missing, by column
    measures: dict[str, str]

    @classmethod
    def of(cls, variables: list[ExportedVariable], codebook: Codebook, program: str) -> _Statistics:
        """Give every column a name that the program allows, and categories codes with labels."""
        names = _names([variable.name for variable in variables], _LONGEST_NAME[program])
        columns: dict[str, Any] = {}
        codes: dict[str, dict[_Written, str]] = {}
        missing: dict[str, list[Any]] = {}
        for name, variable in zip(names, variables, strict=True):
            values = _plain(variable.values)
            columns[name] = values
            if not pa.types.is_string(values.type):
                continue
            known = _categories(values, variable.order)
            if not _can_label(known, program):
                _check_length(values, variable.name, program)
                continue
            coding = _coding(known.to_pylist(), codebook.get(variable.column.name), program)
            codes[name] = {code: text for text, code in coding.codes.items()}
            columns[name] = _coded(values, coding.codes)
            if coding.missing:
                missing[name] = coding.missing
        measures = {
            name: _measure(variable, codebook)
            for name, variable in zip(names, variables, strict=True)
        }
        labels = [_label(variable, codebook, program) for variable in variables]
        return cls(_frame(columns), labels, codes, missing, measures)


def _coded(values: pa.ChunkedArray, codes: Mapping[str, _Written]) -> Any:
    """Texts as codes: floats, or objects if some of them are letters."""
    if all(isinstance(code, float) for code in codes.values()):
        known = pa.array(list(codes), pa.string())
        numbers = pa.array(list(codes.values()), pa.float64())
        return pc.take(numbers, pc.index_in(values, value_set=known))
    return [None if text is None else codes[text] for text in values.to_pylist()]


def _coding(texts: list[str], described: Variable | None, program: str) -> _Coding:
    """The codes of the original where a text is one of its labels; others for further texts."""
    fresh = _Coding({text: float(code) for code, text in enumerate(texts, start=1)}, [])
    if described is None:
        return fresh
    numbers = [code for code, _, _ in described.codes if not isinstance(code, str)]
    plain = [code for code in numbers if code <= _LARGEST_CODE]
    ends = [end for ends in described.missing for end in ends]
    if (
        not plain
        or len(numbers) < len(described.codes)
        or any(isinstance(end, str) or abs(end) > _LARGEST_CODE for end in ends)
    ):
        return fresh  # texts as codes, or "everything above is missing": no room for others
    if program == _STATA and any(not code.is_integer() for code in plain):
        return fresh
    original = {text: (float(code), is_missing) for code, text, is_missing in described.codes}
    original |= {
        text: found
        for text in texts
        if text not in original and (found := _of_unlabelled(text, described)) is not None
    }
    taken = [code for code, _ in original.values() if code <= _LARGEST_CODE]
    free = _free_codes(max([*taken, *map(float, ends)]))
    codes: dict[str, _Written] = {}
    marked: list[str] = []
    for text in texts:
        code, is_missing = original.get(text, (None, False))
        if is_missing:
            marked.append(text)
        else:
            codes[text] = next(free) if code is None else code
    marked.sort(key=lambda text: original[text][0])
    if program == _STATA:
        letters = {
            text: code_text(original[text][0])[-1]
            for text in marked
            if original[text][0] >= LETTERS
        }
        unused = (letter for letter in _LETTERS if letter not in letters.values())
        for text in marked:
            codes[text] = letters.get(text) or next(unused, None) or next(free)
        return _Coding(codes, [code for code in codes.values() if isinstance(code, str)])
    own = {text: original[text][0] for text in marked if original[text][0] <= _LARGEST_CODE}
    added = {text: next(free) for text in marked if text not in own}  # letters of Stata and SAS
    ranges = [{"lo": low, "hi": high} for low, high in described.missing]
    if added:
        ranges.append({"lo": min(added.values()), "hi": max(added.values())})
    return _Coding({**codes, **own, **added}, ranges)


def _of_unlabelled(text: str, described: Variable) -> tuple[float, bool] | None:
    """The code that a text shows, and whether it is missing; None for other texts."""
    if _LETTER.fullmatch(text):
        return code_of_letter(text[-1]), True
    if not _NUMBER.fullmatch(text) or abs(code := float(text)) > _LARGEST_CODE:
        return None
    if code_text(code) != text or any(code == labelled for labelled, _, _ in described.codes):
        return None
    declared = (low <= code <= high for low, high in described.missing)  # type: ignore[operator]
    return code, any(declared)


def _free_codes(largest: float) -> Iterator[float]:
    """Codes above those of the original."""
    return (float(code) for code in count(int(largest) + 1))


def _measure(variable: ExportedVariable, codebook: Codebook) -> str:
    """The level of measurement: as the original says where values are published as they are."""
    described = codebook.get(variable.column.name)
    if variable.column.form is None and described is not None and described.measure in _MEASURES:
        return described.measure
    return variable.measure


def _label(variable: ExportedVariable, codebook: Codebook, program: str) -> str:
    """The label of the column: that of the original, or its name in the release."""
    described = codebook.get(variable.column.name)
    label = variable.name
    if described is not None and described.label:
        label = f"{described.label}, {variable.part}" if variable.part else described.label
    return label[: _LONGEST_TITLE[program]]


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as floats, days and points in time as they are, everything else as text."""
    kind = values.type
    if pa.types.is_boolean(kind):
        values = pc.cast(values, pa.int8())
    if pa.types.is_boolean(kind) or pa.types.is_decimal(kind) or is_number(kind):
        return pc.cast(values, pa.float64())
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        return values
    return as_text(values)


def _categories(values: pa.ChunkedArray, order: tuple[str, ...] | None) -> pa.Array:
    """The distinct texts, in the order of the column or in that of the alphabet."""
    if order is not None:
        return pa.array(order, pa.string())
    found = pc.unique(values).drop_null()
    return found.take(pc.sort_indices(found))


def _can_label(known: pa.Array, program: str) -> bool:
    longest = pc.max(pc.binary_length(known)).as_py() or 0
    shortest = pc.min(pc.binary_length(known)).as_py() or 0
    return len(known) <= _MOST_LABELS and shortest > 0 and longest <= _LONGEST_LABEL[program]


def _check_length(values: pa.ChunkedArray, name: str, program: str) -> None:
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest > _LONGEST_TEXT[program]:
        raise DataError(
            f"Column '{name}' has cells of more than {_LONGEST_TEXT[program]:,} bytes, which the"
            " file cannot hold.",
            "Use release.csv or release.parquet.",
        )


def _names(names: list[str], longest: int) -> list[str]:
    """Names that SPSS and Stata allow: letters, digits and underscores, none twice."""
    allowed: list[str] = []
    for name in names:
        plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
        free = plain[:1].isalpha() and not _is_reserved(plain.lower())
        plain = (plain if free else f"v_{plain}")[:longest]
        number, unique = 2, plain
        while unique.lower() in (other.lower() for other in allowed):
            unique = f"{plain[: longest - 4]}_{number}"
            number += 1
        allowed.append(unique)
    return allowed


def _is_reserved(name: str) -> bool:
    return name in _RESERVED or (name.startswith("str") and name[3:].isdecimal())


def _frame(columns: dict[str, Any]) -> Any:
    """The frame of pandas that pyreadstat takes."""
    mixed = {name: values for name, values in columns.items() if isinstance(values, list)}
    plain = {
        name: [None] * len(mixed[name]) if name in mixed else columns[name] for name in columns
    }
    frame = pa.table(plain).to_pandas(date_as_object=True)
    for name, values in columns.items():
        if name in mixed:
            frame[name] = frame[name].astype(object)
            frame[name] = values
        elif pa.types.is_string(values.type):
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "")
    return frame
