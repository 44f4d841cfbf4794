"""Quasi-identifiers whose numbers stayed text, and so become categories, without being declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Domain
from mottle.kinds.base import Kind
from mottle.schema.model import Role, Schema

__all__ = ["are_numbers_as_text", "numbers_as_text"]

_NUMBER = r"^\s*[+-]?(?:0|[1-9]\d*)(?:[.,]\d+)?\s*$"  # no telephone number and no code


def are_numbers_as_text(values: pa.Array) -> bool:
    """Tell whether all texts are numbers, some of them with decimals.

    Parameters
    ----------
    values : pyarrow.Array
        Distinct values.

    Returns
    -------
    bool
        Whether they are; False for values that are no text.

    Examples
    --------
    >>> [are_numbers_as_text(pa.array(cells)) for cells in (["1.0", "2.5", "3"], ["1.0", "a"])]
    [True, False]
    """
    if not pa.types.is_string(values.type) or len(values) == values.null_count:
        return False
    broken = pc.any(pc.match_substring_regex(values, "[.,]")).as_py()
    return bool(broken and pc.all(pc.match_substring_regex(values, _NUMBER)).as_py())


def numbers_as_text(schema: Schema, domains: Iterable[Domain]) -> Iterator[str]:
    """Say which quasi-identifiers become categories although their values are numbers.

    Parameters
    ----------
    schema : Schema
        With the kinds that the owner declared.
    domains : iterable of Domain
        The quasi-identifiers.

    Yields
    ------
    str
        A sentence about a column, without values.
    """
    declared = {column.name: column.kind for column in schema.with_role(Role.QUASI_IDENTIFYING)}
    for domain in domains:
        undeclared = declared[domain.name] is None and domain.kind is Kind.CATEGORY
        if undeclared and are_numbers_as_text(domain.values):
            yield (
                f"Column '{domain.name}' holds numbers that are not all written in one way; so it"
                " is text, and its values are published in sets, as categories. If they are"
                f" numbers, add --kind {domain.name}=number, or --decimal ',' where they have"
                " decimal commas."
            )
