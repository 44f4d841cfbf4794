"""Facts about one column on which proposals rest: counts, lengths, what its values look like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.inspection.names import Words, words_of
from mottle.typing import Int32Array, Int64Array
from mottle.utils.arrow import as_text, is_plain

__all__ = ["Profile", "spelling_variants"]

_LOOKED_AT = 2000  # distinct values that patterns are tried on
_LONG_NUMBER = 6  # digits
_MOST = 0.9  # share of them that has to match

# HIPAA's identifiers by what values look like.
_SHAPES = (
    ("e-mail addresses", re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")),
    ("web addresses (URLs)", re.compile(r"(https?://|www\.)\S+")),
    ("IP addresses", re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")),
    ("device identifiers", re.compile(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}")),
    ("social security numbers", re.compile(r"\d{3}-\d{2}-\d{4}")),
    ("account numbers", re.compile(r"[A-Z]{2}\d{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}")),
    ("telephone numbers", re.compile(r"(?:\+|00)\d[\d ()/-]{6,}|\(\d{2,5}\) ?[\d -]{5,}")),
    (
        "other unique identifying numbers",
        re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32,128}", re.IGNORECASE),
    ),
)
_LOOKS_LIKE_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?")


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
    def words(self) -> Words:
        """The words of the name."""
        return words_of(self.name)

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
        """Mean number of characters of a distinct text."""
        return float(np.mean([len(text) for text in self.texts])) if self.texts else 0.0

    @property
    def mean_words(self) -> float:
        """Mean number of words of a distinct text."""
        return float(np.mean([len(text.split()) for text in self.texts])) if self.texts else 0.0

    @cached_property
    def shape(self) -> str:
        """The identifier of HIPAA's list that nearly all values look like; empty if none."""
        for title, pattern in _SHAPES:
            if self._match(pattern):
                return title
        return ""

    @property
    def looks_like_dates(self) -> bool:
        """Whether texts are dates in some format."""
        return self._match(_LOOKS_LIKE_DATE)

    def _match(self, pattern: re.Pattern[str]) -> bool:
        found = sum(pattern.fullmatch(text.strip()) is not None for text in self.texts)
        return bool(self.texts) and found >= _MOST * len(self.texts)

    @property
    def has_one_length(self) -> bool:
        """Whether whole numbers all have the same number of digits, six or more."""
        if not self.is_whole or self.distinct == 0:
            return False
        ends = pc.min_max(self.values).as_py()
        return ends["min"] > 0 and len(str(ends["min"])) == len(str(ends["max"])) >= _LONG_NUMBER

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
