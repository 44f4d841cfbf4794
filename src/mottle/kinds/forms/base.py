"""The interface of all forms of published cells, and what forms need from the layers above.

A form is the shape of a column's published cells: a range, a set of values, a node of a tree, or
the possible worlds of a set of items. Several kinds of columns share a form. A form defines its
cells in codes (`Cells`), their loss, their Arrow type and text, and what analysts read from them.
What depends on the graph, on a database or on a query engine is passed in through small protocols:
`Preimages`, `Layout` and `View`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from mottle.errors import DataError
from mottle.kinds._arrow import pa, pc
from mottle.kinds._registered import Family, Registered
from mottle.kinds.coarsening import Coarsening
from mottle.kinds.columns import Domain, ReleasedColumn
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.distinct_cells import by_distinct_cell
from mottle.utils.registry import Registry

if TYPE_CHECKING:
    from mottle.graph.bit_voting import Votes
    from mottle.itemsets.data import Sets

LARGEST_PROFILE = 100  # most values or items of a column that serve as features of a record

Described = TypeVar("Described", contravariant=True)
Stored = TypeVar("Stored", covariant=True)


class Preimages(Protocol):
    """The originals behind every row of a cover, seen from one column."""

    @property
    def codes(self) -> Int32Array:
        """[n]: the code of every record."""
        ...

    def extents(self, missing: int) -> tuple[Int32Array, Int32Array, BoolArray]:
        """[rows] each: lowest and highest code, -1 for none, and whether one is missing."""
        ...

    def distinct(self) -> tuple[Int64Array, Int32Array]:
        """The distinct codes of every row, ascending, and where those of each row begin."""
        ...

    def votes(self, sets: Sets, present: BoolArray) -> tuple[Votes, Int32Array]:
        """Return the preimages' votes on items, row by row, and the number of preimages."""
        ...

    def outside_extents(
        self, missing: int, lowest: Int32Array, highest: Int32Array, possible: BoolArray
    ) -> int:
        """Count rows with a preimage outside their ends, or with an unreported missing one."""
        ...

    def outside_sets(self, offsets: Int64Array, values: Int32Array) -> int:
        """Count rows that have a preimage that is not in their set."""
        ...

    def check_votes(
        self,
        base: tuple[Int64Array, Int32Array],
        uncertain: tuple[Int64Array, Int32Array],
        distance: Int32Array,
        sets: Sets,
        present: BoolArray,
    ) -> None:
        """Raise `PrivacyError` unless every preimage is a possible world of its row."""
        ...

    def unreported_missing(self, present: BoolArray, missing: BoolArray) -> int:
        """Count rows that have a preimage without a set and do not report it."""
        ...


class Layout(Protocol[Described, Stored]):
    """How a database stores published columns; the form of a column chooses the method."""

    def store_text(self, column: Described) -> Stored:
        """Cells that are one text."""
        ...

    def store_range(self, column: Described) -> Stored:
        """Cells of struct<lo, hi, missing>."""
        ...

    def store_list(self, column: Described) -> Stored:
        """Cells that are lists of values."""
        ...

    def store_worlds(self, column: Described) -> Stored:
        """Cells of struct<base, uncertain, distance, missing>."""
        ...


class View(Protocol[Described, Stored]):
    """How an analysis reads published cells; the form of a column chooses the method."""

    def of_intervals(self, cells: pa.Array, column: Described) -> Stored:
        """Cells of struct<lo, hi, missing>: all values between two ends."""
        ...

    def of_members(self, cells: pa.Array, column: Described) -> Stored:
        """Cells that are lists of the possible values."""
        ...

    def of_labels(self, cells: pa.Array, column: Described) -> Stored:
        """Cells that are labels of the column's tree: all leaves below a node."""
        ...

    def of_worlds(self, cells: pa.Array, column: Described) -> Stored:
        """Cells of struct<base, uncertain, distance, missing>: possible sets of items."""
        ...


