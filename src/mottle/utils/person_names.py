"""One spelling for the values of a column that names people, so that variants are one person.

Identifiers are padded, changed in case and read as numbers or as text on their way from one system
to the next. Taking two spellings of one person for two people is dangerous: they would be counted
twice towards k, or published anew by a further release. Taking two people for one is not.
"""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, UsageError

__all__ = ["check_names_people", "one_name", "person_names"]

_WHOLE = re.compile(r"(-?)0*([0-9]+?)(?:\.0+)?")


def one_name(text: str) -> str:
    """Return one spelling of a text that names somebody.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    str
        Without surrounding white space, in compatible characters (NFKC), without differences of
        case; whole numbers without leading zeros or a fraction of zero.

    Examples
    --------
    >>> [one_name(text) for text in (" P1", "p1 ", "0042", "42.0", "-0", "４２", "1.50")]
    ['p1', 'p1', '42', '42', '0', '42', '1.50']
    """
    if text.isascii():
        text = text.strip().lower()
    else:
        text = unicodedata.normalize("NFKC", text).casefold()
        text = unicodedata.normalize("NFKC", text).strip()
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        return text
    sign, digits = whole.groups()
    return digits if digits == "0" else sign + digits


def check_names_people(column: str, kind: pa.DataType, option: str) -> None:
    """Refuse a column whose cells are lists or structs.

    Parameters
    ----------
    column : str
        The column's name.
    kind : pa.DataType
        Its type.
    option : str
        The option that named it.

    Raises
    ------
    UsageError
        Cells of this type do not name anybody.
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind):
        raise UsageError(
            f"Column '{column}' ({option}) holds {kind} values, which do not name people.",
            "Name a column of texts or numbers, with one value in each row.",
        )


def person_names(values: pa.ChunkedArray, column: str, option: str) -> pa.ChunkedArray:
    """Return one spelling of every value of a column that names people.

    Parameters
    ----------
    values : pa.ChunkedArray
        The cells.
    column : str
        The column's name.
    option : str
        The option that named it, for messages.

    Returns
    -------
    pa.ChunkedArray
        Texts, missing where a cell is missing, not a number, or white space only.

    Raises
    ------
    UsageError
        The column holds lists or structs.
    DataError
        It holds bytes that are not text, unless all have the same length (then they are taken as
        they are, as the 16 bytes of a UUID).

    Examples
    --------
    >>> person_names(pa.chunked_array([[7.0, -0.0, float("nan")]]), "who", "--person").to_pylist()
    ['7', '0', None]
    """
    check_names_people(column, values.type, option)
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if pa.types.is_integer(values.type):
        return pc.cast(values, pa.string())
    if pa.types.is_fixed_size_binary(values.type):
        coded = values.combine_chunks().dictionary_encode()
        spelled = [None if value is None else value.hex() for value in coded.dictionary.to_pylist()]
        return _decoded(coded, spelled)
    if _is_binary(values.type):
        try:
            values = pc.cast(values, pa.large_string())
        except pa.ArrowInvalid:
            raise DataError(
                f"Column '{column}' ({option}) holds bytes that are not text in UTF-8.",
                "Convert it to text, or to bytes of a fixed length.",
            ) from None
    if not (pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        values = pc.cast(values, pa.large_string())
    coded = values.combine_chunks().dictionary_encode()
    return _decoded(coded, [_spelled(value) for value in coded.dictionary.to_pylist()])


def _spelled(value: str | float | Decimal | None) -> str | None:
    if value is None or value != value:  # not a number
        return None
    if isinstance(value, str):
        return one_name(value) or None
    whole = math.isfinite(value) and value == int(value)
    return str(int(value)) if whole else str(value)


def _decoded(coded: pa.DictionaryArray, spelled: list[str | None]) -> pa.ChunkedArray:
    names = pa.array(spelled, pa.string())
    return pa.chunked_array([names.take(coded.indices)])


def _is_binary(kind: pa.DataType) -> bool:
    of_type = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(check(kind) for check in of_type)
