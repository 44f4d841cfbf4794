"""What kinds and forms need to know about a column, as the schema and as a release describe it.

`mottle.schema.model.Column` and `mottle.release.column.PublishedColumn` are such descriptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mottle.hierarchy.tree import Hierarchy
from mottle.kinds._arrow import pa
from mottle.kinds.coarsening import Coarsening
from mottle.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from mottle.itemsets.columns import SetDomain
    from mottle.kinds.base import Kind
    from mottle.kinds.forms.base import Form


class SchemaColumn(Protocol):
    """A column as the schema describes it."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def kind(self) -> Kind | None:
        """Its kind; None before the data has been read."""
        ...

    @property
    def importance(self) -> float:
        """How much its loss counts."""
        ...

    @property
    def order(self) -> tuple[str, ...] | None:
        """Its values from lowest to highest, where the schema lists them."""
        ...

    @property
    def hierarchy(self) -> Hierarchy | None:
        """Its hierarchy, where the schema gives one."""
        ...

    @property
    def separator(self) -> str | None:
        """The text between two items of a set."""
        ...

    @property
    def node_holders(self) -> int | None:
        """Of a set: how many records hold each node that stands for items; None: tried out."""
        ...

    @property
    def representation(self) -> str | None:
        """``range`` or ``set``; None for the representation of the run."""
        ...

    @property
    def objective(self) -> str | None:
        """The loss that methods keep low in it; None for that of the run."""
        ...

    @property
    def coarsening(self) -> Coarsening | None:
        """The rule by which its values are made coarser first; None without one."""
        ...


class ReleasedColumn(Protocol):
    """A generalized column as a release describes it."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def kind(self) -> Kind | None:
        """Its kind."""
        ...

    @property
    def form(self) -> Form | None:
        """The form of its cells."""
        ...

    @property
    def value_type(self) -> pa.DataType:
        """The type of its original values."""
        ...

    @property
    def order(self) -> tuple[str, ...] | None:
        """Its values from lowest to highest, where the release carries them."""
        ...

    @property
    def hierarchy(self) -> Hierarchy | None:
        """Its tree, where the release carries one."""
        ...

    @property
    def separator(self) -> str | None:
        """The text between two items of a set."""
        ...

    @property
    def coarsening(self) -> Coarsening | None:
        """The rule by which its values were made coarser; None without one."""
        ...


def tree_options(column: ReleasedColumn) -> dict[str, object]:
    """Return the options of a schema for the tree of a published column, and a file for it."""
    file = Path(f"{column.name}.csv".replace("/", "-"))
    return {"hierarchy": column.hierarchy, "hierarchy_file": file}


@dataclass(frozen=True)
class Domain:
    """The values of one quasi-identifier and what generalizing them costs."""

    column: SchemaColumn
    form: Form
    values: pa.Array  # [size] the value of every code, or its bin's lower end; null for missing
    missing: int  # code of the missing value, the last one; -1 when nothing is missing
    positions: Float64Array  # RANGE: [size] from 0 for the lowest to 1 for the highest; else empty
    hierarchy: Hierarchy | None  # NODE: its leaves are codes 0 .. leaves - 1
    sets: SetDomain | None = None  # WORLDS: the items of every code
    # Where values were made coarser, codes are bins (`mottle.kinds.coarsening`).
    uppers: pa.Array | None = None  # [size] the upper end of every bin; null for missing
    halves: Float64Array | None = None  # [size] half the width of every bin, as ``positions``
    # [size] How often values occur in the whole table, where records are coded part by part.
    counts: Int64Array | None = None

    @property
    def size(self) -> int:
        """Number of values |A|, the missing one included."""
        return len(self.values)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def kind(self) -> Kind:
        """The column's kind, which is known once its values are coded."""
        assert self.column.kind is not None
        return self.column.kind

    @property
    def tree(self) -> Hierarchy:
        """The hierarchy of a column whose cells are nodes."""
        assert self.hierarchy is not None
        return self.hierarchy

    @property
    def published_tree(self) -> Hierarchy | None:
        """The hierarchy that readers of the cells have to know; None if there is none."""
        return self.hierarchy if self.sets is None else self.sets.hierarchy

    @property
    def least_loss(self) -> float:
        """NCP of every cell whatever it covers: of the nodes that items are published as."""
        return 0.0 if self.sets is None else self.sets.node_loss

    @property
    def items(self) -> SetDomain:
        """The sets of a column whose cells are worlds."""
        assert self.sets is not None
        return self.sets