class Cells(ABC):
    """The published cells of one column in code form, one for each row of a cover."""

    @abstractmethod
    def take(self, rows: Int32Array) -> Cells:
        """The cells of the given rows."""

    @abstractmethod
    def is_well_formed(self, rows: int, domain: Domain) -> bool:
        """Whether there is one cell for each row, so that kernels stay inside the arrays."""

    @abstractmethod
    def check(self, preimages: Preimages, domain: Domain) -> str | None:
        """Check invariant 2: the error message if cells miss a preimage, None if none does."""

    @abstractmethod
    def ncp(self, domain: Domain) -> Float64Array:
        """Normalized certainty penalty of each cell."""

    @abstractmethod
    def decode(self, domain: Domain) -> pa.Array:
        """Typed Arrow cells."""

    def distinct(self) -> Int32Array | None:
        """[rows]: numbers that are equal where cells are; None where they are not found quickly."""
        return None

    @abstractmethod
    def expected_features(self, domain: Domain) -> Float64Array:
        """[rows, features]: each cell spread evenly over the values it may stand for."""


@dataclass(frozen=True)
class TreeGrowth:
    """The nodes of a column's tree, for kernels; the root is its own parent."""

    node_of_code: Int32Array  # [size]
    parent: Int32Array  # [nodes]
    first_leaf: Int32Array  # [nodes] lowest code below the node
    last_leaf: Int32Array  # [nodes] highest code below the node
    penalty: Float64Array  # [nodes] NCP, weighted


@dataclass(frozen=True)
class Growth:
    """The weighted cost of adding one more value to cells of a column, for kernels."""

    step: float = 0.0  # cost of one more member, of "or missing", or of one wrong item
    position: Float64Array | None = None  # [size] position of every value on a line
    tree: TreeGrowth | None = None
    lists: tuple[Int64Array, Int32Array] | None = None  # sizes and items of the sets of all codes


class FormFamily(Family):
    """Forms as attributes: ``Form.RANGE``."""

    def __getattr__(self, attribute: str) -> Form:
        form: Form = self.member(attribute)
        return form

    def __iter__(self) -> Iterator[Form]:
        return self.members()


