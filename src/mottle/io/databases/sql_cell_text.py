r"""The text grammar of `mottle.release.cell_text` as SQL expressions, for the readable views.

All functions take and return SQL. They use only what PostgreSQL, SQLite and DuckDB have in common;
what differs between them, the text of a value and the members of a set, is passed in.
"""

from __future__ import annotations

__all__ = ["between", "braces", "one_of", "value", "worlds"]


def value(text: str) -> str:
    """Write a text value with the grammar's escapes; NULL stays NULL.

    Parameters
    ----------
    text : str
        SQL of the text.

    Returns
    -------
    str
        SQL of the escaped text.
    """
    escaped = text
    for special in ("\\", "{", "|", "}"):
        escaped = f"replace({escaped}, '{special}', '\\{special}')"
    return (
        f"CASE WHEN {text} = '' THEN '\\e'"
        f" WHEN {text} LIKE '%..%' OR {text} LIKE '.%' OR {text} LIKE '%.'"
        f" THEN replace({escaped}, '.', '\\.') ELSE {escaped} END"
    )


def between(
    lowest: str,
    highest: str,
    or_missing: str | None,
    tails: tuple[str | None, str | None] = (None, None),
) -> str:
    """Write a range; NULL where only missing is possible.

    Parameters
    ----------
    lowest, highest : str
        SQL of the texts of its ends.
    or_missing : str or None
        SQL that is true where the cell may be missing.
    tails : tuple of str or None
        The texts of the ends that stand for all smaller and for all larger values.

    Returns
    -------
    str
        SQL of the range as text.
    """
    bottom, top = (None if tail is None else f"'{tail}'" for tail in tails)
    cases = [f"WHEN {lowest} = {bottom} AND {highest} = {top} THEN '..'"] if bottom and top else []
    if bottom:
        cases.append(f"WHEN {lowest} = {bottom} THEN '..' || {highest}")
    if top:
        cases.append(f"WHEN {highest} = {top} THEN {lowest} || '+'")
    cases.append(f"WHEN {lowest} = {highest} THEN {lowest}")
    written = f"CASE {' '.join(cases)} ELSE {lowest} || '..' || {highest} END"
    if or_missing is None:
        return written
    return f"CASE WHEN {or_missing} THEN '{{' || {written} || '|}}' ELSE {written} END"


def one_of(size: str, first: str, joined: str) -> str:
    """Write a set of values.

    Parameters
    ----------
    size : str
        SQL of the number of members.
    first : str
        SQL of the text of the first member.
    joined : str
        SQL of the texts of all members, joined by bars.

    Returns
    -------
    str
        SQL of the set as text; NULL where only missing is possible.
    """
    several = braces(joined)
    return f"nullif(CASE {size} WHEN 1 THEN coalesce({first}, '') ELSE {several} END, '')"


def braces(joined: str) -> str:
    """Write members that are joined by bars as a set.

    Parameters
    ----------
    joined : str
        SQL of the joined texts.

    Returns
    -------
    str
        SQL of the set in braces.
    """
    return f"'{{' || coalesce({joined}, '') || '}}'"


def worlds(base: str, joined_base: str, joined: str, or_missing: str | None) -> tuple[str, str]:
    """Write a set of items: its base set and its uncertain items.

    Parameters
    ----------
    base : str
        SQL of the base set, for the test whether it is NULL.
    joined_base, joined : str
        SQL of the base items and of the uncertain items, joined by bars.
    or_missing : str or None
        SQL that is true where the cell may be missing.

    Returns
    -------
    tuple of str
        SQL of the base set, NULL where only missing is possible, and of the uncertain items.
    """
    if or_missing is None:
        return braces(joined_base), braces(joined)
    bar = f"CASE WHEN {or_missing} THEN '|' ELSE '' END"
    known = f"CASE WHEN {base} IS NOT NULL THEN {braces(joined_base)} END"
    return known, f"'{{' || coalesce({joined}, '') || {bar} || '}}'"
