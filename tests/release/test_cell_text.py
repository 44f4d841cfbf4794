"""Text cells are read back as what they were, whatever the values contain."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mottle import DataError, Form
from mottle.release.cell_text import (
    from_text,
    from_texts,
    published_type,
    text_columns,
    to_text,
    to_texts,
)

NASTY = st.text(
    st.one_of(st.sampled_from('\\{}|.,;"\n\r\te *'), st.characters(exclude_categories=["Cs"])),
    max_size=8,
)
VALUES: dict[pa.DataType, st.SearchStrategy] = {
    pa.string(): NASTY,
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.float32(): st.floats(allow_nan=False, allow_infinity=False, width=32),
    pa.decimal128(12, 3): st.decimals(-(10**8), 10**8, places=3),
    pa.decimal256(50, 5): st.decimals(-(10**8), 10**8, places=5),
    pa.date32(): st.dates(),
    pa.bool_(): st.booleans(),
    pa.timestamp("us"): st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),
}


@st.composite
def range_cells(draw) -> tuple[pa.DataType, list]:
    data_type = draw(st.sampled_from(list(VALUES)))
    values = VALUES[data_type]

    def cell() -> st.SearchStrategy:
        return st.one_of(
            st.just({"lo": None, "hi": None, "missing": True}),
            st.tuples(values, values, st.booleans()).map(
                lambda parts: {"lo": parts[0], "hi": parts[1], "missing": parts[2]}
            ),
            st.tuples(values, st.booleans()).map(
                lambda parts: {"lo": parts[0], "hi": parts[0], "missing": parts[1]}
            ),
        )

    return data_type, draw(st.lists(cell(), max_size=6))


@st.composite
def set_cells(draw) -> tuple[pa.DataType, list]:
    data_type = draw(st.sampled_from(list(VALUES)))
    members = st.lists(VALUES[data_type], max_size=5)
    with_missing = st.tuples(members, st.booleans()).filter(any)
    cells = st.lists(with_missing.map(lambda parts: parts[0] + [None] * parts[1]), max_size=6)
    return data_type, draw(cells)


def typed(cells: list, form: Form, data_type: pa.DataType) -> pa.Array:
    return pa.array(cells, published_type(form, data_type))


def there_and_back(array: pa.Array, form: Form, data_type: pa.DataType) -> list:
    texts = to_text(array, form)
    assert texts.type == pa.string()
    assert "" not in texts.to_pylist(), "an empty cell is missing, hence null"
    back = from_text(texts, form, data_type)
    assert back.type == array.type
    return back.to_pylist()


@settings(max_examples=300)
@given(range_cells())
@example((pa.string(), [{"lo": "..", "hi": ".", "missing": True}]))
@example((pa.string(), [{"lo": "", "hi": "\\e", "missing": False}]))
@example((pa.string(), [{"lo": "a.", "hi": ".b", "missing": False}]))
@example((pa.string(), [{"lo": "\\", "hi": "..", "missing": True}]))
def test_ranges_are_read_back(case):
    data_type, cells = case
    assert there_and_back(typed(cells, Form.RANGE, data_type), Form.RANGE, data_type) == cells


@settings(max_examples=300)
@given(set_cells())
@example((pa.string(), [[""], [None], ["", None], ["\\e"], ["{}"], ["|", "||"]]))
@example((pa.string(), [["1..2"], ["{a|b}"], ["..", "."], ["\\"], ["\\", "}"]]))
def test_sets_are_read_back(case):
    data_type, cells = case
    assert there_and_back(typed(cells, Form.SET, data_type), Form.SET, data_type) == cells


@settings(max_examples=300)
@given(st.lists(st.one_of(st.none(), NASTY.filter(bool)), max_size=8))
@example(["{a}", "{", "}", "a..b", "..", "\\e", "*", "{a|b}"])
def test_nodes_are_read_back(labels: list):
    array = pa.array(labels, pa.string())
    assert there_and_back(array, Form.NODE, pa.string()) == labels


@given(set_cells(), st.data())
def test_slices_of_sets_are_written_from_their_own_start(case, data):
    data_type, cells = case
    first = data.draw(st.integers(0, len(cells)))
    length = data.draw(st.integers(0, len(cells) - first))
    part = typed(cells, Form.SET, data_type).slice(first, length)
    assert there_and_back(part, Form.SET, data_type) == cells[first : first + length]


@given(range_cells(), st.data())
def test_slices_of_ranges_are_written_from_their_own_start(case, data):
    data_type, cells = case
    first = data.draw(st.integers(0, len(cells)))
    length = data.draw(st.integers(0, len(cells) - first))
    part = typed(cells, Form.RANGE, data_type).slice(first, length)
    assert there_and_back(part, Form.RANGE, data_type) == cells[first : first + length]


@given(set_cells())
def test_text_of_a_slice_of_text_is_read_back(case):
    data_type, cells = case
    texts = to_text(typed(cells, Form.SET, data_type), Form.SET)
    back = from_text(texts.slice(1), Form.SET, data_type)
    assert back.to_pylist() == cells[1:]


@pytest.mark.parametrize(
    ("form", "data_type", "cell", "text"),
    [
        (Form.RANGE, pa.int64(), {"lo": 28, "hi": 39, "missing": False}, "28..39"),
        (Form.RANGE, pa.int64(), {"lo": 28, "hi": 28, "missing": False}, "28"),
        (Form.RANGE, pa.int64(), {"lo": -3, "hi": -1, "missing": True}, "{-3..-1|}"),
        (Form.RANGE, pa.int64(), {"lo": 7, "hi": 7, "missing": True}, "{7|}"),
        (Form.RANGE, pa.int64(), {"lo": None, "hi": None, "missing": True}, None),
        (Form.RANGE, pa.float64(), {"lo": 0.5, "hi": 1.5, "missing": False}, "0.5..1.5"),
        (
            Form.RANGE,
            pa.decimal128(5, 2),
            {"lo": Decimal("1.50"), "hi": Decimal("2.00"), "missing": False},
            "1.50..2.00",
        ),
        (
            Form.RANGE,
            pa.date32(),
            {"lo": dt.date(2020, 1, 2), "hi": dt.date(2020, 3, 1), "missing": False},
            "2020-01-02..2020-03-01",
        ),
        (Form.SET, pa.string(), ["Divorced", "Widowed"], "{Divorced|Widowed}"),
        (Form.SET, pa.string(), ["Divorced", None], "{Divorced|}"),
        (Form.SET, pa.string(), ["Divorced"], "Divorced"),
        (Form.SET, pa.string(), [None], None),
        (Form.SET, pa.string(), [""], r"\e"),
        (Form.SET, pa.string(), ["a|b", "{c}"], r"{a\|b|\{c\}}"),
        (Form.SET, pa.string(), ["e.g.", "a.b"], r"{e\.g\.|a.b}"),
        (Form.SET, pa.bool_(), [False, True], "{false|true}"),
        (Form.NODE, pa.string(), "Southern Europe", "Southern Europe"),
        (Form.NODE, pa.string(), "*", "*"),
        (Form.NODE, pa.string(), None, None),
    ],
)
def test_documented_grammar(form: Form, data_type: pa.DataType, cell: object, text: str | None):
    array = typed([cell], form, data_type)
    assert to_text(array, form).to_pylist() == [text]
    assert from_text(pa.array([text], pa.string()), form, data_type).equals(array)


@pytest.mark.parametrize("form", [Form.RANGE, Form.SET])
def test_text_of_the_wrong_type_is_refused_without_quoting_it(form: Form):
    with pytest.raises(DataError) as caught:
        from_text(pa.array(["1", "CANARY-7351"]), form, pa.int64())
    assert "CANARY" not in str(caught.value)


def test_infinite_members_of_sets_are_read_back():
    cells = [[1.5, math.inf, -math.inf]]
    assert there_and_back(typed(cells, Form.SET, pa.float64()), Form.SET, pa.float64()) == cells


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (Form.SET, "{a\\}"),
        (Form.SET, "a\\"),
        (Form.SET, "a\\b"),
        (Form.SET, "{a"),
        (Form.SET, "a|b"),
        (Form.SET, "{a|{b}}"),
        (Form.SET, "a..b"),
        (Form.RANGE, "{a|b}"),
        (Form.RANGE, "a.."),
        (Form.RANGE, "..a"),
        (Form.RANGE, "a..b..c"),
        (Form.NODE, "{a|b}"),
        (Form.NODE, "a..b"),
    ],
)
def test_text_outside_the_grammar_is_refused(form: Form, text: str):
    with pytest.raises(DataError):
        from_text(pa.array([text]), form, pa.string())


def test_bytes_are_read_back():
    cells = [[b"a|b", b"c"]]
    assert there_and_back(typed(cells, Form.SET, pa.binary()), Form.SET, pa.binary()) == cells


@pytest.mark.parametrize(
    ("data_type", "value"),
    [(pa.null(), None), (pa.time64("us"), dt.time(1)), (pa.duration("s"), dt.timedelta(1))],
    ids=str,
)
def test_unusual_types_are_read_back_or_refused_by_name(data_type: pa.DataType, value: object):
    with contextlib.suppress(DataError):
        assert there_and_back(typed([[value]], Form.SET, data_type), Form.SET, data_type)


# ----------------------------------------------------------------------------------- sets of items

LISTS = pa.list_(pa.string())
WORLDS = st.one_of(
    st.just({"base": None, "uncertain": None, "distance": None, "missing": True}),
    st.builds(
        lambda base, uncertain, distance, missing: {
            "base": base,
            "uncertain": uncertain,
            "distance": distance,
            "missing": missing,
        },
        st.lists(NASTY, max_size=3),
        st.lists(NASTY, max_size=3),
        st.integers(0, 9),
        st.booleans(),
    ),
)


@given(st.lists(WORLDS, max_size=6), st.integers(0, 5))
def test_sets_of_items_come_back_from_three_texts(cells: list, first: int):
    typed = pa.array(cells, published_type(Form.WORLDS, LISTS)).slice(min(first, len(cells)))
    texts = to_texts(typed, Form.WORLDS)
    assert len(texts) == len(text_columns("x", Form.WORLDS)) == 3
    assert not any("" in part.to_pylist() for part in texts)
    assert from_texts(texts, Form.WORLDS, LISTS).to_pylist() == typed.to_pylist()
    assert len(to_text(typed, Form.WORLDS)) == len(typed)


@pytest.mark.parametrize(
    "texts", [("a", "{}", "0"), ("{}", None, "0"), ("{}", "{}", "x"), ("{1..2}", "{}", "0")]
)
def test_other_text_is_not_a_set_of_items(texts: tuple):
    parts = [pa.array([text], pa.string()) for text in texts]
    with pytest.raises(DataError, match="not a set of items"):
        from_texts(parts, Form.WORLDS, LISTS)


def test_other_forms_are_in_one_text():
    cells = pa.array([["a", "b"]])
    (text,) = to_texts(cells, Form.SET)
    assert text_columns("x", Form.SET) == ("x",)
    assert from_texts([text], Form.SET, pa.string()).equals(cells)
