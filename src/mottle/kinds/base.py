"""What every kind of column offers: how values become codes, and what the codes mean.

A kind is one module of this package with one class, registered by `register`. The class names its
form and overrides what differs from a plain category: everything here has a default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from mottle.errors import DataError, SchemaError
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds._arrow import arrow, pa, pc
from mottle.kinds._registered import Family, Registered
from mottle.kinds.codes import (
    codes_in,
    codes_of_distinct,
    plain_values,
    positions_by_value,
    without_dictionary,
)
from mottle.kinds.columns import Domain, ReleasedColumn, SchemaColumn
from mottle.kinds.forms.base import Form
from mottle.typing import Float64Array, Int32Array
from mottle.utils.registry import Registry


class KindFamily(Family):
    """Kinds as attributes: ``Kind.NUMBER``."""

    def __getattr__(self, attribute: str) -> Kind:
        kind: Kind = self.member(attribute)
        return kind

    def __iter__(self) -> Iterator[Kind]:
        return self.members()


class Kind(Registered, metaclass=KindFamily):
    """How the values of a quasi-identifier are generalized.

    Parameters
    ----------
    name : str
        The name of a registered kind, as in a schema.

    Raises
    ------
    ValueError
        There is no kind of that name.

    Notes
    -----
    A new kind is a class in a module of its own in `mottle.kinds`, with `name`, `form` and `usage`,
    under the decorator `register`. It overrides the methods in which it differs from a category. In
    these, ``values`` is a column of the table as it comes, ``name`` the column's name for messages,
    ``column`` the column as the schema or the release describes it, ``domain`` its coded values,
    ``known`` the value of every code and ``form`` the form of the cells: that of the kind, or
    `Form.SET` in the representation of that name.

    Examples
    --------
    >>> Kind.NUMBER is Kind("number"), Kind.NUMBER == "number", Kind.NUMBER.form
    (True, True, <Form.RANGE: 'range'>)
    >>> [str(kind) for kind in Kind]
    ['category', 'date', 'hierarchy', 'number', 'ordered', 'prefix', 'set']
    """

    registry: ClassVar[Registry[Kind]] = Registry("kind", "mottle.kinds")
    form: ClassVar[Form]  # of its cells, unless the representation is sets
    usage: ClassVar[str]  # how a mottle.toml names it, with its options
    options: ClassVar[tuple[str, ...]] = ()  # of the schema that only columns of such kinds take
    implied_by: ClassVar[str | None] = None  # the option that makes a column one of this kind
    is_measured: ClassVar[bool] = False  # differences between values mean something: numbers, days
    has_order: ClassVar[bool] = False  # values are ordered by a list, not by themselves
    is_unordered: ClassVar[bool] = False  # the order of values means nothing
    streams: ClassVar[bool] = True  # values of a batch can be coded without those of all others
    external_form: ClassVar[Form | None]  # of cells that other tools write; None if none can

    def __new__(cls, name: str = "") -> Kind:
        """Look a kind up by its name; a kind itself is made without one."""
        if cls is Kind:
            found: Kind = cls.named(name)
            return found
        return str.__new__(cls, cls.name)

    def __reduce__(self) -> tuple[type[Kind], tuple[str]]:
        return Kind, (self.name,)

    @classmethod
    def of_type(cls, data_type: pa.DataType) -> Kind:
        """The kind of a column for which the schema names none."""
        return next((kind for kind in Kind if kind.is_natural_for(data_type)), Kind.CATEGORY)

    # ------------------------------------------------------------------------- schema and inspect

    def is_natural_for(self, data_type: pa.DataType) -> bool:
        """Whether columns of a type have this kind where the schema names none."""
        return False

    def check_options(self, column: SchemaColumn) -> None:
        """Raise ValueError where options of the schema are missing or make no sense."""

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Raise `DataError` or `SchemaError` where a column cannot have this kind."""
        if pa.types.is_nested(data_type):
            raise SchemaError(
                f"Column '{name}' holds {data_type} values, which cannot be a quasi-identifier"
                f" of kind {self}.",
                _FLATTEN,
            )
        check_plain(data_type, name)

    def proposal(self, name: str, values: pa.ChunkedArray) -> str | None:
        """Why 'mottle inspect' proposes this kind for a column; None if it does not.

        Kinds that are natural for a type need no proposal.
        """
        return None

    # -------------------------------------------------------------------------------------- codes

    def canonical(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Values in the type that is published: dates as days."""
        return without_dictionary(values)

    def comparable(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Values whose order and equality mean what they should; NaN as missing."""
        return plain_values(values, name)

    def coded_values(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Values in the type in which the domain holds them."""
        return self.comparable(values, name)

    def form_in(self, representation: str) -> Form:
        """The form of the cells in a representation."""
        return Form.SET if representation == "set" else self.form

    def encode_values(
        self, values: pa.ChunkedArray, column: SchemaColumn, representation: str
    ) -> tuple[Domain, Int32Array]:
        """The domain of one column and the codes of its rows.

        Parameters
        ----------
        values : pa.ChunkedArray
            The column of the table.
        column : SchemaColumn
            As the schema describes it, with this kind.
        representation : str
            ``range`` or ``set``, for a column that does not state its own.

        Returns
        -------
        tuple of Domain and Int32Array
            The missing value, where it occurs, is one more value with the last code.
        """
        form = self.form_in(column.representation or representation)
        codes, known = self.code(values, column, form)
        tree = self.tree(known, column) if form.has_tree else None
        has_missing = bool((codes < 0).any())
        missing = len(known) if has_missing else -1
        if has_missing:
            codes = np.where(codes < 0, np.int32(missing), codes)
            known = pa.concat_arrays([known, pa.nulls(1, known.type)])
        positions = self.positions(known) if form.has_intervals else np.empty(0)
        domain = Domain(column, form, known, missing, positions, tree)
        return domain, codes.astype(np.int32, copy=False)

    def code(
        self, values: pa.ChunkedArray, column: SchemaColumn, form: Form
    ) -> tuple[Int32Array, pa.Array]:
        """Codes of the rows, -1 for missing, and the value of every code."""
        return codes_of_distinct(self.coded_values(values, column.name))

    def encode_more(self, values: pa.ChunkedArray, domain: Domain) -> Int32Array:
        """Codes of some rows in a domain that is already known.

        Raises
        ------
        DataError
            Some values are not in the domain.
        """
        values = self.coded_values(values, domain.name)
        if pa.types.is_null(values.type):
            codes = np.full(len(values), -1, np.int32)
        else:
            codes = codes_in(values, domain.values if domain.missing < 0 else domain.values[:-1])
        unknown = int((codes < 0).sum()) - values.null_count
        if unknown or (domain.missing < 0 and values.null_count):
            raise DataError(
                f"Column '{domain.name}' has values that were not there when it was first read.",
                "Let nobody change the data while they are anonymized.",
            )
        return np.where(codes < 0, np.int32(domain.missing), codes) if values.null_count else codes

    def tree(self, known: pa.Array, column: SchemaColumn) -> Hierarchy:
        """The tree whose leaves are the known values, for cells that are nodes."""
        raise NotImplementedError

    def positions(self, known: pa.Array) -> Float64Array:
        """Where each value lies between the lowest (0) and the highest (1); 0 for the missing one.

        Numbers lie at their value, days by count, ordered values by rank.
        """
        present = known.drop_null()
        positions = np.zeros(len(known))
        if len(present):
            above = self.heights(present)
            positions[: len(present)] = above / (above[-1] or 1.0)
        return positions

    def heights(self, present: pa.Array) -> Float64Array:
        """How far above the lowest each of the ascending values lies, in any unit."""
        return positions_by_value(present)

    def notes(self, values: pa.ChunkedArray, domain: Domain) -> list[str]:
        """What was done to values on the way, for the certificate: when NaN is taken for missing.

        No value is named.
        """
        if not pa.types.is_floating(values.type):
            return []
        nans = pc.sum(pc.is_nan(values)).as_py() or 0
        return [f"Column '{domain.name}': {nans} NaN cells are taken for missing."] if nans else []

    # ------------------------------------------------------------------------------------ release

    def published_order(self, domain: Domain) -> tuple[str, ...] | None:
        """The order of the values, where a reader of the release has to know it."""
        return None

    def tree_facts(self, tree: Hierarchy) -> Mapping[str, Any]:
        """A tree as it stands in the metadata of a release."""
        return {"hierarchy": tree.rows()}

    def tree_of_facts(self, facts: Mapping[str, Any], name: str) -> Hierarchy | None:
        """The inverse of `tree_facts`; None where the metadata hold no tree."""
        rows = facts.get("hierarchy")
        return Hierarchy.from_rows(rows, name=name) if rows else None

    def schema_options(self, column: ReleasedColumn) -> dict[str, Any]:
        """What a schema has to say of a published column so that it is made again."""
        return {"kind": self}

    def describe_cells(self, form: Form) -> str:
        """How a report names the cells of such a column."""
        return form.published_as

    def width_in_words(self, width: float, form: Form) -> str:
        """A width above 0 of a cell, for people."""
        return form.width_in_words(width)


_FLATTEN = (
    "Lists of text, numbers or dates can, as kind 'set'; flatten others, or give the column"
    " another role."
)


def check_quasi_identifier(data_type: pa.DataType, name: str) -> None:
    """Raise `SchemaError` where a column of no stated kind cannot be a quasi-identifier."""
    if pa.types.is_nested(data_type):
        raise SchemaError(
            f"Column '{name}' holds {data_type} values, which cannot be a quasi-identifier.",
            _FLATTEN,
        )
    check_plain(data_type, name)


def check_plain(data_type: pa.DataType, name: str) -> None:
    """Raise `SchemaError` where values are neither numbers, days, text nor truth values."""
    if not arrow.is_plain(data_type) or pa.types.is_duration(data_type):
        raise SchemaError(
            f"Column '{name}' holds {data_type} values, which cannot be a quasi-identifier.",
            "Turn them into numbers or text, or give the column another role.",
        )


def check_holds(fits: bool, kind: Kind, data_type: pa.DataType, name: str, way_out: str) -> None:
    """Raise `DataError` where a column's values do not fit its kind; all missing always fit."""
    if not (fits or pa.types.is_null(data_type)):
        raise DataError(f"Column '{name}' has kind '{kind}' but holds {data_type} values.", way_out)


def register(kind: type[Kind]) -> type[Kind]:
    """Register the one object of a kind."""
    if "external_form" not in vars(kind):
        kind.external_form = Form.RANGE if kind.is_measured else Form.SET
    instance: Any = kind()
    Kind.registry.add(instance)
    return kind
