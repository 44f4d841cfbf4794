"""Codes stand for the values of the table: of every type, in order, and nothing else."""

from __future__ import annotations

import contextlib
import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import (
    Column,
    DataError,
    Form,
    Hierarchy,
    MottleError,
    Representation,
    Schema,
    SchemaError,
)
from mottle.encoding.encode import encode, encode_column
from mottle.schema.model import Kind

CANARY = "CANARY-7351"
SEXES = Hierarchy.from_rows([("f", "*"), ("m", "*"), ("x", "*")])


def coded(values: pa.Array | pa.ChunkedArray, representation="range", **options):
    chunked = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    column = Column(name="q", role="quasi-identifying", **options)
    return encode_column(chunked, column, Representation(representation))


def read_back(values: pa.Array | pa.ChunkedArray, representation="range", **options) -> list:
    domain, codes = coded(values, representation, **options)
    assert codes.dtype == np.int32
    assert codes.min(initial=0) >= 0
    assert codes.max(initial=-1) < max(domain.size, 1)
    if domain.missing >= 0:
        assert domain.missing == domain.size - 1
        assert domain.values[domain.missing].as_py() is None
    else:
        assert domain.values.null_count == 0
    return domain.values.take(pa.array(codes)).to_pylist()


INTEGERS = {
    pa.int8(): (-(2**7), 2**7 - 1),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint8(): (0, 2**8 - 1),
    pa.uint16(): (0, 2**16 - 1),
    pa.uint32(): (0, 2**32 - 1),
    pa.uint64(): (0, 2**64 - 1),
}


@pytest.mark.parametrize("representation", ["range", "set"])
@pytest.mark.parametrize("data_type", INTEGERS, ids=str)
def test_integers_come_back_in_order_and_type(data_type: pa.DataType, representation: str):
    low, high = INTEGERS[data_type]
    values = [high, low, None, 1, high - 1, low + 1, 1]
    domain, codes = coded(pa.array(values, data_type), representation)
    assert domain.values.type == data_type
    assert domain.values.to_pylist() == [*sorted({*values} - {None}), None]
    assert [domain.values[code].as_py() for code in codes] == values


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))))
def test_floats_come_back(values: list):
    assert read_back(pa.array(values, pa.float64())) == values


@given(st.lists(st.one_of(st.none(), st.floats(width=32, allow_nan=False, allow_infinity=False))))
def test_single_precision_stays_single_precision(values: list):
    domain, _ = coded(pa.array(values, pa.float32()))
    assert domain.values.type == pa.float32()
    assert read_back(pa.array(values, pa.float32())) == values


def test_negative_zero_is_zero():
    domain, codes = coded(pa.array([-0.0, 0.0, 1.0]))
    assert codes.tolist() == [0, 0, 1]
    assert str(domain.values[0].as_py()) == "0.0"


@pytest.mark.parametrize("kind", ["number", "category"])
def test_nan_is_missing(kind: str):
    domain, codes = coded(pa.array([float("nan"), 1.0, None]), kind=kind)
    assert domain.missing == 1
    assert codes.tolist() == [1, 0, 1]


def test_nan_is_noted_without_values():
    table = pa.table({"q": [float("nan"), 7351.25, float("nan")]})
    notes = encode(table, Schema.of(quasi_identifying=["q"]), Representation.RANGE).notes
    assert notes == ("Column 'q': 2 NaN cells are taken for missing.",)


