"""Orders that values have by what they say: bands of numbers, and words of a scale."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["band_order", "scale_order"]

_MOST_BANDS = 60
_FEWEST = 3
_NUMBER = r"[$€£]?\s*(\d+(?:[.,]\d{3})*(?:[.,]\d+)?)\s*(k)?"
_UNIT = r"(?:\s*(?:%|[a-zäöüéèêáíóúñ]+\.?)){0,4}"
_RANGE = re.compile(
    rf"^[\[(]?\s*{_NUMBER}\s*(?:-|–|—|to|bis|à|a|\.\.|,|;)\s*{_NUMBER}\s*[\])]?{_UNIT}$"
)
_FROM = re.compile(
    rf"^(?:>=?|≥|over|more than|above|from|über|ab|mehr als|plus de|más de)\s*{_NUMBER}{_UNIT}$"
    rf"|^{_NUMBER}\s*(?:\+|and (?:over|more|older|above)|or (?:more|over|older)|und (?:mehr|älter)"
    rf"|et plus|o más|y más){_UNIT}$"
)
_UP_TO = re.compile(
    rf"^(?:<=?|≤|under|less than|below|up to|unter|bis|weniger als|moins de|menos de|hasta)\s*"
    rf"{_NUMBER}{_UNIT}$"
)
_ALONE = re.compile(rf"^{_NUMBER}{_UNIT}$")


def band_order(values: Sequence[str]) -> tuple[str, ...] | None:
    """Order bands of numbers such as ``[10-20)``, ``18-24``, ``<18`` and ``65+``.

    Parameters
    ----------
    values : sequence of str
        The distinct values of a column.

    Returns
    -------
    tuple of str or None
        The values from lowest to highest; None if they are not bands.

    Examples
    --------
    >>> band_order(["65+", "18-24", "<18", "25-64"])
    ('<18', '18-24', '25-64', '65+')
    >>> band_order(["a", "b", "c"]) is None
    True
    """
    if not _FEWEST <= len(values) <= _MOST_BANDS:
        return None
    placed = []
    bands = 0
    for value in values:
        found = _band(value.strip().casefold())
        if found is None:
            return None
        low, high = found
        bands += low < high
        placed.append((low, high, value))
    if bands * 5 < len(values) * 3 or len({(low, high) for low, high, _ in placed}) < _FEWEST:
        return None
    return tuple(value for *_, value in sorted(placed))


def _band(text: str) -> tuple[float, float] | None:
    """The ends of a band; None if the text is none."""
    match = _RANGE.match(text)
    if match is not None:
        low, high = _number(match[1], match[2] or match[4]), _number(match[3], match[4])
        return (low, high) if low <= high else None
    match = _UP_TO.match(text)
    if match is not None:
        return -float("inf"), _number(match[1], match[2])
    match = _FROM.match(text)
    if match is not None:
        groups = [group for group in match.groups() if group]
        return _number(groups[0], groups[1] if len(groups) > 1 else None), float("inf")
    match = _ALONE.match(text)
    if match is not None:
        return (_number(match[1], match[2]),) * 2
    return None


def _number(digits: str, thousand: str | None) -> float:
    plain = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", digits).replace(",", ".")
    return float(plain) * (1000 if thousand else 1)


# Levels from lowest to highest, words of one level separated by "/".
_SCALES = tuple(
    tuple(frozenset(level.split("/")) for level in scale.split("; "))
    for scale in (
        "strongly disagree/disagree strongly/fully disagree; disagree; somewhat disagree/slightly"
        " disagree/rather disagree; neither agree nor disagree/neutral/undecided/neither; somewhat"
        " agree/slightly agree/rather agree; agree; strongly agree/agree strongly/fully agree",
        "never; almost never/very rarely; rarely/seldom; sometimes/occasionally; often/frequently;"
        " usually/very often; almost always; always",
        "very poor/very bad; poor/bad; fair; average/acceptable; good; very good; excellent",
        "very dissatisfied; dissatisfied; somewhat dissatisfied; neutral; somewhat satisfied;"
        " satisfied; very satisfied",
        "very low; low; medium/moderate/average/middle; high; very high",
        "xxs; xs; s; m; l; xl; xxl; xxxl",
        "tiny; small; medium; large; huge/very large",
        "none; mild/light; moderate; severe; very severe/critical",
        "none; primary; lower secondary; secondary/upper secondary; tertiary",
        "not at all; a little/slightly; moderately/somewhat; quite a bit/very; extremely",
        "unimportant/not important; slightly important; moderately important; important;"
        " very important",
        "nie; selten; manchmal/gelegentlich; oft/häufig; sehr oft/meistens; immer",
        "stimme gar nicht zu/stimme überhaupt nicht zu; stimme nicht zu; stimme eher nicht zu;"
        " teils teils/teils, teils/weder noch/neutral; stimme eher zu; stimme zu;"
        " stimme voll zu/stimme voll und ganz zu",
        "sehr schlecht; schlecht; mittel/mittelmäßig/befriedigend; gut; sehr gut",
        "sehr niedrig/sehr gering; niedrig/gering; mittel; hoch; sehr hoch",
        "sehr klein; klein; mittel; groß; sehr groß",
        "keine; leicht; mittel/mäßig; schwer; sehr schwer",
        "jamais; rarement; parfois/quelquefois; souvent; très souvent; toujours",
        "pas du tout d'accord; pas d'accord; plutôt pas d'accord; neutre/ni d'accord ni pas"
        " d'accord; plutôt d'accord; d'accord; tout à fait d'accord",
        "très mauvais; mauvais; moyen; bon; très bon/excellent",
        "très faible; faible; moyen; élevé; très élevé",
        "nunca; raramente/rara vez; a veces; a menudo/frecuentemente; siempre",
        "muy en desacuerdo; en desacuerdo; neutral; de acuerdo; muy de acuerdo",
        "muy malo; malo; regular; bueno; muy bueno/excelente",
        "muy bajo; bajo; medio; alto; muy alto",
        "january/jan; february/feb; march/mar; april/apr; may; june/jun; july/jul; august/aug;"
        " september/sep/sept; october/oct; november/nov; december/dec",
        "januar; februar; märz; april; mai; juni; juli; august; september; oktober; november;"
        " dezember",
        "monday/mon; tuesday/tue; wednesday/wed; thursday/thu; friday/fri; saturday/sat;"
        " sunday/sun",
        "montag/mo; dienstag/di; mittwoch/mi; donnerstag/do; freitag/fr; samstag/sa; sonntag/so",
    )
)


def scale_order(values: Sequence[str]) -> tuple[str, ...] | None:
    """Order the words of a scale: agreement, frequency, quality, size, months.

    Parameters
    ----------
    values : sequence of str
        The distinct values of a column.

    Returns
    -------
    tuple of str or None
        The values from lowest to highest; None if they are no words of one scale, or fewer than
        three levels of it.

    Examples
    --------
    >>> scale_order(["Often", "never", "sometimes"])
    ('never', 'sometimes', 'Often')
    >>> scale_order(["none", "flu", "asthma"]) is None
    True
    """
    for scale in _SCALES:
        level_of = {word: level for level, words in enumerate(scale) for word in words}
        levels = [level_of.get(value.strip().casefold(), -1) for value in values]
        if levels and min(levels) >= 0 and len(set(levels)) >= _FEWEST:
            ordered = sorted(zip(levels, values, strict=True))
            return tuple(value for _, value in ordered)
    return None
