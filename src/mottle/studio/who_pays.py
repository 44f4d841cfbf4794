"""Who pays: the loss of subgroups of a release that was read from files, with the owner's links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from mottle.audit.links.edges import Edges, read_edges
from mottle.errors import MottleError
from mottle.graph.model import Graph
from mottle.pipeline.release import Release
from mottle.release.links import Links
from mottle.report.subgroups import SubgroupLoss, subgroup_losses


def who_pays(release: Release, original: pa.Table, links: Path) -> list[SubgroupLoss]:
    """Measure which subgroups lose most, as the internal report of a run does.

    Parameters
    ----------
    release : Release
        The release.
    original : pyarrow.Table
        The rows that it describes.
    links : Path
        The owner's links.

    Returns
    -------
    list of SubgroupLoss
        Those that lose most; empty where this cannot be measured.
    """
    if not links.is_file() or original.num_rows != release.table.num_rows:
        return []
    try:
        found = links_of(read_edges(links, release.table.num_rows, 0))
        return [] if found is None else subgroup_losses(replace(release, links=found), original)
    except MottleError:
        return []


def links_of(edges: Edges) -> Links | None:
    """Return edges that were read from a file as a graph in blocks.

    Parameters
    ----------
    edges : Edges
        All edges, or those of some blocks.

    Returns
    -------
    Links or None
        The same edges; None if they are not those of blocks with one degree each.
    """
    degrees = np.diff(edges.offsets)
    records = len(degrees)
    if edges.kept is not None or not records or (edges.truth < 0).any():
        return None
    blocks = np.zeros(records, np.int64) if edges.blocks is None else edges.blocks.astype(np.int64)
    block_of = np.full(records, -1, np.int64)
    block_of[edges.originals] = np.repeat(blocks, degrees)
    order = np.argsort(blocks, kind="stable")
    members = np.argsort(block_of, kind="stable")
    if (block_of[members] != blocks[order]).any():  # as many originals as records in every block
        return None
    first = np.flatnonzero(np.diff(blocks[order], prepend=blocks[order[0]] - 1))
    starts = np.append(first, records)
    of_block = degrees[order][first]
    if (degrees[order] != np.repeat(of_block, np.diff(starts))).any():
        return None
    position_of = np.empty(records, np.int64)
    position_of[members] = np.arange(records)
    begins = np.repeat(first, np.diff(starts))  # of the block at every position
    places = np.repeat(edges.offsets[:-1][order], degrees[order])
    inside = np.arange(len(places)) - np.repeat(np.cumsum(degrees[order]), degrees[order])
    inside += np.repeat(degrees[order], degrees[order])
    ends = edges.originals[places + inside]
    graph = Graph.explicit(
        members.astype(np.int32),
        starts.astype(np.int64),
        of_block.astype(np.int32),
        (position_of[ends] - np.repeat(begins, degrees[order])).astype(np.int32),
    )
    row_at = np.empty(records, np.int64)
    row_at[order] = np.arange(records)
    truth = position_of[edges.truth[order]].astype(np.int32)
    return Links(graph, row_at, truth)
