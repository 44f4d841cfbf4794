"""The interface of all kinds of columns: how values become codes, and what the codes mean.

A kind is one module of this package with one class, registered by `register`. The class names its
form and overrides the methods in which it differs from a plain category: all but `Kind.tree`, which
only kinds with a tree need, have a default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from mottle.errors import DataError, SchemaError
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds._arrow import arrow, pa, pc
from mottle.kinds._registered import Family, Registered
from mottle.kinds.coarsening import Bins, Coarsening
from mottle.kinds.codes import (
    codes_in,
    codes_of_distinct,
    nan_notes,
    plain_values,
    positions_by_value,
    without_dictionary,
)
from mottle.kinds.columns import Domain, ReleasedColumn, SchemaColumn
from mottle.kinds.forms.base import Form
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.registry import Registry
from mottle.utils.untrusted.text import texts_of


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
    under the decorator `register`. It overrides the methods in which it differs from a category.
    The methods come in three groups, in the order in which a run calls them:

    - reading the schema and the table: `is_natural_for`, `check_options`, `check_type`, and
      `proposal` for ``mottle inspect``;
    - coding the values: `comparable` or `coded_values` for most kinds; `code`, `tree` and `heights`
      for kinds with an order or a tree of their own; `encode_values` only where the domain holds
      more than distinct values;
    - describing the release: `published_order`, `tree_facts` and `tree_of_facts` for what a reader
      needs in the metadata, `schema_options` to make the column again, `describe_cells` and
      `width_in_words` for reports.

    Examples
    --------
    >>> Kind.NUMBER is Kind("number"), Kind.NUMBER == "number", Kind.NUMBER.form
    (True, True, <Form.RANGE: 'range'>)
    >>> [str(kind) for kind in Kind]
    ['category', 'date', 'duration', 'hierarchy', 'number', 'ordered', 'prefix', 'set', 'time']
    """

    registry: ClassVar[Registry[Kind]] = Registry("kind", "mottle.kinds")
    form: ClassVar[Form]  # of its cells, unless the representation is sets
    usage: ClassVar[str]  # how a mottle.toml names it, with its options
    options: ClassVar[tuple[str, ...]] = ()  # options of the schema that only such kinds accept
    implied_by: ClassVar[str | None] = None  # the option that gives a column this kind
    coarsened_by: ClassVar[tuple[str, ...]] = ()  # options of `Coarsening` that it accepts
    granularities: ClassVar[tuple[str, ...]] = ()  # words that it accepts as granularity
    is_measured: ClassVar[bool] = False  # differences between values are meaningful: numbers, days
    has_order: ClassVar[bool] = False  # a list orders the values, not their own comparison
    is_unordered: ClassVar[bool] = False  # the order of the values has no meaning
    external_form: ClassVar[Form | None]  # of cells that other tools write; None if unsupported

    def __new__(cls, name: str = "") -> Kind:
        """Look up a kind by its name; the one object of a kind is made without a name."""
        if cls is Kind:
            found: Kind = cls.named(name)
            return found
        return str.__new__(cls, cls.name)

    def __reduce__(self) -> tuple[type[Kind], tuple[str]]:
        return Kind, (self.name,)

    @classmethod
    def of_type(cls, data_type: pa.DataType) -> Kind:
        """Return the kind of a column for which the schema names none.

        Parameters
        ----------
        data_type : pyarrow.DataType
            The type of the column in the table.

        Returns
        -------
        Kind
            The kind that `is_natural_for` the type, or else `Kind.CATEGORY`.
        """
        return next((kind for kind in Kind if kind.is_natural_for(data_type)), Kind.CATEGORY)

    # ------------------------------------------------------------------------- schema and inspect

    def is_natural_for(self, data_type: pa.DataType) -> bool:
        """Return whether columns of a type have this kind where the schema names none.

        Parameters
        ----------
        data_type : pyarrow.DataType
            The type of a column.

        Returns
        -------
        bool
            False by default. At most one kind may return True for a type.
        """
        return False

    def check_options(self, column: SchemaColumn) -> None:
        """Check the options that the schema gives a column of this kind.

        Parameters
        ----------
        column : SchemaColumn
            The column as the schema describes it.

        Raises
        ------
        ValueError
            An option is missing or invalid. The message becomes part of a `SchemaError`, which adds
            the name of the column. By default no option is wrong.
        """

    def check_coarsening(self, coarsening: Coarsening) -> None:
        """Check that the values of this kind can be made coarser by a rule.

        Parameters
        ----------
        coarsening : Coarsening
            The rule that the schema gives a column.

        Raises
        ------
        ValueError
            The kind does not take one of its options, or the options are wrong. The message becomes
            part of a `SchemaError`, which adds the name of the column.
        """
        for option in coarsening.facts:
            if option not in self.coarsened_by:
                takes = " or ".join(f"'{kind}'" for kind in Kind if option in kind.coarsened_by)
                raise ValueError(f"{option} needs kind = {takes}, not '{self}'")
        if coarsening.granularity not in (None, *self.granularities):
            raise ValueError(
                f"granularity = '{coarsening.granularity}' is none that kind '{self}' has:"
                f" {', '.join(self.granularities)}"
            )
        coarsening.check(dates="month" in self.granularities)

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Check that a column of the table can have this kind.

        Parameters
        ----------
        data_type : pyarrow.DataType
            The type of the column.
        name : str
            Its name, for messages.

        Raises
        ------
        SchemaError
            No column of that type can be a quasi-identifier of this kind: by default lists,
            structures, durations and other types that are not single plain values.
        DataError
            Kinds that override this raise it where the values do not fit the kind, such as text in
            a column of numbers; see `check_holds`.
        """
        if pa.types.is_nested(data_type):
            raise SchemaError(
                f"Column '{name}' holds {data_type} values, which cannot be a quasi-identifier"
                f" of kind {self}.",
                _FLATTEN,
            )
        check_plain(data_type, name)

    def proposal(self, name: str, values: pa.ChunkedArray) -> str | None:
        """Return why ``mottle inspect`` proposes this kind for a column.

        Parameters
        ----------
        name : str
            The name of the column.
        values : pyarrow.ChunkedArray
            Its values.

        Returns
        -------
        str or None
            The reason, without any value of the column; None where the kind is not proposed. A kind
            that `is_natural_for` the type needs no proposal.
        """
        return None

    # -------------------------------------------------------------------------------------- codes

    def canonical(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Convert values to the type that is published: dates to days, codes to text.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            A column of the table.
        name : str
            Its name, for messages.

        Returns
        -------
        pyarrow.ChunkedArray
            The same values without dictionary encoding, in the published type.
        """
        return without_dictionary(values)

    def comparable(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Convert values so that comparing them gives the right order and equality.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            A column of the table.
        name : str
            Its name, for messages.

        Returns
        -------
        pyarrow.ChunkedArray
            The values with NaN as missing, -0.0 as 0.0, and bytes and times as text.
        """
        return plain_values(values, name)

    def coded_values(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Convert values to the type in which the domain holds them.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            A column of the table.
        name : str
            Its name, for messages.

        Returns
        -------
        pyarrow.ChunkedArray
            By default as `comparable`; kinds with a tree convert to text, as its leaves are.
        """
        return self.comparable(values, name)

    def form_in(self, representation: str) -> Form:
        """Return the form of the cells in a representation.

        Parameters
        ----------
        representation : str
            ``range`` or ``set``.

        Returns
        -------
        Form
            `Form.SET` for ``set``, otherwise the form of the kind.
        """
        return Form.SET if representation == "set" else self.form

    def encode_values(
        self, values: pa.ChunkedArray, column: SchemaColumn, representation: str
    ) -> tuple[Domain, Int32Array]:
        """Code a column: find its domain and the code of every row.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            The column of the table.
        column : SchemaColumn
            The column as the schema describes it, with this kind.
        representation : str
            ``range`` or ``set``, for a column that does not state its own.

        Returns
        -------
        domain : Domain
            The values that have a code. The missing value, where it occurs, is one more value with
            the last code.
        codes : Int32Array
            The code of every row.
        """
        rule = self.rule(column)
        whole = "range" if rule is not None else column.representation or representation
        form = self.form_in(whole)
        codes, known = self.code(values, column, form)
        if rule is not None and len(known):
            return self._encode_bins(codes, known, column, rule)
        tree = self.tree(known, column) if form.has_tree else None
        has_missing = bool((codes < 0).any())
        missing = len(known) if has_missing else -1
        if has_missing:
            codes = np.where(codes < 0, np.int32(missing), codes)
            known = pa.concat_arrays([known, pa.nulls(1, known.type)])
        positions = self.positions(known) if form.has_intervals else np.empty(0)
        domain = Domain(column, form, known, missing, positions, tree)
        return domain, codes.astype(np.int32, copy=False)

    def countable(self, values: pa.ChunkedArray, column: SchemaColumn) -> pa.ChunkedArray:
        """Convert values so that Arrow can group equal ones, for a table that is read in batches.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            Some rows of the column.
        column : SchemaColumn
            The column as the schema describes it.

        Returns
        -------
        pyarrow.ChunkedArray
            Values of a plain type.
        """
        return self.comparable(values, column.name)

    def encode_counted(
        self,
        values: pa.ChunkedArray,
        times: Int64Array,
        column: SchemaColumn,
        representation: str,
    ) -> tuple[Domain, Int32Array]:
        """Code a column by its different values, as `encode_values` codes its rows.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            The different values, as `countable` converts them.
        times : Int64Array
            How many records hold each.
        column : SchemaColumn
            As for `encode_values`.
        representation : str
            As for `encode_values`.

        Returns
        -------
        domain : Domain
            As for `encode_values`.
        codes : Int32Array
            The code of every value.
        """
        return self.encode_values(values, column, representation)

    def rule(self, column: SchemaColumn | ReleasedColumn) -> Coarsening | None:
        """Return the rule whose bins are the codes of a column.

        Parameters
        ----------
        column : SchemaColumn or ReleasedColumn
            The column as the schema or a release describes it.

        Returns
        -------
        Coarsening or None
            By default the column's own, if there is one.
        """
        return column.coarsening

    def _encode_bins(
        self, codes: Int32Array, known: pa.Array, column: SchemaColumn, rule: Coarsening
    ) -> tuple[Domain, Int32Array]:
        """Make bins of the known values and of their codes."""
        every = rule.bins(known, column.name)
        begins = np.ones(len(known), np.bool_)
        begins[1:] = np.asarray(pc.not_equal(every.lower[1:], every.lower[:-1]))
        bins = Bins(*(ends.filter(pa.array(begins)) for ends in every))
        number = np.append(np.cumsum(begins) - 1, -1).astype(np.int32)
        codes = number[codes]
        middles, halves = rule.positions(bins, column.name, self.heights)
        missing = -1
        if (codes < 0).any():
            missing = len(bins.lower)
            codes = np.where(codes < 0, np.int32(missing), codes)
            nothing = pa.nulls(1, known.type)
            bins = Bins(*(pa.concat_arrays([ends, nothing]) for ends in bins))
            middles, halves = np.append(middles, 0.0), np.append(halves, 0.0)
        return Domain(
            column, self.form, bins.lower, missing, middles, None, uppers=bins.upper, halves=halves
        ), codes

    def code(
        self, values: pa.ChunkedArray, column: SchemaColumn, form: Form
    ) -> tuple[Int32Array, pa.Array]:
        """Give every row a code, and every code a value.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            The column of the table.
        column : SchemaColumn
            The column as the schema describes it.
        form : Form
            The form of the cells: that of the kind, or `Form.SET` in that representation.

        Returns
        -------
        codes : Int32Array
            The code of every row, -1 for missing.
        known : pyarrow.Array
            The value of every code; by default the distinct values in ascending order.
        """
        return codes_of_distinct(self.coded_values(values, column.name))

    def encode_more(self, values: pa.ChunkedArray, domain: Domain) -> Int32Array:
        """Code rows in a domain that is already known, such as that of a larger table.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            Some rows of the column.
        domain : Domain
            The domain of the whole column.

        Returns
        -------
        Int32Array
            The code of every row.

        Raises
        ------
        DataError
            Some values are not in the domain, because the input changed during the run.
        """
        values = self.values_in(values, domain)
        if pa.types.is_null(values.type):
            codes = np.full(len(values), -1, np.int32)
        else:
            codes = codes_in(values, domain.values if domain.missing < 0 else domain.values[:-1])
        unknown = int((codes < 0).sum()) - values.null_count
        if unknown or (domain.missing < 0 and values.null_count):
            raise changed_input(domain.name)
        return np.where(codes < 0, np.int32(domain.missing), codes) if values.null_count else codes

    def values_in(self, values: pa.ChunkedArray, domain: Domain) -> pa.ChunkedArray:
        """Convert rows to values of a domain: to its type, and to the lower ends of its bins.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            Some rows of the column.
        domain : Domain
            The domain of the whole column.

        Returns
        -------
        pyarrow.ChunkedArray
            For each row a value that `Domain.values` should hold.
        """
        values = self.coded_values(values, domain.name)
        if domain.uppers is None or pa.types.is_null(values.type):
            return values
        rule = self.rule(domain.column)
        assert rule is not None
        encoded = values.combine_chunks().dictionary_encode()
        lower = rule.bins(encoded.dictionary, domain.name).lower
        return pa.chunked_array([lower.take(encoded.indices)])

    def tree(self, known: pa.Array, column: SchemaColumn) -> Hierarchy:
        """Return the tree of the values, for cells that are its nodes.

        Kinds whose form has a tree have to define this.

        Parameters
        ----------
        known : pyarrow.Array
            The value of every code, as `code` returned it.
        column : SchemaColumn
            The column as the schema describes it.

        Returns
        -------
        Hierarchy
            Its leaves are the known values, in the order of their codes.
        """
        raise NotImplementedError

    def positions(self, known: pa.Array) -> Float64Array:
        """Return the position of each value between the lowest (0) and the highest (1).

        Numbers and days are placed by value, ordered categories by rank; see `heights`.

        Parameters
        ----------
        known : pyarrow.Array
            The value of every code in ascending order; null for the missing one, which is last.

        Returns
        -------
        Float64Array
            One position per code; 0 for the missing value.
        """
        present = known.drop_null()
        positions = np.zeros(len(known))
        if len(present):
            above = self.heights(present)
            positions[: len(present)] = above / (above[-1] or 1.0)
        return positions

    def heights(self, present: pa.Array) -> Float64Array:
        """Return the distance of each value from the lowest one.

        Parameters
        ----------
        present : pyarrow.Array
            The values in ascending order, without the missing one.

        Returns
        -------
        Float64Array
            The distances, in any unit, because `positions` divides them by the largest.
        """
        return positions_by_value(present)

    def notes(self, values: pa.ChunkedArray, domain: Domain) -> list[str]:
        """Return notes for the certificate about how values were converted.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            The column of the table.
        domain : Domain
            Its domain.

        Returns
        -------
        list of str
            One sentence per conversion, without any value of the column; by default how many NaN
            were taken for missing, if any.
        """
        return nan_notes(values, domain.name)

    # ------------------------------------------------------------------------------------ release

    def published_order(self, domain: Domain) -> tuple[str, ...] | None:
        """Return the order of the values, where a reader of the release has to know it.

        Parameters
        ----------
        domain : Domain
            The coded column.

        Returns
        -------
        tuple of str or None
            All values as text from lowest to highest; None where values have no order, or compare
            by themselves.
        """
        return None

    def tree_facts(self, tree: Hierarchy) -> Mapping[str, Any]:
        """Return the entries that describe a tree in the metadata of a release.

        Parameters
        ----------
        tree : Hierarchy
            The tree of a published column.

        Returns
        -------
        Mapping
            Entries that JSON can hold, by key; by default the rows of the tree under ``hierarchy``.
        """
        return {"hierarchy": tree.rows()}

    def tree_of_facts(self, facts: Mapping[str, Any], name: str) -> Hierarchy | None:
        """Read the tree back from the metadata; the inverse of `tree_facts`.

        Parameters
        ----------
        facts : Mapping
            All entries in the metadata of a column.
        name : str
            The name of the column, for messages.

        Returns
        -------
        Hierarchy or None
            The tree; None where the metadata holds none.
        """
        rows = facts.get("hierarchy")
        return Hierarchy.from_rows([texts_of(row) for row in rows], name=name) if rows else None

    def originals(self, values: pa.Array, column: ReleasedColumn) -> pa.Array:
        """Convert originals so that they compare with published cells.

        Parameters
        ----------
        values : pyarrow.Array
            A column of the original table.
        column : ReleasedColumn
            The same column as the release describes it, with this kind.

        Returns
        -------
        pyarrow.Array
            The values in the type of the release. Values of a tail become the end that stands for
            them.

        Raises
        ------
        DataError
            The values cannot be those that the release was made from.
        """
        assert column.form is not None
        values = column.form.original_values(values, column)
        rule = self.rule(column)
        return values if rule is None else rule.within_tails(values, column.name)

    def schema_options(self, column: ReleasedColumn) -> dict[str, Any]:
        """Return the options of a schema that makes a published column again.

        Parameters
        ----------
        column : ReleasedColumn
            The column as the release describes it.

        Returns
        -------
        dict
            Keyword arguments of `mottle.Column`; by default the kind, and the rule by which values
            were made coarser.
        """
        rule = column.coarsening
        given = {} if rule is None else {name: getattr(rule, name) for name in self.coarsened_by}
        return {"kind": self, **{name: value for name, value in given.items() if value is not None}}

    def describe_cells(self, form: Form) -> str:
        """Return how a report names the cells of such a column.

        Parameters
        ----------
        form : Form
            The form of the cells.

        Returns
        -------
        str
            A noun phrase in the plural, such as ``ranges of numbers``.
        """
        return form.published_as

    def width_in_words(self, width: float, form: Form) -> str:
        """Return the width of a cell as text for a report.

        Parameters
        ----------
        width : float
            The width, above 0, as `Form.widths` measures it.
        form : Form
            The form of the cell.

        Returns
        -------
        str
            Such as ``12 days wide``.
        """
        return form.width_in_words(width)


_FLATTEN = (
    "Lists of text, numbers or dates can, as kind 'set'; flatten others, or give the column"
    " another role."
)


def changed_input(name: str) -> DataError:
    """Say that a column has values that it had not when its domain was found."""
    return DataError(
        f"Column '{name}' has values that were not there when it was first read.",
        "The input changed during the run: make sure nothing modifies it, then try again.",
    )


def check_quasi_identifier(data_type: pa.DataType, name: str) -> None:
    """Raise `SchemaError` if a column without a stated kind cannot be a quasi-identifier."""
    if pa.types.is_nested(data_type):
        raise SchemaError(
            f"Column '{name}' holds {data_type} values, which cannot be a quasi-identifier.",
            _FLATTEN,
        )
    check_plain(data_type, name, durations=True)


def check_plain(data_type: pa.DataType, name: str, *, durations: bool = False) -> None:
    """Raise `SchemaError` unless values are numbers, days, text, truth values or ``durations``."""
    if not arrow.is_plain(data_type) or (pa.types.is_duration(data_type) and not durations):
        raise SchemaError(
            f"Column '{name}' holds {data_type} values, which cannot be a quasi-identifier.",
            "Turn them into numbers or text, or give the column another role.",
        )


def check_holds(fits: bool, kind: Kind, data_type: pa.DataType, name: str, way_out: str) -> None:
    """Raise `DataError` if a column's values do not fit its kind; only missing ones always fit."""
    if not (fits or pa.types.is_null(data_type)):
        raise DataError(f"Column '{name}' has kind '{kind}' but holds {data_type} values.", way_out)


def register(kind: type[Kind]) -> type[Kind]:
    """Register the one object of a kind; a decorator of its class."""
    if "external_form" not in vars(kind):
        kind.external_form = Form.RANGE if kind.is_measured else Form.SET
    instance: Any = kind()
    Kind.registry.add(instance)
    return kind
