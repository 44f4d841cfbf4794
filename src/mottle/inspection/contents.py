"""Identifiers inside the cells of a column, whatever it is called: addresses, numbers, names.

Some are unmistakable, so that one cell is enough; of others some share of the cells has to look
like them. Cells may hold more than the identifier: ``User 3 <u3@x.org>``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.typing import Int64Array

__all__ = ["GEOGRAPHIC", "UNIQUE_NUMBERS", "Held", "identifiers_in", "luhn_holds"]

GEOGRAPHIC = "geographic subdivisions smaller than a state"
UNIQUE_NUMBERS = "other unique identifying numbers"
_ACCOUNTS = "account numbers"
_ONE_CELL = 0.0  # unmistakable
_SOME = 0.002  # share of the rows
_MANY = 0.2
_MOST = 0.9
_CHECKED = 1000  # long numbers whose check digit is tried
_CARD_DIGITS = range(13, 20)

# Regular expressions of RE2, which has no look-around; so they take a character more at both ends.
_APART = r"(?:^|[^0-9A-Za-z])(?:{})(?:[^0-9A-Za-z]|$)"
_PHONE_APART = r"(?:^|[^0-9.,])(?:{})(?:[^0-9]|$)"
_NO_PHONES = (  # days, codes of drugs, postcodes of the United States
    r"\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{4}"
    r"|^\d{4,5}-\d{3,4}-\d{1,2}$|^\d{5}-\d{4}$"
)
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_NATIONAL = (
    r"\d{3}-\d{2}-\d{4}",  # United States
    r"\d{3}\.\d{3}\.\d{3}-\d{2}",  # Brazil
    r"\d{3}-\d{3}-\d{3}[ -]\d{2}",  # Russia
    r"\d{6}-[1-8]\d{6}",  # Korea
    r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]",  # Italy
    r"(?:\d{8}|[XYZ]\d{7})-?[A-Z]",  # Spain
    r"[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]",  # United Kingdom
    r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3}(?: ?\d{2})?",  # France
    r"\d{17}[\dXx]",  # China
    r"\d{6}(?:\d{2})?[-+]\d{4}",  # Sweden, Denmark
    r"756\.\d{4}\.\d{4}\.\d{2}",  # Switzerland
    r"[A-Z]\d{9}",  # Germany, of health insurance
)
_PHONES = (
    r"(?:\+|00)[1-9](?:[ ()/.-]{0,2}\d){6,14}",
    r"0[1-9](?:[ /.()-]{0,2}\d){7,11}",
    r"\(?[2-9]\d{2}\)?[ .-]{1,2}\d{3}[ .-]\d{4}",
    r"\(\d{2,5}\) ?\d[\d -]{4,}",
    r"1[3-9]\d[ -]\d{4}[ -]\d{4}",
    r"[1-9]\d{2}[ -]\d{3}[ -](?:\d{3}|\d{2}[ -]\d{2})",
)
_DEGREES = r"[+-]?\d{1,3}[.,]\d{3,}°? ?[NSEWnsew]?"
_TITLES = r"(?:Mr|Mrs|Ms|Herr|Herrn|Frau|Mme|Mlle|Monsieur|Madame|Sra|Señora?|Sig\.ra|г-н|г-жа)\.?"

_IN_TEXT: tuple[tuple[str, str, float], ...] = (
    ("e-mail addresses", r"[^@\s<>()\[\],;:]+@[^@\s<>()\[\],;:]+\.\pL{2,}", _ONE_CELL),
    ("e-mail addresses", r"(?i)[\w.+-]+ ?[\[({]at[\])}] ?[\w-]+", _ONE_CELL),
    ("web addresses (URLs)", r"(?i)(?:https?://|www\.)\S+", _SOME),
    ("IP addresses", rf"(?:^|[^\d.])(?:{_BYTE}\.){{3}}{_BYTE}(?:[^\d.]|$)", _SOME),
    ("IP addresses", _APART.format(r"(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"), _ONE_CELL),
    ("device identifiers", _APART.format(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}"), _SOME),
    ("social security numbers", _APART.format("|".join(_NATIONAL)), _SOME),
    (
        _ACCOUNTS,
        _APART.format(r"[A-Z]{2}\d{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}"),
        _SOME,
    ),
    (
        _ACCOUNTS,
        _APART.format(r"\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,7}|3\d{3}[ -]\d{6}[ -]\d{5}"),
        _SOME,
    ),
    (
        UNIQUE_NUMBERS,
        _APART.format(r"(?i:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32,128})"),
        _ONE_CELL,
    ),
    (GEOGRAPHIC, rf"^\(? ?{_DEGREES} ?[,;/ ] ?{_DEGREES} ?\)?$", _SOME),
    (GEOGRAPHIC, r"\d{1,3} ?° ?\d{1,2} ?['′]|(?i:\bpoint ?\()", _SOME),
    ("names", rf"(?:^|[^\pL]){_TITLES} (?:(?:Dr|Prof)\.? )*\p{{Lu}}[\pL'-]+", _SOME),
    ("names", r"(?:^|[^\pL])(?:Dr|Prof)\. (?:Dr\. )?\p{Lu}\p{Ll}+", _SOME),
)
_TELEPHONES = ("telephone numbers", _PHONE_APART.format("|".join(_PHONES)), _SOME)
_PAIRS = ("telephone numbers", r"^\d{2}(?: \d{2}){3,4}$", _MANY)
_LONG_IN_TEXT = (UNIQUE_NUMBERS, r"(?:^|[^0-9.,])\d{10,}(?:[^0-9.,]|$)", _SOME)
_LONG_ALONE = (UNIQUE_NUMBERS, r"^\d{10,}$", 0.5)
_NINE_DIGITS = (UNIQUE_NUMBERS, r"^\d{9}$", _MOST)
_MAY_HOLD = (  # what every identifier has, to look at few values
    r"@|[\[({](?i:at)|°|/|www|\d\D*\d\D*\d\D*\d\D*\d\D*\d|(?i:[0-9a-f]{8})|\. ?\p{Lu}| \p{Lu}"
    r"|(?i:point)"
)


@dataclass(frozen=True)
class Held:
    """An identifier that cells of a column hold."""

    title: str  # the identifier of HIPAA's list
    share: float  # of the rows with a value

    @property
    def in_most(self) -> bool:
        """Whether nearly all cells hold it."""
        return self.share >= _MOST

    @property
    def in_words(self) -> str:
        """Say what cells hold and how many of them do; follows "because"."""
        what = "numbers as long as those of telephones, accounts or people"
        what = what if self.title == UNIQUE_NUMBERS else _WORDS.get(self.title, self.title)
        if self.in_most:
            return f"its values look like {what}"
        share = f"{self.share:.1%}" if self.share >= 0.001 else "some"
        return (
            f"{share} of its cells hold {what}; to publish the rest, take these out of the file"
            " and inspect it again"
        )


_WORDS = {GEOGRAPHIC: "coordinates", "names": "names of people"}


def identifiers_in(values: pa.Array, counts: Int64Array) -> Held | None:
    """Find identifiers in the distinct values of a column.

    Parameters
    ----------
    values : pyarrow.Array
        Text, or whole numbers as text.
    counts : Int64Array
        The number of rows of each.

    Returns
    -------
    Held or None
        The identifier that most rows hold; None if there is none.

    Examples
    --------
    >>> counts = np.ones(3, np.int64)
    >>> identifiers_in(pa.array(["flu", "asthma, ask a.b@c.org", "none"]), counts)
    Held(title='e-mail addresses', share=0.3333333333333333)
    >>> identifiers_in(pa.array(["flu", "asthma", "2020-01-31"]), counts) is None
    True
    """
    rows = int(counts.sum())
    likely = pc.match_substring_regex(values, _MAY_HOLD)
    if rows == 0 or not pc.any(likely).as_py():
        return None
    chosen = values.filter(likely)
    weights = counts[np.asarray(likely)]
    found = [
        Held(title, share)
        for title, share, least in _shares(chosen, weights, rows)
        if share > 0 and share >= least
    ]
    best = max(found, key=lambda held: held.share, default=None)
    if best is not None and best.title == UNIQUE_NUMBERS and _are_cards(chosen):
        return Held(_ACCOUNTS, best.share)
    return best


def _shares(values: pa.Array, weights: Int64Array, rows: int) -> Iterator[tuple[str, float, float]]:
    """Yield every identifier, the share of the rows that hold it, and the least share of it."""
    other = pc.replace_substring_regex(values, _NO_PHONES, "")
    digits_only = pc.all(pc.match_substring_regex(values, r"^\s*-?\d+\s*$")).as_py()
    tried = [(values, shape) for shape in (*_IN_TEXT, _PAIRS, _NINE_DIGITS)]
    tried += [(other, _TELEPHONES), (other, _LONG_ALONE if digits_only else _LONG_IN_TEXT)]
    for texts, (title, pattern, least) in tried:
        mask = np.asarray(pc.match_substring_regex(texts, pattern))
        yield title, float(weights[mask].sum() / rows), least


def _are_cards(values: pa.Array) -> bool:
    """Whether most long numbers have the length and the check digit of payment cards."""
    digits = pc.replace_substring_regex(values.slice(0, _CHECKED), r"\D", "").to_pylist()
    long = [text for text in digits if len(text) in _CARD_DIGITS]
    return bool(long) and 2 * sum(map(luhn_holds, long)) > len(digits)


def luhn_holds(digits: str) -> bool:
    """Tell whether the last digit checks the others, as that of payment cards does.

    Parameters
    ----------
    digits : str
        The digits of a number.

    Returns
    -------
    bool
        Whether their Luhn sum is a multiple of ten.

    Examples
    --------
    >>> luhn_holds("4111111111111111"), luhn_holds("4111111111111112")
    (True, False)
    """
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(digit // 10 + digit % 10 for digit in doubled) % 10 == 0
