r"""Published cells as typed Arrow columns and as text: one grammar for every CSV mottle writes.

===============  ==========================================  ==================================
published        typed (Parquet, Arrow)                      text (CSV)
===============  ==========================================  ==================================
a single value   lo = hi, one member, the leaf's label       ``28``
a range          struct<lo, hi, missing>                     ``28..39``
a set            list of values, null for missing            ``{Divorced|Widowed}``
a node           string                                      ``Southern Europe``
a set of items   struct<base, uncertain, distance, missing>  three cells: ``{flu}``, ``{}``, ``0``
missing          null, a set of null, lo = hi = null         an empty cell
or missing       missing = true, null as last member         ``{28..39|}``, ``{Divorced|}``
===============  ==========================================  ==================================

In text values a backslash stands before ``\``, ``{``, ``|`` and ``}``, and before every dot of a
value that holds two in a row or begins or ends with one. The empty text, which is not a missing
value, is ``\e``.

A set of items (`mottle.graph.bit_voting`) takes three columns of a CSV file, named after it with
``.base``, ``.uncertain`` and ``.distance``; that it may be missing is an empty last member of the
uncertain items, ``{asthma|}``, and where nothing else is possible the base and the distance are
empty cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Form
from mottle.errors import DataError

BETWEEN = ".."
PARTS = ("base", "uncertain", "distance")  # of a set of items, where each is a column
_PART = r"(?:[^\\{|}.]|\\[\\{|}.]|\.(?!\.))+"  # of a range: no two dots in a row
_MEMBER = re.compile(rf"(\\e|{_PART})(?:\.\.(\\e|{_PART}))?", re.DOTALL)
_NEXT_MEMBER = re.compile(r"((?:[^\\|]|\\.)*)(\||$)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

Member = tuple[str | None, str | None]  # (lo, hi), equal for a single value, None for missing


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
        case Form.WORLDS:
            return pa.struct(
                [
                    ("base", value_type),
                    ("uncertain", value_type),
                    ("distance", pa.int32()),
                    ("missing", pa.bool_()),
                ]
            )


def text_columns(name: str, form: Form | None) -> tuple[str, ...]:
    """The columns of a CSV file that hold the cells of a published column.

    >>> text_columns("diagnoses", Form.WORLDS)
    ('diagnoses.base', 'diagnoses.uncertain', 'diagnoses.distance')
    """
    return tuple(f"{name}.{part}" for part in PARTS) if form is Form.WORLDS else (name,)


def to_texts(cells: pa.Array, form: Form) -> tuple[pa.Array, ...]:
    """Typed cells as text, an array for each of the columns that `text_columns` names."""
    return _worlds_text(cells) if form is Form.WORLDS else (to_text(cells, form),)


def from_texts(texts: Sequence[pa.Array], form: Form, value_type: pa.DataType) -> pa.Array:
    """The inverse of `to_texts`. Raises `DataError` on other text."""
    if form is not Form.WORLDS:
        (only,) = texts
        return from_text(only, form, value_type)
    try:
        base, uncertain, distance = texts
        return _typed_worlds(base, uncertain, distance, value_type)
    except (pa.ArrowException, ValueError):
        raise DataError("A cell is no set of items.") from None


def to_text(cells: pa.Array, form: Form) -> pa.Array:
    """Typed cells as text, to be read by people; null where only missing is possible.

    All but sets of items can be read back from it.

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
            texts = value_text(cells)
        case Form.WORLDS:
            texts = _worlds_in_one(cells)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def from_text(texts: pa.Array, form: Form, value_type: pa.DataType) -> pa.Array:
    """Text cells as typed cells; the inverse of `to_text`. Raises `DataError` on other text.

    >>> from_text(pa.array(["1..5", "{7|}", ""]), Form.RANGE, pa.int64()).to_pylist()
    [{'lo': 1, 'hi': 5, 'missing': False}, {'lo': 7, 'hi': 7, 'missing': True},
     {'lo': None, 'hi': None, 'missing': True}]
    """
    encoded = pc.fill_null(texts, "").dictionary_encode()
    try:
        parsed = [parse_cell(text) for text in encoded.dictionary.to_pylist()]
        distinct = _typed(parsed, form, value_type)
    except (pa.ArrowException, ValueError):
        raise DataError(f"A cell is no {form} of {value_type} values.") from None
    return distinct.take(encoded.indices)


def parse_cell(text: str) -> list[Member]:
    """Take one text cell apart, or raise ValueError when it does not follow the grammar."""
    if not (text.startswith("{") and text.endswith("}")):
        return [_parse_member(text)]
    inside = text[1:-1]
    members, position, bar = [], 0, "|"
    while bar:
        match = _NEXT_MEMBER.match(inside, position)
        if match is None:
            raise ValueError("a backslash at the end")
        member, bar = match.groups()
        members.append(_parse_member(member))
        position = match.end()
    return members


def _parse_member(text: str) -> Member:
    if text == "":
        return None, None
    match = _MEMBER.fullmatch(text)
    if match is None:
        raise ValueError("not a value or range")
    lowest, highest = match.groups()
    return _unescape(lowest), _unescape(highest or lowest)


def _unescape(text: str) -> str:
    return "" if text == r"\e" else _ESCAPED.sub(r"\1", text)


def _typed(parsed: list[list[Member]], form: Form, value_type: pa.DataType) -> pa.Array:
    match form:
        case Form.RANGE:
            return _typed_ranges(parsed, value_type)
        case Form.SET:
            members = [_single(member) for cell in parsed for member in cell]
            offsets = [0, *accumulate(len(cell) for cell in parsed)]
            values = _cast_texts(members, value_type)
            return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        case Form.NODE:
            return pa.array([_single(member) for (member,) in parsed], pa.string())
        case Form.WORLDS:
            raise ValueError("a set of items is in three cells")


