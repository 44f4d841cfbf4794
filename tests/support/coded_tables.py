"""Small coded tables with every kind of column, for tests of kernels."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.hierarchy.tree import Hierarchy
from mottle.schema.model import Representation, Schema

TREE = Hierarchy.from_rows(
    [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*"), ("d", "de", "*"), ("e", "de", "*")]
)


@st.composite
def coded_tables(draw: st.DrawFn, least: int = 2) -> Codes:
    """Small tables with every kind of column, missing values and weights."""
    rows = draw(st.integers(least, 9))

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(st.none() | values, min_size=rows, max_size=rows))

    table = pa.table(
        {
            "number": pa.array(column(st.integers(-5, 60)), pa.int64()),
            "category": pa.array(column(st.sampled_from("xyz")), pa.string()),
            "tree": pa.array(column(st.sampled_from("abcde")), pa.string()),
            "ordered": pa.array(column(st.sampled_from(["low", "mid", "high"])), pa.string()),
        }
    )
    schema = Schema.of(
        quasi_identifying=table.column_names,
        orders={"ordered": ["low", "mid", "high"]},
        hierarchies={"tree": TREE},
        importance={"number": draw(st.sampled_from([1.0, 2.5]))},
    )
    return encode(table, schema, draw(st.sampled_from(list(Representation))))
