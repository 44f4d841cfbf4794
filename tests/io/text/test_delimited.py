"""Delimited text: what is detected, which type a column gets, and how broken files are refused."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import logging
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mottle.errors import DataError, UsageError
from mottle.io.text.delimited import (
    BLOCK_BYTES,
    SAMPLE_RECORDS,
    Dialect,
    detect_dialect,
    read_delimited,
)
from mottle.io.text.encodings import HEAD_BYTES, Sample
from mottle.io.text.type_inference import infer_type

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def column_of(*cells: str | None) -> pa.ChunkedArray:
    return infer_type(pa.chunked_array([pa.array(cells, pa.string())]))


def dialect_of(text: str, delimiter: str | None = None, quote: str | None = None) -> Dialect:
    return detect_dialect(Sample(text, complete=True), delimiter, quote)


# ------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "2", None], pa.int64(), [1, 2, None]),
        (["0", "-17"], pa.int64(), [0, -17]),
        ([" 5", "6 "], pa.int64(), [5, 6]),
        (["9223372036854775807"], pa.int64(), [2**63 - 1]),
        (["1", "2.5", "1000"], pa.float64(), [1.0, 2.5, 1000.0]),
        (
            ["1.50", None, "-12.25"],
            pa.decimal128(38, 2),
            [Decimal("1.50"), None, Decimal("-12.25")],
        ),
        (["39.0", "40.0"], pa.decimal128(38, 1), [Decimal("39.0"), Decimal("40.0")]),
        (["0.5", "-0.5", None], pa.float64(), [0.5, -0.5, None]),
        (["true", "false"], pa.bool_(), [True, False]),
        (["2024-02-29", None], pa.date32(), [dt.date(2024, 2, 29), None]),
        (["2024-02-29 10:11:12"], pa.timestamp("s"), [dt.datetime(2024, 2, 29, 10, 11, 12)]),
        (["2024-02-29T10:11:12.5"], pa.timestamp("us"), None),
        (["2024-02-29T10:11:12.123456789"], pa.timestamp("ns"), None),
        (["2024-02-29T10:11:12Z"], pa.timestamp("s", "UTC"), None),
    ],
)
def test_cells_of_one_kind_get_their_type(
    cells: list[str | None], kind: pa.DataType, values: list[object] | None
) -> None:
    column = column_of(*cells)
    assert column.type == kind
    assert values is None or column.to_pylist() == values


@pytest.mark.parametrize(
    "cells",
    [
        ["01234", "98765"],
        ["12345", "-01"],
        ["00", "1"],
        ["1.5", "01.5"],
        ["0x1F", "31"],
        ["9223372036854775808", "1"],  # beyond int64
        ["12345678901234567890123", None],
        ["1.5", "9007199254740993"],  # a double would make it …992
        ["1e400", "1"],
        ["NaN", "1.5"],
        ["inf", "1"],
        ["NA", "1"],
        ["true", "1"],
        ["true", "maybe"],
        ["2024-02-30"],
        ["10:30:00"],
        ["1,5", "2,5"],
        [" ", "1"],
        ["x", None],
        [None, None],
    ],
)
def test_cells_that_a_narrower_type_would_change_stay_text(cells: list[str | None]) -> None:
    column = column_of(*cells)
    assert column.type == pa.string()
    assert column.to_pylist() == cells


@pytest.mark.parametrize("odd", ["0123", "99999999999999999999", "x", "nan"])
def test_one_odd_cell_far_down_keeps_the_column_text(write: Write, odd: str) -> None:
    cells = [str(number) for number in range(20_000)]
    cells[13_337] = odd
    table = read_delimited(write("n,m\n" + "".join(f"{cell},1\n" for cell in cells)))
    assert table["n"].to_pylist() == cells
    assert table["m"].type == pa.int64()


def test_values_that_are_rare_and_far_down_still_decide_the_type() -> None:
    cells = [None] * 10_000 + ["1.5"]
    assert column_of(*cells).type == pa.float64()


# ----------------------------------------------------------------------------------------- missing


def test_only_the_empty_cell_is_missing_by_default(write: Write) -> None:
    table = read_delimited(write('country,word\nNA,null\n,nan\n"",?\n'))
    assert table["country"].to_pylist() == ["NA", None, None]
    assert table["word"].to_pylist() == ["null", "nan", "?"]


def test_missing_words_are_missing_and_do_not_make_numbers_text(write: Write) -> None:
    table = read_delimited(write("age, job\n31, ?\nNA, cook\n?, NA\n"), missing=["NA", "?"])
    assert table["age"].to_pylist() == [31, None, None]
    assert table["age"].type == pa.int64()
    assert table["job"].to_pylist() == [None, " cook", None]


def test_an_empty_column_is_read_as_missing_text(write: Write) -> None:
    assert read_delimited(write("a,b\n1,\n2,\n"))["b"].to_pylist() == [None, None]


def test_a_column_named_like_a_missing_word_keeps_its_name(write: Write) -> None:
    assert read_delimited(write("NA,b\n1,2\n"), missing=["NA"]).column_names == ["NA", "b"]


# ----------------------------------------------------------------------------------------- dialect


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ":"])
def test_delimiter_is_detected(delimiter: str) -> None:
    text = "a,b,c\n1,2,3\n4,5,6\n".replace(",", delimiter)
    assert dialect_of(text) == Dialect(delimiter, '"')


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("name;size\nx;1,5\ny;2,5\n", ";"),  # decimal commas
        ('name,note\n"a;b","c;d;e"\n"f","g"\n', ","),  # other delimiters within quotes
        ("Last, First\tage\nSmith, John\t5\n", "\t"),  # both consistent: the rarer one
        ("at,what\n10:30,a\n11:45,b\n", ","),
        ("a,b\n1,2\n3\n", ","),  # ragged, but still comma
        ('a,b\n1,"x"z\n', ","),  # careless quoting
    ],
)
def test_delimiter_is_not_mistaken_for_what_cells_hold(text: str, delimiter: str) -> None:
    assert dialect_of(text).delimiter == delimiter


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("a,b\n'x,y',1\n'z',2\n", "'"),
        ("a,b\r\n1,'x'\r\n2,'y,z'\r\n", "'"),
        ("a,b\n't Hooft,1\n's-Gravenhage,2\n", '"'),
        ("a,b\n'x',1\n't Hooft,2\n", '"'),
        ("a,b\nO'Neill,1\nD'Arcy,2\n", '"'),
        ("a,b\n\"x\",'y'\n", '"'),
        ("a,b\nx,y\n", '"'),
    ],
)
def test_quote_is_detected_and_apostrophes_are_not_quotes(text: str, quote: str) -> None:
    assert dialect_of(text).quote == quote


def test_a_sample_that_ends_within_a_quoted_cell_does_not_hide_the_delimiter() -> None:
    sample = Sample('a;b\n1;"x"\n2;"y and the sample ends', complete=False)
    assert detect_dialect(sample, None, None) == Dialect(";", '"')


def test_records_longer_than_the_sample_are_read(write: Write) -> None:
    wide = "x y " * (HEAD_BYTES // 4)
    table = read_delimited(write(f'a;b\n1;"{wide}"\n2;z\n'))
    assert table["b"].to_pylist() == [wide, "z"]


@pytest.mark.parametrize("text", ["name\nAnn\nBob\n", "name\nSmith, John\nDoe, Jane\nAnn\n"])
def test_one_column_file_is_read_as_one_column(write: Write, text: str) -> None:
    assert read_delimited(write(text))["name"].to_pylist() == text.splitlines()[1:]


def test_delimiters_quotes_and_newlines_within_quotes_stay_in_the_cell(write: Write) -> None:
    table = read_delimited(write('"a\nb",c\n"x,y","say ""hi""\r\nbye"\n1,2\n'))
    assert table.to_pylist() == [
        {"a\nb": "x,y", "c": 'say "hi"\r\nbye'},
        {"a\nb": "1", "c": "2"},
    ]


def test_quoted_last_cell_that_spans_lines_is_not_taken_for_an_open_quote(write: Write) -> None:
    assert read_delimited(write('a,b\n1,"x\ny"\n'))["b"].to_pylist() == ["x\ny"]


@pytest.mark.parametrize("tab", ["\t", "\\t"])
def test_tab_can_be_given_as_character_or_as_escape(write: Write, tab: str) -> None:
    table = read_delimited(write("a,x\tb,y\n1,2\t3,4\n"), delimiter=tab)
    assert table.to_pylist() == [{"a,x": "1,2", "b,y": "3,4"}]


def test_given_delimiter_and_quote_win_over_detection(write: Write) -> None:
    table = read_delimited(write("a,b^c\n%1,2^3%^4\n"), delimiter="^", quote="%")
    assert table.to_pylist() == [{"a,b": "1,2^3", "c": 4}]


@pytest.mark.parametrize("delimiter", [",,", "", "\n", "§"])
def test_delimiter_that_is_not_one_character_is_refused(write: Write, delimiter: str) -> None:
    with pytest.raises(UsageError, match="delimiter"):
        read_delimited(write("a,b\n1,2\n"), delimiter=delimiter)


def test_quote_that_is_not_one_character_or_is_the_delimiter_is_refused(write: Write) -> None:
    with pytest.raises(UsageError, match="quote"):
        read_delimited(write("a,b\n1,2\n"), quote="''")
    with pytest.raises(UsageError, match="same character"):
        read_delimited(write("a,b\n1,2\n"), delimiter="'", quote="'")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_and_blank_lines_are_understood(write: Write, newline: str) -> None:
    text = newline.join(["", "", "a,b", "1,2", "", "3,4", "", ""])
    assert read_delimited(write(text)).to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_last_line_needs_no_line_end(write: Write) -> None:
    assert read_delimited(write("a,b\n1,2")).to_pylist() == [{"a": 1, "b": 2}]


def test_spaces_around_column_names_are_dropped(write: Write) -> None:
    assert read_delimited(write("a, b\n1, 2\n")).to_pylist() == [{"a": 1, "b": 2}]


# ---------------------------------------------------------------------------------------- encoding

WESTERN = "name,city\nJosé Muñoz,Málaga\nHélène Œuvrard,Besançon\nJürgen Groß,Zürich\n"
CZECH = "name,city\nDvořák,Plzeň\nČerný,Třebíč\nRůžičková,Olomouc\nŽižka,Tábor\nNěmec,Jihlava\n"
RUSSIAN = "имя,город\nИванов,Москва\nСмирнова,Санкт-Петербург\nКузнецов,Новосибирск\n"

CHINESE = "姓名,城市\n王伟,北京\n李芳,上海\n张敏,杭州\n"
JAPANESE = "氏名,住所\n佐藤 太郎,東京都\n鈴木 花子,大阪府\nタナカ ミサキ,さいたま市\n"
KOREAN = "이름,도시\n김철수,서울\n이영희,부산\n박민수,대구\n"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_text_with_or_without_mark_is_read(write: Write, encoding: str) -> None:
    assert read_delimited(write(WESTERN.encode(encoding))).to_pylist() == rows_of(WESTERN)


def test_utf_16_of_either_byte_order_is_known_by_its_mark(write: Write) -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        path = write(("\ufeff" + WESTERN).encode(encoding))
        assert read_delimited(path).to_pylist() == rows_of(WESTERN)
        assert read_delimited(path, encoding=encoding).to_pylist() == rows_of(WESTERN)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (WESTERN, "cp1252"),
        (CZECH, "cp1250"),
        (RUSSIAN, "cp1251"),
        (CHINESE, "gb18030"),
        (JAPANESE, "cp932"),
        (KOREAN, "cp949"),
    ],
)
def test_legacy_encoding_is_guessed_and_the_guess_is_logged(
    write: Write, caplog: pytest.LogCaptureFixture, text: str, encoding: str
) -> None:
    with caplog.at_level(logging.DEBUG, logger="mottle"):
        table = read_delimited(write(text.encode(encoding)))
    assert table.to_pylist() == rows_of(text)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert encoding in caplog.text
    assert not any(cell in caplog.text for row in rows_of(text) for cell in row.values())


def test_legacy_character_beyond_the_head_of_the_file_is_still_found(write: Write) -> None:
    filler = "abc,def\n" * (HEAD_BYTES // 8 + 10)
    path = write(("name,city\n" + filler + "José,Málaga\n").encode("cp1252"))
    table = read_delimited(path)
    assert table.slice(table.num_rows - 1).to_pylist() == [{"name": "José", "city": "Málaga"}]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "mac_roman", "cp437", "utf-16-le"])
def test_given_encoding_is_used(write: Write, encoding: str) -> None:
    text = "name,size\nMüller,1\nRené,2\n"
    table = read_delimited(write(text.encode(encoding)), encoding=encoding)
    assert table["name"].to_pylist() == ["Müller", "René"]


@pytest.mark.parametrize("encoding", ["klingon", "hex", ""])
def test_unknown_encoding_is_a_usage_error(write: Write, encoding: str) -> None:
    with pytest.raises(UsageError, match="Unknown encoding"):
        read_delimited(write("a,b\n1,2\n"), encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "UTF8"])
def test_given_encoding_that_does_not_decode_names_byte_and_line(
    write: Write, encoding: str
) -> None:
    content = "a,b\r\n1,2\r\nJosé,3\r\n".encode("cp1252")
    with pytest.raises(DataError, match=r"at byte 13 \(line 3\)") as caught:
        read_delimited(write(content), encoding=encoding)
    assert "encoding" in caught.value.remedy
    assert "Jos" not in str(caught.value)


def test_damaged_utf_8_behind_a_utf_8_mark_is_not_guessed_over(write: Write) -> None:
    with pytest.raises(DataError, match="line 2"):
        read_delimited(write(b"\xef\xbb\xbfa,b\n\xff,2\n"))


def test_compressed_text_is_read(write: Write) -> None:
    path = write(gzip.compress(WESTERN.encode("cp1252")), "table.csv.gz")
    assert read_delimited(path).to_pylist() == rows_of(WESTERN)


# ------------------------------------------------------------------------------------ broken files


@pytest.mark.parametrize("content", ["", "\n\n", b"\xef\xbb\xbf"])
def test_empty_file_is_refused(write: Write, content: str | bytes) -> None:
    with pytest.raises(DataError, match="is empty"):
        read_delimited(write(content))


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n", "\n\na,b\n"])
def test_header_without_rows_is_refused(write: Write, content: str) -> None:
    with pytest.raises(DataError, match="no rows"):
        read_delimited(write(content))
    with pytest.raises(DataError, match="no rows"):
        read_delimited(write(content.encode("utf-16")))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3: expected 2 fields, found 1"),
        ("a,b\n1,2\n3,4,secret\n", "line 3: expected 2 fields, found 3"),
        ('a,b\n"x\ny",2\n\n3\n', "line 5: expected 2 fields, found 1"),
        ("a,b\n1,2\nend\n", "line 3: expected 2 fields, found 1"),
        ("a,b\n1\n2\n", "line 2: expected 2 fields, found 1"),
        ('x\n"1",5\n"2",6\n', "line 2: expected 1 fields, found 2"),
    ],
)
def test_ragged_row_is_named_by_line_and_counts(write: Write, content: str, message: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        with pytest.raises(DataError, match=message) as caught:
            read_delimited(write(content.encode(encoding)))
        assert "secret" not in str(caught.value)


def test_ragged_row_far_down_is_named_by_its_line(write: Write) -> None:
    lines = ["a,b", *["1,2"] * (SAMPLE_RECORDS * 10), "secret", "3,4"]
    with pytest.raises(DataError, match=f"line {len(lines) - 1}: expected 2 fields, found 1"):
        read_delimited(write("\n".join(lines)))


@pytest.mark.parametrize("opened", ['3,"secret', '3,"secret\n4,"x"', '"secret,4'])
@pytest.mark.parametrize("rows", [0, 1, 60_000, 2_000_000])
def test_quote_that_is_never_closed_does_not_swallow_the_rest(
    write: Write, opened: str, rows: int
) -> None:
    content = f"a,b\n1,2\n{opened}\n" + "5,6\n" * rows
    with pytest.raises(DataError, match="line 3: a quote is opened and not closed") as caught:
        read_delimited(write(content))
    assert "secret" not in str(caught.value)


def test_careless_quotes_that_stay_on_their_line_are_read(write: Write) -> None:
    table = read_delimited(write('a,b\n1,"x"y\n2,5" disk\n'))
    assert table["b"].to_pylist() == ["xy", '5" disk']


def test_long_cell_before_one_that_spans_lines_is_not_taken_for_an_open_quote(write: Write) -> None:
    long = "x" * (csv.field_size_limit() + 1)
    table = read_delimited(write(f'a,b\n1,{long}\n2,"y\nz"\n'))
    assert table["b"].to_pylist() == [long, "y\nz"]


def test_looking_for_a_broken_line_leaves_the_csv_module_as_it_was(write: Write) -> None:
    limit = csv.field_size_limit()
    with pytest.raises(DataError, match="line 3"):
        read_delimited(write("a,b\n1,2\n3\n"))
    assert csv.field_size_limit() == limit


def test_record_too_long_to_parse_is_refused_with_a_remedy(write: Write) -> None:
    content = "a,b\n1," + "x" * 100 + "\n" + "2," + "y " * BLOCK_BYTES + "\n"
    with pytest.raises(DataError) as caught:
        read_delimited(write(content), delimiter=",")
    assert caught.value.remedy


@pytest.mark.parametrize(
    "content",
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(1, 256)) * 4, b"PK\x03\x04\x14\0\x06\0"],
)
def test_binary_junk_is_refused(write: Write, content: bytes) -> None:
    with pytest.raises(DataError, match="not text"):
        read_delimited(write(content))


# -------------------------------------------------------------------------------------- round trip

letters = st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\"'")
texts = st.none() | st.text(letters, max_size=8).map(lambda text: "x" + text)
integers = st.none() | st.integers(-(2**63), 2**63 - 1)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[object]]:
    rows = draw(st.integers(1, 8))
    kinds = draw(st.lists(st.sampled_from([texts, integers]), min_size=1, max_size=4))
    return {
        f"column {number}": draw(st.lists(kind, min_size=rows, max_size=rows))
        for number, kind in enumerate(kinds)
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    columns=tables(),
    delimiter=st.sampled_from(",;\t|:"),
    quote=st.sampled_from("\"'"),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    newline=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_the_csv_module_writes_comes_back_equal(
    tmp_path: Path,
    columns: dict[str, list[object]],
    delimiter: str,
    quote: str,
    quoting: int,
    newline: str,
    encoding: str,
) -> None:
    path = tmp_path / "table.csv"
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(
            file, delimiter=delimiter, quotechar=quote, quoting=quoting, lineterminator=newline
        )
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    assert read_delimited(path, quote=quote).to_pydict() == columns
