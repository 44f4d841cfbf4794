"""A survey of batches finds the domains and counts that the whole table has in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mottle.encoding.encode import encode
from mottle.encoding.sensitive import codes_among, count_values, encode_sensitive, with_breaks
from mottle.orderings import Packing, by_cardinality, lexicographic
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.schema.model import Column, Representation, Schema

Numbers = st.lists(st.one_of(st.none(), st.integers(-5, 20)), min_size=1, max_size=40)


@given(Numbers, st.integers(1, 9), st.sampled_from(Representation))
def test_domains_are_those_of_the_whole_table(
    numbers: list[int | None], batch: int, representation: Representation
) -> None:
    table = pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "f": pa.array([None if n is None else n / 4 for n in numbers], pa.float64()),
            "t": pa.array([None if n is None else f"é{n % 3}" for n in numbers], pa.string()),
            "d": pa.array(
                [None if n is None else n * 10**9 * 40_000 for n in numbers], pa.timestamp("ns")
            ),
        }
    )
    schema = Schema.of(quasi_identifying=["n", "f", "t", "d"])
    survey = DomainSurvey(schema, table.schema, about_values=False)
    for first in range(0, len(numbers), batch):
        survey.add(table.slice(first, batch))
    codes = encode(table, schema, representation)
    found_domains = survey.domains(representation)
    for column, (found, expected) in enumerate(zip(found_domains, codes.domains, strict=True)):
        occurring = np.bincount(codes.matrix[:, column], minlength=expected.size)
        assert np.array_equal(found.counts, occurring)
        assert found.values.equals(expected.values)
        assert found.missing == expected.missing
        assert found.form == expected.form
        assert np.array_equal(found.positions, expected.positions)


@given(Numbers, st.sampled_from([{}, {"bins": {"n": 3}}, {"breaks": {"n": [0.0, 7.5]}}]))
def test_counts_of_sensitive_values_are_those_of_the_whole_table(
    numbers: list[int | None], bins: dict[str, dict[str, object]]
) -> None:
    table = pa.table({"n": pa.array(numbers, pa.int64())})
    schema = Schema.of(quasi_identifying=[], sensitive=["n"], **bins)
    (expected,) = encode_sensitive(table, schema)
    counted = table.group_by("n").aggregate([([], "count_all")])
    values = counted.column("n").combine_chunks()
    counts = counted.column("count_all").to_numpy()
    column: Column = schema.columns[0]
    found = count_values(values, counts, column)
    assert np.array_equal(found.counts, expected.counts)
    assert found.labels[0].equals(expected.labels[0])
    assert found.binned == expected.binned
    broken = with_breaks(values, counts, column)
    assert np.array_equal(codes_among(table.column("n"), broken, found), expected.codes)


@given(st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=9), st.integers(0, 2**32 - 1))
def test_packed_keys_compare_as_rows_do_and_give_their_codes_back(
    sizes: list[int], seed: int
) -> None:
    random = np.random.default_rng(seed)
    domain = np.array(sizes, np.int64)
    matrix = np.stack([random.integers(0, size, 30) for size in sizes], axis=1).astype(np.int32)
    attributes = by_cardinality(domain)
    packing = Packing.of(domain, attributes)
    assert np.array_equal(packing.unpack(packing.pack(matrix)), matrix)
    expected = sorted(range(30), key=lambda row: tuple(matrix[row, attributes]))
    assert lexicographic(matrix, domain, attributes).tolist() == expected