def _single(member: Member) -> str | None:
    lowest, highest = member
    if lowest != highest:
        raise ValueError("a range where a value belongs")
    return lowest


def _typed_ranges(parsed: list[list[Member]], value_type: pa.DataType) -> pa.Array:
    ranges = [[member for member in cell if member != (None, None)] for cell in parsed]
    if any(len(cell) > 1 for cell in ranges):
        raise ValueError("several ranges in one cell")
    lowest = [cell[0][0] if cell else None for cell in ranges]
    highest = [cell[0][1] if cell else None for cell in ranges]
    missing = [(None, None) in cell for cell in parsed]
    return pa.StructArray.from_arrays(
        [
            _cast_texts(lowest, value_type),
            _cast_texts(highest, value_type),
            pa.array(missing, pa.bool_()),
        ],
        fields=list(published_type(Form.RANGE, value_type)),
    )


def _cast_texts(texts: list[str | None], value_type: pa.DataType) -> pa.Array:
    if pa.types.is_null(value_type):
        return pa.array(texts, pa.null())
    return pc.cast(pa.array(texts, pa.string()), value_type)


def value_text(values: pa.Array) -> pa.Array:
    """Values as escaped text; missing as the empty text."""
    try:
        texts = pc.cast(values, pa.string())
    except pa.ArrowException:  # its message may quote a cell
        raise DataError(f"Some {values.type} values cannot be written as text.") from None
    if not _is_free_of_specials(values.type):
        has_awkward_dots = pc.match_substring_regex(texts, r"\.\.|^\.|\.$")
        for special in ("\\", "{", "|", "}"):
            texts = pc.replace_substring(texts, special, f"\\{special}")
        texts = pc.if_else(has_awkward_dots, pc.replace_substring(texts, ".", r"\."), texts)
        texts = pc.if_else(pc.equal(texts, ""), r"\e", texts)
    return pc.fill_null(texts, "")


def _is_free_of_specials(value_type: pa.DataType) -> bool:
    """Whether the text of such values never needs an escape: numbers, dates, true and false."""
    return bool(pa.types.is_primitive(value_type) or pa.types.is_decimal(value_type))


def _range_text(cells: pa.Array) -> pa.Array:
    lowest, highest, missing = cells.flatten()
    low_text, high_text = value_text(lowest), value_text(highest)
    single = pc.equal(low_text, high_text)
    ranges = pc.if_else(single, low_text, pc.binary_join_element_wise(low_text, high_text, BETWEEN))
    or_missing = pc.and_(missing, pc.is_valid(lowest))
    return pc.if_else(or_missing, pc.binary_join_element_wise("{", ranges, "|}", ""), ranges)


def _set_text(cells: pa.Array) -> pa.Array:
    members, joined = _joined(cells)
    single = pc.equal(pc.list_value_length(members), 1)
    return pc.if_else(single, joined, pc.binary_join_element_wise("{", joined, "}", ""))


def _joined(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The members of lists as text, and these joined by bars."""
    # flatten() respects a slice, so the offsets are moved to begin at 0 as well
    offsets = pc.subtract(cells.offsets, cells.offsets[0])
    members = pa.ListArray.from_arrays(offsets, value_text(cells.flatten()))
    return members, pc.binary_join(members, "|")


# --------------------------------------------------------------------------------- sets of items


def _worlds_text(cells: pa.StructArray) -> tuple[pa.Array, pa.Array, pa.Array]:
    base, uncertain, distance, missing = cells.flatten()
    known = base.is_valid()
    bases, others = (_joined(pc.coalesce(part, _NO_ITEMS))[1] for part in (base, uncertain))
    nothing = pa.scalar(None, pa.string())
    bar = pc.if_else(missing, "|", "")
    return (
        pc.if_else(known, pc.binary_join_element_wise("{", bases, "}", ""), nothing),
        pc.binary_join_element_wise("{", others, bar, "}", ""),
        pc.if_else(known, pc.cast(distance, pa.string()), nothing),
    )


def _worlds_in_one(cells: pa.StructArray) -> pa.Array:
    """Cells for people: ``{flu} ± 1 of {asthma|diabetes}``, the empty text for missing."""
    base, uncertain, distance = _worlds_text(cells)
    doubtful = pc.binary_join_element_wise(base, " ± ", distance, " of ", uncertain, "")
    return pc.coalesce(pc.if_else(pc.equal(uncertain, "{}"), base, doubtful), "")


def _typed_worlds(
    base: pa.Array, uncertain: pa.Array, distance: pa.Array, value_type: pa.DataType
) -> pa.Array:
    bases = [None if text is None else _items(text) for text in base.to_pylist()]
    others = [_items(text) for text in uncertain.to_pylist()]
    known = [items is not None for items in bases]
    missing = [None in items for items in others]
    listed = [
        [item for item in items if item is not None] if has_base else None
        for items, has_base in zip(others, known, strict=True)
    ]
    fields = list(published_type(Form.WORLDS, value_type))
    return pa.StructArray.from_arrays(
        [
            pa.array(bases, value_type),
            pa.array(listed, value_type),
            pc.cast(distance, pa.int32()),
            pa.array(missing, pa.bool_()),
        ],
        fields=fields,
    )


def _items(text: str | None) -> list[str | None]:
    """The members of a set that is written with braces, however many they are."""
    if text is None or not (text.startswith("{") and text.endswith("}")):
        raise ValueError("not a set")
    if text == "{}":
        return []
    items = [_single(member) for member in parse_cell(text)]
    return items if items != [None, None] else [None]


_NO_ITEMS = pa.scalar([], pa.list_(pa.string()))
