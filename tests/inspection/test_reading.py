"""How tables are read: what inspect finds out about missing values, marks and dates."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import mottle
from mottle.errors import DataError, UsageError
from mottle.inspection.reading import read_and_detect
from mottle.schema.reading import ReadOptions


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


def detected(folder: Path, text: str, encoding: str = "utf-8") -> tuple[pa.Table, ReadOptions]:
    found = read_and_detect(written(folder, text, encoding), ReadOptions())
    return found.table, found.options


def test_german_csv_is_understood_and_read_again_in_the_same_way(tmp_path: Path) -> None:
    text = "Größe;Lohn;Tag;Ort\n1,75;1.250,5;31.12.2024;Köln\n1,8;?;01.02.2020;Ulm\n-;900;?;?\n"
    table, options = detected(tmp_path, text, "latin-1")
    assert options.delimiter == ";"
    assert options.encoding == "cp1252"
    assert (options.decimal, options.thousands) == (",", ".")
    assert options.date_format == ("dd.mm.yyyy",)
    assert set(options.missing) == {"?", "-"}
    assert table["Größe"].to_pylist() == [1.75, 1.8, None]
    assert table["Lohn"].to_pylist() == [1250.5, None, 900]
    assert table["Tag"].to_pylist() == [dt.date(2024, 12, 31), dt.date(2020, 2, 1), None]
    again = mottle.read_table(tmp_path / "table.csv", **options.model_dump())
    assert again.equals(table)


def test_thousands_are_read_as_such_beside_decimal_commas(tmp_path: Path) -> None:
    table, options = detected(tmp_path, "a;b\n1,5;1.250\n2,5;900\n")
    assert options.thousands == "."
    assert table["b"].to_pylist() == [1250, 900]


def test_commas_between_thousands_are_no_decimal_commas(tmp_path: Path) -> None:
    table, options = detected(tmp_path, 'a;b\n"1,234,567";x\n"12,345";y\n')
    assert (options.decimal, options.thousands) == (None, ",")
    assert table["a"].to_pylist() == [1234567, 12345]


def test_ambiguous_numbers_stay_text_and_are_asked_about(tmp_path: Path) -> None:
    found = read_and_detect(written(tmp_path, "a;b\n1,234;x\n5,678;y\n"), ReadOptions())
    assert found.options.decimal is None
    assert found.table["a"].to_pylist() == ["1,234", "5,678"]
    assert any("'a'" in note and "--thousands" in note for note in found.notes)


def test_decimals_are_not_made_thousands_by_other_columns(tmp_path: Path) -> None:
    """8.258 became 8258 without a word."""
    path = written(tmp_path, "size;dose\n1,5;8.258\n2,5;9.371\n")
    found = read_and_detect(path, ReadOptions())
    assert (found.options.decimal, found.options.thousands) == (",", None)
    assert found.table["dose"].to_pylist() == ["8.258", "9.371"]
    assert any("'dose'" in note and "--thousands '.'" in note for note in found.notes)
    assert "8.258" not in " ".join(found.notes)


def test_thousands_that_may_be_decimals_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "pay;dose\n1.250,5;8.258\n2,5;9.371\n")
    found = read_and_detect(path, ReadOptions())
    assert (found.options.decimal, found.options.thousands) == (",", ".")
    assert found.table["dose"].to_pylist() == [8258, 9371]
    assert [note for note in found.notes if "two ways" in note and "'dose'" in note]


@pytest.mark.parametrize(
    "dose", [("8.2", "9.37"), ("0.125", "0.250"), ("1.0", "3"), ("1,234.5", "2")]
)
def test_columns_with_other_decimal_marks_keep_theirs(
    tmp_path: Path, dose: tuple[str, str]
) -> None:
    path = written(tmp_path, f"size;dose\n1,5;{dose[0]}\n2,5;{dose[1]}\n")
    found = read_and_detect(path, ReadOptions())
    assert (found.options.decimal, found.options.thousands) == (None, None)
    assert found.table["size"].to_pylist() == ["1,5", "2,5"]
    assert [note for note in found.notes if "'size'" in note and "'dose'" in note]


def test_na_among_codes_of_countries_is_namibia(tmp_path: Path) -> None:
    codes = ["NA", "DE", "FR", "GB", "IT", "ES", "PL", "NL", "BE", "AT", "CH", "DK"]
    rows = "\n".join(f"{code},{'NA' if i % 2 else 'x'}" for i, code in enumerate(codes * 2))
    _, options = detected(tmp_path, f"country,word\n{rows}\n")
    assert options.missing == ()
    _, options = detected(tmp_path, "word,n\nNA,1\nx,2\n")
    assert options.missing == ("NA",)


@pytest.mark.parametrize("cells", [["+", "-"], ["Na", "Cl"], ["Nan", "Eva"]])
def test_values_that_look_like_missing_words_stay(tmp_path: Path, cells: list[str]) -> None:
    _, options = detected(tmp_path, "x,n\n" + "".join(f"{cell},1\n" for cell in cells * 3))
    assert options.missing == ()


def test_none_is_a_value_and_unknown_is_missing(tmp_path: Path) -> None:
    _, options = detected(tmp_path, "diagnosis,job\nnone,unknown\nflu,cook\n")
    assert options.missing == ("unknown",)


def test_dates_that_may_be_either_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, "day,n\n01/02/2020,1\n03/04/2021,2\n")
    found = read_and_detect(path, ReadOptions())
    assert found.options.date_format == ()
    assert any("dd/mm/yyyy or mm/dd/yyyy" in note for note in found.notes)
    clear = written(tmp_path, "day,n\n01/02/2020,1\n03/24/2021,2\n")
    assert read_and_detect(clear, ReadOptions()).options.date_format == ("mm/dd/yyyy",)


def test_days_that_do_not_exist_stay_text_with_a_note(tmp_path: Path) -> None:
    path = written(tmp_path, "day,n\n31.02.2020,1\n03.04.2021,2\n")
    found = read_and_detect(path, ReadOptions())
    assert pa.types.is_string(found.table["day"].type)
    assert any("not all of them" in note for note in found.notes)


def test_given_options_are_kept(tmp_path: Path) -> None:
    path = written(tmp_path, "a;b\n1,5;?\n2,5;x\n")
    found = read_and_detect(path, ReadOptions(missing=("x",), delimiter=";"))
    assert found.options.missing == ("x",)
    assert found.table["b"].to_pylist() == ["?", None]


def test_words_for_missing_values_are_found_in_tables_too() -> None:
    found = read_and_detect(pa.table({"job": ["?", "cook"], "n": [1, 2]}), ReadOptions())
    assert found.table["job"].to_pylist() == [None, "cook"]
    assert found.options.missing == ("?",)


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3\n4 5\n1 7 9 10\n",
        "1 3 5 7\n2 3 5 8\n1 4 6 7\n",
        "milk,bread\nbread\nmilk,eggs,bread\neggs\nmilk,bread,tea,eggs\n",
    ],
)
def test_transaction_files_are_pointed_to_sets(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="anonymize-sets"):
        detected(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    ["a,b\n1,2\n3,4\n", "first name,last name\nx y,z\nu v,w\n", "text\none two\nthree four\n"],
)
def test_tables_are_no_transaction_files(tmp_path: Path, text: str) -> None:
    assert detected(tmp_path, text)[0].num_rows == 2


def test_a_release_is_not_inspected(tmp_path: Path) -> None:
    rows = "\n".join(f"{20 + i}..{30 + i},{{a|b}}" for i in range(20))
    with pytest.raises(DataError, match="seems to be a release"):
        detected(tmp_path, f"age,sex\n{rows}\n")


def test_numbers_in_mixed_notation_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "dose,n\n1.0,1\n2.5,2\n3,3\n")
    assert any("'dose'" in note for note in read_and_detect(path, ReadOptions()).notes)


def test_social_security_numbers_are_no_dates(tmp_path: Path) -> None:
    path = written(tmp_path, "tax,n\n123-45-6789,1\n987-65-4321,2\n")
    assert read_and_detect(path, ReadOptions()).notes == ()
