"""The description of a published column, and how the metadata of a file holds it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Domain, Form
from mottle.hierarchy.tree import Hierarchy
from mottle.release.cell_text import published_type
from mottle.release.certificate import ColumnFacts
from mottle.release.value_totals import Totals
from mottle.schema.model import Kind, Role
from mottle.utils.arrow import dictionary_order

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

    @classmethod
    def of_domain(cls, domain: Domain, totals: Totals | None = None) -> PublishedColumn:
        """Describe a generalized column."""
        return cls(
            name=domain.name,
            role=Role.QUASI_IDENTIFYING,
            kind=domain.column.kind,
            form=domain.form,
            value_type=domain.values.type,
            order=domain.kind.published_order(domain),
            hierarchy=domain.hierarchy,
            separator=domain.column.separator,
            totals=totals,
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
        return pa.field(self.name, data_type, metadata={METADATA_KEY: json.dumps(facts)})

    @classmethod
    def of_field(cls, described: pa.Field) -> PublishedColumn:
        """Read the description of a column from its field's metadata."""
        facts = json.loads((described.metadata or {})[METADATA_KEY])
        form = None if facts["form"] is None else Form(facts["form"])
        kind = None if facts["kind"] is None else Kind(facts["kind"])
        return cls(
            name=described.name,
            role=Role(facts["role"]),
            kind=kind,
            form=form,
            value_type=described.type if form is None else form.value_type(described.type),
            order=tuple(facts["order"]) if "order" in facts else None,
            hierarchy=None if kind is None else kind.tree_of_facts(facts, described.name),
            separator=facts.get("separator"),
            totals=Totals.of_facts(facts["totals"]) if "totals" in facts else None,
        )