@pytest.mark.parametrize("data_type", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("bad", [float("inf"), float("-inf")])
def test_infinite_number_is_refused_by_the_column_name(data_type: pa.DataType, bad: float):
    with pytest.raises(DataError, match="Column 'q' has 1 infinite"):
        coded(pa.array([1.0, bad], data_type))


def test_remedy_for_infinite_numbers_works():
    infinite = float("inf")
    values = [infinite, 1.0, -infinite]
    assert read_back(pa.array(values), kind="category") == values


@pytest.mark.parametrize("data_type", [pa.decimal128(38, 2), pa.decimal256(76, 2)], ids=str)
@pytest.mark.parametrize("representation", ["range", "set"])
def test_decimals_come_back_exactly(data_type: pa.DataType, representation: str):
    values = [Decimal("-0.01"), Decimal("99999999999999999999999999.99"), None, Decimal("0.10")]
    domain, _ = coded(pa.array(values, data_type), representation)
    assert domain.values.type == data_type
    assert read_back(pa.array(values, data_type), representation) == values


DAYS = [dt.date(1969, 12, 31), dt.date(2024, 2, 29), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)]


@pytest.mark.parametrize("data_type", [pa.date32(), pa.date64()], ids=str)
def test_dates_come_back_as_days(data_type: pa.DataType):
    domain, _ = coded(pa.array(DAYS, data_type))
    assert domain.column.kind is Kind.DATE
    assert domain.values.type == pa.date32()
    assert read_back(pa.array(DAYS, data_type)) == DAYS


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_are_floored_to_days_also_before_1970(unit: str):
    moments = [
        dt.datetime(1969, 12, 31, 23, 59, 59),
        dt.datetime(1969, 12, 31),
        None,
        dt.datetime(1970, 1, 1, 0, 0, 1),
        dt.datetime(2024, 2, 29, 12),
    ]
    days = [None if moment is None else moment.date() for moment in moments]
    assert read_back(pa.array(moments, pa.timestamp(unit))) == days


def test_moments_with_a_zone_are_days_of_that_zone():
    late = dt.datetime(2020, 1, 1, 23, 30, tzinfo=dt.UTC)
    early = dt.datetime(2020, 1, 1, 0, 30, tzinfo=dt.UTC)
    tokyo = pa.array([late, early], pa.timestamp("us", "Asia/Tokyo"))
    assert read_back(tokyo) == [dt.date(2020, 1, 2), dt.date(2020, 1, 1)]
    york = pa.array([late, early], pa.timestamp("us", "America/New_York"))
    assert read_back(york) == [dt.date(2020, 1, 1), dt.date(2019, 12, 31)]


def test_distance_of_dates_is_in_days():
    domain, _ = coded(pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 16), dt.date(2024, 3, 1)]))
    assert domain.positions.tolist() == [0, 15 / 60, 1]


def test_stray_milliseconds_of_dates_are_floored_also_before_1970():
    moments = pa.array([-1, 0, 86_400_001], pa.int64()).cast(pa.date64())
    assert read_back(moments) == [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(1970, 1, 2)]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_last_day_of_the_calendar_is_a_day_in_its_zone_or_refused(zone: str):
    """31 December 9999 often stands for 'never'."""
    noon = int((dt.date(9999, 12, 31) - dt.date(1970, 1, 1)).days * 86_400 + 43_200)
    assert read_back(pa.array([noon, 0], pa.timestamp("s", zone)))[0] == dt.date(9999, 12, 31)
    with pytest.raises(DataError, match="Column 'q' has dates outside"):
        coded(pa.array([noon + 86_400, 0], pa.timestamp("s", zone)))


NUMBERS = {
    "widest floats": pa.array([-1.7e308, 0.0, 1.7e308]),
    "smallest floats": pa.array([0.0, 5e-324, 1e-323]),
    "single precision": pa.array([-3e38, 0.0, 3e38], pa.float32()),
    "integers beyond 2^53": pa.array([2**60, 2**60 + 1, 2**60 + 2]),
    "unsigned": pa.array([2**64 - 3, 2**64 - 2, 2**64 - 1], pa.uint64()),
    "narrow": pa.array([-128, 0, 127], pa.int8()),
    "widest integers": pa.array([-(2**63), 0, 2**63 - 1]),
    "decimals": pa.array([Decimal(10**36), Decimal(10**36 + 1), Decimal(10**36 + 2)]),
    "wide decimals": pa.array(
        [Decimal(f"9{'0' * 70}{end}") for end in range(3)], pa.decimal256(76, 0)
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_lie_where_they_are_between_the_lowest_and_the_highest(name: str):
    domain, _ = coded(NUMBERS[name])
    assert domain.positions == pytest.approx([0, 0.5, 1], abs=2e-3)
    assert domain.positions[[0, -1]].tolist() == [0, 1]


def test_booleans_are_categories():
    domain, _ = coded(pa.array([True, None, False]))
    assert domain.form is Form.SET
    assert read_back(pa.array([True, None, False])) == [True, None, False]


@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))))
def test_text_comes_back_whatever_it_is(values: list):
    assert read_back(pa.array(values, pa.string())) == values


