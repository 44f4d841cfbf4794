"""What the report says about each column: how it was published, what was lost, and its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from markupsafe import Markup
from numpy.typing import NDArray

from mottle.encoding.domain import Form
from mottle.evaluation.cell_counts import Tally, tallies
from mottle.queries.calibration import UNRELIABLE_COLUMN
from mottle.release.cell_text import to_text
from mottle.release.certificate import Certificate
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.report.frequent_items import frequent_items
from mottle.report.histogram_bins import (
    FEW_BARS,
    MISSING,
    MOST_BARS,
    Bins,
    bins_of,
    missing_condition,
)
from mottle.report.svg import COMPACT, WIDTH, Bar, horizontal, percent, shortened, vertical
from mottle.schema.model import Kind, Role

FEW_COLUMNS = 16  # with more, every column is described in less space
WIDEST_SHOWN = 3
_LONGEST_CELL = 48
_RARELY = 0.0005  # share of missing values from which on they get a bar


@dataclass(frozen=True)
class ColumnReport:
    """One column of the release."""

    name: str
    role: Role
    published_as: str
    loss: float | None  # NCP; None for columns published unchanged
    exact: float | None  # share of cells with a single value; None likewise
    facts: tuple[tuple[str, str], ...]  # descriptions of measures, and their values
    widest: tuple[tuple[str, str], ...]  # the widest cells, and how many records have them
    chart: Markup | None
    why_no_chart: str = ""
    sampled: int | None = None  # number of records that were counted, if not all
    bars: tuple[Bar, ...] = ()  # of the chart; none for columns of sets


def describe_columns(
    release: ReleaseData, original: Mapping[str, Tally] | None
) -> list[ColumnReport]:
    """Describe all columns, in the order of the release; ``original`` is for its owner only."""
    counted = tallies(release.tables(), release.columns, known=release.distinct)
    before = original or {}
    losses = release.certificate.ncp
    degree = release.certificate.degree.min
    many = len(release.columns) > FEW_COLUMNS
    found = [
        describe(counted[name], losses.get(name), before.get(name), degree, compact=many)
        for name in (column.name for column in release.columns)
    ]
    if release.sensitive is not None:
        found = [column for column in found if column.name not in release.sensitive.column_names]
        apart = _apart(release.sensitive)
        found += [_describe_apart(tally, before.get(name)) for name, tally in apart.items()]
    stated = release.certificate.calibration
    errors = {} if stated is None else stated.columns
    return [
        replace(column, facts=(*column.facts, _accuracy(errors[column.name])))
        if column.name in errors
        else column
        for column in found
    ]


def _accuracy(error: float) -> tuple[str, str]:
    """How far counts are off that have a condition on the column, as its owner measured it."""
    doubt = " – unreliable" if error > UNRELIABLE_COLUMN else ""
    return (
        "typical error of counts with a condition on it and on another",
        f"{percent(error)}{doubt}",
    )


def describe(
    tally: Tally,
    loss: float | None,
    original: Tally | None,
    degree: int = 0,
    *,
    compact: bool = False,
) -> ColumnReport:
    """Describe one column: its chart, and how wide its cells are.

    ``degree`` is the smallest number of originals behind a record. A compact description is for
    reports on many columns: a small chart of few bars, and no widest cells.
    """
    column = tally.column
    bars, chart = _charted(tally, original, degree, compact=compact)
    facts: list[tuple[str, str]] = []
    exact = None
    widest: tuple[tuple[str, str], ...] = ()
    if column.form is not None and tally.records:
        widths = column.form.widths(tally.cells, column)
        exact = float(tally.counts[widths == 0].sum() / tally.records)
        facts.append(("cells with a single value", percent(exact)))
        facts.append(
            ("typical cell (median)", _width_in_words(_median(widths, tally.counts), column))
        )
        widest = () if compact else _widest(tally, widths, column.form)
    if original is not None and bars and column.form is not None:
        apart = sum(abs(bar.share - (bar.before or 0.0)) for bar in bars) / 2
        facts.append(("distance from the original", percent(apart)))
    return ColumnReport(
        name=column.name,
        role=column.role,
        published_as=_published_as(column),
        loss=loss if column.form is not None else None,
        exact=exact,
        facts=tuple(facts),
        widest=widest,
        chart=chart,
        why_no_chart=_why_not(chart),
        sampled=None if tally.whole else tally.records,
        bars=tuple(bars),
    )


def _charted(
    tally: Tally, original: Tally | None, degree: int = 0, *, compact: bool = False
) -> tuple[list[Bar], Markup | None]:
    """The bars of a column's distribution, and their chart if it is informative."""
    name = tally.column.name
    if tally.column.form is not None and tally.column.form.has_items:
        before = None if original is None else (original.cells, original.counts)
        bars = frequent_items(tally.cells, tally.counts, before)
        return [], horizontal(bars, name) if bars else None
    bins = bins_of(tally, FEW_BARS if compact else MOST_BARS)
    if bins is None:
        return [], None
    bars = _bars(bins, tally, original, degree)
    return bars, _chart(bars, bins, name, COMPACT if compact else WIDTH)


