"""Sensitive attributes as they were published, in the codes of the originals' values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from mottle.audit.sensitive.shares import ReferenceDistribution, reference_distribution
from mottle.encoding.sensitive import (
    MISSING,
    SensitiveValues,
    as_counted,
    describe_levels,
    encode_sensitive,
)
from mottle.errors import DataError, UsageError
from mottle.guarantees.base import Guarantee
from mottle.release.data import ReleaseData
from mottle.schema.model import Column, Role, Schema
from mottle.typing import Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from mottle.audit.sensitive.shares import Mixtures


@dataclass(frozen=True, repr=False)
class SensitiveAttribute:
    """A sensitive column as it was published, or the joint values of several columns.

    Where sensitive values are published by group in a second table, they are assigned to the
    records of the group in arbitrary order, and ``groups`` says that only the mixture of the group
    is known of each record.
    """

    columns: tuple[str, ...]
    levels: tuple[int, ...]  # of the hierarchy; level 0 are the values, all others groups
    sensitive_codes: Int32Array  # [records]: code of the value, -1 if the original lacks the value
    reference: ReferenceDistribution  # the values' shares in the whole table, and their caps
    capped: bool  # whether the guarantee bounds its values
    groups: Int64Array | None = None  # [records]: the group, where values are published by group

    @property
    def name(self) -> str:
        """How findings name the attribute."""
        return " × ".join(self.columns) + describe_levels(self.levels)

    @cached_property
    def mixtures(self) -> Mixtures:
        """What is known of each record's value: [records, values]."""
        known = np.flatnonzero(self.sensitive_codes >= 0)
        shape = (len(self.sensitive_codes), len(self.reference.overall))
        single = csr_array((np.ones(len(known)), (known, self.sensitive_codes[known])), shape=shape)
        if self.groups is None:
            return single
        records = np.arange(len(self.groups))
        sizes = np.bincount(self.groups)
        belongs = csr_array(
            (np.ones(len(records)), (self.groups, records)), shape=(len(sizes), len(records))
        )
        shares = csr_array((1 / sizes[self.groups], (records, self.groups)))
        return (shares @ (belongs @ single)).tocsr()


def read_sensitive_attributes(
    original: pa.Table, release: ReleaseData, schema: Schema | None, guarantee: Guarantee | None
) -> tuple[tuple[SensitiveAttribute, ...], tuple[Int32Array, ...]]:
    """Read the published sensitive attributes, and everybody's own values.

    There is one entry for a single sensitive column; for several, one for their joint values and
    then one for each of them. Groups of similar values follow, where the guarantee caps them.
    """
    published, groups = sensitive_values_by_record(release)
    columns = _columns(published.column_names, schema)
    encoded = encode_sensitive(original, columns)
    if guarantee is not None and guarantee.about_values:
        _check_caps_apply(guarantee, original.num_rows, encoded, _bins_unknown(release, encoded))
        encoded = tuple(
            values if 0 in values.levels else _groups_anew(values, original, columns)
            for values in guarantee.attributes(encoded)
        )
    caps = _caps(guarantee, encoded)
    codes_by_attribute = _published_codes(original, published, encoded)
    attributes = tuple(
        SensitiveAttribute(
            columns=values.columns,
            levels=values.levels,
            sensitive_codes=codes,
            reference=reference_distribution(
                values.counts,
                np.ones(len(values.counts)) if bound is None else bound,
                _is_ordered(original, values),
            ),
            capped=bound is not None and bool(np.any(bound < 1)),
            groups=groups,
        )
        for values, codes, bound in zip(encoded, codes_by_attribute, caps, strict=True)
    )
    return attributes, tuple(values.codes for values in encoded)


def sensitive_values_by_record(release: ReleaseData) -> tuple[pa.Table, Int64Array | None]:
    """The sensitive columns of all records, and their groups if values are published by group."""
    if release.sensitive is None:
        names = [column.name for column in release.columns if column.role is Role.SENSITIVE]
        return release.table.select(names), None
    group, *names, count = release.sensitive.column_names
    groups = release.table.column(group).to_numpy().astype(np.int64)
    by_value = np.repeat(
        np.arange(release.sensitive.num_rows), release.sensitive.column(count).to_numpy()
    )
    listed = release.sensitive.column(group).to_numpy()[by_value]
    by_value = by_value[np.argsort(listed, kind="stable")]
    if not np.array_equal(np.sort(listed), np.sort(groups)):
        raise DataError("The two tables of the release do not agree on the sizes of groups.")
    rows = np.empty(len(groups), np.int64)
    rows[np.argsort(groups, kind="stable")] = by_value
    return release.sensitive.select(names).take(pa.array(rows)), groups


def _columns(names: list[str], schema: Schema | None) -> Schema:
    """The sensitive columns, with the bins and groups that the schema gives them."""
    given = {column.name: column for column in schema.columns} if schema else {}
    return Schema(
        columns=tuple(
            Column(
                name=name,
                role=Role.SENSITIVE,
                bins=given[name].bins if name in given else None,
                breaks=given[name].breaks if name in given else None,
                groups=given[name].groups if name in given else None,
                hierarchy=given[name].hierarchy if name in given else None,
            )
            for name in names
        )
    )


def _bins_unknown(release: ReleaseData, encoded: tuple[SensitiveValues, ...]) -> bool:
    """Whether the certificate mentions bins that no schema defines."""
    certified = release.certified
    binned = certified is not None and any(values.binned for values in certified.sensitive)
    return binned and not any(values.binned for values in encoded)


