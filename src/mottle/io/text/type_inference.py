"""Types of text columns: the narrowest type that keeps every cell as it was written.

A column of numbers has a type only if the release would print every cell as it was written, apart
from spaces around it: whole numbers (``-5``, not ``+5`` or ``007``), numbers in their shortest
notation (``2.5``, not ``2.50``), or numbers that all have the same number of decimals (``250.00``).
In another notation the same holds apart from its marks: ``1.250,50`` is printed as ``1250.50``.
Points in time are the exception: they are known by ISO 8601 and printed in one notation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from mottle.io.text.notation import check_marks, date_formats, dates_in, plain_numbers
from mottle.schema.reading import ReadOptions

__all__ = ["Attempt", "blank_out", "infer_type", "number_types", "possible_types", "single_types"]

_PLAIN_NOTATION = ReadOptions()
PROBED_CELLS = 500  # of a column, tried before all of them

Attempt = Callable[[pa.ChunkedArray], pa.ChunkedArray | None]  # the typed cells; None: no fit


def blank_out(column: pa.ChunkedArray, words: Sequence[str]) -> pa.ChunkedArray:
    """Make cells of a text column missing that hold one of the words.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        A text column.
    words : sequence of str
        The words; spaces around them and around cells do not matter.

    Returns
    -------
    pyarrow.ChunkedArray
        The column with these cells missing.

    Examples
    --------
    >>> blank_out(pa.chunked_array([["a", " ?", "NA"]]), ["?"]).to_pylist()
    ['a', None, 'NA']
    """
    if not words:
        return column
    value_set = pa.array([word.strip() for word in words], pa.string())
    found = pc.is_in(pc.utf8_trim_whitespace(column), value_set=value_set)
    return pc.if_else(found, pa.scalar(None, pa.string()), column)


def infer_type(column: pa.ChunkedArray, options: ReadOptions = _PLAIN_NOTATION) -> pa.ChunkedArray:
    """Give a text column the narrowest type that keeps all of its cells.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        A text column.
    options : ReadOptions
        How numbers and dates are written.

    Returns
    -------
    pyarrow.ChunkedArray
        The typed column, or the same one if only text keeps its cells.

    Examples
    --------
    >>> infer_type(pa.chunked_array([["1", None, " 2"]])).type
    DataType(int64)
    >>> infer_type(pa.chunked_array([["01234", "98765"]])).type
    DataType(string)
    >>> infer_type(pa.chunked_array([["1.50", "12.25"]])).type
    Decimal128Type(decimal128(38, 2))
    """
    if column.null_count == len(column):
        return column
    cells = pc.ascii_trim_whitespace(column)
    # A cast that fails on many cells is slow, so a few cells from all parts are tried first.
    stride = len(cells) // PROBED_CELLS
    places = pa.array(range(0, len(cells), max(stride, 1)), pa.int64())
    probe = cells.take(places) if stride > 1 else None
    for attempt in _attempts(options):
        if probe is not None and attempt(probe) is None:
            continue
        if (typed := attempt(cells)) is not None:
            return typed
    return column


def possible_types(column: pa.ChunkedArray, among: Sequence[Attempt]) -> list[Attempt]:
    """Find the types that every cell of a text column can have; for files read in parts.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        A part of a text column.
    among : sequence of Attempt
        The types that are still possible.

    Returns
    -------
    list of Attempt
        Those that fit this part, in the same order.

    Examples
    --------
    >>> cells = pa.chunked_array([["1", "2.5"]])
    >>> [attempt(cells).type for attempt in possible_types(cells, single_types())]
    [DataType(double)]
    """
    if column.null_count == len(column):
        return list(among)
    cells = pc.ascii_trim_whitespace(column)
    return [attempt for attempt in among if attempt(cells) is not None]


def single_types(options: ReadOptions = _PLAIN_NOTATION) -> list[Attempt]:
    """Return one attempt for every type that `infer_type` may find.

    Parameters
    ----------
    options : ReadOptions
        How numbers and dates are written.

    Returns
    -------
    list of Attempt
        In the order in which `infer_type` tries them.
    """
    return [single for attempt in _attempts(options) for single in _singles(attempt)]


def number_types(options: ReadOptions = _PLAIN_NOTATION) -> list[Attempt]:
    """Return one attempt for every type of numbers.

    Parameters
    ----------
    options : ReadOptions
        How numbers are written.

    Returns
    -------
    list of Attempt
        In the order in which `infer_type` tries them.
    """
    return [single for attempt in _number_attempts(options) for single in _singles(attempt)]


def _singles(attempt: Attempt) -> list[Attempt]:
    """One attempt for every type that an attempt may find."""
    if attempt is _decimals:
        return [partial(_fixed, scale=scale) for scale in range(1, MOST_DECIMALS + 1)]
    if attempt is _dates_and_times:
        return [partial(_cast, kind=kind) for kind in _TIMES]
    if isinstance(attempt, partial) and attempt.func is _in_notation:
        singles = _singles(attempt.keywords["attempt"])
        return [partial(attempt, attempt=single) for single in singles]
    return [attempt]


def _attempts(options: ReadOptions) -> list[Attempt]:
    """All attempts for a notation."""
    dates = (partial(dates_in, how=how) for how in date_formats(options.date_format))
    return [*_number_attempts(options), _booleans, _dates_and_times, *dates]


def _number_attempts(options: ReadOptions) -> list[Attempt]:
    """Attempts for numbers; other marks than a decimal point replace it."""
    check_marks(options.decimal, options.thousands)
    plain: list[Attempt] = [_integers, _floats, _decimals]
    if options.decimal in (None, ".") and options.thousands is None:
        return plain
    marked = (partial(_in_notation, options=options, attempt=attempt) for attempt in plain)
    return [_integers, *marked]


def _in_notation(
    cells: pa.ChunkedArray, options: ReadOptions, attempt: Attempt
) -> pa.ChunkedArray | None:
    """Try numbers that are written with other marks; the release prints them with a point."""
    plain = plain_numbers(cells, options.decimal, options.thousands)
    return None if plain is None else attempt(plain)


def _integers(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    typed = _cast(cells, pa.int64())
    return typed if typed is not None and _prints_back(cells, typed) else None


def _floats(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Refuse what is not printed as it was written, infinities and NaN."""
    typed = _cast(cells, pa.float64())
    if typed is None or _any_matches(cells, r"^-?(?:0[0-9]|[0-9]{16,}$)|^-0$"):
        return None
    if pc.any(pc.invert(pc.is_finite(typed))).as_py():
        return None
    return typed if _prints_back(cells, typed) else None