def _why_not(chart: Markup | None) -> str:
    return "" if chart else "Nearly all of its values differ, so there is no chart."


def _apart(sensitive: pa.Table) -> dict[str, Tally]:
    """Sensitive columns that are published in a second table, by group with their counts."""
    _, *names, counted = sensitive.column_names
    counts = sensitive.column(counted).to_numpy().astype(np.int64)
    return {
        name: Tally(
            PublishedColumn.of_field(sensitive.schema.field(name)),
            sensitive.column(name).combine_chunks(),
            counts,
            whole=True,
        )
        for name in names
    }


def _describe_apart(tally: Tally, original: Tally | None) -> ColumnReport:
    bars, chart = _charted(tally, original)
    return ColumnReport(
        name=tally.column.name,
        role=Role.SENSITIVE,
        published_as="as it is, in a table of its own by group",
        loss=None,
        exact=None,
        facts=(),
        widest=(),
        chart=chart,
        why_no_chart=_why_not(chart),
        bars=tuple(bars),
    )


def _bars(bins: Bins, tally: Tally, original: Tally | None, degree: int) -> list[Bar]:
    """The shares of all bars, and of missing values where there may be any."""
    conditions = (*bins.conditions, missing_condition())
    shares = tally.shares(conditions, degree).tolist()
    bars = [
        Bar(label, *answer) for label, answer in zip((*bins.labels, MISSING), shares, strict=True)
    ]
    if original is not None:
        before = original.shares(conditions)[:, 0].tolist()
        bars = [replace(bar, before=share) for bar, share in zip(bars, before, strict=True)]
    # Values were chosen by how many cells hold them; what is shown is the share that is expected.
    bars[: bins.ranked] = sorted(bars[: bins.ranked], key=lambda bar: -bar.share)
    return bars if bars[-1].share >= _RARELY or bars[-1].before else bars[:-1]


def _chart(bars: Sequence[Bar], bins: Bins, name: str, width: int) -> Markup:
    if not bins.edges:
        return horizontal(bars, name, width)
    known = [bar for bar in bars if bar.label != MISSING]
    chart = vertical(known, bins.edges, name, width)
    if len(known) < len(bars):
        chart += Markup('<p class="note">{}</p>').format(bars[-1].title)
    return chart


def _published_as(column: PublishedColumn) -> str:
    if column.role is Role.PSEUDONYM:
        return "as pseudonyms, which are not anonymous by themselves"
    if column.role is Role.SHIFTED:
        return "shifted by a secret number of days, the same for all dates of a person"
    if column.form is None:
        return "as it is"
    return (column.kind or Kind.ORDERED).describe_cells(column.form)


def _width_in_words(width: float, column: PublishedColumn) -> str:
    if width < 1e-6 or column.form is None:
        return "a single value"
    return (column.kind or Kind.NUMBER).width_in_words(width, column.form)


def _median(widths: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """The median width over all records."""
    order = np.argsort(widths, kind="stable")
    upto = np.cumsum(counts[order])
    middle = [(upto[-1] - 1) // 2, upto[-1] // 2]
    return float(widths[order[np.searchsorted(upto, middle, side="right")]].mean())


def _widest(tally: Tally, widths: NDArray[np.float64], form: Form) -> tuple[tuple[str, str], ...]:
    """The widest cells as written in the release, each with its number of records."""
    order = np.lexsort((-tally.counts, -widths))[:WIDEST_SHOWN]
    chosen = order[widths[order] > 0]
    texts = to_text(tally.cells.take(pa.array(chosen)), form, tally.column.rule).to_pylist()
    return tuple(
        (shortened(text, _LONGEST_CELL), f"{count:,} record{'s' if count > 1 else ''}")
        for text, count in zip(texts, tally.counts[chosen].tolist(), strict=True)
    )


def roles(certificate: Certificate) -> dict[Role, list[str]]:
    """The names of the columns by role, from the certificate."""
    found: dict[Role, list[str]] = {role: [] for role in Role}
    for column in certificate.columns:
        found[column.role].append(column.name)
    return found
