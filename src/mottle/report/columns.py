"""What the report says about each column: how it was published, what was lost, and its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup
from numpy.typing import NDArray

from mottle.cells import to_text
from mottle.coding import Form
from mottle.release import PublishedColumn, Release
from mottle.report.bins import MISSING, Bins, bins_of, missing_condition
from mottle.report.svg import Bar, horizontal, percent, shortened, vertical
from mottle.schema import Kind, Role
from mottle.utility import Queries

WIDEST_SHOWN = 3
_LONGEST_CELL = 48
_RARELY = 0.0005  # the share from which on missing values get a bar


@dataclass(frozen=True)
class ColumnReport:
    """One column of the release."""

    name: str
    role: Role
    published_as: str
    loss: float | None  # NCP; None for columns published as they are
    facts: tuple[tuple[str, str], ...]  # what is measured, and how much
    widest: tuple[tuple[str, str], ...]  # the widest cells, and how many records have them
    chart: Markup | None
    why_no_chart: str = ""


def describe_columns(
    release: Release, asked: Queries, original: Queries | None
) -> list[ColumnReport]:
    """All columns, in the order of the release; ``original`` only where its owner reads."""
    found = [_describe(column, release, asked, original) for column in release.columns]
    if release.sensitive is not None and asked.apart is not None:
        found = [column for column in found if column.name not in release.sensitive.column_names]
        found += [
            _describe_apart(name, release.sensitive, asked, original)
            for name in asked.apart.columns
        ]
    return found


def _describe(
    column: PublishedColumn, release: Release, asked: Queries, original: Queries | None
) -> ColumnReport:
    cells = release.table.column(column.name)
    bins = bins_of(column, cells)
    bars = [] if bins is None else _bars(column.name, bins, asked, original)
    facts: list[tuple[str, str]] = []
    widest: tuple[tuple[str, str], ...] = ()
    if column.form is not None:
        together = cells.combine_chunks()
        widths = _widths(together, column)
        facts.append(("cells with a single value", percent(float((widths == 0).mean()))))
        facts.append(("typical cell (median)", _width_in_words(float(np.median(widths)), column)))
        widest = _widest(together, widths, column.form)
    if original is not None and bars and column.form is not None:
        apart = sum(abs(bar.share - (bar.before or 0.0)) for bar in bars) / 2
        facts.append(("distance from the original", percent(apart)))
    loss = release.certificate.get("ncp", {}).get(column.name) if column.form else None
    return ColumnReport(
        name=column.name,
        role=column.role,
        published_as=_published_as(column),
        loss=loss,
        facts=tuple(facts),
        widest=widest,
        chart=None if bins is None else _chart(bars, bins, column.name),
        why_no_chart="" if bins else "Nearly all of its values differ, so there is no chart.",
    )


def _describe_apart(
    name: str, sensitive: pa.Table, asked: Queries, original: Queries | None
) -> ColumnReport:
    """A sensitive column that is published in a table of its own."""
    values = sensitive.column(name)
    column = PublishedColumn(name, Role.SENSITIVE, None, None, values.type)
    bins = bins_of(column, values)
    return ColumnReport(
        name=name,
        role=Role.SENSITIVE,
        published_as="as it is, in a table of its own by group",
        loss=None,
        facts=(),
        widest=(),
        chart=None if bins is None else _chart(_bars(name, bins, asked, original), bins, name),
        why_no_chart="" if bins else "Nearly all of its values differ, so there is no chart.",
    )


def _bars(name: str, bins: Bins, asked: Queries, original: Queries | None) -> list[Bar]:
    """Shares of all bars, and of missing values where there may be any."""
    wheres = [{name: condition} for condition in (*bins.conditions, missing_condition())]
    answers = asked.counts(wheres)
    rows = asked.records
    bars = [
        Bar(label, answers.expected[at] / rows, answers.certain[at] / rows,
            answers.possible[at] / rows)
        for at, label in enumerate((*bins.labels, MISSING))
    ]  # fmt: skip
    if original is not None:
        before = original.counts(wheres).expected / original.records
        bars = [replace(bar, before=float(share)) for bar, share in zip(bars, before, strict=True)]
    return bars if bars[-1].share >= _RARELY or bars[-1].before else bars[:-1]


def _chart(bars: Sequence[Bar], bins: Bins, name: str) -> Markup:
    if not bins.edges:
        return horizontal(bars, name)
    known = [bar for bar in bars if bar.label != MISSING]
    chart = vertical(known, bins.edges, name)
    if len(known) < len(bars):
        chart += Markup('<p class="note">{}</p>').format(bars[-1].title)
    return chart


def _published_as(column: PublishedColumn) -> str:
    if column.form is None:
        return "as it is"
    if column.form is Form.RANGE:
        return {Kind.NUMBER: "ranges of numbers", Kind.DATE: "ranges of days"}.get(
            column.kind or Kind.ORDERED, "ranges of ordered values"
        )
    return "sets of possible values" if column.form is Form.SET else "broader terms of a hierarchy"


def _widths(cells: pa.Array, column: PublishedColumn) -> NDArray[np.float64]:
    """How wide every cell is, in its column's own unit; 0 for a single value."""
    if column.form is Form.SET:
        sizes = pc.list_value_length(cells).to_numpy()
        return np.asarray(sizes - 1, np.float64)
    if column.form is Form.NODE:
        assert column.hierarchy is not None
        leaves = dict(
            zip(column.hierarchy.labels, column.hierarchy.cardinality.tolist(), strict=True)
        )
        coded = cells.dictionary_encode()
        counts = np.array([leaves[label] - 1 for label in coded.dictionary.to_pylist()] + [0.0])
        nodes = pc.fill_null(coded.indices, len(counts) - 1).to_numpy()
        return np.asarray(counts[nodes], np.float64)
    low, high = (_positions(cells.field(end), column) for end in ("lo", "hi"))
    missing = pc.fill_null(cells.field("missing"), False).to_numpy(zero_copy_only=False)
    known = ~np.isnan(low)
    widths = np.where(known, high - low, 0.0)
    return np.asarray(widths + (missing & known) * 1e-9)  # one value or missing is not single