class Form(Registered, metaclass=FormFamily):
    """How the cells of a quasi-identifier are published.

    Parameters
    ----------
    name : str
        The name of a registered form, as in the metadata of a release.

    Raises
    ------
    ValueError
        There is no form of that name.

    Notes
    -----
    A new form is a class in a module of its own in `mottle.kinds.forms`, under the decorator
    `register`, together with the class of its `Cells`. Methods that raise NotImplementedError here
    have to be defined by every form; the others have a default. Those before `arrow_type` work on
    codes and serve the methods of anonymization; the others work on published cells, as Arrow
    arrays of `arrow_type`, and serve readers, writers, queries and reports.

    Examples
    --------
    >>> Form.RANGE is Form("range"), Form.RANGE == "range"
    (True, True)
    >>> [str(form) for form in Form]
    ['node', 'range', 'set', 'worlds']
    """

    registry: ClassVar[Registry[Form]] = Registry("form of cells", "mottle.kinds.forms")
    kernel_code: ClassVar[int]  # by which Numba kernels distinguish forms
    has_intervals: ClassVar[bool] = False  # a cell holds all values between two ends
    has_tree: ClassVar[bool] = False  # cells are nodes of a tree
    has_items: ClassVar[bool] = False  # cells are about sets of items, not single values
    published_as: ClassVar[str]  # how a report names such cells

    def __new__(cls, name: str = "") -> Form:
        """Look up a form by its name; the one object of a form is made without a name."""
        if cls is Form:
            found: Form = cls.named(name)
            return found
        return str.__new__(cls, cls.name)

    def __reduce__(self) -> tuple[type[Form], tuple[str]]:
        return Form, (self.name,)

    # ------------------------------------------------------------------------------------- codes

    def cover(self, preimages: Preimages, domain: Domain) -> Cells:
        """Return the smallest cells that contain all preimages of every row.

        Parameters
        ----------
        preimages : Preimages
            The originals behind every row, seen from this column.
        domain : Domain
            The coded column.

        Returns
        -------
        Cells
            One cell for each row.
        """
        raise NotImplementedError

    def growth(self, domain: Domain, weight: float, degree: int) -> Growth:
        """Return the loss of a column as the kernels of the methods take it.

        Parameters
        ----------
        domain : Domain
            The coded column.
        weight : float
            The weight of the column, as a share of the weights of all columns.
        degree : int
            The number of preimages of a cell.

        Returns
        -------
        Growth
            What one more value costs, weighted.
        """
        raise NotImplementedError

    def room(self, domain: Domain, places_of_item: int) -> int:
        """Return how many places a column needs in a kernel's flat array over all columns.

        Parameters
        ----------
        domain : Domain
            The coded column.
        places_of_item : int
            Places that a kernel needs for each item of a set.

        Returns
        -------
        int
            By default one place for each value.
        """
        return domain.size

    def coordinates(self, domain: Domain, counts: Int64Array) -> Float64Array:
        """Return a coordinate between 0 and 1 for each value, for orderings in the unit cube.

        Parameters
        ----------
        domain : Domain
            The coded column.
        counts : Int64Array
            How often each value occurs.

        Returns
        -------
        Float64Array
            One coordinate per code; by default evenly spaced by code, or by descending frequency
            where the order of the values has no meaning.
        """
        coordinates = np.linspace(0.0, 1.0, domain.size)
        if domain.kind.is_unordered:
            coordinates[np.argsort(-counts, kind="stable")] = coordinates.copy()
        return coordinates

    def along_a_line(self, domain: Domain) -> Domain:
        """Return the domain for methods that do not count votes on items.

        Parameters
        ----------
        domain : Domain
            The coded column.

        Returns
        -------
        Domain
            The same domain, except for sets of items: these become values on a line.
        """
        return domain

    def has_profile(self, domain: Domain) -> bool:
        """Return whether `block_means` describes a column by features.

        Parameters
        ----------
        domain : Domain
            The coded column.

        Returns
        -------
        bool
            By default False for a column of more than `LARGEST_PROFILE` values.
        """
        return domain.size <= LARGEST_PROFILE

    def block_means(self, domain: Domain, codes: Int32Array, starts: Int64Array) -> Float64Array:
        """Return the mean features of every block of records.

        Parameters
        ----------
        domain : Domain
            The coded column.
        codes : Int32Array
            The codes of the records, block after block.
        starts : Int64Array
            Where each block begins, and the end of the last one.

        Returns
        -------
        Float64Array
            [blocks, features]; by default the share of each value, times `weight`.
        """
        lengths = np.diff(starts)
        block_of = np.repeat(np.arange(len(lengths)), lengths)
        counts = np.bincount(block_of * domain.size + codes, minlength=len(lengths) * domain.size)
        return np.asarray(counts.reshape(-1, domain.size) / lengths[:, None] * self.weight(domain))

    def weight(self, domain: Domain) -> float:
        """Return the weight of a column's features.

        Columns of few values lose more when these are mixed, so their features count more.

        Parameters
        ----------
        domain : Domain
            The coded column.

        Returns
        -------
        float
            The factor of every feature.
        """
        return float(1 / np.sqrt(max(domain.size - 1, 1)))

    def as_items(
        self, domain: Domain, codes: Int32Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Describe records by items that they hold, for orders that split records by an item.

        Parameters
        ----------
        domain : Domain
            The coded column.
        codes : Int32Array
            The codes of the records.

        Returns
        -------
        held_by : Int64Array
            The record of every pair of record and item.
        items : Int64Array
            The item of every pair. By default a record holds an item for each of a few thresholds
            that its code exceeds.
        costs : Float64Array
            The cost of misreporting each item.
        """
        middle = np.linspace(0, 1, _THRESHOLDS + 2)[1:-1]
        thresholds = np.unique(np.quantile(codes, middle, method="lower"))
        held_by, items = np.nonzero(codes[:, None] > thresholds)
        return held_by, items.astype(np.int64), np.full(len(thresholds), _DISTANCE_OF_HALVES)

    # ------------------------------------------------------------------------------ Arrow and text

    def arrow_type(self, value_type: pa.DataType) -> pa.DataType:
        """Return the type of published cells.

        Parameters
        ----------
        value_type : pyarrow.DataType
            The type of the original values.

        Returns
        -------
        pyarrow.DataType
            The type of the cells in Arrow and Parquet.
        """
        raise NotImplementedError

    def value_type(self, cell_type: pa.DataType) -> pa.DataType:
        """Return the type of the original values; the inverse of `arrow_type`.

        Parameters
        ----------
        cell_type : pyarrow.DataType
            The type of published cells.

        Returns
        -------
        pyarrow.DataType
            The type of the values in them.
        """
        raise NotImplementedError

    def original_values(self, values: pa.Array, column: ReleasedColumn) -> pa.Array:
        """Convert originals to the type in which they compare with published cells.

        A time becomes its day, and NaN is missing.

        Parameters
        ----------
        values : pyarrow.Array
            A column of the original table.
        column : ReleasedColumn
            The same column as the release describes it.

        Returns
        -------
        pyarrow.Array
            The values in `original_type`.

        Raises
        ------
        DataError
            The values cannot be those that the release was made from.
        """
        return cast_originals(values, self.original_type(column.value_type), column.name)

    def original_type(self, value_type: pa.DataType) -> pa.DataType:
        """Return the type of originals that compare with published cells.

        Parameters
        ----------
        value_type : pyarrow.DataType
            The type of the original values, as the release states it.

        Returns
        -------
        pyarrow.DataType
            By default the same type.
        """
        return value_type

    def text_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a CSV file that hold the cells of a published column.

        Parameters
        ----------
        name : str
            The name of the published column.

        Returns
        -------
        tuple of str
            By default the name alone.
        """
        return (name,)

    def texts(self, cells: pa.Array, rule: Coarsening | None = None) -> tuple[pa.Array, ...]:
        """Convert cells to text, as a CSV file holds them.

        Parameters
        ----------
        cells : pyarrow.Array
            Typed cells.
        rule : Coarsening, optional
            The rule by which the column's values were made coarser, if there is one.

        Returns
        -------
        tuple of pyarrow.Array
            An array of text for each of the `text_columns`.
        """
        return (self.text(cells, rule),)

    def text(self, cells: pa.Array, rule: Coarsening | None = None) -> pa.Array:
        """Convert each cell to one text.

        Parameters
        ----------
        cells : pyarrow.Array
            Typed cells.
        rule : Coarsening, optional
            The rule by which the column's values were made coarser, if there is one.

        Returns
        -------
        pyarrow.Array
            Text; null where only the missing value is possible.
        """

        def text(some: pa.Array) -> pa.Array:
            texts = self.cell_texts(some) if rule is None else self.binned_texts(some, rule)
            return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)

        return by_distinct_cell(text, cells)

    def cell_texts(self, cells: pa.Array) -> pa.Array:
        """Convert each cell to one text, with the empty text for missing.

        Parameters
        ----------
        cells : pyarrow.Array
            Typed cells.

        Returns
        -------
        pyarrow.Array
            Text in the grammar of `mottle.kinds.forms.grammar`, without nulls.
        """
        raise NotImplementedError

    def binned_texts(self, cells: pa.Array, rule: Coarsening) -> pa.Array:
        """Convert each cell of bins to one text, with the empty text for missing.

        Parameters
        ----------
        cells : pyarrow.Array
            Typed cells.
        rule : Coarsening
            The rule by which the column's values were made coarser.

        Returns
        -------
        pyarrow.Array
            Text, without nulls; by default as `cell_texts`.
        """
        return self.cell_texts(cells)

    def from_texts(
        self,
        texts: Sequence[pa.Array],
        value_type: pa.DataType,
        rule: Coarsening | None = None,
    ) -> pa.Array:
        """Read typed cells from text; the inverse of `texts`.

        Parameters
        ----------
        texts : sequence of pyarrow.Array
            An array of text for each of the `text_columns`.
        value_type : pyarrow.DataType
            The type of the original values.
        rule : Coarsening, optional
            The rule by which the column's values were made coarser, if there is one.

        Returns
        -------
        pyarrow.Array
            Typed cells.

        Raises
        ------
        DataError
            A text is not a cell of this form.
        """
        (only,) = texts
        return self.from_text(only, value_type, rule)

    def from_text(
        self, texts: pa.Array, value_type: pa.DataType, rule: Coarsening | None = None
    ) -> pa.Array:
        """Read typed cells from one text each; the inverse of `text`.

        Parameters
        ----------
        texts : pyarrow.Array
            The texts.
        value_type : pyarrow.DataType
            The type of the original values.
        rule : Coarsening, optional
            The rule by which the column's values were made coarser, if there is one.

        Returns
        -------
        pyarrow.Array
            Typed cells.

        Raises
        ------
        DataError
            A text is not a cell of this form, or the form needs several texts for a cell.
        """
        encoded = pc.fill_null(texts, "").dictionary_encode()
        try:
            distinct = self.parse(encoded.dictionary.to_pylist(), value_type, rule)
        except (pa.ArrowException, ValueError):
            raise DataError(f"A cell is not a {self} of {value_type} values.") from None
        return distinct.take(encoded.indices)

    def parse(
        self, texts: list[str], value_type: pa.DataType, rule: Coarsening | None = None
    ) -> pa.Array:
        """Parse texts for `from_text`.

        Parameters
        ----------
        texts : list of str
            Distinct texts; the empty one for missing.
        value_type : pyarrow.DataType
            The type of the original values.
        rule : Coarsening, optional
            The rule by which the column's values were made coarser, if there is one.

        Returns
        -------
        pyarrow.Array
            Typed cells.

        Raises
        ------
        ValueError or pyarrow.ArrowException
            A text is not a cell of this form; `from_text` turns it into a `DataError`.
        """
        raise NotImplementedError

    def flaw(self, cells: pa.Array, column: ReleasedColumn) -> str | None:
        """Say what is wrong with cells that others may have written.

        Parameters
        ----------
        cells : pyarrow.Array
            Cells of the type `arrow_type`, whose buffers are valid.
        column : ReleasedColumn
            The column as the release describes it.

        Returns
        -------
        str or None
            What is wrong with at least one cell, such as ``a range that ends before it begins``;
            None if all of them are cells that this form may publish.
        """
        raise NotImplementedError

    # ------------------------------------------------------------------- databases and analysis

    def stored_by(self, layout: Layout[Described, Stored], column: Described) -> Stored:
        """Call the method of a database's layout that stores cells of this form.

        Parameters
        ----------
        layout : Layout
            How the database stores columns.
        column : object
            The column, as the layout describes it.

        Returns
        -------
        object
            What the layout returns.
        """
        raise NotImplementedError

    def seen_by(self, view: View[Described, Stored], cells: pa.Array, column: Described) -> Stored:
        """Call the method of an analysis's view that reads cells of this form.

        Parameters
        ----------
        view : View
            How the analysis reads cells.
        cells : pyarrow.Array
            Typed cells.
        column : object
            The column, as the view describes it.

        Returns
        -------
        object
            What the view returns.
        """
        raise NotImplementedError

    def keys(self, cells: pa.ChunkedArray) -> list[pa.ChunkedArray]:
        """Return columns to group by that are equal exactly where the cells are equal.

        Parameters
        ----------
        cells : pyarrow.ChunkedArray
            Typed cells.

        Returns
        -------
        list of pyarrow.ChunkedArray
            Columns of plain values; by default the `texts` of the cells.
        """
        parts = [self.texts(chunk) for chunk in (cells.chunks or [cells.combine_chunks()])]
        return [pa.chunked_array(part, pa.string()) for part in zip(*parts, strict=True)]

    def named_values(self, cells: pa.Array, weights: Float64Array) -> tuple[pa.Array, Float64Array]:
        """Return all values that cells name, each with its share of the cell's weight.

        Parameters
        ----------
        cells : pyarrow.Array
            Typed cells.
        weights : Float64Array
            The weight of each cell.

        Returns
        -------
        values : pyarrow.Array
            The values: both ends of a range, the members of a set, the label of a node.
        weights : Float64Array
            The weight of each value.
        """
        return cells, weights

    def inside(self, cells: pa.Array, others: pa.Array, column: ReleasedColumn) -> BoolArray:
        """Return whether each cell is contained in the other cell of its row.

        Parameters
        ----------
        cells : pyarrow.Array
            Typed cells.
        others : pyarrow.Array
            As many cells of another release of the same table.
        column : ReleasedColumn
            The column as the release describes it.

        Returns
        -------
        BoolArray
            One truth value for each row.
        """
        raise NotImplementedError

    def widths(self, cells: pa.Array, column: ReleasedColumn) -> Float64Array:
        """Return the width of every cell, in the unit of its column.

        Parameters
        ----------
        cells : pyarrow.Array
            Typed cells.
        column : ReleasedColumn
            The column as the release describes it.

        Returns
        -------
        Float64Array
            Widths; 0 for a single value.
        """
        raise NotImplementedError

    def width_in_words(self, width: float) -> str:
        """Return a width as text for a report.

        Parameters
        ----------
        width : float
            A width above 0, as `widths` measures it.

        Returns
        -------
        str
            Such as ``4 possible values``.
        """
        raise NotImplementedError


