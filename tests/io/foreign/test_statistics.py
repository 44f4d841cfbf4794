"""SPSS, Stata and SAS files: labels, orders, user-missing codes, levels of measurement, damage."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from sas_files import write_sas7bcat, write_sas7bdat

import mottle
from mottle import DataError, UsageError

PEOPLE = pd.DataFrame(
    {
        "age": [31.0, 45.0, None, 99.0],
        "sex": [1.0, 2.0, 1.0, 9.0],
        "edu": [3.0, 1.0, 2.0, None],
        "region": [101.0, 102.0, 101.0, 101.0],
        "visits": [0.0, 1.0, 2.0, 88.0],
        "name": ["Ann", "Bob", "", "Zoe"],
        "born": [dt.date(1993, 1, 2), None, dt.date(1960, 5, 6), dt.date(1990, 1, 1)],
    }
)
LABELS = {
    "sex": {1: "male", 2: "female", 9: "refused"},
    "edu": {1: "low", 2: "middle", 3: "high", 8: "no answer"},
    "visits": {88: "many"},
}


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spss") / "survey.sav"
    pyreadstat.write_sav(
        PEOPLE,
        path,
        variable_value_labels=LABELS,
        missing_ranges={"age": [99], "sex": [9], "edu": [{"lo": 7, "hi": 9}]},
        variable_measure={
            "age": "scale",
            "sex": "nominal",
            "edu": "ordinal",
            "region": "nominal",
            "visits": "scale",
        },
    )
    return path


def test_spss_labels_orders_and_missing_codes(survey: Path) -> None:
    table = mottle.read_table(survey)
    assert table.column("age").to_pylist() == [31, 45, None, None]  # 99 is declared missing
    assert table.column("sex").to_pylist() == ["male", "female", "male", None]
    education = table.column("edu")
    assert education.type == pa.dictionary(pa.int32(), pa.string(), ordered=True)
    assert education.to_pylist() == ["high", "low", "middle", None]
    assert education.chunk(0).dictionary.to_pylist() == ["low", "middle", "high"]
    assert table.column("region").to_pylist() == ["101", "102", "101", "101"]  # no numbers
    assert table.column("visits").to_pylist() == [0, 1, 2, 88]  # a number with one label
    assert table.column("name").to_pylist() == ["Ann", "Bob", None, "Zoe"]
    assert table.column("born").to_pylist()[0] == dt.date(1993, 1, 2)


def test_stata_labels_are_categories_where_all_codes_have_one(tmp_path: Path) -> None:
    path = tmp_path / "survey.dta"
    pyreadstat.write_dta(PEOPLE, path, variable_value_labels=LABELS)
    table = mottle.read_table(path)
    assert table.column("sex").to_pylist() == ["male", "female", "male", "refused"]
    assert table.column("edu").to_pylist() == ["high", "low", "middle", None]
    assert table.column("visits").to_pylist() == [0, 1, 2, 88]
    assert table.schema.field("edu").type == pa.string()  # Stata knows no order


def test_sas_transport_files_have_numbers_and_days(tmp_path: Path) -> None:
    path = tmp_path / "survey.xpt"
    pyreadstat.write_xport(PEOPLE, path)
    table = mottle.read_table(path)
    assert table.column("age").to_pylist() == [31, 45, None, 99]
    assert table.column("born").to_pylist()[2] == dt.date(1960, 5, 6)


def test_extended_missing_values_of_stata_may_have_labels(tmp_path: Path) -> None:
    frame = pd.DataFrame({"smokes": [1.0, 2.0, "a", "b"], "age": [31.0, "a", 45.0, 60.0]})
    path = tmp_path / "survey.dta"
    pyreadstat.write_dta(
        frame,
        path,
        missing_user_values={"smokes": ["a", "b"], "age": ["a"]},
        variable_value_labels={"smokes": {1: "yes", 2: "no", "a": "refused"}, "age": {"a": "none"}},
    )
    table = mottle.read_table(path)
    assert table.column("smokes").to_pylist() == ["yes", "no", None, None]
    assert table.column("age").to_pylist() == [31, None, 45, 60]
    table = mottle.read_table(path, user_missing=True)
    assert table.column("smokes").to_pylist() == ["yes", "no", "refused", ".b"]
    assert table.column("age").to_pylist() == [31, None, 45, 60]  # numbers have no such values


def test_user_missing_codes_are_categories_on_request(survey: Path, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n31\n", encoding="utf-8")
    with pytest.raises(UsageError, match="--user-missing is for files of SPSS"):
        mottle.read_table(tmp_path / "people.csv", user_missing=True)
    table = mottle.read_table(survey, user_missing=True)
    assert table.column("sex").to_pylist() == ["male", "female", "male", "refused"]
    assert table.column("age").to_pylist() == [31, 45, None, None]
    assert table.column("edu").to_pylist() == ["high", "low", "middle", None]  # no place in order


def test_sas_labels_come_from_the_catalogue_beside_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "people.sas7bdat"
    columns = {
        "age": [31, None, 45, 60],
        "sex": [1, 2, 2, "A"],
        "edu": [1, 2, 3, 3],
        "ward_text": ["x", "", "yy", "z"],
    }
    write_sas7bdat(path, columns, {"sex": "SEXF", "edu": "EDUF"})
    table = mottle.read_table(path)
    assert table.column("sex").to_pylist() == [1, 2, 2, None]
    write_sas7bcat(
        tmp_path / "formats.sas7bcat",
        {"SEXF": {1: "male", 2: "female"}, "EDUF": {1: "low", 2: "middle"}},
    )
    caplog.clear()
    table = mottle.read_table(path)
    assert table.column("sex").to_pylist() == ["male", "female", "female", None]
    assert table.column("edu").to_pylist() == [1, 2, 3, 3]  # labels of some numbers
    assert table.column("age").to_pylist() == [31, None, 45, 60]
    assert table.column("ward_text").to_pylist() == ["x", None, "yy", "z"]
    assert "value labels of 2 columns are those of formats.sas7bcat" in caplog.text
    assert "labels for some of its numbers" in caplog.text
    (tmp_path / "people.sas7bcat").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"people\.sas7bcat is damaged"):
        mottle.read_table(path)


def test_an_order_of_the_file_is_proposed(survey: Path) -> None:
    found = {column.name: column for column in mottle.inspect(survey).columns}
    assert found["edu"].order == ("low", "middle", "high")


def test_two_codes_with_one_label_stay_two_categories(tmp_path: Path) -> None:
    path = tmp_path / "two.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"a": [1.0, 2.0]}),
        path,
        variable_value_labels={"a": {1: "yes", 2: "yes"}},
        variable_measure={"a": "nominal"},
    )
    assert mottle.read_table(path).column("a").to_pylist() == ["yes (1)", "yes (2)"]


def test_damaged_files_give_an_error_or_a_table_and_never_end_the_process(
    survey: Path, tmp_path: Path
) -> None:
    draw = random.Random(22)
    content = survey.read_bytes()
    refused = 0
    for number in range(4):
        damaged = bytearray(content[: draw.randrange(200, len(content))] if number % 2 else content)
        for _ in range(30):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path = tmp_path / f"{number}.sav"
        path.write_bytes(damaged)
        try:
            mottle.read_table(path)
        except DataError:
            refused += 1
    assert refused >= 2
