"""What `mottle inspect` proposes on real and generated tables, and what would be better."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import DATA, markdown_table, report

from mottle.datasets import visits
from mottle.inspection import Inspection, inspect

# What a careful owner would choose where the proposal differs, and why it could not be known.
# (table, column): (right, explanation)
WRONG = {
    ("adult_full", "education"): (
        "ordered",
        "the order is not in the words; the column 'education-num' has it, and a note says that the"
        " two say the same",
    ),
    ("adult_full", "split"): ("identifying", "a technical column; nothing in it says so"),
    ("census_acs_full", "education"): ("ordered", "the order is not in the words"),
    ("census_acs_full", "ability_to_speak_english"): (
        "ordered",
        "a scale of this survey alone",
    ),
    ("census_acs_full", "time_of_arrival_at_work_hour_and_minute"): (
        "ordered",
        "intervals of the clock in words, which are not read",
    ),
    ("census_acs_full", "time_of_departure_for_work_hour_and_minute"): (
        "ordered",
        "intervals of the clock in words, which are not read",
    ),
    ("coil2000_full", "MOSHOOFD"): (
        "category",
        "a code list whose name does not say so; numbers as ranges are safe, but lose more",
    ),
    ("coil2000_full", "CARAVAN"): (
        "sensitive",
        "the outcome of this table; its name says nothing about that",
    ),
    ("coil2000_full", "split"): ("identifying", "a technical column; nothing in it says so"),
    ("visits", "department"): ("sensitive", "it tells something about the illness"),
    ("visits", "ward"): ("sensitive", "it tells something about the illness"),
    ("messy", "Einkommen"): (
        "sensitive number",
        "three digits after every point may be thousands or decimals; a note asks",
    ),
    ("hospital", "medical_specialty"): (
        "sensitive",
        "the ward says something about the illness; neighbours may know it as well",
    ),
}


def messy_csv(path: Path, rows: int = 3000, seed: int = 1) -> None:
    """Write a CSV as a German register may: `;`, Latin-1, decimal commas, `?`, 31.12.2024."""
    random = np.random.default_rng(seed)
    first = ["Jürgen", "Käthe", "Anna", "Bernd", "Zoë", "Grit", "Jörg", "Uta"]
    last = ["Müller", "Groß", "Weiß", "Jäger", "Schmidt", "Krüger", "Vogel", "Sommer"]
    words = [
        *("kommt", "wegen", "Schmerzen", "in", "der", "Hüfte", "nach", "Sturz", "auf", "Treppe"),
        *("am", "Bahnhof"),
    ]
    lines = [
        "Patienten-Nr;Name;Geburtsdatum;Geschlecht;PLZ;Größe;Einkommen;Altersgruppe;Zufriedenheit;"
        "Diagnose;Anzahl Besuche;Telefon;Station_ID;Bemerkung;Aufnahme"
    ]
    for _ in range(rows):
        person = int(random.integers(rows * 4 // 5))
        own = np.random.default_rng(person)
        age = int(own.integers(18, 90))
        born = f"{own.integers(1, 29):02}.{own.integers(1, 13):02}.{2024 - age}"
        sex = str(random.choice(["m", "w", "M", "W ", "d"], p=[0.45, 0.45, 0.05, 0.04, 0.01]))
        band = (
            "<30" if age < 30 else "60+" if age >= 60 else f"{age // 10 * 10}-{age // 10 * 10 + 9}"
        )
        cells = [
            f"{100_000 + person}",
            f"{own.choice(first)} {own.choice(last)}",
            born,
            sex,
            f"{own.integers(1_001, 99_999):05}",
            f"{own.normal(1.72, 0.1):.2f}".replace(".", ","),
            f"{int(own.lognormal(10, 0.5)):,}".replace(",", ".") if random.random() > 0.1 else "?",
            band,
            str(random.choice(["nie", "selten", "manchmal", "oft", "immer"])),
            str(random.choice(["I10", "E11", "J45", "M54", "F32"]))
            if random.random() > 0.05
            else "k.A.",
            str(int(random.poisson(3))),
            f"+49 {own.integers(100, 999)} {own.integers(100_000, 999_999)}",
            str(int(random.integers(1, 9))),
            " ".join(random.permutation(words)[: int(random.integers(6, 13))]),
            f"{random.integers(1, 29):02}.{random.integers(1, 13):02}.2023",
        ]
        lines.append(";".join(cells))
    lines += lines[1:21]  # twenty rows twice
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode("latin-1"))


def hospital(rows: int = 20_000, seed: int = 1) -> pa.Table:
    """Encounters with the columns in which the first version of inspect went wrong."""
    random = np.random.default_rng(seed)
    people = random.integers(0, rows * 7 // 10, rows)
    ages = np.random.default_rng(seed + 1).integers(0, 10, rows)[people]
    weights = [
        "[0-25)",
        "[25-50)",
        "[50-75)",
        "[75-100)",
        "[100-125)",
        "[125-150)",
        "[150-175)",
        ">200",
    ]
    return pa.table(
        {
            "encounter_id": 2_000_000 + random.permutation(rows),
            "patient_nbr": 8_000 + 13 * people,
            "race": random.choice(["Caucasian", "AfricanAmerican", "Asian", "Other", "?"], rows),
            "gender": random.choice(["Female", "Male"], rows),
            "age": [f"[{10 * age}-{10 * age + 10})" for age in ages],
            "weight": random.choice(
                ["?", *weights], rows, p=[0.97, *(np.full(len(weights), 0.03 / len(weights)))]
            ),
            "admission_type_id": random.integers(1, 9, rows),
            "discharge_disposition_id": random.integers(1, 27, rows),
            "admission_source_id": random.integers(1, 18, rows),
            "time_in_hospital": random.integers(1, 15, rows),
            "payer_code": random.choice(["MC", "HM", "SP", "BC", "?"], rows),
            "medical_specialty": random.choice(
                ["Cardiology", "Surgery", "InternalMedicine", "?"], rows
            ),
            "num_lab_procedures": random.integers(1, 100, rows),
            "num_medications": random.integers(1, 60, rows),
            "diag_1": [f"{code}" for code in random.integers(200, 900, rows)],
            "number_diagnoses": random.integers(1, 10, rows),
            "max_glu_serum": random.choice(["None", "Norm", ">200", ">300"], rows),
            "A1Cresult": random.choice(["None", "Norm", ">7", ">8"], rows),
            "metformin": random.choice(["No", "Steady", "Up", "Down"], rows),
            "insulin": random.choice(["No", "Steady", "Up", "Down"], rows),
            "readmitted": random.choice(["NO", "<30", ">30"], rows),
            "sample_weight": random.gamma(2.0, 600.0, rows).round(3),
        }
    )


def tables(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the tables that are there."""
    for name in ("adult_full", "census_acs_full", "coil2000_full"):
        if (DATA / f"{name}.parquet").exists():
            yield name, DATA / f"{name}.parquet"
    pq.write_table(visits(5000, seed=1), folder / "visits.parquet")
    yield "visits", folder / "visits.parquet"
    pq.write_table(hospital(), folder / "hospital.parquet")
    yield "hospital", folder / "hospital.parquet"
    messy_csv(folder / "messy.csv")
    yield "messy", folder / "messy.csv"