def test_categories_are_coded_by_their_text():
    domain, codes = coded(pa.array(["b", "", "a", "é", "Z"]))
    assert domain.values.to_pylist() == ["", "Z", "a", "b", "é"]
    assert codes.tolist() == [3, 0, 2, 4, 1]


def test_dictionaries_are_decoded():
    values = ["b", None, "a", "b"]
    assert read_back(pa.array(values).dictionary_encode()) == values


def ordered_dictionary(indices: list, values: list) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int8()), pa.array(values), ordered=True
    )


@pytest.mark.parametrize("representation", ["range", "set"])
def test_ordered_dictionary_brings_its_order(representation: str):
    column = ordered_dictionary([2, None, 0, 1], ["low", "high", "higher"])
    domain, codes = coded(column, representation)
    assert domain.column.kind is Kind.ORDERED
    assert domain.values.to_pylist()[:3] == ["low", "high", "higher"]
    assert codes.tolist() == [2, 3, 0, 1]


def test_order_of_the_schema_wins_over_that_of_the_dictionary():
    domain, codes = coded(ordered_dictionary([0, 1], ["a", "b"]), order=("b", "a"))
    assert domain.values.to_pylist() == ["b", "a"]
    assert codes.tolist() == [1, 0]


def test_chunks_with_different_orders_do_not_get_a_third():
    chunks = pa.chunked_array(
        [ordered_dictionary([0, 1], ["mid", "hi"]), ordered_dictionary([0, 1], ["lo", "mid"])]
    )
    domain, codes = coded(chunks)
    assert domain.values.to_pylist() == ["lo", "mid", "hi"]
    assert codes.tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize("other", [["b", "a"], ["c", "b"]], ids=["contrary", "undecided"])
def test_chunks_whose_orders_make_no_common_one_are_refused(other: list[str]):
    chunks = pa.chunked_array(
        [ordered_dictionary([0, 1], ["a", "b"]), ordered_dictionary([0, 1], other)]
    )
    with pytest.raises(DataError, match="column 'q' have orders"):
        coded(chunks)


def test_null_in_an_ordered_dictionary_is_missing():
    assert read_back(ordered_dictionary([0, 1, 2], ["lo", None, "hi"])) == ["lo", None, "hi"]


@pytest.mark.parametrize("representation", ["range", "set"])
def test_chunks_with_different_dictionaries_share_one_domain(representation: str):
    chunks = pa.chunked_array(
        [
            pa.array(["b", "a"]).dictionary_encode(),
            pa.array([], pa.string()).dictionary_encode(),
            pa.array(["c", None, "a"]).dictionary_encode(),
        ]
    )
    domain, codes = coded(chunks, representation)
    assert domain.values.to_pylist() == ["a", "b", "c", None]
    assert codes.tolist() == [1, 0, 2, 3, 0]


@given(st.lists(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=5), max_size=5))
def test_chunks_do_not_matter(chunks: list[list]):
    flat = [value for chunk in chunks for value in chunk]
    chunked = pa.chunked_array([pa.array(chunk, pa.int16()) for chunk in chunks], pa.int16())
    assert read_back(chunked) == flat
    assert coded(chunked)[1].tolist() == coded(pa.array(flat, pa.int16()))[1].tolist()


