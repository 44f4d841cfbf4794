"""Published cells as typed Arrow columns and as text.

Every form converts its own cells (`mottle.kinds.forms`), in the common grammar of
`mottle.kinds.forms.grammar`; readers and writers of releases call the functions of this module.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from mottle.encoding.domain import Form
from mottle.kinds.coarsening import Coarsening
from mottle.kinds.forms.grammar import parse_cell as parse_cell
from mottle.kinds.forms.grammar import value_text as value_text
from mottle.kinds.forms.worlds import PARTS as PARTS


def published_type(form: Form, value_type: pa.DataType) -> pa.DataType:
    """Return the Arrow type of a published column whose original values have ``value_type``.

    >>> published_type(Form.RANGE, pa.int64())
    StructType(struct<lo: int64, hi: int64, missing: bool>)
    """
    return form.arrow_type(value_type)


def text_columns(name: str, form: Form | None) -> tuple[str, ...]:
    """Return the columns of a CSV file that hold the cells of a published column.

    >>> text_columns("diagnoses", Form.WORLDS)
    ('diagnoses.base', 'diagnoses.uncertain', 'diagnoses.distance')
    """
    return (name,) if form is None else form.text_columns(name)


def to_texts(cells: pa.Array, form: Form, rule: Coarsening | None = None) -> tuple[pa.Array, ...]:
    """Convert typed cells to text, one array for each of the `text_columns`."""
    return form.texts(cells, rule)


def from_texts(
    texts: Sequence[pa.Array],
    form: Form,
    value_type: pa.DataType,
    rule: Coarsening | None = None,
) -> pa.Array:
    """Read typed cells from text; the inverse of `to_texts`. Raises `DataError` on other text."""
    return form.from_texts(texts, value_type, rule)


def to_text(cells: pa.Array, form: Form, rule: Coarsening | None = None) -> pa.Array:
    """Convert each typed cell to one text, for display; null where only missing is possible.

    `from_text` reads it back, except for sets of items.

    >>> cells = pa.array([["a", "b"], ["x|y"], ["c", None], [None]])
    >>> to_text(cells, Form.SET).to_pylist()
    ['{a|b}', 'x\\\\|y', '{c|}', None]
    """
    return form.text(cells, rule)


def from_text(
    texts: pa.Array, form: Form, value_type: pa.DataType, rule: Coarsening | None = None
) -> pa.Array:
    """Read typed cells from text; the inverse of `to_text`. Raises `DataError` on other text.

    >>> from_text(pa.array(["1..5", "{7|}", ""]), Form.RANGE, pa.int64()).to_pylist()
    [{'lo': 1, 'hi': 5, 'missing': False}, {'lo': 7, 'hi': 7, 'missing': True},
     {'lo': None, 'hi': None, 'missing': True}]
    """
    return form.from_text(texts, value_type, rule)
