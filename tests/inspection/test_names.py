"""What the names of columns say, in several languages."""

from __future__ import annotations

import pytest

from mottle.inspection import names
from mottle.inspection.names import words_of


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("name", "names"),
        ("Vorname", "names"),
        ("apellidos", "names"),
        ("prénom", "names"),
        ("e-mail", "e-mail addresses"),
        ("homePhone", "telephone numbers"),
        ("Telefon", "telephone numbers"),
        ("IBAN", "account numbers"),
        ("ssn", "social security numbers"),
        ("mrn", "medical record numbers"),
        ("Straße", "geographic subdivisions smaller than a state"),
        ("ip_address", "IP addresses"),
        ("device_id", "device identifiers"),
        ("age", ""),
        ("surgery", ""),
        ("filename_length", ""),
    ],
)
def test_identifiers_of_hipaa_are_found_by_name(name: str, title: str) -> None:
    assert names.hipaa_by_name(words_of(name)) == title


@pytest.mark.parametrize(
    ("name", "numbers", "people", "counts"),
    [
        ("patient_nbr", True, True, False),
        ("PatientenNr", True, True, False),
        ("Kundennummer", True, True, False),
        ("customerId", True, True, False),
        ("numero_paciente", False, True, True),
        ("admission_type_id", True, False, False),
        ("num_medications", False, False, True),
        ("number_diagnoses", False, False, True),
        ("no_of_children", False, False, True),
        ("Anzahl Kinder", False, False, True),
        ("age", False, False, False),
        ("video", False, False, False),
    ],
)
def test_numbers_people_and_counts_are_told_apart(
    name: str, numbers: bool, people: bool, counts: bool
) -> None:
    words = words_of(name)
    assert names.is_number_of_something(words) is numbers
    assert names.names_people(words) is people
    assert names.is_count(words) is counts


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [
        *(("diag_1", True), ("Diagnose", True), ("A1Cresult", True), ("max_glu_serum", True)),
        *(("metformin", True), ("income", True), ("readmitted", True), ("Einkommen", True)),
        *(("age", False), ("sex", False), ("occupation", False), ("time_in_hospital", False)),
    ],
)
def test_sensitive_names_are_recognized(name: str, sensitive: bool) -> None:
    assert bool(names.sounds_sensitive(words_of(name))) is sensitive


def test_weights_of_surveys_are_not_those_of_bodies() -> None:
    assert names.is_survey_weight(words_of("fnlwgt"))
    assert names.is_survey_weight(words_of("Hochrechnungsfaktor"))
    assert not names.is_survey_weight(words_of("weight"))
