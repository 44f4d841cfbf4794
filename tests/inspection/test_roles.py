"""Proposed roles and kinds: every case in which the first version of inspect went wrong."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from mottle import inspect
from mottle.inspection import InspectedColumn

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
