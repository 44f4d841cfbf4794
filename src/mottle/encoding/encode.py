"""Arrow columns ↔ small integer codes: what methods compute on, and how it is read back.

A code is the position of a value in its column's *domain*: numbers and dates ascending, ordered
categories in their order, hierarchy leaves in in-order position, categories by their text, sets of
items in Gray order. The missing value, where it occurs, is one more value with the last code.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Codes, Domain, Form
from mottle.encoding.set_columns import encode_sets
from mottle.errors import DataError, SchemaError
from mottle.itemsets.arrow import is_list
from mottle.itemsets.hamming import steps
from mottle.schema.model import SEPARATOR, Column, Kind, Representation, Role, Schema
from mottle.typing import Float64Array, Int32Array
from mottle.utils.arrow import as_days, as_text, dictionary_order, is_plain


def encode(table: pa.Table, schema: Schema, representation: Representation) -> Codes:
    """Code the quasi-identifiers of ``table``; ``schema`` covers all its columns.

    >>> from mottle.schema.model import Schema
    >>> table = pa.table({"age": [40, 20, None, 20]})
    >>> codes = encode(table, Schema.of(quasi_identifying=["age"]), Representation.RANGE)
    >>> codes.matrix[:, 0], codes.domains[0].missing
    (array([1, 0, 2, 0], dtype=int32), 2)
    """
    columns = schema.with_role(Role.QUASI_IDENTIFYING)
    coded = [encode_column(table.column(column.name), column, representation) for column in columns]
    matrix = np.empty((table.num_rows, len(columns)), np.int32)
    for place, (_, codes) in enumerate(coded):
        matrix[:, place] = codes
    domains = tuple(domain for domain, _ in coded)
    notes = [note for domain in domains for note in _notes(table.column(domain.name), domain)]
    return Codes(domains, matrix, tuple(notes))


def encode_column(
    values: pa.ChunkedArray, column: Column, representation: Representation
) -> tuple[Domain, Int32Array]:
    """The domain of one column and the codes of its rows."""
    kind = kind_of(values.type, column)
    column = column.model_copy(update={"kind": kind})
    if kind is Kind.SET:
        return _encode_sets(values, column)
    representation = column.representation or representation
    form = _FORMS[kind] if representation is Representation.RANGE else Form.SET
    order = _order_of_dictionary(values, column)
    values = comparable(values, column)
    if kind is Kind.HIERARCHY:
        known = _hierarchy_leaves(values, column)
        indices = _codes_in(pc.cast(values, pa.string()), known)
        if form is Form.SET:
            indices, known = _only_present(indices, known)
    elif kind is Kind.ORDERED:
        known = _known_order(values, column) if order is None else order
        indices = _codes_in(values, known)
    else:
        indices, known = _codes_of_distinct(values)
    has_missing = bool((indices < 0).any())
    missing = len(known) if has_missing else -1
    if has_missing:
        indices = np.where(indices < 0, np.int32(missing), indices)
        known = pa.concat_arrays([known, pa.nulls(1, known.type)])
    return (
        Domain(
            column=column,
            form=form,
            values=known,
            missing=missing,
            positions=_positions(known, column) if form is Form.RANGE else np.empty(0),
            hierarchy=column.hierarchy if form is Form.NODE else None,
        ),
        indices.astype(np.int32, copy=False),
    )


def _encode_sets(values: pa.ChunkedArray, column: Column) -> tuple[Domain, Int32Array]:
    """The domain of a column of sets and the codes of its rows."""
    sets, known, codes = encode_sets(values, column.name, column.separator or SEPARATOR)
    missing = len(known) if len(sets.sets.sizes) > len(known) else -1
    if missing >= 0:
        known = pa.concat_arrays([known, pa.nulls(1, known.type)])
    domain = Domain(column, Form.WORLDS, known, missing, np.empty(0), None, sets)
    return domain, np.where(codes < 0, np.int32(missing), codes)


def along_orders(codes: Codes) -> Codes:
    """The same codes with sets taken for values on a line: for methods that count no votes.

    A set lies as far from the one before it in Gray order as items differ.
    """
    if all(domain.sets is None for domain in codes.domains):
        return codes
    return replace(codes, domains=tuple(map(_on_a_line, codes.domains)))


def _on_a_line(domain: Domain) -> Domain:
    if domain.sets is None:
        return domain
    known = domain.size - (domain.missing >= 0)
    positions = np.zeros(domain.size)
    apart = steps(domain.sets.sets, np.arange(known))[: max(known - 1, 0)]
    positions[1:known] = np.cumsum(apart) / max(apart.sum(), 1)
    return replace(domain, form=Form.RANGE, positions=positions, sets=None)


def encode_in(values: pa.ChunkedArray, domain: Domain) -> Int32Array:
    """Codes of some rows in a domain that is already known, such as that of a larger table.

    >>> age = Column(name="age", role=Role.QUASI_IDENTIFYING)
    >>> domain, _ = encode_column(pa.chunked_array([[20, 30, 40]]), age, Representation.RANGE)
    >>> encode_in(pa.chunked_array([[40, 20]]), domain)
    array([2, 0], dtype=int32)
    """
    values = comparable(values, domain.column)
    if domain.column.kind is Kind.HIERARCHY:
        values = pc.cast(values, pa.string())
    known = domain.values if domain.missing < 0 else domain.values[:-1]
    if pa.types.is_null(values.type):
        codes = np.full(len(values), -1, np.int32)
    else:
        codes = _codes_in(values, known)
    unknown = int((codes < 0).sum()) - values.null_count
    if unknown or (domain.missing < 0 and values.null_count):
        raise DataError(
            f"Column '{domain.name}' has values that were not there when it was first read.",
            "Let nobody change the data while they are anonymized.",
        )
    return np.where(codes < 0, np.int32(domain.missing), codes) if values.null_count else codes


def codes_of_values(values: pa.ChunkedArray, column: Column) -> tuple[Int32Array, pa.Array]:
    """Codes of a column that is not generalized, by rank of the value; -1 for missing."""
    return _codes_of_distinct(comparable(values, column))


def kind_of(data_type: pa.DataType, column: Column) -> Kind:
    """The kind the schema gives a column, or the one its type suggests; checks that they fit."""
    is_number = (
        pa.types.is_integer(data_type)
        or pa.types.is_floating(data_type)
        or pa.types.is_decimal(data_type)
    )
    is_date = pa.types.is_date(data_type) or pa.types.is_timestamp(data_type)
    kind = column.kind
    if is_list(data_type) and kind in (None, Kind.SET) and is_plain(data_type.value_type):
        return Kind.SET
    if pa.types.is_nested(data_type):
        raise SchemaError(
            f"Column '{column.name}' holds {data_type} values, which cannot be a quasi-identifier"
            f"{'' if kind is None else f' of kind {kind}'}.",
            "Lists of text, numbers or dates can, as kind 'set'; flatten others, or give the column"
            " another role.",
        )
    if not is_plain(data_type) or pa.types.is_duration(data_type):
        raise SchemaError(
            f"Column '{column.name}' holds {data_type} values, which cannot be a quasi-identifier.",
            "Turn them into numbers or text, or give the column another role.",
        )
    if kind is None:
        if is_number:
            return Kind.NUMBER
        if is_date:
            return Kind.DATE
        ordered = pa.types.is_dictionary(data_type) and data_type.ordered
        return Kind.ORDERED if ordered else Kind.CATEGORY
    is_null = pa.types.is_null(data_type)
    if kind is Kind.NUMBER and not (is_number or is_null):
        raise DataError(
            f"Column '{column.name}' has kind 'number' but holds {data_type} values.",
            "Some cells are not numbers: name the words for missing values with --missing, or use"
            " kind 'category'.",
        )
    if kind is Kind.DATE and not (is_date or is_null):
        raise DataError(
            f"Column '{column.name}' has kind 'date' but holds {data_type} values.",
            "Dates are read in the form 2024-12-31; otherwise use kind 'category'.",
        )
    return kind


_FORMS = {
    Kind.NUMBER: Form.RANGE,
    Kind.DATE: Form.RANGE,
    Kind.ORDERED: Form.RANGE,
    Kind.CATEGORY: Form.SET,
    Kind.HIERARCHY: Form.NODE,
}


def comparable(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Values whose order and equality mean what they should: dates as days, NaN as missing."""
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if column.kind is Kind.DATE and not pa.types.is_null(values.type):
        return as_days(values, column.name)
    is_null_order = pa.types.is_null(values.type) and column.kind is Kind.ORDERED
    if pa.types.is_binary(values.type) or pa.types.is_time(values.type) or is_null_order:
        return as_text(values, column.name)
    if pa.types.is_floating(values.type):
        infinite = pc.sum(pc.is_inf(values)).as_py() or 0
        if infinite and column.kind is Kind.NUMBER:
            raise DataError(
                f"Column '{column.name}' has {infinite} infinite values, which no range can hold.",
                "Replace them by missing values or by a bound, or use kind 'category'.",
            )
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        return pc.add(values, pa.scalar(0.0, values.type))  # -0.0 and 0.0 are one value
    return values


