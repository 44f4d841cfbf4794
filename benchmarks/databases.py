"""Databases compared with Parquet: rows read and rows of a release written per second."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from _shared import ROOT, markdown_table, report

import mottle
from mottle.cli.demo_data import population_schema

sys.path.insert(0, str(ROOT / "tests" / "support"))
from postgresql_server import running_server

ROWS = 1_000_000
K = 10
ROUNDS = 3


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    people = mottle.datasets.population(ROWS, seed=1)
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        folder = Path(name)
        hierarchy = folder / "origin.csv"
        mottle.Hierarchy.from_rows(mottle.datasets.origin_hierarchy()).write(hierarchy)
        release = mottle.anonymize(
            people, population_schema(hierarchy), mottle.KAnonymity(K), method="nh", seed=1
        )
        parquet = folder / "people.parquet"
        pq.write_table(people, parquet)
        urls = {
            "PostgreSQL": server.url(),
            "SQLite": f"sqlite:///{folder}/people.sqlite",
            "DuckDB": f"duckdb:///{folder}/people.duckdb",
        }
        fill(people, urls)
        read = {"Parquet": [], **{system: [] for system in urls}}
        written = {"Parquet and CSV": [], **{system: [] for system in urls}}
        for _ in range(ROUNDS):
            read["Parquet"].append(seconds(lambda: mottle.read_table(parquet)))
            written["Parquet and CSV"].append(
                seconds(lambda: release.save(folder / "released", overwrite=True, report=False))
            )
            for system, url in urls.items():
                read[system].append(
                    seconds(lambda url=url: mottle.read_database(url, table="people"))
                )
                written[system].append(
                    seconds(
                        lambda url=url: mottle.write_database(
                            release, url, "released", overwrite=True
                        )
                    )
                )
    report(
        "databases",
        f"Databases: {ROWS:,} rows",
        [
            f"Generated population, {people.num_columns} columns; best of {ROUNDS}, alternating."
            " Read: a whole table into Arrow. Write: a release (nh, k = 10) with its view and"
            " certificate, in one transaction. PostgreSQL runs on the same machine with fsync off.",
            table("read", read),
            table("write", written),
        ],
    )


def fill(people: object, urls: dict[str, str]) -> None:
    from adbc_driver_postgresql import dbapi as postgresql
    from adbc_driver_sqlite import dbapi as sqlite

    places = {"PostgreSQL": urls["PostgreSQL"], "SQLite": urls["SQLite"].removeprefix("sqlite:///")}
    for system, driver in (("PostgreSQL", postgresql), ("SQLite", sqlite)):
        with driver.connect(places[system]) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("people", people)
            connection.commit()
    with duckdb.connect(urls["DuckDB"].removeprefix("duckdb:///")) as database:
        database.register("arriving", people)
        database.execute("CREATE TABLE people AS SELECT * FROM arriving")


def table(doing: str, measured: dict[str, list[float]]) -> str:
    rows = [
        (place, f"{min(times):.2f}", f"{ROWS / min(times):,.0f}")
        for place, times in measured.items()
    ]
    return markdown_table((doing, "seconds", "rows/s"), rows)


if __name__ == "__main__":
    main()
