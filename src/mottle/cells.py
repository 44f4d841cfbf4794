r"""Published cells as typed Arrow columns and as text: one grammar for every CSV mottle writes.

===============  ==========================================  ==================================
published        typed (Parquet, Arrow)                      text (CSV)
===============  ==========================================  ==================================
a single value   lo = hi, one member, the leaf's label       ``28``
a range          struct<lo, hi, missing>                     ``28..39``
a set            list of values, null for missing            ``{Divorced|Widowed}``
a node           string                                      ``Southern Europe``
missing          null, a set of null, lo = hi = null         an empty cell
or missing       missing = true, null as last member         ``{28..39|}``, ``{Divorced|}``
===============  ==========================================  ==================================

In text values a backslash stands before ``\``, ``{``, ``|`` and ``}``, and before every dot of a
value that holds two in a row or begins or ends with one. The empty text, which is not a missing
value, is ``\e``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mottle.coding import Form
from mottle.errors import DataError

BETWEEN = ".."
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEMBER = re.compile(r"(?:[^\\|]|\\.)*", re.DOTALL)
_RANGE = re.compile(r"((?:\\.|[^\\])*?)\.\.(.*)", re.DOTALL)


def published_type(form: Form, value_type: pa.DataType) -> pa.DataType:
    """The Arrow type of a published column whose original values have ``value_type``.

    >>> published_type(Form.RANGE, pa.int64())
    StructType(struct<lo: int64, hi: int64, missing: bool>)
    """
    match form:
        case Form.RANGE:
            return pa.struct([("lo", value_type), ("hi", value_type), ("missing", pa.bool_())])
        case Form.SET:
            return pa.list_(value_type)
        case Form.NODE:
            return pa.string()


def to_text(cells: pa.Array, form: Form) -> pa.Array:
    """Typed cells as text; null where only missing is possible.

    >>> cells = pa.array([["a", "b"], ["x|y"], ["c", None], [None]])
    >>> to_text(cells, Form.SET).to_pylist()
    ['{a|b}', 'x\\\\|y', '{c|}', None]
    """
    match form:
        case Form.RANGE:
            texts = _range_text(cells)
        case Form.SET:
            texts = _set_text(cells)
        case Form.NODE:
            texts = _value_text(cells)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def from_text(texts: pa.Array, form: Form, value_type: pa.DataType) -> pa.Array:
    """Text cells as typed cells; the inverse of `to_text`.

    >>> from_text(pa.array(["1..5", "{7|}", ""]), Form.RANGE, pa.int64()).to_pylist()
    [{'lo': 1, 'hi': 5, 'missing': False}, {'lo': 7, 'hi': 7, 'missing': True},
     {'lo': None, 'hi': None, 'missing': True}]
    """
    encoded = pc.fill_null(texts, "").dictionary_encode()
    parsed = [_parse(text) for text in encoded.dictionary.to_pylist()]
    try:
        distinct = _typed(parsed, form, value_type)
    except pa.ArrowInvalid:
        raise DataError(f"A cell is no {form} of {value_type} values.") from None
    return distinct.take(encoded.indices)


@dataclass(frozen=True)
class _Parsed:
    """One text cell taken apart; None stands for the missing value."""

    members: tuple[tuple[str | None, str | None], ...]  # (lo, hi), equal for a single value


def _parse(text: str) -> _Parsed:
    if text.startswith("{") and text.endswith("}"):
        inside = text[1:-1]
        members, position = [], 0
        while True:
            match = _MEMBER.match(inside, position)
            assert match is not None
            members.append(_parse_member(match.group()))
            position = match.end() + 1
            if position > len(inside):
                return _Parsed(tuple(members))
    return _Parsed((_parse_member(text),))


def _parse_member(text: str) -> tuple[str | None, str | None]:
    if text == "":
        return None, None
    between = _RANGE.fullmatch(text)
    lowest, highest = between.groups() if between else (text, text)
    return _unescape(lowest), _unescape(highest)


def _unescape(text: str) -> str:
    return "" if text == r"\e" else _ESCAPED.sub(r"\1", text)


def _typed(parsed: list[_Parsed], form: Form, value_type: pa.DataType) -> pa.Array:
    match form:
        case Form.RANGE:
            return _typed_ranges(parsed, value_type)
        case Form.SET:
            members = [value for cell in parsed for value, _ in cell.members]
            offsets = [0]
            for cell in parsed:
                offsets.append(offsets[-1] + len(cell.members))
            values = _cast_texts(members, value_type)
            return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        case Form.NODE:
            return pa.array([cell.members[0][0] for cell in parsed], pa.string())


def _typed_ranges(parsed: list[_Parsed], value_type: pa.DataType) -> pa.Array:
    present = [next((m for m in cell.members if m[0] is not None), (None, None)) for cell in parsed]
    missing = [any(m[0] is None for m in cell.members) for cell in parsed]
    return pa.StructArray.from_arrays(
        [
            _cast_texts([lo for lo, _ in present], value_type),
            _cast_texts([hi for _, hi in present], value_type),
            pa.array(missing, pa.bool_()),
        ],
        fields=list(published_type(Form.RANGE, value_type)),
    )


def _cast_texts(texts: list[str | None], value_type: pa.DataType) -> pa.Array:
    return pc.cast(pa.array(texts, pa.string()), value_type)


def _value_text(values: pa.Array) -> pa.Array:
    """Values as escaped text; missing as the empty text."""
    texts = pc.cast(values, pa.string())
    if pa.types.is_string(values.type):
        has_awkward_dots = pc.match_substring_regex(texts, r"\.\.|^\.|\.$")
        for special in ("\\", "{", "|", "}"):
            texts = pc.replace_substring(texts, special, f"\\{special}")
        texts = pc.if_else(has_awkward_dots, pc.replace_substring(texts, ".", r"\."), texts)
        texts = pc.if_else(pc.equal(texts, ""), r"\e", texts)
    return pc.fill_null(texts, "")


def _range_text(cells: pa.Array) -> pa.Array:
    lowest, highest, missing = cells.flatten()
    low_text, high_text = _value_text(lowest), _value_text(highest)
    single = pc.fill_null(pc.equal(lowest, highest), True)
    ranges = pc.if_else(single, low_text, pc.binary_join_element_wise(low_text, high_text, BETWEEN))
    or_missing = pc.and_(missing, pc.is_valid(lowest))
    return pc.if_else(or_missing, pc.binary_join_element_wise("{", ranges, "|}", ""), ranges)


def _set_text(cells: pa.Array) -> pa.Array:
    # flatten() respects a slice, so the offsets are moved to begin at 0 as well
    offsets = pc.subtract(cells.offsets, cells.offsets[0])
    members = pa.ListArray.from_arrays(offsets, _value_text(cells.flatten()))
    joined = pc.binary_join(members, "|")
    single = pc.equal(pc.list_value_length(members), 1)
    return pc.if_else(single, joined, pc.binary_join_element_wise("{", joined, "}", ""))
