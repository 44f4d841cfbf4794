"""Full-domain generalization with suppression, by an exhaustive search as ARX's: a rival.

ARX is not a package that can be installed here. What it does by default is simple to state: every
column is generalized to one level of its hierarchy for all records, records in groups of fewer than
k are suppressed, and the levels are chosen that lose least over the whole lattice. Its *local
recoding* repeats that: the levels that lose least among those that leave at least a hundredth of
the records unsuppressed, then the same with the records that are left, until all are done. Loss is
that of hierarchies (the share of a column's leaves below a label, of the leaf itself 0), suppressed
records count as lost completely. `_rivals.ARX_GLOBAL` and `ARX_LOCAL` are what ARX itself was
measured with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

Node = tuple[int, ...]  # the level of every column
SUPPRESSED = "*"
_PASSES = 100  # of local recoding: the share of records that each has to finish is one over it


@dataclass(frozen=True)
class Levels:
    """A column on all levels of its hierarchy."""

    codes: list[NDArray[np.int64]]  # by level, [records]: labels as numbers
    labels: list[list[str]]  # by level: the labels of these numbers
    losses: list[NDArray[np.float64]]  # by level, [records]

    @classmethod
    def of(cls, values: pa.ChunkedArray, file: Path) -> Levels:
        """Read ``value; level 1; …`` and look up every record on every level."""
        options = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
        parsing = pyarrow.csv.ParseOptions(delimiter=";")
        text = pyarrow.csv.ConvertOptions(column_types={f"f{n}": pa.string() for n in range(20)})
        tree = pyarrow.csv.read_csv(file, options, parsing, text)
        leaves = np.array(tree.column(0).to_pylist())
        order = np.argsort(leaves)
        texts = np.array([str(value) for value in values.to_pylist()])
        leaf_of = order[np.searchsorted(leaves[order], texts)]
        codes, labels, losses = [], [], []
        for level in range(tree.num_columns):
            names, code_of_leaf = np.unique(
                np.array(tree.column(level).to_pylist()), return_inverse=True
            )
            below = np.bincount(code_of_leaf)
            lost = (below - 1) / (len(leaves) - 1)
            codes.append(code_of_leaf[leaf_of].astype(np.int64))
            labels.append(names.tolist())
            losses.append(lost[codes[-1]])
        return cls(codes, labels, losses)


@dataclass(frozen=True)
class Recoded:
    """A release: its table as text, its loss, and the share of suppressed records."""

    table: pa.Table
    gcp: float
    suppressed: float


def _nodes(columns: Sequence[Levels]) -> list[Node]:
    """All choices of levels, those that lose least first."""
    sizes = [range(len(column.codes)) for column in columns]
    means = [[float(lost.mean()) for lost in column.losses] for column in columns]
    return sorted(
        product(*sizes),
        key=lambda node: sum(own[level] for own, level in zip(means, node, strict=True)),
    )


def _held(columns: Sequence[Levels], node: Node, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """[rows]: how many of these records have the same labels."""
    joint = np.zeros(len(rows), np.int64)
    for column, level in zip(columns, node, strict=True):
        joint = joint * len(column.labels[level]) + column.codes[level][rows]
    _, group_of, sizes = np.unique(joint, return_inverse=True, return_counts=True)
    return sizes[group_of]


def _lost(columns: Sequence[Levels], node: Node) -> NDArray[np.float64]:
    """[records]: the loss of each on these levels."""
    return np.mean(
        [column.losses[level] for column, level in zip(columns, node, strict=True)], axis=0
    )


def globally(columns: Sequence[Levels], ks: Sequence[int]) -> dict[int, list[Node | None]]:
    """By k, the levels of every record, None if it is suppressed: the least loss of the lattice."""
    records = len(columns[0].codes[0])
    every = np.arange(records)
    best: dict[int, tuple[float, Node]] = {}
    for node in _nodes(columns):
        lost = _lost(columns, node)
        if best and len(best) == len(ks) and lost.mean() >= max(loss for loss, _ in best.values()):
            continue  # suppression only adds to it
        held = _held(columns, node, every)
        for k in ks:
            loss = float(np.where(held >= k, lost, 1.0).mean())
            if k not in best or loss < best[k][0]:
                best[k] = loss, node
    found = {}
    for k, (_, node) in best.items():
        kept = _held(columns, node, every) >= k
        found[k] = [node if one else None for one in kept.tolist()]
    return found


def locally(columns: Sequence[Levels], k: int) -> list[Node | None]:
    """The levels of every record by local recoding, None if it is suppressed."""
    records = len(columns[0].codes[0])
    found: list[Node | None] = [None] * records
    left = np.arange(records)
    for fewest in (records / _PASSES, 1):  # the second time for those that no pass could finish
        for node in _nodes(columns):
            done = _held(columns, node, left) >= k
            if np.count_nonzero(done) >= fewest:
                for row in left[done].tolist():
                    found[row] = node
                left = left[~done]
    return found


def recoded(
    table: pa.Table, names: Sequence[str], columns: Sequence[Levels], levels: Sequence[Node | None]
) -> Recoded:
    """The release with these levels; suppressed records keep their other columns."""
    shown = {name: table.column(name) for name in table.column_names}
    lost = np.ones((len(columns), table.num_rows))
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        texts = []
        for row, node in enumerate(levels):
            if node is None:
                texts.append(SUPPRESSED)
                continue
            level = node[place]
            texts.append(column.labels[level][column.codes[level][row]])
            lost[place, row] = column.losses[level][row]
        shown[name] = pa.chunked_array([pa.array(texts, pa.string())])
    suppressed = sum(node is None for node in levels) / len(levels)
    return Recoded(pa.table(shown), float(lost.mean()), suppressed)
