"""What every form of published cells offers, and what it asks of the layers above.

A form is the shape of a column's published cells: a range, a set of values, a node of a tree, or
the possible worlds of a set of items. Several kinds of columns share a form. A form owns its cells
in codes (`Cells`), their loss, their Arrow type and text, and what analysts read off them. What
depends on the graph, on a database or on a query engine comes in through small protocols:
`Preimages` and `Layout`.
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
from mottle.kinds.columns import Domain, ReleasedColumn
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.registry import Registry

if TYPE_CHECKING:
    from mottle.graph.bit_voting import Votes
    from mottle.itemsets.data import Sets

LARGEST_PROFILE = 100  # values or items of a column that describe where records lie

Told = TypeVar("Told", contravariant=True)
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
        """What the preimages of every row say about items, and how many preimages it has."""
        ...

    def outside_extents(
        self, missing: int, lowest: Int32Array, highest: Int32Array, possible: BoolArray
    ) -> int:
        """How many rows have a preimage that is not between their ends, or missing unsaid."""
        ...

    def outside_sets(self, offsets: Int64Array, values: Int32Array) -> int:
        """How many rows have a preimage that is not in their set."""
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

    def unsaid_missing(self, present: BoolArray, missing: BoolArray) -> int:
        """How many rows have a preimage without a set and do not say so."""
        ...


class Layout(Protocol[Told, Stored]):
    """How a database stores published columns; the form of a column chooses the method."""

    def store_text(self, column: Told) -> Stored:
        """Cells that are one text."""
        ...

    def store_range(self, column: Told) -> Stored:
        """Cells of struct<lo, hi, missing>."""
        ...

    def store_list(self, column: Told) -> Stored:
        """Cells that are lists of values."""
        ...

    def store_worlds(self, column: Told) -> Stored:
        """Cells of struct<base, uncertain, distance, missing>."""
        ...


class View(Protocol[Told, Stored]):
    """How an analysis takes published cells in; the form of a column chooses the method."""

    def of_intervals(self, cells: pa.Array, column: Told) -> Stored:
        """Cells of struct<lo, hi, missing>: all values between two ends."""
        ...

    def of_members(self, cells: pa.Array, column: Told) -> Stored:
        """Cells that are lists of the possible values."""
        ...

    def of_labels(self, cells: pa.Array, column: Told) -> Stored:
        """Cells that are labels of the column's tree: all leaves below a node."""
        ...

    def of_worlds(self, cells: pa.Array, column: Told) -> Stored:
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
        """Invariant 2: what is wrong with cells that miss a preimage, in words; None if none do."""

    @abstractmethod
    def ncp(self, domain: Domain) -> Float64Array:
        """Normalized certainty penalty of each cell."""

    @abstractmethod
    def decode(self, domain: Domain) -> pa.Array:
        """Typed Arrow cells."""

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
    """What it costs cells of a column to take in one more value, for kernels, weighted."""

    step: float = 0.0  # of one more member, of "or missing", or of one wrong item
    position: Float64Array | None = None  # [size] place of every value on a line
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
    In the methods ``domain`` is a coded column, ``codes`` [n] are the codes of its records,
    ``cells`` and ``others`` are published cells as Arrow arrays of `arrow_type`, ``column`` is the
    column as the release describes it and ``value_type`` the type of its original values. Methods
    that raise NotImplementedError here have to be defined by every form.

    Examples
    --------
    >>> Form.RANGE is Form("range"), Form.RANGE == "range"
    (True, True)
    >>> [str(form) for form in Form]
    ['node', 'range', 'set', 'worlds']
    """

    registry: ClassVar[Registry[Form]] = Registry("form of cells", "mottle.kinds.forms")
    kernel_code: ClassVar[int]  # by which Numba kernels tell forms apart
    has_intervals: ClassVar[bool] = False  # a cell holds all values between two ends
    has_tree: ClassVar[bool] = False  # cells are nodes of a tree
    has_items: ClassVar[bool] = False  # cells are about sets of items, not single values
    published_as: ClassVar[str]  # how a report names such cells

    def __new__(cls, name: str = "") -> Form:
        """Look a form up by its name; a form itself is made without one."""
        if cls is Form:
            found: Form = cls.named(name)
            return found
        return str.__new__(cls, cls.name)

    def __reduce__(self) -> tuple[type[Form], tuple[str]]:
        return Form, (self.name,)

    # ------------------------------------------------------------------------------------- codes

    def cover(self, preimages: Preimages, domain: Domain) -> Cells:
        """The smallest cells that hold all preimages of every row."""
        raise NotImplementedError

    def growth(self, domain: Domain, weight: float, degree: int) -> Growth:
        """The loss of a column as kernels take it; ``degree`` is the number of preimages."""
        raise NotImplementedError

    def room(self, domain: Domain, places_of_item: int) -> int:
        """How many places a column needs in flat arrays over all domains."""
        return domain.size

    def coordinates(self, domain: Domain, counts: Int64Array) -> Float64Array:
        """Where each value lies between 0 and 1; ``counts`` is how often each occurs."""
        coordinates = np.linspace(0.0, 1.0, domain.size)
        if domain.kind.is_unordered:
            coordinates[np.argsort(-counts, kind="stable")] = coordinates.copy()
        return coordinates

    def along_a_line(self, domain: Domain) -> Domain:
        """The same domain for methods that count no votes."""
        return domain

    def has_profile(self, domain: Domain) -> bool:
        """Whether a column is described by features; one with too many values is not."""
        return domain.size <= LARGEST_PROFILE

    def block_means(self, domain: Domain, codes: Int32Array, starts: Int64Array) -> Float64Array:
        """[blocks, features]: the shares of a column's values in every block of records."""
        lengths = np.diff(starts)
        block_of = np.repeat(np.arange(len(lengths)), lengths)
        counts = np.bincount(block_of * domain.size + codes, minlength=len(lengths) * domain.size)
        return np.asarray(counts.reshape(-1, domain.size) / lengths[:, None] * self.weight(domain))

    def weight(self, domain: Domain) -> float:
        """Columns of few values lose more by mixing them, so their features count more."""
        return float(1 / np.sqrt(max(domain.size - 1, 1)))

    def as_items(
        self, domain: Domain, codes: Int32Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Records as holders of items: record and item of every pair, and the cost of each item.

        Here an item is to lie above one of a few thresholds.
        """
        middle = np.linspace(0, 1, _THRESHOLDS + 2)[1:-1]
        thresholds = np.unique(np.quantile(codes, middle, method="lower"))
        held_by, items = np.nonzero(codes[:, None] > thresholds)
        return held_by, items.astype(np.int64), np.full(len(thresholds), _HALVES_APART)

    # ------------------------------------------------------------------------------ Arrow and text

    def arrow_type(self, value_type: pa.DataType) -> pa.DataType:
        """The type of published cells whose original values have ``value_type``."""
        raise NotImplementedError

    def value_type(self, cell_type: pa.DataType) -> pa.DataType:
        """The inverse of `arrow_type`."""
        raise NotImplementedError

    def original_values(self, values: pa.Array, column: ReleasedColumn) -> pa.Array:
        """Originals in the type in which they compare with what was published.

        A time is its day, NaN is missing.

        Raises
        ------
        DataError
            The values cannot be those that the release was made from.
        """
        return cast_originals(values, self.original_type(column.value_type), column.name)

    def original_type(self, value_type: pa.DataType) -> pa.DataType:
        """The type of originals that compare with published cells."""
        return value_type

    def text_columns(self, name: str) -> tuple[str, ...]:
        """The columns of a CSV file that hold the cells of a published column."""
        return (name,)

    def texts(self, cells: pa.Array) -> tuple[pa.Array, ...]:
        """Typed cells as text, an array for each of the `text_columns`."""
        return (self.text(cells),)

    def text(self, cells: pa.Array) -> pa.Array:
        """Typed cells as text for people; null where only missing is possible."""
        texts = self.cell_texts(cells)
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)

    def cell_texts(self, cells: pa.Array) -> pa.Array:
        """Typed cells as text, the empty text for missing."""
        raise NotImplementedError

    def from_texts(self, texts: Sequence[pa.Array], value_type: pa.DataType) -> pa.Array:
        """The inverse of `texts`. Raises `DataError` on other text."""
        (only,) = texts
        return self.from_text(only, value_type)

    def from_text(self, texts: pa.Array, value_type: pa.DataType) -> pa.Array:
        """The inverse of `text`, where one text holds a cell. Raises `DataError` on other text."""
        encoded = pc.fill_null(texts, "").dictionary_encode()
        try:
            distinct = self.parse(encoded.dictionary.to_pylist(), value_type)
        except (pa.ArrowException, ValueError):
            raise DataError(f"A cell is no {self} of {value_type} values.") from None
        return distinct.take(encoded.indices)

    def parse(self, texts: list[str], value_type: pa.DataType) -> pa.Array:
        """Typed cells from text, or ValueError or an Arrow exception on other text."""
        raise NotImplementedError

    # ------------------------------------------------------------------- databases and analysis

    def stored_by(self, layout: Layout[Told, Stored], column: Told) -> Stored:
        """Have a database decide how it stores a column of such cells."""
        raise NotImplementedError

    def seen_by(self, view: View[Told, Stored], cells: pa.Array, column: Told) -> Stored:
        """Have an analysis take in a column of such cells."""
        raise NotImplementedError

    def keys(self, cells: pa.ChunkedArray) -> list[pa.ChunkedArray]:
        """Columns that can be grouped by, equal where the cells are."""
        parts = [self.texts(chunk) for chunk in (cells.chunks or [cells.combine_chunks()])]
        return [pa.chunked_array(part, pa.string()) for part in zip(*parts, strict=True)]

    def cells_of_keys(self, keys: list[pa.Array], value_type: pa.DataType) -> pa.Array:
        """The inverse of `keys`."""
        return self.from_texts(keys, value_type)

    def named_values(self, cells: pa.Array, weights: Float64Array) -> tuple[pa.Array, Float64Array]:
        """All values that cells name, with weights."""
        return cells, weights

    def inside(self, cells: pa.Array, others: pa.Array, column: ReleasedColumn) -> BoolArray:
        """Whether each cell is contained in the other one of its row."""
        raise NotImplementedError

    def widths(self, cells: pa.Array, column: ReleasedColumn) -> Float64Array:
        """How wide every cell is, in its column's own unit; 0 for a single value."""
        raise NotImplementedError

    def width_in_words(self, width: float) -> str:
        """A width above 0 for people."""
        raise NotImplementedError


_THRESHOLDS = 8  # of a column whose codes have an order
_HALVES_APART = 0.5  # of a column's range that two halves lie apart, about


def cast_originals(values: pa.Array, target: pa.DataType, name: str) -> pa.Array:
    """Originals in the type in which a release holds them; a time is its day, NaN is missing."""
    try:
        values = pc.cast(values, target, safe=not pa.types.is_date(target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise not_the_original(name, values.type, f"{target} values") from None
    if pa.types.is_floating(target):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, target), values)
        values = pc.add(values, pa.scalar(0.0, target))  # -0.0 and 0.0 are one value
    return values


def not_the_original(name: str, found: pa.DataType, published: str) -> DataError:
    """The values of a table do not have the type in which a release was made from them."""
    return DataError(
        f"Column '{name}' holds {found} values in the original and {published} in the release.",
        "Give the table the release was made from.",
    )


def take_values(values: pa.Array, codes: Int32Array) -> pa.Array:
    """Values by code, null for code -1."""
    return values.take(pa.array(codes, mask=codes < 0))


def are_lists(offsets: Int64Array, values: Int32Array, rows: int) -> bool:
    """Whether offsets cut the values into one list for each row."""
    return bool(
        len(offsets) == rows + 1
        and offsets[0] == 0
        and offsets[-1] == len(values)
        and np.all(np.diff(offsets) >= 0)
    )


def truth(flags: pa.Array) -> BoolArray:
    """Flags as NumPy; null is false."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), np.bool_)


def members_of(cells: pa.ListArray) -> tuple[pa.Array, Int64Array]:
    """All members of all lists, and the row of each."""
    sizes = pc.fill_null(pc.list_value_length(cells), 0).to_numpy()
    return cells.flatten(), np.repeat(np.arange(len(cells)), sizes)


def register(form: type[Form]) -> type[Form]:
    """Register the one object of a form."""
    instance: Any = form()
    Form.registry.add(instance)
    return form