def _decimals(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Numbers that all have the same number of decimals, such as 250.00."""
    if cells.null_count == len(cells):
        return _fixed(cells, 1)
    first = cells.drop_null()[0].as_py()
    scale = len(first) - first.find(".") - 1
    return _fixed(cells, scale) if "." in first and 1 <= scale <= MOST_DECIMALS else None


def _fixed(cells: pa.ChunkedArray, scale: int) -> pa.ChunkedArray | None:
    pattern = rf"^-?(?:0|[1-9][0-9]*)\.[0-9]{{{scale}}}$"
    if cells.null_count == len(cells) or not _all_match(cells, pattern):
        return None if cells.null_count < len(cells) else _cast(cells, pa.decimal128(38, scale))
    typed = _cast(cells, pa.decimal128(38, scale))
    return typed if typed is not None and _prints_back(cells, typed) else None


def _booleans(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    typed = _cast(cells, pa.bool_())
    return typed if typed is not None and _prints_back(cells, typed) else None


def _dates_and_times(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Try dates, then timestamps without and with a time zone, coarse units first."""
    return next((typed for kind in _TIMES if (typed := _cast(cells, kind)) is not None), None)


MOST_DECIMALS = 18
_TIMES = [pa.date32()] + [
    pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "us", "ns")
]


def _prints_back(cells: pa.ChunkedArray, typed: pa.ChunkedArray) -> bool:
    """Whether the release would show every cell as it was written."""
    return bool(pc.all(pc.equal(pc.cast(typed, pa.string()), cells)).as_py() in (True, None))


def _cast(cells: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return pc.cast(cells, kind)
    except pa.ArrowInvalid:
        return None


def _any_matches(cells: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())


def _all_match(cells: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern)).as_py())
