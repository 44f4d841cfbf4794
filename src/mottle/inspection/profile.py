"""Facts about one column on which proposals rest: counts, lengths, what its values look like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.inspection.contents import Held, identifiers_in
from mottle.inspection.names import ColumnName
from mottle.typing import Int32Array, Int64Array
from mottle.utils.arrow import as_text, is_plain

__all__ = ["Profile", "spelling_variants"]

_LOOKED_AT = 2000  # distinct values that patterns are tried on
_LONG_NUMBER = 6  # digits
_MOST = 0.9  # share of them that has to match
_EXACT = 4  # decimals of coordinates that show a house
_LOOKS_LIKE_DATE = re.compile(
    r"(?:\d{1,2}|\d{4})[./-]\d{1,2}[./-]\d{2,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?"
)
_LOOKS_LIKE_NUMBER = re.compile(
    r"[<>≤≥~]?=? ?[+-]?\d{1,8}(?:[.,]\d+)*(?: ?[^\W\d]{1,5}(?:/\w{1,4})?| ?%)?"
)
_DATE_NUMBER = r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$"
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS_PER_SIGN, _WORDS_PER_SIGN = 3, 0.5  # of scripts without spaces between words


@dataclass(frozen=True)
class Profile:
    """A column: its codes, its distinct values and what they look like."""

    name: str
    type: pa.DataType
    codes: Int32Array  # [rows]: the place of each value among the distinct ones, the missing last
    values: pa.Array  # the distinct values; without the missing one
    nulls: int

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray) -> Profile | None:
        """Count the values of a column; None for structures and lists."""
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        if not is_plain(column.type):
            return None
        if pa.types.is_null(column.type):
            empty = pa.array([], pa.string())
            return cls(name, column.type, np.zeros(len(column), np.int32), empty, len(column))
        if pa.types.is_binary(column.type) or pa.types.is_time(column.type):
            column = as_text(column, name)
        encoded = column.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries().combine_chunks()
        values = encoded.dictionary
        codes = np.asarray(pc.fill_null(encoded.indices, len(values)), np.int32)
        return cls(name, column.type, codes, values, encoded.null_count)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def filled(self) -> int:
        """Number of rows with a value."""
        return self.rows - self.nulls

    @property
    def distinct(self) -> int:
        """Number of different values, not counting the missing one."""
        return len(self.values)

    @property
    def size(self) -> int:
        """Number of codes, the missing value included."""
        return self.distinct + (self.nulls > 0)

    @cached_property
    def counts(self) -> Int64Array:
        """Number of rows of each code."""
        return np.asarray(np.bincount(self.codes, minlength=self.size), np.int64)

    @property
    def singles(self) -> int:
        """Number of rows whose value occurs once."""
        return int((self.counts == 1).sum())

    @cached_property
    def named(self) -> ColumnName:
        """What the name says."""
        return ColumnName.of(self.name)

    @property
    def is_text(self) -> bool:
        """Whether values are text."""
        return bool(pa.types.is_string(self.type) or pa.types.is_binary(self.type))

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers."""
        return bool(pa.types.is_integer(self.type))

    @property
    def is_number(self) -> bool:
        """Whether values are numbers."""
        return self.is_whole or bool(
            pa.types.is_floating(self.type) or pa.types.is_decimal(self.type)
        )

    @property
    def is_date(self) -> bool:
        """Whether values are days or points in time."""
        return bool(pa.types.is_date(self.type) or pa.types.is_timestamp(self.type))

    @cached_property
    def texts(self) -> list[str]:
        """Some of the distinct values of a text column."""
        stride = max(1, self.distinct // _LOOKED_AT)
        places = pa.array(range(0, self.distinct, stride), pa.int64())
        return list(self.values.take(places).to_pylist()) if self.is_text else []

    @property
    def mean_length(self) -> float:
        """Mean number of letters of a distinct text."""
        more = _LETTERS_PER_SIGN - 1
        lengths = [len(text) + more * len(_UNSPACED.findall(text)) for text in self.texts]
        return float(np.mean(lengths)) if lengths else 0.0

    @property
    def mean_words(self) -> float:
        """Mean number of words of a distinct text."""
        words = [
            len(text.split()) + _WORDS_PER_SIGN * len(_UNSPACED.findall(text))
            for text in self.texts
        ]
        return float(np.mean(words)) if words else 0.0

    @cached_property
    def held(self) -> Held | None:
        """The identifier of HIPAA's list that cells hold; None if there is none."""
        if self.is_text:
            texts = pc.utf8_trim_whitespace(self.values)
        elif self.is_number and self.is_whole_valued:
            texts = pc.cast(pc.cast(self.values, pa.decimal128(38, 0), safe=False), pa.string())
        else:
            return None
        return identifiers_in(texts, self.counts[: self.distinct])

    @property
    def is_whole_valued(self) -> bool:
        """Whether numbers are whole, also as floats, as of a column with missing values."""
        if self.is_whole:
            return True
        if not self.is_number or self.distinct == 0:
            return False
        values = pc.cast(self.values, pa.float64(), safe=False)
        whole = pc.and_(pc.equal(pc.floor(values), values), pc.less(pc.abs(values), 1e18))
        return bool(pc.all(whole).as_py())

    @cached_property
    def looks_like_coordinates(self) -> bool:
        """Whether broken numbers are as exact as coordinates of a house, and in their limits."""
        if not self.is_number or self.is_whole or self.distinct == 0:
            return False
        ends = pc.min_max(pc.cast(self.values, pa.float64(), safe=False)).as_py()
        if not -180 <= ends["min"] <= ends["max"] <= 180:
            return False
        stride = max(1, self.distinct // _LOOKED_AT)
        shown = pc.cast(self.values.take(list(range(0, self.distinct, stride))), pa.string())
        exact = pc.sum(pc.match_substring_regex(shown, rf"\.\d{{{_EXACT},}}$")).as_py() or 0
        return bool(exact >= 0.5 * len(shown))

    @property
    def looks_like_dates(self) -> bool:
        """Whether texts are dates in some format."""
        return self._match(_LOOKS_LIKE_DATE)

    @property
    def looks_like_numbers(self) -> bool:
        """Whether texts are numbers in some notation, perhaps with a unit or a sign before."""
        return self._match(_LOOKS_LIKE_NUMBER)

    def _match(self, pattern: re.Pattern[str]) -> bool:
        found = sum(pattern.fullmatch(text.strip()) is not None for text in self.texts)
        return bool(self.texts) and found >= _MOST * len(self.texts)

    @property
    def common_length(self) -> int:
        """Digits that whole numbers all have, if these are six or more; else 0, also for days."""
        if not self.is_whole or self.distinct == 0:
            return 0
        ends = pc.min_max(self.values).as_py()
        digits = len(str(ends["min"]))
        if ends["min"] <= 0 or digits != len(str(ends["max"])) or digits < _LONG_NUMBER:
            return 0
        days = pc.match_substring_regex(pc.cast(self.values, pa.string()), _DATE_NUMBER)
        return 0 if pc.all(days).as_py() else digits

    @cached_property
    def middle(self) -> float:
        """The median of a numeric column; 0 where there are no values."""
        if not self.is_number or self.filled == 0:
            return 0.0
        numbers = np.asarray(pc.cast(self.values, pa.float64(), safe=False))
        order = np.argsort(numbers)
        before = np.cumsum(self.counts[: self.distinct][order])
        return float(numbers[order][np.searchsorted(before, self.filled / 2)])


def spelling_variants(profile: Profile) -> Iterator[tuple[str, ...]]:
    """Yield groups of values that differ only in capitals or spaces around them.

    Parameters
    ----------
    profile : Profile
        A column.

    Yields
    ------
    tuple of str
        Values that are probably meant to be the same.

    Examples
    --------
    >>> column = Profile.of("sex", pa.chunked_array([["m", "M", "w", "W ", "d"]]))
    >>> list(spelling_variants(column))
    [('M', 'm'), ('W ', 'w')]
    """
    if not profile.is_text:
        return
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(profile.values))
    counted = pc.value_counts(plain)
    repeated = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
    if len(repeated) == 0:
        return
    groups: dict[str, list[str]] = {}
    mask = pc.is_in(plain, value_set=repeated)
    pairs = zip(
        plain.filter(mask).to_pylist(), profile.values.filter(mask).to_pylist(), strict=True
    )
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    for values in groups.values():
        yield tuple(sorted(values))