def test_sliced_columns_are_read_from_their_own_start():
    assert read_back(pa.array(["x", "a", None, "b", "y"]).slice(1, 3)) == ["a", None, "b"]


@pytest.mark.parametrize("kind", [None, "number", "date", "category"])
@pytest.mark.parametrize("representation", ["range", "set"])
def test_column_of_nulls_has_one_value(kind: str | None, representation: str):
    assert read_back(pa.nulls(3), representation, kind=kind) == [None] * 3


@pytest.mark.parametrize(
    "data_type", [pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.decimal128(5, 2)], ids=str
)
def test_typed_column_without_values_has_one_value(data_type: pa.DataType):
    domain, codes = coded(pa.nulls(3, data_type))
    assert (domain.size, domain.missing, codes.tolist()) == (1, 0, [0, 0, 0])


def test_ordered_column_of_nulls_has_its_order_and_missing():
    assert read_back(pa.nulls(3), order=("a", "b")) == [None] * 3


def test_one_row():
    assert read_back(pa.array([7])) == [7]


def test_a_million_distinct_values():
    values = np.random.default_rng(1).permutation(1_000_000) * 3
    domain, codes = coded(pa.array(values))
    assert domain.size == 1_000_000
    assert np.array_equal(codes, values // 3)
    texts, text_codes = coded(pa.array(values).cast(pa.string()))
    assert texts.size == 1_000_000
    assert texts.values.take(pa.array(text_codes[:5])).to_pylist() == [str(v) for v in values[:5]]


# ------------------------------------------------------------------------------------------ ordered


def test_ordered_text_is_coded_in_its_order_and_keeps_unused_values():
    domain, codes = coded(pa.array(["high", None, "low"]), order=("low", "mid", "high"))
    assert domain.values.to_pylist() == ["low", "mid", "high", None]
    assert codes.tolist() == [2, 3, 0]
    assert domain.positions[:3].tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("data_type", [pa.int8(), pa.int64(), pa.uint64(), pa.float64()], ids=str)
def test_order_of_numbers_is_written_as_text(data_type: pa.DataType):
    domain, codes = coded(pa.array([1, 3, 2], data_type), order=("3", "1", "2"))
    assert domain.values.type == data_type
    assert codes.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("values", "order"),
    [(["low", CANARY], ("low", "high")), ([1, 73510042], ("1", "2"))],
)
def test_value_outside_the_order_is_refused_without_quoting_it(values: list, order: tuple):
    with pytest.raises(
        DataError, match="Column 'q' has 1 cells that are not in its order"
    ) as caught:
        coded(pa.array(values), order=order)
    assert CANARY not in str(caught.value)
    assert "73510042" not in str(caught.value)


def test_order_of_another_type_is_refused():
    with pytest.raises(DataError, match="Column 'q' holds int64 values"):
        coded(pa.array([1, 2]), order=("low", "high"))


def test_ordered_without_order_is_refused():
    with pytest.raises(SchemaError, match="Column 'q' has kind 'ordered' but no order"):
        coded(pa.array(["a"]), kind="ordered")


def test_order_of_times_works_or_is_refused_by_name():
    with contextlib.suppress(MottleError):
        coded(pa.array([dt.time(1), dt.time(2)]), order=("02:00:00", "01:00:00"))


def test_order_that_lists_a_value_in_two_spellings_is_refused():
    with pytest.raises(MottleError):
        coded(pa.array([1, 2]), order=("1", "2", "01"))


# ---------------------------------------------------------------------------------------- hierarchy


def test_leaves_are_coded_in_order_of_the_hierarchy():
    domain, codes = coded(pa.array(["m", None, "f"]), hierarchy=SEXES)
    assert domain.form is Form.NODE
    assert domain.values.to_pylist() == ["f", "m", "x", None]
    assert codes.tolist() == [1, 3, 0]


