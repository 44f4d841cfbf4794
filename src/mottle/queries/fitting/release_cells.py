"""The cells of a release with what its certificate and totals say about the values in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mottle.queries.calibration import Calibration
from mottle.queries.cells.cells import CellDistribution
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.cells.items.shares import ShareBounds
from mottle.queries.fitting.degrees import guess_degrees, split_cells_by_degree
from mottle.queries.fitting.known_totals import TotalsByAtom
from mottle.queries.fitting.marginals import fit_marginal
from mottle.queries.fitting.sensitive_lift import apply_lift, sensitive_contexts
from mottle.schema.model import Role

if TYPE_CHECKING:
    from mottle.release.data import ReleaseData

FITS = ("fitted", "uniform")  # how values inside a cell are weighted; the first is the default


def weight_column(source: ReleaseData | pa.Table, names: Sequence[str]) -> str | None:
    """The column of sampling weights that the certificate names, if it is published."""
    if isinstance(source, pa.Table) or source.certified is None:
        return None
    name = source.certified.survey_weight
    return name if name in names else None


def stated_calibration(source: ReleaseData | pa.Table, fit: str) -> Calibration | None:
    """The factors that the certificate states; they are for fitted values alone."""
    if isinstance(source, pa.Table) or source.certified is None or fit != FITS[0]:
        return None
    stated = source.certified.calibration
    of_these = stated is not None and source.table.num_rows == source.certified.rows
    protects = bool(source.certified.sensitive)
    return Calibration(stated, protects) if stated is not None and of_these else None


def fit_cells(
    cells: Sequence[CellDistribution], release: ReleaseData
) -> tuple[list[CellDistribution], list[CellDistribution] | None, frozenset[str]]:
    """Fit every column's distribution; lift it by sensitive values where totals are published.

    Also returns the distributions without lift, None if they are the same, and the columns by whose
    values the others were lifted.
    """
    described = {column.name: column for column in release.columns}
    sensitive = [every for every in cells if described[every.name].role is Role.SENSITIVE]
    contexts, used = sensitive_contexts(sensitive, release.table.num_rows)
    generalized = [every for every in cells if described[every.name].form is not None]
    guessed = guess_degrees(
        generalized,
        None if release.certified is None else release.certified.degree,
        release.table.num_rows,
    )
    fitted, plain = [], []
    for every in cells:
        column = described[every.name]
        if column.form is None or isinstance(every, ItemCells):
            fitted.append(every)
            plain.append(every)
            continue
        totals = TotalsByAtom.of(every, column)
        if guessed is not None:
            every, degrees = split_cells_by_degree(every, guessed)
        else:
            # With totals, the largest degree bounds the chance of every value that is known to
            # occur from below, and the totals determine the rest.
            one = _degree(release, highest=totals is not None)
            degrees = np.full(len(every.first), one)
        better = fit_marginal(every, degrees, totals)
        plain.append(better)
        is_liftable = totals is not None and contexts.any()
        fitted.append(apply_lift(better, contexts) if is_liftable else better)
    is_lifted = any(one is not other for one, other in zip(fitted, plain, strict=True))
    return fitted, plain if is_lifted else None, used if is_lifted else frozenset()


def calibrate_items(
    cells: CellDistribution, release: ReleaseData, fit: str = FITS[0]
) -> CellDistribution:
    """Give sets of items the rate of misreported items, and the totals, that a release states."""
    if release.certified is None or not isinstance(cells, ItemCells):
        return cells
    column = next(one for one in release.columns if one.name == cells.name)
    facts = next((one for one in release.certified.columns if one.name == cells.name), None)
    if facts is not None and facts.nodes and column.hierarchy is None:
        items = replace(cells.items, of_unknown_tree=True)
        cells = replace(cells, items=items, atoms=items)
    loss = release.certified.ncp.get(cells.name, release.certified.flipped)
    if loss is not None:
        nodes = 0.0 if facts is None or facts.node_loss is None else facts.node_loss
        flipped = (float(loss) - nodes) / (1 - nodes) if nodes < 1 else 0.0
        cells = cells.calibrated(max(flipped, 0.0), _degree(release))
    totals = column.item_totals
    bounds = share_bounds(release)
    if fit != FITS[0] or totals is None or bounds is None:
        return cells
    return cells.fitted_to(totals, bounds)


def share_bounds(release: ReleaseData) -> ShareBounds | None:
    """Between which shares of candidates hold an item; None if their number is not known."""
    certified = release.certified
    if certified is None or certified.degree.min < 1 or certified.rows != release.num_rows:
        return None
    if certified.history is not None and certified.history.release > 1:
        return None  # its records stand for candidates of earlier releases too
    return ShareBounds(certified.degree.min, certified.degree.max)


def _degree(release: ReleaseData, *, highest: bool = False) -> int:
    """The lowest or highest number of originals per record that the certificate states."""
    if release.certified is None:
        return 0
    return release.certified.degree.max if highest else release.certified.degree.min
