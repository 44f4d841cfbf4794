"""Codes whose prefixes are broader codes (postcodes, ICD, ISCO, NUTS); generalized by shortening.

A cell shows the longest common prefix of its possible values and a mask for the rest: ``751**``,
with as many ``*`` as the longest value below has further characters. ``*`` alone is any value,
including a missing one. The loss of a cell is that of a hierarchy's node: the share of the column's
distinct values that begin with the prefix.

Labels are unambiguous because no value contains the character of the mask: where one contains
``*``, the mask of the whole column is ``•``, or else another character that no value contains. So
what precedes the mask is the prefix, a label without a mask is a value, and the value ``75`` is not
``75***``, which stands for it and for all longer values that begin with it.

The tree of prefixes is that of the column's distinct values, without nodes that stand for the same
values as a longer prefix. A release carries the values; readers build the tree again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, takewhile
from typing import Any

import numpy as np

from mottle.hierarchy.tree import Hierarchy
from mottle.kinds._arrow import pa, pc
from mottle.kinds.base import Kind, check_holds, register
from mottle.kinds.codes import codes_of_distinct, plain_values
from mottle.kinds.columns import SchemaColumn
from mottle.kinds.forms.base import Form
from mottle.typing import Int32Array
from mottle.utils.untrusted.text import distinct_texts

_MASKS = "*•○"  # tried in this order, then characters of Unicode's private use area
_PRIVATE_USE = 0xE000
_FEW_VALUES = 20  # with fewer distinct values, shortening is not proposed
_LONGEST_CODE = 12
_NAMES_A_CODE = re.compile(
    r"(^|[^a-z])(zip|zipcode|plz|postleitzahl|post ?code|postal ?code|icd|isco|nuts|nace|naics|isic"
    r"|atc|lau|fips)($|[^a-z])"
)
_CODE = r"^[A-Za-z0-9]([A-Za-z0-9 ./-]*[A-Za-z0-9])?$"
_LIKE_ICD = r"^[A-Z][0-9][0-9A-Z](\.?[0-9A-Z]+)?$"
_DIGITS = r"^[0-9]+$"


class PrefixTree(Hierarchy):
    """The tree of the prefixes of values; a prefix with a mask of any length can be looked up."""

    def leaf_range(self, label: str) -> tuple[int, int] | None:
        """Positions of the first and the last value below a label or a masked prefix.

        >>> tree = prefix_tree(["10115", "75001", "75116"])
        >>> tree.leaf_range("75***"), tree.leaf_range("751*"), tree.leaf_range("8*")
        ((1, 2), (2, 2), None)
        """
        found = super().leaf_range(label)
        mask = self.labels[self.root]
        if found is not None or not label.endswith(mask):
            return found
        prefix = label.rstrip(mask)
        first = bisect_left(self.leaves, prefix)
        after = first
        while after < len(self.leaves) and self.leaves[after].startswith(prefix):
            after += 1
        return (first, after - 1) if after > first else None


def prefix_tree(values: Sequence[str]) -> PrefixTree:
    """The tree of the prefixes of ascending, distinct values. Cost O(total length of the values).

    >>> tree = prefix_tree(["10115", "75001", "75002", "75116"])
    >>> tree.labels
    ('10115', '75001', '75002', '75116', '7500*', '75***', '*')
    >>> prefix_tree(["75", "7512*"]).labels
    ('75', '7512*', '75•••', '•')
    """
    mask = _mask(values)
    longest = np.array([len(value) for value in values])
    labels: list[str] = []  # of inner nodes, those above first
    above: dict[int, list[int]] = {leaf: [] for leaf in range(len(values))}  # from the root down
    waiting = [(0, len(values))]
    while waiting:
        first, last = waiting.pop()
        if last - first == 1:
            continue
        prefix = _common_prefix(values[first], values[last - 1])  # of all between, too
        if len(prefix) > 0:
            width = int(longest[first:last].max()) - len(prefix)
            labels.append(prefix + mask * width)
            for leaf in range(first, last):
                above[leaf].append(len(labels) - 1)
        waiting += _branches(values, first, last, len(prefix))
    return _numbered(values, labels, above, mask)


def _common_prefix(one: str, other: str) -> str:
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(character for character, _ in alike)


def _branches(
    values: Sequence[str], first: int, last: int, length: int
) -> Iterator[tuple[int, int]]:
    """The runs of values that agree in one more character; a value that ends there is one run."""
    begin = first
    for place in range(first + 1, last + 1):
        if place == last or values[place][: length + 1] != values[begin][: length + 1]:
            yield begin, place
            begin = place


def _numbered(
    values: Sequence[str], labels: list[str], above: Mapping[int, list[int]], mask: str
) -> PrefixTree:
    """Number the nodes: first the leaves, then inner nodes from the bottom up, last the root."""
    inner = len(labels)
    root = len(values) + inner
    depth = 2 + max(map(len, above.values()), default=0)
    ancestors = np.empty((len(values), depth), np.int32)
    ancestors[:] = np.arange(len(values), dtype=np.int32)[:, None]
    ancestors[:, -1] = root
    for leaf, nodes in above.items():
        for place, node in enumerate(nodes):
            ancestors[leaf, depth - 2 - place] = root - 1 - node
    cardinality = np.ones(root + 1, np.int64)
    sizes = np.bincount(list(chain.from_iterable(above.values())), minlength=inner)
    cardinality[len(values) : root] = sizes[::-1]
    cardinality[root] = len(values)
    for array in (ancestors, cardinality):
        array.setflags(write=False)
    leaves = tuple(values)
    return PrefixTree(leaves, (*leaves, *reversed(labels), mask), ancestors, cardinality)


def _mask(values: Sequence[str]) -> str:
    """The first character of a list that no value contains."""
    used = set().union(*values)
    candidates = chain(_MASKS, map(chr, count(_PRIVATE_USE)))
    return next(mask for mask in candidates if mask not in used)


@register
class Prefix(Kind):
    """A value is taken as text and coded by its rank, which is its in-order position."""

    name = "prefix"
    form = Form.NODE
    usage = "prefix (codes such as postcodes, shortened: 751**)"

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Refuse what is neither text nor whole numbers."""
        super().check_type(data_type, name)
        held = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
        is_text = pa.types.is_string(held) or pa.types.is_large_string(held)
        check_holds(
            is_text or pa.types.is_integer(held),
            self,
            data_type,
            name,
            "Codes are text or whole numbers: read the column as text, or give it another kind.",
        )

    def proposal(self, name: str, values: pa.ChunkedArray) -> str | None:
        """Many short codes, by the name of the column or by the shape of its values."""
        is_text = pa.types.is_string(values.type)
        if not (is_text or pa.types.is_integer(values.type)):
            return None
        codes = pc.cast(pc.unique(values), pa.string()).drop_null()
        lengths = pc.min_max(pc.utf8_length(codes)).as_py()
        are_codes = (
            len(codes) >= _FEW_VALUES
            and lengths["min"] >= 2
            and lengths["max"] <= _LONGEST_CODE
            and _all_match(codes, _CODE)
        )
        if not are_codes:
            return None
        if _NAMES_A_CODE.search(name.lower().replace("_", " ")):
            return "its name and its short values suggest codes, which are shortened: 751**"
        if not is_text:  # by shape alone whole numbers are numbers
            return None
        fixed = lengths["min"] == lengths["max"]
        if fixed and _all_match(codes, _DIGITS) and pc.any(pc.starts_with(codes, "0")).as_py():
            return "all its values are digits of one length, some with leading zeros, as codes are"
        if _all_match(codes, _LIKE_ICD):
            return "all its values are a letter and digits, as codes of a classification are"
        return None

    def canonical(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Codes as text."""
        return self.coded_values(values, name)

    def coded_values(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Codes as text."""
        return pc.cast(plain_values(values, name), pa.string())

    def code(
        self, values: pa.ChunkedArray, column: SchemaColumn, form: Form
    ) -> tuple[Int32Array, pa.Array]:
        """Ranks of the values; where all are missing, the tree's one leaf is the empty text."""
        codes, known = codes_of_distinct(self.coded_values(values, column.name))
        return codes, known if len(known) else pa.array([""], pa.string())

    def tree(self, known: pa.Array, column: SchemaColumn) -> Hierarchy:
        """The tree of the values' prefixes."""
        return prefix_tree(known.to_pylist())

    def tree_facts(self, tree: Hierarchy) -> Mapping[str, Any]:
        """The values, of which the tree is made."""
        return {"codes": tree.leaves}

    def tree_of_facts(self, facts: Mapping[str, Any], name: str) -> Hierarchy | None:
        """The tree of the values."""
        if "codes" not in facts:
            return None
        codes = distinct_texts(facts["codes"])
        if list(codes) != sorted(codes):
            raise ValueError("codes ascend")
        return prefix_tree(codes)

    def describe_cells(self, form: Form) -> str:
        """Nodes are prefixes."""
        return (
            "codes, shortened to what they have in common"
            if form is self.form
            else (form.published_as)
        )

    def width_in_words(self, width: float, form: Form) -> str:
        """Nodes are counted in values."""
        if form is not self.form:
            return form.width_in_words(width)
        return f"{width + 1:,.0f} values that begin alike"


def _all_match(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())
