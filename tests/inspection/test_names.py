"""What the names of columns say, in several languages."""

from __future__ import annotations

import pytest

from mottle.inspection.names import ColumnName


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
        ("Фамилия", "names"),
        ("Имя пациента", "names"),
        ("ФИО", "names"),
        ("姓名", "names"),
        ("患者姓名", "names"),
        ("氏名", "names"),
        ("名", "names"),
        ("이름", "names"),
        ("όνομα", "names"),
        ("Επώνυμο", "names"),
        ("الاسم", "names"),
        ("nazwisko", "names"),
        ("imię", "names"),
        ("Adı Soyadı", "names"),
        ("soyad", "names"),
        ("apellido", "names"),
        ("cognome", "names"),
        ("achternaam", "names"),
        ("příjmení", "names"),
        ("Patientenname", "names"),
        ("Номер телефона", "telephone numbers"),
        ("联系电话", "telephone numbers"),
        ("電話番号", "telephone numbers"),
        ("휴대폰", "telephone numbers"),
        ("身份证号", "social security numbers"),
        ("TC Kimlik No", "social security numbers"),
        ("codice fiscale", "social security numbers"),
        ("電子メール", "e-mail addresses"),
        ("住所", "geographic subdivisions smaller than a state"),
        ("Адрес", "geographic subdivisions smaller than a state"),
        ("age", ""),
        ("病名", ""),
        ("品名", ""),
        ("возраст", ""),
        ("zawód", ""),
        ("meslek", ""),
        ("surgery", ""),
        ("filename_length", ""),
    ],
)
def test_identifiers_of_hipaa_are_found_by_name(name: str, title: str) -> None:
    assert ColumnName.of(name).hipaa == title


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
        ("Номер пациента", True, True, False),
        ("患者番号", True, True, False),
        ("病人编号", True, True, False),
        ("郵便番号", False, False, False),
        ("Количество детей", False, False, True),
        ("age", False, False, False),
        ("video", False, False, False),
    ],
)
def test_numbers_people_and_counts_are_told_apart(
    name: str, numbers: bool, people: bool, counts: bool
) -> None:
    found = ColumnName.of(name)
    assert found.is_number is numbers
    assert found.is_of_people is people
    assert found.is_count is counts


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [
        *(("diag_1", True), ("Diagnose", True), ("A1Cresult", True), ("max_glu_serum", True)),
        *(("metformin", True), ("income", True), ("readmitted", True), ("Einkommen", True)),
        *(("Диагноз", True), ("年収", True), ("诊断", True), ("wynagrodzenie", True)),
        *(("Teşhis", True), ("salaire", True), ("april", False), ("職業", False)),
        *(("age", False), ("sex", False), ("occupation", False), ("time_in_hospital", False)),
    ],
)
def test_sensitive_names_are_recognized(name: str, sensitive: bool) -> None:
    assert bool(ColumnName.of(name).why_sensitive) is sensitive


def test_weights_of_surveys_are_not_those_of_bodies() -> None:
    assert ColumnName.of("fnlwgt").is_survey_weight
    assert ColumnName.of("Hochrechnungsfaktor").is_survey_weight
    assert not ColumnName.of("weight").is_survey_weight


@pytest.mark.parametrize("name", ["город", "Şehir", "miasto", "城市", "郵便番号", "Kod pocztowy"])
def test_places_are_recognized_in_other_scripts(name: str) -> None:
    assert ColumnName.of(name).is_place
