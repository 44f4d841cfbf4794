"""Value hierarchies: a tree over the values of a column, common ancestors and their NCP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mottle.errors import DataError, StorageError, UsageError, did_you_mean
from mottle.hierarchy.formats import DEFAULT_FORMAT, FORMATS, detect_format, read_text
from mottle.hierarchy.validation import Severity, lint, number_labels

__all__ = ["Hierarchy"]

FINDINGS_SHOWN = 10  # an error message names this many findings and counts the rest


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree over the values of a column; a node is a label and stands for the leaves below it.

    Leaves are numbered by the in-order traversal of the tree (FAST07, section 6), so the leaves
    below a node are consecutive. A label that is repeated from one level to the next is one node.

    Examples
    --------
    >>> europe_first = Hierarchy.from_rows([
    ...     ("Italy", "Europe", "*"), ("US", "America", "*"), ("France", "Europe", "*"),
    ... ])
    >>> europe_first.leaves
    ('Italy', 'France', 'US')
    >>> europe_first.labels
    ('Italy', 'France', 'US', 'Europe', 'America', '*')
    """

    leaves: tuple[str, ...]  # in in-order position
    labels: tuple[str, ...]  # of every node: first the leaves, last the root
    ancestors: NDArray[np.int32]  # [leaves, depth]: column 0 the leaf itself, last column the root
    cardinality: NDArray[np.int64]  # [nodes]: number of leaves below the node

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], *, name: str = "hierarchy") -> Hierarchy:
        """Build a hierarchy from rows (leaf, level 1, …, ``*``).

        Parameters
        ----------
        rows : iterable of sequence of str
            One row per leaf, all of the same length; empty rows are skipped.
        name : str
            What the rows are called in messages.

        Returns
        -------
        Hierarchy
            The tree.

        Raises
        ------
        DataError
            The rows are not a hierarchy; the message has the first errors that ``lint`` finds.

        Examples
        --------
        >>> Hierarchy.from_rows([("Male", "*"), ("Female", "*")]).leaves
        ('Male', 'Female')
        """
        rows = [row for row in _refuse_errors(rows, name) if row]
        labels, codes = number_labels(rows)
        depth = codes.shape[1]
        # Codes count first appearances, so sorting by them from the root down walks the tree in
        # order and keeps the file's order among siblings.
        codes = codes[np.lexsort(codes.T)]
        # A label repeated over levels covers the most leaves at its highest level (lint checks
        # this). Readers take the label for those leaves, so it denotes that node.
        height = np.zeros(len(labels), np.int64)
        first_leaf = np.zeros(len(labels), np.int64)
        cardinality = np.zeros(len(labels), np.int64)
        for level in range(depth):
            present, first, count = np.unique(
                codes[:, level], return_index=True, return_counts=True
            )
            height[present], first_leaf[present], cardinality[present] = level, first, count
        height[codes[:, 0]] = 0  # a leaf stays a leaf when its label is repeated upwards
        order = np.lexsort((first_leaf, height))
        node_of_code = np.empty(len(labels), np.int32)
        node_of_code[order] = np.arange(len(labels), dtype=np.int32)
        ordered = tuple(labels[code] for code in order)
        ancestors, cardinality = node_of_code[codes], cardinality[order]
        for array in (ancestors, cardinality):
            array.setflags(write=False)
        return cls(ordered[: len(rows)], ordered, ancestors, cardinality)

    @classmethod
    def read(
        cls, path: str | PathLike[str], *, delimiter: str = ";", encoding: str = "utf-8-sig"
    ) -> Hierarchy:
        r"""Read a hierarchy from a file in ARX's layout, or from one that Amnesia saved.

        Parameters
        ----------
        path : str or path-like
            The file; its format is recognized by its content.
        delimiter : str
            The character between cells in ARX's layout.
        encoding : str
            The encoding of the file, as Python names it.

        Returns
        -------
        Hierarchy
            The tree.

        Raises
        ------
        StorageError
            The file cannot be read.
        UsageError
            The delimiter or the encoding is not valid.
        DataError
            The file is not a hierarchy.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "sex.csv")
        ...     _ = file.write_text("Male;*\nFemale;*\n", encoding="utf-8")
        ...     Hierarchy.read(file).leaves
        ('Male', 'Female')
        """
        text = read_text(path, encoding=encoding)
        rows = detect_format(text).read(text, name=str(path), delimiter=delimiter)
        return cls.from_rows(rows, name=str(path))

    def write(self, path: str | PathLike[str], *, layout: str = DEFAULT_FORMAT) -> None:
        """Write the hierarchy to a file; ``read`` gives an equal hierarchy back.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced if it exists.
        layout : str
            The name of the file format.

        Raises
        ------
        StorageError
            The file cannot be written.
        UsageError
            There is no such format, or it is only read.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "sex.csv")
        ...     Hierarchy.from_rows([("Male", "*"), ("Female", "*")]).write(file)
        ...     file.read_text(encoding="utf-8").split()
        ['Male;*', 'Female;*']
        """
        text = FORMATS.get_named(layout).write(self.rows())
        try:
            Path(path).write_bytes(text.encode())
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}.") from error

    def check_covers(self, values: Iterable[str]) -> None:
        """Check that every value is a leaf.

        Parameters
        ----------
        values : iterable of str
            Values of the data.

        Raises
        ------
        DataError
            Some are not; the message says how many and names none.

        Examples
        --------
        >>> Hierarchy.from_rows([("Male", "*"), ("Female", "*")]).check_covers(["Male", "Male"])
        """
        missing = {value for value in values if value not in self._position}
        if missing:
            raise DataError(
                f"The hierarchy lacks {len(missing):,} of the distinct values of the data.",
                "Add one row per missing value; lint(rows, values=…) finds them.",
            )

    def lowest_common_ancestor(self, values: Iterable[str]) -> str:
        """Return the label of the lowest node that has all values below it.

        Parameters
        ----------
        values : iterable of str
            At least one leaf.

        Returns
        -------
        str
            The label of the node.

        Raises
        ------
        UsageError
            There are no values.
        DataError
            A value is not a leaf.

        Examples
        --------
        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> sizes.lowest_common_ancestor(["L", "M"]), sizes.lowest_common_ancestor(["L", "S"])
        ('big', '*')
        """
        return self.labels[self._lowest_common_node(values)]

    def ncp(self, values: Iterable[str]) -> float:
        """Return the normalized certainty penalty of the values' lowest common ancestor (FAST07).

        NCP = 0 if card(u) = 1, else `card(u) / |A|`, with u the lowest common ancestor, card(u) the
        number of its leaves and `|A|` that of all leaves of the hierarchy.

        Parameters
        ----------
        values : iterable of str
            At least one leaf.

        Returns
        -------
        float
            Between 0 and 1.

        Raises
        ------
        UsageError
            There are no values.
        DataError
            A value is not a leaf.

        Examples
        --------
        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> sizes.ncp(["S"]), round(sizes.ncp(["M", "L"]), 2), sizes.ncp(["S", "L"])
        (0.0, 0.67, 1.0)
        """
        leaves = int(self.cardinality[self._lowest_common_node(values)])
        return 0.0 if leaves == 1 else leaves / len(self.leaves)

    def common_ancestors(
        self, low: NDArray[np.integer], high: NDArray[np.integer]
    ) -> NDArray[np.int32]:
        """Find the lowest common ancestor of the leaves at positions low[i] to high[i].

        Leaves are in in-order position, so a set of leaves has the ancestors of its two ends.

        Parameters
        ----------
        low, high : integer array of shape (n,)
            Positions of the first and the last leaf of each set.

        Returns
        -------
        int32 array of shape (n,)
            The node of each set.

        Examples
        --------
        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> nodes = sizes.common_ancestors(np.array([0, 0, 1]), np.array([0, 1, 2]))
        >>> [sizes.labels[node] for node in nodes]
        ['S', '*', 'big']
        """
        chains = self.ancestors[low]
        level = (chains == self.ancestors[high]).argmax(axis=1)
        nodes: NDArray[np.int32] = chains[np.arange(len(chains)), level]
        return nodes

    def contains(self, node_label: str, leaf: str) -> bool:
        """Tell whether a leaf is below a node.

        Parameters
        ----------
        node_label : str
            The label of the node.
        leaf : str
            The leaf.

        Returns
        -------
        bool
            True also if the leaf is the node itself.

        Raises
        ------
        UsageError
            There is no such node.
        DataError
            There is no such leaf.

        Examples
        --------
        >>> Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*")]).contains("big", "S")
        False
        """
        self.check_covers([leaf])
        return bool((self.ancestors[self._position[leaf]] == self._find_node(node_label)).any())

    def leaves_under(self, node_label: str) -> tuple[str, ...]:
        """Return all leaves below a node.

        Parameters
        ----------
        node_label : str
            The label of the node.

        Returns
        -------
        tuple of str
            The leaves, in in-order position.

        Raises
        ------
        UsageError
            There is no such node.

        Examples
        --------
        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> sizes.leaves_under("big")
        ('M', 'L')
        """
        below = (self.ancestors == self._find_node(node_label)).any(axis=1)
        return tuple(self.leaves[position] for position in np.flatnonzero(below))

    def leaf_range(self, label: str) -> tuple[int, int] | None:
        """Return the positions of the first and the last leaf below a label.

        Parameters
        ----------
        label : str
            The label of a node or leaf.

        Returns
        -------
        tuple of int and int, or None
            Positions in in-order; None if the hierarchy has no such label.

        Examples
        --------
        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> sizes.leaf_range("big"), sizes.leaf_range("huge")
        ((1, 2), None)
        """
        node = self._node.get(label)
        if node is None:
            return None
        first, last = self.extents
        return int(first[node]), int(last[node])

    @property
    def root(self) -> int:
        """The node of the root."""
        return len(self.labels) - 1

    @cached_property
    def extents(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the first and the last leaf below every node."""
        first = np.full(len(self.labels), len(self.leaves), np.int64)
        last = np.full(len(self.labels), -1, np.int64)
        for level in self.ancestors.T:
            np.minimum.at(first, level, np.arange(len(level)))
            np.maximum.at(last, level, np.arange(len(level)))
        return first, last

    @cached_property
    def parents(self) -> NDArray[np.int32]:
        """The parent of every node; the root is its own parent."""
        above = np.full(len(self.labels), self.root, np.int32)
        for level in range(self.ancestors.shape[1] - 1, 0, -1):
            lower, upper = self.ancestors[:, level - 1], self.ancestors[:, level]
            above[lower[lower != upper]] = upper[lower != upper]
        return above

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the hierarchy, from which `from_rows` builds an equal one.

        Returns
        -------
        list of tuple of str
            One row per leaf: the leaf, its ancestors by level, and the root ``*``.
        """
        return [tuple(self.labels[node] for node in chain) for chain in self.ancestors.tolist()]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.ancestors, other.ancestors)

    def __hash__(self) -> int:
        return hash(self.labels)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {leaf: position for position, leaf in enumerate(self.leaves)}

    @cached_property
    def _node(self) -> dict[str, int]:
        return {label: node for node, label in enumerate(self.labels)}

    def _find_node(self, label: str) -> int:
        if label not in self._node:
            raise UsageError(
                f"The hierarchy has no node {label!r}.", did_you_mean(label, self.labels)
            )
        return self._node[label]

    def _lowest_common_node(self, values: Iterable[str]) -> int:
        distinct = set(values)
        if not distinct:
            raise UsageError("There are no values to find an ancestor of.", "Give at least one.")
        self.check_covers(distinct)
        positions = [self._position[value] for value in distinct]
        return int(self.common_ancestors(np.array([min(positions)]), np.array([max(positions)]))[0])


def _refuse_errors(rows: Iterable[Sequence[str]], name: str) -> list[Sequence[str]]:
    """Return the rows if ``lint`` finds no error in them."""
    rows = list(rows)
    errors = [finding for finding in lint(rows, name=name) if finding.severity is Severity.ERROR]
    if errors:
        shown = [finding.message for finding in errors[:FINDINGS_SHOWN]]
        if len(errors) > FINDINGS_SHOWN:
            shown.append(f"… and {len(errors) - FINDINGS_SHOWN:,} more.")
        raise DataError(
            "\n  ".join([f"{name} is not a hierarchy:", *shown]),
            "\nEvery row is leaf;level 1;…;* with one parent per label; correct these rows.",
        )
    return rows
