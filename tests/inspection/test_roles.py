"""Proposed roles and kinds: every case in which the first version of inspect went wrong."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from mottle import inspect
from mottle.inspection import InspectedColumn
from mottle.inspection.contents import luhn_holds

ROWS = 600
RANDOM = np.random.default_rng(3)


def among(*values: object) -> list[object]:
    return [values[i] for i in RANDOM.integers(0, len(values), ROWS)]


def numbers(low: int, high: int) -> list[object]:
    return RANDOM.integers(low, high, ROWS).tolist()


TABLE = pa.table(
    {
        "encounter_id": RANDOM.permutation(ROWS) + 10_000,
        "patient_nbr": numbers(5000, 5300),
        "full_name": [
            f"{first} {last}" for first, last in zip(numbers(0, 30), numbers(0, 30), strict=True)
        ],
        "mail": [f"p{i}@example.org" for i in numbers(0, 400)],
        "contact": [f"+49 170 {i}" for i in numbers(100_000, 999_999)],
        "token": [f"x{i}" for i in RANDOM.permutation(ROWS)],
        "admission_type_id": numbers(1, 9),
        "discharge_code": numbers(1, 27),
        "age": [f"[{10 * i}-{10 * i + 10})" for i in numbers(0, 10)],
        "weight": among("[0-25)", "[25-50)", "[50-75)", ">200", "?"),
        "agreement": among("Agree", "Disagree", "Strongly agree", "neutral"),
        "num_medications": numbers(1, 60),
        "number_diagnoses": numbers(1, 10),
        "time_in_hospital": numbers(1, 15),
        "diag_1": among("250.83", "276", "648", "V57"),
        "A1Cresult": among("None", "Norm", ">7", ">8"),
        "insulin": among("No", "Steady", "Up"),
        "salary": numbers(20_000, 90_000),
        "sampling_weight": RANDOM.gamma(2.0, 500.0, ROWS),
        "remark": [
            " ".join(f"word{i}" for i in RANDOM.integers(0, 500, 9).tolist()) for _ in range(ROWS)
        ],
        "zip": [f"{i:05}" for i in numbers(1000, 99_000)],
        "admitted": [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in numbers(0, 900)],
        "hospital_id": numbers(1, 12),
        "ward_name": among("north", "south", "east"),
        "country": among("DE", "FR"),
    }
)
FOUND = {column.name: column for column in inspect(TABLE).columns}


@pytest.mark.parametrize(
    ("name", "role", "kind"),
    [
        ("encounter_id", "identifying", None),
        ("patient_nbr", "person", None),
        ("full_name", "identifying", None),
        ("mail", "identifying", None),
        ("contact", "identifying", None),
        ("token", "identifying", None),
        ("admission_type_id", "quasi-identifying", "category"),
        ("discharge_code", "quasi-identifying", "category"),
        ("age", "quasi-identifying", "ordered"),
        ("weight", "quasi-identifying", "ordered"),
        ("agreement", "quasi-identifying", "ordered"),
        ("num_medications", "quasi-identifying", "number"),
        ("number_diagnoses", "quasi-identifying", "number"),
        ("time_in_hospital", "quasi-identifying", "number"),
        ("diag_1", "sensitive", None),
        ("A1Cresult", "sensitive", None),
        ("insulin", "sensitive", None),
        ("salary", "sensitive", None),
        ("sampling_weight", "identifying", None),
        ("remark", "identifying", None),
        ("zip", "quasi-identifying", "prefix"),
        ("admitted", "quasi-identifying", "date"),
        ("hospital_id", "quasi-identifying", "category"),
        ("ward_name", "quasi-identifying", "category"),
        ("country", "quasi-identifying", "category"),
    ],
)
def test_role_and_kind_are_proposed_with_a_reason(name: str, role: str, kind: str | None) -> None:
    column = FOUND[name]
    assert column.role == role
    if kind is not None:
        assert column.kind == kind
    assert column.why


def test_orders_of_bands_are_written_down() -> None:
    assert FOUND["weight"].order == ("[0-25)", "[25-50)", "[50-75)", ">200")
    order = FOUND["age"].order
    assert order is not None
    assert order[:3] == ("[0-10)", "[10-20)", "[20-30)")
    assert FOUND["agreement"].order == ("Disagree", "neutral", "Agree", "Strongly agree")


def test_identifiers_of_hipaa_are_named() -> None:
    listed = {name: column.hipaa for name, column in FOUND.items() if column.hipaa}
    assert listed["mail"] == "e-mail addresses"
    assert listed["contact"] == "telephone numbers"
    assert listed["patient_nbr"] == "medical record numbers"
    assert listed["full_name"] == "names"
    assert listed["zip"] == "geographic subdivisions smaller than a state"
    assert listed["admitted"] == "dates more exact than a year"
    assert "country" not in listed


def people(**columns: object) -> dict[str, InspectedColumn]:
    return {column.name: column for column in inspect(pa.table(columns)).columns}


def test_rows_are_people_where_the_number_of_the_person_is_unique() -> None:
    found = people(
        person_id=list(range(ROWS)),
        email=[f"a{i}@b.de" for i in numbers(0, 300)],
        age=numbers(1, 90),
    )
    assert {column.role for column in found.values()} == {"identifying", "quasi-identifying"}


def test_one_column_says_whose_row_it_is() -> None:
    found = people(member_no=numbers(0, 200), doctor_id=numbers(0, 250), order_id=list(range(ROWS)))
    assert [column.name for column in found.values() if column.role == "person"] == ["member_no"]


def test_long_labels_of_few_values_are_no_free_text() -> None:
    labels = [f"Employee of a private company working for wages, branch {i}" for i in range(5)]
    assert people(workclass=among(*labels))["workclass"].role == "quasi-identifying"


def test_weight_of_a_body_is_a_quasi_identifier() -> None:
    assert people(weight=numbers(45, 130))["weight"].role == "quasi-identifying"
    assert people(weight=numbers(1000, 900_000))["weight"].role == "identifying"


def test_column_of_one_value_is_insensitive() -> None:
    assert people(year=[2020] * ROWS)["year"].role == "insensitive"


def test_numbers_of_few_people_with_many_rows_are_not_taken_for_codes() -> None:
    for name in ("id", "patient", "member_no", "ID_Nr"):
        assert people(**{name: numbers(100, 140)})[name].role == "person"
    assert people(account_id=numbers(100, 140))["account_id"].role in ("identifying", "person")


def test_whether_somebody_is_a_member_does_not_say_who() -> None:
    assert people(member=among("yes", "no"))["member"].role == "quasi-identifying"


def test_numbers_that_stand_for_somebody_are_found_without_a_name() -> None:
    found = people(
        x=RANDOM.integers(1_000_000, 1_000_700, ROWS).tolist(),
        y=RANDOM.integers(1, 90_000, ROWS).tolist(),
        z=[f"k{i}" for i in numbers(0, 900)],
    )
    assert [column.role for column in found.values()] == [
        "identifying",
        "quasi-identifying",
        "identifying",
    ]


# ------------------------------------------------------------------- identifiers inside of cells


def cells(made: str, share: float = 1.0, other: str = "as usual") -> list[object]:
    """Numbered identifiers in some of the cells, a different one in each of these."""
    every = round(1 / share)
    return [
        made.format(i=i, d=i % 10, a=100 + i, b=1000 + 7 * i) if i % every == 0 else other
        for i in range(ROWS)
    ]


CARDS = [f"4{10**13 + 7919 * i:014}" for i in range(ROWS)]
CARDS = [digits + next(str(c) for c in range(10) if luhn_holds(f"{digits}{c}")) for digits in CARDS]


@pytest.mark.parametrize(
    "values",
    [
        cells("see u{i}@x.org", 0.03),
        cells("User {i} <u{i}@x.org>"),
        cells("ask u{i}@x.org", 1 / ROWS),
        cells("ask u{i} (at) x.org", 0.01),
        cells("A12345{b}", 0.03),
        cells("0150/721{b}", 0.03),
        cells("01.23.45.6{d}.7{d}"),
        cells("0150 721{b}"),
        cells("call 0150 721{b}", 0.03),
        cells("555-{a}-{b}"),
        cells("555.{a}.{b}", 0.05),
        cells("(030) 12{b}"),
        cells("06 12 34 5{d} 7{d}"),
        cells("601 {a} {a}"),
        cells("138 0{a} {b}"),
        cells("8 (495) {a}-45-6{d}"),
        cells("+49{b}{b}"),
        cells("paid by DE89 3704 0044 0532 0{b} 00", 0.03),
        cells("4111 1111 1111 {b}", 0.03),
        cells("{a}-45-{b}", 0.03),
        cells("patient 8{a}{b}{b} came", 0.03),
        cells("52.5{b}, 13.4{b}"),
        cells("52,5{b}; 13,4{b}"),
        cells("52° 31' {d}\" N 13° 24' {a}\" E"),
        cells("POINT (13.4{b} 52.5{b})"),
        cells("Herr Weber{i} kommt", 0.05),
        cells("RSSMRA85T10A{a}S"),
        CARDS,
        [int(card) for card in CARDS],
    ],
    ids=lambda values: str(values[0]),
)
@pytest.mark.parametrize("name", ["diagnosis", "lab_result", "city", "note", "num_visits"])
def test_identifiers_in_cells_are_removed_whatever_the_column_is_called(
    name: str, values: list[object]
) -> None:
    column = people(**{name: values})[name]
    assert column.role in ("identifying", "person")
    assert column.hipaa


def test_the_share_of_cells_with_an_identifier_is_the_reason() -> None:
    why = people(remark=cells("mail a{i}@b.de", 0.04))["remark"].why
    assert "4.0% of its cells hold e-mail addresses" in why
    assert "account numbers" in people(x=CARDS)["x"].why
    assert "account numbers" in people(x=[int(card) for card in CARDS])["x"].why


def test_long_numbers_that_repeat_are_removed() -> None:
    ids = (400_000_000 + 7919 * RANDOM.integers(0, 50, ROWS)).tolist()
    phones = (491_510_000_000 + 7919 * RANDOM.integers(0, 50, ROWS)).tolist()
    found = people(
        nine=ids,
        nine_as_text=[str(number) for number in ids],
        eleven=phones,
        eleven_as_floats=[*map(float, phones[:-1]), None],
        eight=(20_500_000 + 131 * RANDOM.integers(0, 150, ROWS)).tolist(),
    )
    assert {name for name, column in found.items() if column.role == "identifying"} == set(found)


def test_exact_coordinates_are_removed_and_rounded_ones_are_not() -> None:
    north = RANDOM.uniform(47, 55, ROWS)
    found = people(
        latitude=north.round(5),
        lat=north[RANDOM.integers(0, 50, ROWS)].round(6),
        y=north.round(6),
        lon=north.round(1),
        bmi=north.round(1),
        probability=(north / 60).round(3),
    )
    roles = [str(column.role) for column in found.values()]
    assert roles == ["identifying"] * 3 + ["quasi-identifying"] * 3


def test_values_of_their_own_are_not_published_as_sensitive() -> None:
    found = people(
        diagnosis=[f"Weber{i}, influenza" for i in range(ROWS)],
        lab_result=[f"X{7 * i}-{i % 13}" for i in range(ROWS)],
        test_result=(70_000_000 + 13 * RANDOM.permutation(ROWS)).tolist(),
    )
    assert {column.role for column in found.values()} == {"identifying"}


@pytest.mark.parametrize(
    "name",
    ["Фамилия", "имя", "姓名", "氏名", "이름", "όνομα", "اسم", "nazwisko", "soyad", "cognome"],
)
def test_names_of_people_are_removed_in_every_script(name: str) -> None:
    assert people(**{name: among(*(f"n{i}" for i in range(40)))})[name].role == "identifying"


def test_what_analysts_need_is_not_thrown_away() -> None:
    found = people(
        age=numbers(0, 100),
        birth_year=numbers(1930, 2010),
        birth_date=among(*(f"19{i:02}-{1 + i % 12:02}-11" for i in range(100))),
        occupation=among("cook", "nurse", "St. Mary teacher", "IT 2nd level", "Pan operator"),
        zip=[f"{i:05}" for i in numbers(501, 99_000)],
        zip4=among(*(f"{i:05}-{i % 9000 + 1000}" for i in range(501, 900, 10))),
        municipality=[f"{i:08}" for i in among(9_162_000, 9_184_112, 1_001_000, 5_315_000)],
        income=numbers(1_000_000, 9_000_000),
        lab_result=[f"{i / 10}" if i % 3 else f"<{i}" for i in range(ROWS)],
        diagnosis=among("I10", "E11.9", "J45", "Type 2 diabetes mellitus", "Morbus Crohn"),
        icd_diagnosis=[
            f"{c}{i:02}.{i % 10}" for c, i in zip("IEJKMF" * 100, numbers(0, 99), strict=True)
        ],
        drug=among("0002-8215-01", "0143-9924-90", "50580-600-02"),
        visit=among("2020-01-31 10:30", "2021-12-01 23:59"),
        day=[20_200_101 + i for i in numbers(0, 28)],
        band=among("100000-200000", "200000-300000", ">300000"),
        height=(RANDOM.normal(172, 9, ROWS)).round(1),
        ip_like=among("1.2.1", "1.2.2", "2.1.10"),
    )
    thrown = [name for name, column in found.items() if column.role in ("identifying", "person")]
    assert thrown == []
    assert [str(found[name].role) for name in ("income", "lab_result", "diagnosis")] == [
        "sensitive"
    ] * 3


@pytest.mark.parametrize(
    "values",
    [
        ["Ann Fox", "Bob Lee", "Anna Ray", "Cleo Lee"],
        ["Groß, Jörg", "Weiß, Anna", "Jäger, Ute", "Żak, Piotr"],
        ["Anna", "Bernd", "Jörg", "Petra"],
        ["Пётр Иванов", "Анна Сидорова", "Олег Кузнецов"],
        ["王伟", "李芳", "张敏", "刘静"],
        ["佐藤 太郎", "鈴木 花子", "高橋 健"],
    ],
    ids=lambda values: str(values[0]),
)
@pytest.mark.parametrize("name", ["pt", "diagnosis", "Adı Soyadı", "Full name", "whose"])
def test_names_of_few_people_are_removed(name: str, values: list[object]) -> None:
    assert people(**{name: among(*values)})[name].role == "identifying"


def test_names_of_other_things_stay() -> None:
    found = people(
        brand_name=among("Fox", "Lee", "Ray"),
        clinic=among("St. Mary", "St. Joseph", "San Juan", "Charité"),
        hospital=among("Mary Hospital", "Robert Clinic", "Anna Hospital"),
        town=among("Charlotte", "Victoria", "Paris", "Anna"),
        job=among("cook", "Marketing", "Mark-up trader", "Bill collector"),
        month=among("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
        illness=among("高血压", "糖尿病", "哮喘"),
    )
    assert {column.role for column in found.values()} == {"quasi-identifying", "sensitive"}


def test_addresses_of_others_do_not_say_whose_row_it_is() -> None:
    found = people(
        login=[f"u{i}@x.org" for i in range(ROWS)],
        boss=[f"b{i % 10}@x.org" for i in range(ROWS)],
    )
    assert [column.role for column in found.values()] == ["identifying", "identifying"]


@pytest.mark.parametrize("name", ["Kod pocztowy", "Индекс", "Code postal", "郵便番号"])
def test_postcodes_are_shortened_in_every_language(name: str) -> None:
    values = [f"{i:02}-{i + 100}" for i in numbers(10, 99)]
    assert people(**{name: values})[name].kind == "prefix"
