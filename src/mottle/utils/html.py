"""Small HTML tables for notebooks: escaped, without scripts, links or styles of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(
    header: Sequence[object], rows: Iterable[Sequence[object]], caption: str = ""
) -> str:
    """Return a table as HTML; every cell is escaped, None becomes an empty cell.

    Parameters
    ----------
    header : sequence of object
        The names of the columns.
    rows : iterable of sequence of object
        The cells.
    caption : str, optional
        What the table shows.

    Returns
    -------
    str

    Examples
    --------
    >>> html_table(["name"], [["<b>"]])
    '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in rows)
    return (
        f"<table>{title}<thead><tr>{_cells(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cells(values: Sequence[object], tag: str) -> str:
    texts = ("" if value is None else escape(str(value)) for value in values)
    return "".join(f"<{tag}>{text}</{tag}>" for text in texts)


def html_table_of(lines: Iterable[object], names: Sequence[str], caption: str) -> str:
    """Return a table with a row for each object and a column for each of its attributes named.

    Parameters
    ----------
    lines : iterable of object
        The rows.
    names : sequence of str
        The attributes; headings have spaces instead of underscores.
    caption : str
        The caption.

    Returns
    -------
    str
        The table.
    """
    rows = [
        [
            f"{value:.4g}" if isinstance(value, float) else value
            for value in (getattr(line, name) for name in names)
        ]
        for line in lines
    ]
    return html_table([name.replace("_", " ") for name in names], rows, caption)