def proposals(name: str, found: Inspection) -> Iterator[list[str]]:
    """Rows of a table: columns with the same proposal and reason together."""
    together: dict[tuple[str, str, str], list[str]] = {}
    for column in found.columns:
        kind = f" {column.kind}" if str(column.role) == "quasi-identifying" else ""
        why = column.why + (f"; {column.why_kind}" if kind and column.why_kind else "")
        why += f" (HIPAA: {column.hipaa})" if column.hipaa else ""
        right, explained = WRONG.get((name, column.name), ("", ""))
        differs = f"**{right}**: {explained}" if right else ""
        key = (f"{column.role}{kind}", why, differs)
        together.setdefault(key, []).append(f"`{column.name}`")
    for (proposed, why, differs), names in together.items():
        shown = names if len(names) <= 8 else [*names[:6], f"… ({len(names)} columns)"]
        yield [", ".join(shown), proposed, why, differs]


def main() -> None:
    sections = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in tables(Path(folder)):
            began = time.process_time()
            found = inspect(path)
            seconds = time.process_time() - began
            worst = found.known[min(2, len(found.known) - 1)]
            read = " ".join(found.reading.words()) or "nothing"
            lines = [
                f"## {name}: {found.rows:,} rows, {len(found.columns)} columns,"
                f" {seconds:.1f} s of processor time",
                "",
                markdown_table(
                    ["columns", "proposed", "because", "better"], list(proposals(name, found))
                ),
                "",
                f"Found out about reading: `{read}`. All quasi-identifiers together single out"
                f" {found.unique_share:.1%} of the rows; the worst {worst.columns} of them"
                f" ({', '.join(worst.worst[0][0])}) {worst.worst[0][1]:.1%}.",
                "",
                *(f"- {text}" for text in (*found.notes, *found.warnings)),
            ]
            sections.append("\n".join(lines))
    report("inspect", "Proposals of mottle inspect", sections, "inspect_tables.py")


if __name__ == "__main__":
    main()
