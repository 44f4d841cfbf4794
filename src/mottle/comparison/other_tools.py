"""Releases of other tools beside ours: read against the original, and their loss on one scale."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.cover import CoverCells, NodeCells, RangeCells, SetCells
from mottle.encoding.domain import Domain, Form
from mottle.encoding.encode import encode
from mottle.errors import UsageError, did_you_mean
from mottle.io.external.read import read_external
from mottle.release.data import ReleaseData
from mottle.schema.external_release import ExternalRelease, Tool
from mottle.schema.model import Representation, Schema

__all__ = ["Released", "loss_of_release", "read_releases"]

Released = Mapping[str, str | PathLike[str]]  # by tool: its release


def read_releases(releases: Released, table: pa.Table, schema: Schema) -> dict[str, ReleaseData]:
    """Read other tools' releases of a table.

    Parameters
    ----------
    releases : mapping of str to path
        By tool ("arx", "sdcmicro", "amnesia", "anonypy", "other"): the file it wrote.
    table : pa.Table
        The original, with all its rows.
    schema : Schema
        Covers all its columns; what the table ``[release]`` says applies to all of them.

    Returns
    -------
    dict of str to ReleaseData
        By tool.

    Raises
    ------
    UsageError
        A tool is not known.
    DataError
        A file cannot be read as a release of this table.
    """
    found = {}
    for tool, path in releases.items():
        known = [str(each) for each in Tool]
        if tool.lower() not in known:
            raise UsageError(f"There is no tool '{tool}'.", did_you_mean(tool, known))
        given = {} if schema.release is None else schema.release.model_dump(exclude={"tool"})
        described = ExternalRelease(**{**given, "tool": tool.lower()})
        update = {"release": described}
        found[tool.lower()] = read_external(Path(path), table, schema.model_copy(update=update))
    return found


def loss_of_release(table: pa.Table, schema: Schema, release: ReleaseData) -> float:
    """Measure the GCP of another tool's release as that of our own is measured.

    Bounds of ranges count as the nearest values of the table inside them. Columns and rows that
    were not published count as lost.

    Parameters
    ----------
    table : pa.Table
        The original.
    schema : Schema
        Covers all its columns.
    release : ReleaseData
        The release.

    Returns
    -------
    float
        From 0 to 1.
    """
    published = {column.name: column for column in release.columns}
    rows = release.table
    losses, weights = [], []
    for domain in encode(table, schema, Representation.RANGE).domains:
        weights.append(domain.column.importance)
        if domain.name not in published or rows.num_rows == 0:
            losses.append(1.0)
            continue
        form = published[domain.name].form
        assert form is not None
        cells = rows.column(domain.name).combine_chunks()
        penalties = _cells(form, cells, domain).ncp(domain)
        losses.append(float(np.minimum(penalties, 1.0).mean()))
    kept = float(rows.num_rows / table.num_rows)
    return kept * float(np.average(losses, weights=weights)) + (1 - kept)


def _cells(form: Form, cells: pa.Array, domain: Domain) -> CoverCells:
    """Published cells in codes of the table's values."""
    if form == Form.NODE:
        labels = pa.array(domain.tree.labels, pa.string())
        nodes = pc.fill_null(pc.index_in(pc.cast(cells, pa.string()), labels), -1)
        return NodeCells(nodes.to_numpy(zero_copy_only=False).astype(np.int32))
    present = domain.values.slice(0, domain.missing) if domain.missing >= 0 else domain.values
    if form == Form.RANGE:
        return _ranges(cells, present)
    flat = pc.list_flatten(cells)
    members = pc.index_in(pc.cast(flat, present.type), present)
    codes = pc.fill_null(members, len(present)).to_numpy(zero_copy_only=False).astype(np.int32)
    lengths = pc.list_value_length(cells).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if domain.form != Form.RANGE:
        return SetCells(offsets, codes)
    values = np.where(codes < len(present), codes, -1)
    lowest = np.minimum.reduceat(np.where(values < 0, len(present), values), offsets[:-1])
    highest = np.maximum.reduceat(values, offsets[:-1])
    missing = np.maximum.reduceat(codes, offsets[:-1]) == len(present)
    lowest = np.where(highest < 0, -1, lowest)
    return RangeCells(lowest.astype(np.int32), highest.astype(np.int32), missing)


def _ranges(cells: pa.StructArray, present: pa.Array) -> RangeCells:
    """Ranges, each from the lowest to the highest value of the table that is inside."""
    values, low, high = (
        _as_numbers(array) for array in (present, cells.field("lo"), cells.field("hi"))
    )
    is_value = ~(np.isnan(low) | np.isnan(high))
    lowest = np.searchsorted(values, np.where(is_value, low, 0.0), side="left")
    highest = np.searchsorted(values, np.where(is_value, high, 0.0), side="right") - 1
    lowest = np.minimum(lowest, np.maximum(highest, 0))  # no value inside: as narrow as one
    missing = cells.field("missing").to_numpy(zero_copy_only=False).astype(bool)
    return RangeCells(
        np.where(is_value, lowest, -1).astype(np.int32),
        np.where(is_value, np.maximum(highest, lowest), -1).astype(np.int32),
        missing,
    )


def _as_numbers(array: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if pa.types.is_date(array.type):
        array = pc.cast(pc.cast(array, pa.date32()), pa.int32())
    numbers: np.ndarray[tuple[int], np.dtype[np.float64]] = pc.cast(array, pa.float64()).to_numpy(
        zero_copy_only=False
    )
    return numbers
