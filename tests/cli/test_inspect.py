"""The command inspect: what it prints, and that the command it prints is safe to run."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

import mottle


def german_csv(folder: Path) -> tuple[Path, list[str]]:
    """Semicolons, Latin-1, decimal commas, `?`, 31.12.2024, leading zeros, free text."""
    random = np.random.default_rng(2)
    identifiers, lines = [], []
    for row in range(400):
        person = int(random.integers(0, 330))
        own = [f"K-{70_000 + 17 * person}", f"Jürgen Nr{person}", f"+49 170 55{person:04}"]
        identifiers += own
        text = f"Herr Nr{person} kommt wegen Schmerzen in der linken Hüfte, Fall {row}"
        cells = [
            *own,
            f"{1 + person % 28:02}.{1 + person % 12:02}.{1930 + person % 70}",
            str(random.choice(["m", "w", "M", "W "])),
            f"{1000 + person % 50:05}",
            f"1,{60 + person % 40}",
            str(random.choice(["?", "1.250", "950", "3.100"])),
            str(random.choice(["I10", "E11", "J45"])),
            text,
        ]
        identifiers.append(text)
        lines.append(";".join(cells))
    header = "Kunden-Nr;Name;Telefon;Geburtstag;Geschlecht;PLZ;Größe;Lohn;Diagnose;Bemerkung"
    path = folder / "register.csv"
    path.write_bytes("\n".join([header, *lines, *lines[:5]]).encode("latin-1"))
    return path, identifiers


def encounters(folder: Path) -> tuple[Path, list[str]]:
    """A table of encounters: numbers of patients that repeat, bands, codes, survey weights."""
    random = np.random.default_rng(4)
    rows = 400
    patients = 8_000_000 + 13 * random.integers(0, 350, rows)
    numbers = 2_000_000 + random.permutation(rows)
    weights = 5_000_000 + random.permutation(rows) * 7
    table = pa.table(
        {
            "encounter_id": numbers,
            "patient_nbr": patients,
            "fnlwgt": weights,
            "age": [f"[{10 * i}-{10 * i + 10})" for i in random.integers(0, 10, rows)],
            "gender": random.choice(["Female", "Male", "?"], rows),
            "admission_type_id": random.integers(1, 9, rows),
            "num_medications": random.integers(1, 20, rows),
            "diag_1": random.choice(["250", "276", "648"], rows),
        }
    )
    pq.write_table(table, folder / "encounters.parquet")
    return folder / "encounters.parquet", [*map(str, [*patients, *numbers, *weights])]


def many_languages(folder: Path) -> tuple[Path, list[str]]:
    """Names in several scripts, telephone numbers, and identifiers in columns of other names."""
    random = np.random.default_rng(5)
    identifiers, lines = [], []
    for row in range(300):
        names = [
            random.choice(["Иванов", "Петрова", "Сидоров"]),
            random.choice(["王秀英", "李芳芳", "张小敏"]),
            f"{random.choice(['Ayşe', 'Mehmet', 'Ömer'])} {random.choice(['Kaya', 'Şahin'])}",
            f"{random.choice(['Ann', 'Bob', 'Eric'])} {random.choice(['Fox', 'Ray'])}",
        ]
        phone = f"+49151{random.integers(10**7, 10**8)}"
        insured = str(400_000_000 + 7919 * int(random.integers(0, 90)))
        mail = f"u{row}@x.org"
        own = [*names, phone, insured, f"{48 + random.random():.5f}".replace(".", ",")]
        cells = [
            *own,
            str(random.integers(18, 90)),
            str(random.choice(["Ulm", "Gera"])),
            f"{random.normal(172, 9):.1f}".replace(".", ","),
            f"{random.integers(1000, 9999) / 1000:.3f}",
            mail if row % 30 == 0 else str(random.choice(["gut", "stabil"])),
            str(random.choice(["I10", "E11"])),
        ]
        identifiers += [*own, mail]
        lines.append(";".join(cells))
    header = "Фамилия;姓名;Adı Soyadı;pt;Rückruf;Vorgang;Lage;Alter;Ort;Größe;Dosis;Befund;Diagnose"
    path = folder / "languages.csv"
    path.write_text("\n".join([header, *lines]), encoding="utf-8")
    return path, identifiers


def population(folder: Path) -> tuple[Path, list[str]]:
    """The generated population, with its person_id."""
    people = mottle.datasets.population(300, seed=3)
    names = [f"id{7_000_000 + 3 * i}" for i in range(300)]
    people = people.set_column(0, "person_id", pa.array(names))
    pq.write_table(people, folder / "people.parquet")
    return folder / "people.parquet", names


@pytest.mark.parametrize("made", [german_csv, encounters, many_languages, population])
def test_printed_command_publishes_no_identifier(
    made: Callable[[Path], tuple[Path, list[str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, identifiers = made(tmp_path)
    monkeypatch.chdir(tmp_path)
    looked = mottle_command("inspect", path)
    assert looked.exit_code == 0, looked.output
    command = re.search(r"mottle (anonymize .+ -o released)", said(looked))
    assert command is not None
    done = mottle_command(*shlex.split(command[1]), "--method", "nh", "--no-report")
    assert done.exit_code == 0, done.output
    with Path("released", "release.csv").open(encoding="utf-8") as file:
        published = " ".join(" ".join(record) for record in csv.reader(file))
    assert [name for name in set(identifiers) if name in published] == []
    shown = looked.output + Path("mottle.toml").read_text(encoding="utf-8")
    assert [name for name in set(identifiers) if name in shown] == []


def test_output_fits_in_80_columns_with_whole_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    long = "time_of_departure_for_work_hour_and_minute_of_the_day"
    people = mottle.datasets.population(300, seed=1).rename_columns(
        [long if name == "origin" else name for name in mottle.datasets.population(1).column_names]
    )
    pq.write_table(people, tmp_path / "p.parquet")
    looked = mottle_command("inspect", tmp_path / "p.parquet", "-o", tmp_path / "m.toml")
    lines = [line for line in looked.stdout.splitlines() if "mottle anonymize" not in line]
    assert max(map(len, lines)) <= 80
    assert "…" not in looked.stdout.split("Read with")[0].split("because")[0]
    assert all(part in looked.stdout for part in ("time_of_departure_", "work_hour_and_minute_"))


def test_duplicates_and_spellings_are_reported(tmp_path: Path) -> None:
    path, _ = german_csv(tmp_path)
    looked = said(mottle_command("inspect", path, "-o", tmp_path / "m.toml"))
    assert "5 rows are equal to an earlier one" in looked
    assert "differ from another only in capitals" in looked
    assert "--decimal ," in looked


def test_what_few_columns_single_out_is_shown(tmp_path: Path) -> None:
    path, _ = population(tmp_path)
    looked = mottle_command("inspect", path, "-o", tmp_path / "m.toml", "--json")
    found = json.loads(looked.stdout)
    shares = [known["average"] for known in found["known"]]
    assert shares == sorted(shares)
    assert len(found["known"][1]["worst"][0][0]) == 2


def test_transaction_file_is_pointed_to_sets(tmp_path: Path) -> None:
    path = tmp_path / "retail.dat"
    path.write_text("1 2 3\n4 5\n1 7 9 10\n2 3\n", encoding="utf-8")
    refused(mottle_command("inspect", path, "-o", tmp_path / "m.toml"), 2, "mottle anonymize-sets")
    assert not (tmp_path / "m.toml").exists()