def _groups_anew(groups: SensitiveValues, original: pa.Table, columns: Schema) -> SensitiveValues:
    """Code groups of similar values again, from the schema's texts.

    The run's coding is not used, so that a defect there does not hide itself.
    """
    (column,) = [each for each in columns.columns if each.name == groups.columns[0]]
    if groups.apart:
        return groups if groups.binned else _apart_anew(groups, original.column(column.name))
    level = groups.levels[0]
    if column.hierarchy is None:
        group = {value: name for name, values in column.groups or () for value in values}
    else:
        group = {row[0]: row[level] for row in column.hierarchy.rows()}
    texts = pc.dictionary_encode(pc.cast(original.column(column.name), pa.string()))
    coded = texts.combine_chunks()
    known = coded.dictionary.to_pylist()
    names = [group.get(text, (text,)) for text in known]  # a value in no group is alone
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    of_text = np.array([*(number[name] for name in names), len(number)], np.int32)
    indices = pc.fill_null(coded.indices, len(known)).to_numpy()
    codes = np.unique(of_text[indices], return_inverse=True)[1].ravel().astype(np.int32)
    return replace(groups, codes=codes, counts=np.bincount(codes).astype(np.int64))


def _apart_anew(groups: SensitiveValues, column: pa.ChunkedArray) -> SensitiveValues:
    """Code a value and all others again, from the texts of the originals."""
    texts = pc.cast(as_counted(column), pa.string())
    with_it = pc.equal(pc.fill_null(texts, MISSING), groups.apart).to_numpy().astype(bool)
    codes = np.where(with_it, 0, 1).astype(np.int32)
    return replace(groups, codes=codes, counts=np.bincount(codes, minlength=2).astype(np.int64))


def _check_caps_apply(
    guarantee: Guarantee, rows: int, encoded: tuple[SensitiveValues, ...], bins_unknown: bool
) -> None:
    """Raise an error unless the guarantee can be judged on these columns."""
    if not encoded:
        raise UsageError(
            f"{guarantee.describe()['name']} is about sensitive values, but the release has no"
            " sensitive column.",
            "Give the columns their roles with --schema.",
        )
    if bins_unknown:
        raise UsageError(
            "The guarantee is about bins of numbers, which only the schema defines.",
            "Give the schema the release was made with: --schema FILE.",
        )
    guarantee.demand(rows, encoded)


def _caps(
    guarantee: Guarantee | None, encoded: tuple[SensitiveValues, ...]
) -> list[Float64Array | None]:
    """For each attribute: the caps of its values, None where the guarantee sets none."""
    if guarantee is None or not guarantee.about_values:
        return [None] * len(encoded)
    return [guarantee.lowest_caps(values) for values in encoded]


def _published_codes(
    original: pa.Table, published: pa.Table, encoded: tuple[SensitiveValues, ...]
) -> list[Int32Array]:
    """The published values in the codes of the originals, -1 for values that these lack."""
    single = {
        values.columns[0]: _lookup(
            original.column(values.columns[0]), values.codes, published.column(values.columns[0])
        )
        for values in encoded
        if not values.joint and 0 in values.levels
    }
    coded = []
    for values in encoded:
        if 0 not in values.levels:
            (name,) = values.columns
            coded.append(_lookup(original.column(name), values.codes, published.column(name)))
            continue
        if not values.joint:
            coded.append(single[values.columns[0]])
            continue
        parts = np.stack([single[column] for column in values.columns], axis=1)
        _, numbers = np.unique(np.vstack([values.parts, parts]), axis=0, return_inverse=True)
        numbers = numbers.ravel()
        code_of = np.full(numbers.max() + 1, -1, np.int32)
        code_of[numbers[: len(values.parts)]] = np.arange(len(values.parts), dtype=np.int32)
        coded.append(code_of[numbers[len(values.parts) :]])
    return coded


def _lookup(known: pa.ChunkedArray, codes: Int32Array, values: pa.ChunkedArray) -> Int32Array:
    """The codes of ``values``, given the codes of ``known``."""
    numbers = common_codes(known, values)
    code_of = np.full(max(int(part.max(initial=0)) for part in numbers) + 1, -1, np.int32)
    code_of[numbers[0]] = codes
    return code_of[numbers[1]]


def common_codes(*columns: pa.ChunkedArray) -> list[Int64Array]:
    """Encode columns so that equal values have the same code; missing is a value too.

    NaN counts as missing and -0.0 as 0.0, as sensitive values are published.
    """
    kind = columns[0].type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    try:
        cast = [pc.cast(column, kind).combine_chunks() for column in columns]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        cast = [pc.cast(column, pa.string()).combine_chunks() for column in columns]
    together = pa.concat_arrays(cast)
    if pa.types.is_floating(together.type):
        together = pc.if_else(pc.is_nan(together), pa.scalar(None, together.type), together)
        together = pc.add(together, pa.scalar(0.0, together.type))
    if pa.types.is_null(together.type):
        numbers = np.zeros(len(together), np.int64)
    else:
        encoded = pc.dictionary_encode(together, null_encoding="encode")
        numbers = encoded.indices.to_numpy().astype(np.int64)
    return np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])


def _is_ordered(original: pa.Table, values: SensitiveValues) -> bool:
    """Whether distances between values are meaningful: numbers, not binned and none missing."""
    if values.joint or values.binned or 0 not in values.levels:
        return False
    kind = original.schema.field(values.columns[0]).type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(is_number and values.labels[0][-1].as_py() != MISSING)
