"""The description of a published column, and how the metadata of a file holds it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Domain, Form
from mottle.errors import SchemaError
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds.coarsening import Coarsening
from mottle.release.cell_text import published_type
from mottle.release.certificate import ColumnFacts
from mottle.release.item_totals import ItemTotals
from mottle.release.value_totals import Totals
from mottle.schema.model import Kind, Role
from mottle.utils.arrow import dictionary_order
from mottle.utils.untrusted.text import distinct_texts, parse_json, texts_of

METADATA_KEY = b"mottle"


@dataclass(frozen=True)
class PublishedColumn:
    """A column of a release, as readers need to know it."""

    name: str
    role: Role
    kind: Kind | None  # None for columns published unchanged
    form: Form | None  # None for columns published unchanged
    value_type: pa.DataType  # the type of the original values
    order: tuple[str, ...] | None = None
    hierarchy: Hierarchy | None = None
    separator: str | None = None  # between items, where sets are text in the original
    totals: Totals | None = None  # the counts of its values
    item_totals: ItemTotals | None = None  # of sets: how many records hold each item
    coarsening: Coarsening | None = None  # the rule by which its values were made coarser

    @property
    def rule(self) -> Coarsening | None:
        """The rule whose bins its cells are made of; None if they are made of values."""
        return None if self.kind is None else self.kind.rule(self)

    @classmethod
    def of_domain(
        cls,
        domain: Domain,
        totals: Totals | None = None,
        item_totals: ItemTotals | None = None,
    ) -> PublishedColumn:
        """Describe a generalized column."""
        return cls(
            name=domain.name,
            role=Role.QUASI_IDENTIFYING,
            kind=domain.column.kind,
            form=domain.form,
            value_type=domain.values.type,
            order=domain.kind.published_order(domain),
            hierarchy=domain.published_tree,
            separator=domain.column.separator,
            totals=totals,
            item_totals=item_totals,
            coarsening=domain.column.coarsening,
        )

    @classmethod
    def of_unchanged(cls, name: str, role: Role, values: pa.ChunkedArray) -> PublishedColumn:
        """Describe a column published unchanged; ordered categories as values with an order."""
        if not pa.types.is_dictionary(values.type):
            return cls(name, role, None, None, values.type)
        categories = pc.cast(dictionary_order(values, name), pa.string())
        value_type = values.type.value_type
        return cls(name, role, None, None, value_type, order=tuple(categories.to_pylist()))

    @property
    def facts(self) -> ColumnFacts:
        """A column that is published unchanged, as the certificate describes it."""
        return ColumnFacts(name=self.name, role=self.role, type=str(self.value_type))

    def field(self) -> pa.Field:
        """Return the Arrow field, with everything a reader needs to know in its metadata."""
        data_type = (
            self.value_type if self.form is None else published_type(self.form, self.value_type)
        )
        facts: dict[str, object] = {"role": self.role, "kind": self.kind, "form": self.form}
        if self.order is not None:
            facts["order"] = self.order
        if self.hierarchy is not None:
            assert self.kind is not None
            facts |= self.kind.tree_facts(self.hierarchy)
        if self.separator is not None:
            facts["separator"] = self.separator
        if self.totals is not None:
            facts["totals"] = self.totals.facts
        if self.item_totals is not None:
            facts["item_totals"] = self.item_totals.facts
        if self.coarsening is not None:
            facts["coarsening"] = self.coarsening.facts
        return pa.field(self.name, data_type, metadata={METADATA_KEY: json.dumps(facts)})

    @classmethod
    def of_field(cls, described: pa.Field) -> PublishedColumn:
        """Read the description of a column from its field's metadata."""
        facts = parse_json((described.metadata or {})[METADATA_KEY])
        if not isinstance(facts, Mapping):
            raise TypeError("not a description of a column")
        form = None if facts["form"] is None else Form(facts["form"])
        kind = None if facts["kind"] is None else Kind(facts["kind"])
        column = cls(
            name=described.name,
            role=Role(facts["role"]),
            kind=kind,
            form=form,
            value_type=described.type if form is None else form.value_type(described.type),
            order=distinct_texts(facts["order"]) if "order" in facts else None,
            hierarchy=None if kind is None else kind.tree_of_facts(facts, described.name),
            separator=None if facts.get("separator") is None else texts_of([facts["separator"]])[0],
            totals=Totals.of_facts(facts["totals"]) if "totals" in facts else None,
            item_totals=(
                ItemTotals.of_facts(facts["item_totals"]) if "item_totals" in facts else None
            ),
            coarsening=Coarsening.of_facts(facts["coarsening"]) if "coarsening" in facts else None,
        )
        return column.checked(described.type)

    def checked(self, stored: pa.DataType) -> PublishedColumn:
        """Check that the parts of a description belong together.

        Parameters
        ----------
        stored : pa.DataType
            The type of the column in its file.

        Returns
        -------
        PublishedColumn
            The same.

        Raises
        ------
        TypeError or ValueError or pa.ArrowException
            They do not.
        """
        if (self.form is None) != (self.kind is None):
            raise ValueError("a kind without a form")
        if self.form is not None and stored != self.form.arrow_type(self.value_type):
            raise TypeError("cells of another type than the form has")
        if self.coarsening is not None:
            self._check_coarsening(self.coarsening)
        if self.order is not None:
            pc.cast(pa.array(self.order, pa.string()), self.value_type)
        if self.totals is not None and self.form is not None:
            ascending = self.form.has_intervals and self.order is None
            self.totals.check(self.value_type, ranges=self.form.has_intervals, ascending=ascending)
        return self

    def _check_coarsening(self, coarsening: Coarsening) -> None:
        """Raise ValueError unless the kind takes the rule and the type of the values fits it."""
        if self.kind is None or set(coarsening.facts) - set(self.kind.coarsened_by):
            raise ValueError("a rule that the kind does not take")
        if coarsening.granularity not in (None, *self.kind.granularities):
            raise ValueError("a granularity that the kind does not have")
        try:
            if self.rule is not None:
                self.rule.bins(pa.array([], self.value_type), self.name)
        except SchemaError as error:
            raise ValueError(error.problem) from None
