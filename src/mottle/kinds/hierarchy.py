"""Values with a hierarchy from the schema, published as nodes of the hierarchy."""

from __future__ import annotations

from collections.abc import Sequence

from mottle.errors import DataError
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds._arrow import pa, pc
from mottle.kinds.base import Kind, register
from mottle.kinds.codes import codes_in, only_present, plain_values
from mottle.kinds.columns import ReleasedColumn, SchemaColumn, tree_options
from mottle.kinds.forms.base import Form
from mottle.typing import Int32Array


@register
class WithHierarchy(Kind):
    """A value is coded by the in-order position of its leaf."""

    name = "hierarchy"
    form = Form.NODE
    external_form = Form.NODE
    usage = 'hierarchy (hierarchy = "f.csv")'
    options = ("hierarchy",)
    implied_by = "hierarchy"

    def check_options(self, column: SchemaColumn) -> None:
        """A hierarchy has to be given."""
        if column.hierarchy is None:
            raise ValueError("kind 'hierarchy' needs a hierarchy file: hierarchy = 'FILE.csv'")

    def coded_values(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Values as text, as leaves are."""
        return pc.cast(plain_values(values, name), pa.string())

    def code(
        self, values: pa.ChunkedArray, column: SchemaColumn, form: Form
    ) -> tuple[Int32Array, pa.Array]:
        """Positions of the leaves; in sets only of those that occur."""
        compared = self.coded_values(values, column.name)
        known = _leaves(compared, column)
        codes = codes_in(compared, known)
        return (codes, known) if form.has_tree else only_present(codes, known)

    def tree(self, known: pa.Array, column: SchemaColumn) -> Hierarchy:
        """The hierarchy of the schema."""
        assert column.hierarchy is not None
        return column.hierarchy

    def schema_options(self, column: ReleasedColumn) -> dict[str, object]:
        """The hierarchy as well; without one a category, which has the same sets as cells."""
        if column.hierarchy is None:
            return {"kind": Kind.CATEGORY}
        return {"kind": self, **tree_options(column)}


def _leaves(values: pa.ChunkedArray, column: SchemaColumn) -> pa.Array:
    """The leaves in in-order position, after checking that every value is one."""
    assert column.hierarchy is not None
    check_leaves(pc.unique(values).drop_null().to_pylist(), column)
    return pa.array(column.hierarchy.leaves, pa.string())


def check_leaves(values: Sequence[str], column: SchemaColumn) -> None:
    """Raise `DataError` unless every value is a leaf of the column's hierarchy."""
    assert column.hierarchy is not None
    try:
        column.hierarchy.check_covers(values)
    except DataError as error:
        raise DataError(
            f"Column '{column.name}': {error.problem}",
            "Add a row for each; 'mottle hierarchy lint FILE --data DATA --column"
            f" {column.name} --json' lists them.",
        ) from None
