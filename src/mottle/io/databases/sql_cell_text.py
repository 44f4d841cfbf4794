r"""The text grammar of `mottle.release.cell_text` as SQL expressions, for the views that read
nicely.

All functions take and return SQL. They keep to what PostgreSQL, SQLite and DuckDB have in common;
what differs between them, the text of a value and the members of a set, is handed in.
"""

from __future__ import annotations


def value(text: str) -> str:
    r"""A text value with the grammar's escapes; NULL stays NULL."""
    escaped = text
    for special in ("\\", "{", "|", "}"):
        escaped = f"replace({escaped}, '{special}', '\\{special}')"
    return (
        f"CASE WHEN {text} = '' THEN '\\e'"
        f" WHEN {text} LIKE '%..%' OR {text} LIKE '.%' OR {text} LIKE '%.'"
        f" THEN replace({escaped}, '.', '\\.') ELSE {escaped} END"
    )


def between(lowest: str, highest: str, or_missing: str | None) -> str:
    """A range given the texts of its ends; NULL where only missing is possible."""
    written = f"CASE WHEN {lowest} = {highest} THEN {lowest} ELSE {lowest} || '..' || {highest} END"
    if or_missing is None:
        return written
    return f"CASE WHEN {or_missing} THEN '{{' || {written} || '|}}' ELSE {written} END"


def one_of(size: str, first: str, joined: str) -> str:
    """A set given its size, the text of its first member and all of them joined by bars."""
    several = braces(joined)
    return f"nullif(CASE {size} WHEN 1 THEN coalesce({first}, '') ELSE {several} END, '')"


def braces(joined: str) -> str:
    """Members joined by bars as a set."""
    return f"'{{' || coalesce({joined}, '') || '}}'"


def worlds(base: str, joined_base: str, joined: str, or_missing: str | None) -> tuple[str, str]:
    """A base set, NULL where only missing is possible, and the uncertain items."""
    if or_missing is None:
        return braces(joined_base), braces(joined)
    bar = f"CASE WHEN {or_missing} THEN '|' ELSE '' END"
    known = f"CASE WHEN {base} IS NOT NULL THEN {braces(joined_base)} END"
    return known, f"'{{' || coalesce({joined}, '') || {bar} || '}}'"
