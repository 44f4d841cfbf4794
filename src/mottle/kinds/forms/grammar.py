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

from mottle.errors import DataError
from mottle.kinds._arrow import arrow, pa, pc

BETWEEN = ".."
_PART = r"(?:[^\\{|}.]|\\[\\{|}.]|\.(?!\.))+"  # of a range: no two dots in a row
_MEMBER = re.compile(rf"(\\e|{_PART})(?:\.\.(\\e|{_PART}))?", re.DOTALL)
_NEXT_MEMBER = re.compile(r"((?:[^\\|]|\\.)*)(\||$)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

Member = tuple[str | None, str | None]  # (lo, hi), equal for a single value, None for missing


def parse_cell(text: str) -> list[Member]:
    """Split one text cell into its members; raise ValueError if it violates the grammar."""
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


def single(member: Member) -> str | None:
    """Return the one value of a member; raise ValueError if it is a range."""
    lowest, highest = member
    if lowest != highest:
        raise ValueError("a range instead of a value")
    return lowest


def cast_texts(texts: list[str | None], value_type: pa.DataType) -> pa.Array:
    """Texts as values of a type."""
    if pa.types.is_null(value_type):
        return pa.array(texts, pa.null())
    return pc.cast(pa.array(texts, pa.string()), value_type)


def value_text(values: pa.Array) -> pa.Array:
    """Values as escaped text; missing as the empty text."""
    try:
        if pa.types.is_timestamp(values.type) and values.type.tz is not None:
            texts = arrow.zoned_text(values, pa.string())
        else:
            texts = pc.cast(values, pa.string())
    except pa.ArrowException:  # its message may quote a cell
        raise DataError(f"Some {values.type} values cannot be written as text.") from None
    if not _is_free_of_specials(values.type):
        texts = arrow.by_distinct(_escaped, texts)
    return pc.fill_null(texts, "")


def _escaped(texts: pa.Array) -> pa.Array:
    """Texts with a backslash where the grammar needs one."""
    has_awkward_dots = pc.match_substring_regex(texts, r"\.\.|^\.|\.$")
    for special in ("\\", "{", "|", "}"):
        texts = pc.replace_substring(texts, special, f"\\{special}")
    texts = pc.if_else(has_awkward_dots, pc.replace_substring(texts, ".", r"\."), texts)
    return pc.if_else(pc.equal(texts, ""), r"\e", texts)


def _is_free_of_specials(value_type: pa.DataType) -> bool:
    """Whether the text of such values never needs an escape: numbers, dates, true and false."""
    return bool(pa.types.is_primitive(value_type) or pa.types.is_decimal(value_type))


def joined(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The members of lists as text, and these joined by bars."""
    # flatten() respects a slice, so the offsets are moved to begin at 0 as well
    offsets = pc.subtract(cells.offsets, cells.offsets[0])
    members = pa.ListArray.from_arrays(offsets, value_text(cells.flatten()))
    return members, pc.binary_join(members, "|")