_THRESHOLDS = 8  # number of thresholds for a column whose codes have an order
_DISTANCE_OF_HALVES = 0.5  # approximate distance of two halves of a column, as a share of its range


def cast_originals(values: pa.Array, target: pa.DataType, name: str) -> pa.Array:
    """Convert originals to the type of the release; a time becomes its day, NaN is missing."""
    if pa.types.is_string(values.type) and not pa.types.is_string(target):
        values = pc.replace_substring_regex(pc.ascii_trim_whitespace(values), r"^\+", "")
    try:
        values = pc.cast(values, target, safe=not pa.types.is_date(target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise not_the_original(name, values.type, f"{target} values") from None
    if pa.types.is_floating(target):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, target), values)
        values = pc.add(values, pa.scalar(0.0, target))  # -0.0 and 0.0 are one value
    return values


def not_the_original(name: str, found: pa.DataType, published: str) -> DataError:
    """Make the error for a table whose values do not have the type stated in the release."""
    return DataError(
        f"Column '{name}' holds {found} values in the original and {published} in the release.",
        "Give the table the release was made from.",
    )


def take_values(values: pa.Array, codes: Int32Array) -> pa.Array:
    """Return values by code, null for code -1."""
    return values.take(pa.array(codes, mask=codes < 0))


def are_lists(offsets: Int64Array, values: Int32Array, rows: int) -> bool:
    """Return whether offsets divide the values into one list for each row."""
    return bool(
        len(offsets) == rows + 1
        and offsets[0] == 0
        and offsets[-1] == len(values)
        and np.all(np.diff(offsets) >= 0)
    )


def truth(flags: pa.Array) -> BoolArray:
    """Convert flags to NumPy; null is false."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), np.bool_)


def members_of(cells: pa.ListArray) -> tuple[pa.Array, Int64Array]:
    """Return all members of all lists, and the row of each."""
    sizes = pc.fill_null(pc.list_value_length(cells), 0).to_numpy()
    return cells.flatten(), np.repeat(np.arange(len(cells)), sizes)


def register(form: type[Form]) -> type[Form]:
    """Register the one object of a form; a decorator of its class."""
    instance: Any = form()
    Form.registry.add(instance)
    return form