def _positions(values: pa.Array, column: PublishedColumn) -> NDArray[np.float64]:
    if column.kind is Kind.ORDERED:
        assert column.order is not None
        values = pc.index_in(values, value_set=pa.array(column.order, values.type))
    elif pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _width_in_words(width: float, column: PublishedColumn) -> str:
    if width < 1e-6:
        return "a single value"
    if column.form is Form.SET:
        return f"{width + 1:,.0f} possible values"
    if column.form is Form.NODE:
        return f"{width + 1:,.0f} values below the term"
    if column.kind is Kind.ORDERED:
        return f"{width + 1:,.0f} neighbouring values"
    if column.kind is Kind.DATE:
        return f"{width:,.0f} days wide"
    return f"{width:,.6g} wide"


def _widest(
    cells: pa.Array, widths: NDArray[np.float64], form: Form
) -> tuple[tuple[str, str], ...]:
    """The widest cells as they stand in the release, each with its number of records."""
    candidates = np.flatnonzero(widths >= np.sort(widths)[-min(len(widths), 1000)])
    candidates = candidates[np.argsort(-widths[candidates], kind="stable")][:1000]
    texts = to_text(cells.take(pa.array(candidates)), form).to_pylist()
    chosen = list(dict.fromkeys(
        text for text, place in zip(texts, candidates, strict=True) if widths[place] > 0
    ))[:WIDEST_SHOWN]  # fmt: skip
    if not chosen:
        return ()
    everywhere = to_text(cells, form)
    counts = {text: pc.sum(pc.equal(everywhere, text)).as_py() for text in chosen}
    return tuple(
        (shortened(text, _LONGEST_CELL), f"{count:,} record{'s' if count > 1 else ''}")
        for text, count in counts.items()
    )


def roles(certificate: Mapping[str, Any]) -> dict[Role, list[str]]:
    """The names of the columns by role, as the certificate has them."""
    found: dict[Role, list[str]] = {role: [] for role in Role}
    for column in certificate["columns"]:
        found[Role(column["role"])].append(column["name"])
    return found