def _notes(values: pa.ChunkedArray, domain: Domain) -> list[str]:
    """Say when NaN is taken for missing, and what was done to items."""
    if domain.sets is not None:
        return list(domain.sets.notes)
    if not pa.types.is_floating(values.type):
        return []
    nans = pc.sum(pc.is_nan(values)).as_py() or 0
    return [f"Column '{domain.name}': {nans} NaN cells are taken for missing."] if nans else []


def _codes_of_distinct(values: pa.ChunkedArray) -> tuple[Int32Array, pa.Array]:
    """Codes by rank among the distinct values, -1 for missing."""
    if pa.types.is_null(values.type):
        return np.full(len(values), -1, np.int32), pa.array([], values.type)
    encoded = pc.dictionary_encode(values)
    if encoded.num_chunks == 0:
        return np.empty(0, np.int32), pa.array([], values.type)
    encoded = encoded.unify_dictionaries()
    distinct = encoded.chunk(0).dictionary
    by_value = pc.sort_indices(distinct).to_numpy(zero_copy_only=False)
    rank = np.empty(len(distinct) + 1, np.int32)
    rank[by_value] = np.arange(len(distinct), dtype=np.int32)
    rank[-1] = -1  # where fill_null points
    indices = [
        pc.fill_null(chunk.indices, len(distinct)).to_numpy(zero_copy_only=False)
        for chunk in encoded.chunks
    ]
    return rank[np.concatenate(indices)], distinct.take(pa.array(by_value))


