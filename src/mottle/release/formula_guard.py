"""Cells of CSV files that a spreadsheet would take for formulas: marked by an apostrophe.

A text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break (or with the full-width
forms of these characters) is run by spreadsheets when a CSV file is opened. In the CSV files of a
release such a text gets an apostrophe in front, which spreadsheets show and do not run. So that the
rule can be undone, a text that begins with apostrophes followed by such a character gets one more.
It holds for columns whose values are text and for the names of columns, not for numbers and dates:
``-5`` stays. Parquet files and databases hold the texts as they are.

>>> guard_text("=1+1"), guard_text("'=x"), guard_text("'t Hooft"), guard_text("a=b")
("'=1+1", "''=x", "'t Hooft", 'a=b')
>>> [unguard_text(guard_text(text)) for text in ("=1+1", "'=x", "'t Hooft", "a=b")]
['=1+1', "'=x", "'t Hooft", 'a=b']
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["GUARD", "guard", "guard_text", "guarded_table", "unguard", "unguard_text"]

GUARD = "'"
_STARTS = "=+@\t\r\n\uff1d\uff0b\uff0d\uff20-"  # a hyphen is literal at the end of a class
_TO_GUARD = f"^('*[{_STARTS}])"
_GUARDED = f"^'('*[{_STARTS}])"


def guard_text(text: str) -> str:
    """Return a text as CSV files of a release hold it.

    Parameters
    ----------
    text : str
        A name or a cell.

    Returns
    -------
    str
        The text, with an apostrophe in front if it begins like a formula.
    """
    return re.sub(r"\A" + _TO_GUARD[1:], rf"{GUARD}\1", text)


def unguard_text(text: str) -> str:
    """Return what `guard_text` was given.

    Parameters
    ----------
    text : str
        A name or a cell of a CSV file of a release.

    Returns
    -------
    str
        The original text.
    """
    return re.sub(r"\A" + _GUARDED[1:], r"\1", text)


def guard(texts: pa.Array) -> pa.Array:
    """Return texts as CSV files of a release hold them.

    Parameters
    ----------
    texts : pyarrow.Array
        Texts of any string type; missing ones stay missing.

    Returns
    -------
    pyarrow.Array
        The same type.
    """
    if not pc.any(pc.match_substring_regex(texts, _TO_GUARD)).as_py():
        return texts
    return pc.replace_substring_regex(texts, _TO_GUARD, rf"{GUARD}\1", max_replacements=1)


def unguard(texts: pa.Array) -> pa.Array:
    """Return what `guard` was given.

    Parameters
    ----------
    texts : pyarrow.Array
        Texts of a CSV file of a release.

    Returns
    -------
    pyarrow.Array
        The same type.
    """
    if not pc.any(pc.match_substring_regex(texts, _GUARDED)).as_py():
        return texts
    return pc.replace_substring_regex(texts, _GUARDED, r"\1", max_replacements=1)


def guarded_table(table: pa.Table) -> pa.Table:
    """Return a table with its texts and names as CSV files hold them.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of plain values.

    Returns
    -------
    pyarrow.Table
        The same rows.
    """
    columns = [
        pc.cast(column, pa.large_string()) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    arrays = [
        guard(pc.cast(column, pa.large_string()))
        if any(fits(column.type) for fits in is_text)
        else column
        for column in columns
    ]
    return pa.table(arrays, names=[guard_text(name) for name in table.column_names])
