"""The same table through every file format and database that mottle reads."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Iterator
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pyreadstat
import xlsxwriter
from live_database import LiveDatabase
from pyiceberg.catalog.memory import InMemoryCatalog

import mottle

COLUMNS = ["age", "sex", "education", "diagnosis"]
SEXES = {1: "F", 2: "M"}


def table(rows: int) -> pa.Table:
    """Whole numbers, fractions, days, categories and missing values."""
    people = mottle.datasets.population(rows, seed=22).select(COLUMNS)
    first = dt.date(1950, 1, 1)
    born = [
        None if row % 17 == 3 else first + dt.timedelta(row * 311 % 20_000) for row in range(rows)
    ]
    height = [None if row % 19 == 5 else 150 + (row * 7 % 200) / 4 for row in range(rows)]
    sexes = [SEXES[1 + row % 2] for row in range(rows)]
    people = people.set_column(1, "sex", pa.array(sexes))
    return people.append_column("born", pa.array(born, pa.date32())).append_column(
        "height", pa.array(height, pa.float64())
    )


def files(people: pa.Table, folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the table in every format; yields the names and the paths."""
    pacsv.write_csv(people, folder / "people.csv")
    yield "CSV", folder / "people.csv"
    packed = folder / "people.csv.gz"
    packed.write_bytes(gzip.compress((folder / "people.csv").read_bytes()))
    yield "CSV, compressed", packed
    pq.write_table(people, folder / "people.parquet")
    yield "Parquet", folder / "people.parquet"
    parts = folder / "parts"
    parts.mkdir()
    for place in range(3):
        size = -(-people.num_rows // 3)
        pq.write_table(people.slice(place * size, size), parts / f"{place}.parquet")
    yield "folder of Parquet", parts
    with pa.ipc.new_file(str(folder / "people.arrow"), people.schema) as writer:
        writer.write_table(people)
    yield "Arrow", folder / "people.arrow"
    _workbook(people, folder / "people.xlsx")
    yield "Excel", folder / "people.xlsx"
    coded = people.set_column(
        1, "sex", pa.array([1.0 if sex == "F" else 2.0 for sex in people.column("sex").to_pylist()])
    ).to_pandas(date_as_object=True)
    labels = {"sex": SEXES}
    pyreadstat.write_sav(
        coded,
        folder / "people.sav",
        variable_value_labels=labels,
        variable_measure={"sex": "nominal", "age": "scale"},
    )
    yield "SPSS", folder / "people.sav"
    pyreadstat.write_dta(coded, folder / "people.dta", variable_value_labels=labels)
    yield "Stata", folder / "people.dta"
    pyreadstat.write_xport(people.to_pandas(date_as_object=True), folder / "people.xpt")
    yield "SAS", folder / "people.xpt"
    deltalake.write_deltalake(str(folder / "delta"), people)
    yield "Delta", folder / "delta"
    catalog = InMemoryCatalog("local", warehouse=f"file://{folder}")
    catalog.create_namespace("lake")
    catalog.create_table("lake.people", schema=people.schema).append(people)
    yield "Iceberg", folder / "lake" / "people"


def _workbook(people: pa.Table, path: Path) -> None:
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        sheet = book.add_worksheet("people")
        sheet.write_row(0, 0, people.column_names)
        for place, column in enumerate(people.columns):
            for row, cell in enumerate(column.to_pylist(), start=1):
                if isinstance(cell, dt.date):
                    sheet.write_datetime(row, place, cell, day)
                elif cell is not None:
                    sheet.write(row, place, cell)


def through(people: pa.Table, live: LiveDatabase) -> pa.Table:
    """Load the table into a database and read it again."""
    live.load("people", people)
    return mottle.read_database(live.url, table="people")


def release_of(people: pa.Table, key: bytes) -> mottle.Release:
    """The release of the table under the owner's key."""
    schema = mottle.Schema.of(
        quasi_identifying=["age", "sex", "education", "born", "height"], sensitive=["diagnosis"]
    )
    return mottle.anonymize(people, schema, mottle.KAnonymity(5), key=key)