def _codes_in(values: pa.ChunkedArray, known: pa.Array) -> Int32Array:
    """Codes by position in ``known``, -1 for missing."""
    indices = pc.fill_null(pc.index_in(values, value_set=known), -1)
    codes: Int32Array = indices.to_numpy().astype(np.int32, copy=False)
    return codes


def _only_present(indices: Int32Array, known: pa.Array) -> tuple[Int32Array, pa.Array]:
    """Drop the values that no row has."""
    present = np.unique(indices[indices >= 0])
    renumber = np.full(len(known) + 1, -1, np.int32)
    renumber[present] = np.arange(len(present), dtype=np.int32)
    return renumber[indices], known.take(pa.array(present))


def _hierarchy_leaves(values: pa.ChunkedArray, column: Column) -> pa.Array:
    """The leaves in in-order position, after checking that every value is one."""
    assert column.hierarchy is not None
    distinct = pc.cast(pc.unique(values).drop_null(), pa.string())
    try:
        column.hierarchy.check_covers(distinct.to_pylist())
    except DataError as error:
        raise DataError(
            f"Column '{column.name}': {error.problem}",
            "Add a row for each; 'mottle lint-hierarchy FILE --data DATA --column"
            f" {column.name} --json' lists them.",
        ) from None
    return pa.array(column.hierarchy.leaves, pa.string())


def _order_of_dictionary(values: pa.ChunkedArray, column: Column) -> pa.Array | None:
    """The order that an ordered column's data bring, unless the schema gives another."""
    brings = pa.types.is_dictionary(values.type) and values.type.ordered and values.num_chunks
    if column.kind is not Kind.ORDERED or column.order is not None or not brings:
        return None
    return comparable(dictionary_order(values, column.name), column)


def _known_order(values: pa.ChunkedArray, column: Column) -> pa.Array:
    """The order the schema gives, in the type of the values; checks that it has them all."""
    if column.order is None:
        raise SchemaError(
            f"Column '{column.name}' has kind 'ordered' but no order.",
            f'Give its values from lowest to highest: order = ["low", "high"] in mottle.toml,'
            f" or --order {column.name}=low,high.",
        )
    try:
        known = pc.cast(pa.array(column.order, pa.string()), values.type)
    except pa.ArrowException:
        raise DataError(
            f"Column '{column.name}' holds {values.type} values, which its order does not list.",
            "Write the order with values of that type.",
        ) from None
    if len(known.unique()) < len(known):
        raise SchemaError(
            f"The order of column '{column.name}' lists a value twice, in two spellings.",
            "List every value once.",
        )
    strangers = pc.sum(pc.and_(pc.is_valid(values), pc.invert(pc.is_in(values, value_set=known))))
    if strangers.as_py():
        raise DataError(
            f"Column '{column.name}' has {strangers.as_py()} cells that are not in its order.",
            "Add the values to the order.",
        )
    return known


def _positions(known: pa.Array, column: Column) -> Float64Array:
    """Where each value lies between the lowest (0) and the highest (1); 0 for the missing one.

    Numbers lie at their value, days by count, ordered values by rank. The lowest is subtracted
    before anything is rounded, so that neighbours far from zero stay apart, and floats are scaled
    by a power of two first, so that no difference overflows.
    """
    present = known.drop_null()
    positions = np.zeros(len(known))
    if len(present) == 0:
        return positions
    if column.kind is Kind.ORDERED:
        above = np.arange(len(present), dtype=np.float64)
    elif pa.types.is_decimal(present.type):
        values = present.to_pylist()
        above = np.array([float(value - values[0]) for value in values])
    elif pa.types.is_floating(present.type):
        floats = present.to_numpy(zero_copy_only=False).astype(np.float64)
        _, exponent = np.frexp(np.abs(floats).max())
        scaled = np.ldexp(floats, -exponent)
        above = scaled - scaled[0]
    else:
        days = pa.types.is_date(present.type)
        integers = pc.cast(present, pa.int32()) if days else present
        unsigned = integers.to_numpy(zero_copy_only=False).astype(np.uint64)  # modulo 2^64
        above = (unsigned - unsigned[0]).astype(np.float64)
    positions[: len(present)] = above / (above[-1] or 1.0)
    return positions