def test_sets_of_leaves_count_only_values_that_occur():
    domain, codes = coded(pa.array(["x", None, "f"]), "set", hierarchy=SEXES)
    assert domain.form is Form.SET
    assert domain.hierarchy is None
    assert domain.values.to_pylist() == ["f", "x", None]
    assert codes.tolist() == [1, 2, 0]


def test_numbers_can_have_a_hierarchy():
    digits = Hierarchy.from_rows([("1", "odd", "*"), ("2", "even", "*")])
    assert coded(pa.array([2, 1, 2]), hierarchy=digits)[1].tolist() == [1, 0, 1]


def test_dictionary_can_have_a_hierarchy():
    chunks = pa.chunked_array(
        [pa.array(["m"]).dictionary_encode(), pa.array(["f", None]).dictionary_encode()]
    )
    assert coded(chunks, hierarchy=SEXES)[1].tolist() == [1, 0, 3]


@pytest.mark.parametrize("representation", ["range", "set"])
def test_value_outside_the_hierarchy_is_refused_without_quoting_it(representation: str):
    with pytest.raises(DataError, match="hierarchy lacks 1") as caught:
        coded(pa.array(["f", CANARY]), representation, hierarchy=SEXES)
    assert CANARY not in str(caught.value)


def test_value_outside_the_hierarchy_is_refused_by_the_column_name():
    with pytest.raises(DataError, match="'q'"):
        coded(pa.array(["f", CANARY]), hierarchy=SEXES)


# -------------------------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    "values",
    [
        [[[1]], [[2]]],
        [{"a": 1}, {"a": 2}],
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int8())),
    ],
    ids=["list of lists", "struct", "map"],
)
def test_nested_values_are_refused(values: object):
    with pytest.raises(SchemaError, match=r"Column 'q' holds .* values, which cannot be"):
        coded(values if isinstance(values, pa.Array) else pa.array(values))


@pytest.mark.parametrize(
    ("values", "kind"), [([CANARY, "1"], "number"), ([CANARY, "1"], "date"), ([True], "number")]
)
def test_kind_that_does_not_fit_is_refused_without_quoting_cells(values: list, kind: str):
    with pytest.raises(DataError, match=f"Column 'q' has kind '{kind}'") as caught:
        coded(pa.array(values), kind=kind)
    assert CANARY not in str(caught.value)


UNUSUAL = {
    "decimal32": pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal32(5, 2)),
    "interval": pa.array([(1, 2, 3), (1, 2, 4)], pa.month_day_nano_interval()),
    "uuid": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([b"0123456789abcdef", b"0123456789abcdeg"], pa.binary(16))
    ),
    "dictionary of structs": pa.DictionaryArray.from_arrays(
        pa.array([0, 1]), pa.array([{"a": 1}, {"a": 2}])
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_type_is_coded_or_refused_by_name(name: str):
    with contextlib.suppress(MottleError):
        coded(UNUSUAL[name])


def test_moments_beyond_the_calendar_are_refused():
    with pytest.raises(DataError):
        coded(pa.array([2**50, 0], pa.timestamp("s")))


def test_columns_are_coded_in_the_order_of_the_schema():
    table = pa.table({"b": [2, 1], "id": ["x", "y"], "a": ["u", "v"]})
    schema = Schema.of(quasi_identifying=["a", "b"], identifying=["id"])
    codes = encode(table, schema.covering(table.column_names), Representation.RANGE)
    assert [domain.name for domain in codes.domains] == ["b", "a"]
    assert codes.matrix.tolist() == [[1, 0], [0, 1]]
    assert codes.sizes.tolist() == [2, 2]


def test_representation_of_a_column_wins_over_that_of_the_run():
    values = pa.chunked_array([[1, 2]])
    for own, form in (("set", Form.SET), ("range", Form.RANGE)):
        column = Column(name="q", role="quasi-identifying", representation=own)
        for of_run in Representation:
            assert encode_column(values, column, of_run)[0].form is form
