"""How easily people are found in a table of more rows than fit into memory: one query.

DuckDB and Spark answer it from the coded rows, both in bounded memory. It has no other columns
than the keys, which are the quasi-identifiers, and the number of a row's person; see "Risk before
and after" in docs/guarantees.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from mottle.pipeline.chunked.chunk import PERSON, RowCodec
from mottle.release.evidence_facts import RiskFigures
from mottle.risk.certified import figures

__all__ = ["figures_found", "risk_query"]

_ROWS = (
    "SELECT 1e0 / min(alike), 1e0 * count(*) / sum(alike),"
    " 1e0 * sum(CASE WHEN alike = 1 THEN 1 ELSE 0 END) / sum(alike),"
    " 1e0 * count(*) / sum(alike)"
    " FROM (SELECT count(*) AS alike FROM {{coded}} GROUP BY {keys}) AS found"
)
_PEOPLE = (
    "WITH held AS (SELECT {keys}, {person}, count(*) AS times FROM {{coded}}"
    " GROUP BY {keys}, {person}),"
    " found AS (SELECT {keys}, sum(times) AS alike, max(times) AS highest FROM held"
    " GROUP BY {keys}),"
    " own AS (SELECT max(1e0 * times / alike) AS share FROM held JOIN found USING ({keys})"
    " GROUP BY {person})"
    " SELECT max(share), avg(share), avg(CASE WHEN share >= 1 THEN 1e0 ELSE 0e0 END),"
    " (SELECT 1e0 * sum(highest) / sum(alike) FROM found) FROM own"
)


def risk_query(codec: RowCodec) -> str:
    """Return the query whose only row `figures_found` takes.

    Parameters
    ----------
    codec : RowCodec
        How rows are coded.

    Returns
    -------
    str
        The query, of a table that is written ``{coded}``.
    """
    text = _PEOPLE if codec.people else _ROWS
    return text.format(keys=", ".join(codec.keys), person=PERSON)


def figures_found(row: Sequence[float]) -> RiskFigures:
    """Return the figures of a row that `risk_query` found, rounded as those in memory."""
    highest, mean, unique, marketer = (float(number) for number in row)
    return figures(highest, mean, unique, marketer)
