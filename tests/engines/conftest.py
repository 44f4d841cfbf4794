"""Every test here runs over all engines: in memory, streaming and on Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import Release, Schema
from mottle.guarantees.base import Guarantee

CHUNK = 500  # rows: fewer than the tests' tables have, so that there are several chunks


@dataclass(frozen=True)
class Engine:
    """One way to anonymize a table."""

    name: str
    folder: Path
    session: Any = None  # of Spark

    @property
    def in_chunks(self) -> bool:
        return self.name != "memory"

    def anonymize(
        self, table: pa.Table, schema: Schema, guarantee: Guarantee, **options: Any
    ) -> Release:
        """A release of the table, in chunks where the engine works in chunks."""
        if self.name == "memory":
            return mottle.anonymize(table, schema, guarantee, **options)
        folder = Path(mkdtemp(dir=self.folder))  # a test may need several releases
        file = folder / "input.parquet"
        pq.write_table(table, file, row_group_size=400)
        if self.name == "streaming":
            return mottle.anonymize_stream(
                file, schema, guarantee, folder / "streamed", chunk_rows=CHUNK, **options
            )
        return mottle.spark.anonymize(
            self.session.read.parquet(str(file)),
            schema,
            guarantee,
            staging=folder / "staging",
            chunk_rows=CHUNK,
            **options,
        )


@pytest.fixture(params=["memory", "streaming", "spark"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    session = request.getfixturevalue("session") if request.param == "spark" else None
    return Engine(request.param, tmp_path, session)


@pytest.fixture(scope="module")
def once() -> Callable[[str, Callable[[], Any]], Any]:
    """Make a release by its name, or return the one of an earlier test of the module.

    For tests that only look at a release: a run on Spark takes seconds.
    """
    made: dict[str, Any] = {}

    def get(name: str, make: Callable[[], Any]) -> Any:
        if name not in made:
            made[name] = make()
        return made[name]

    return get


@pytest.fixture(scope="session")
def crowd() -> Callable[[int], tuple[pa.Table, Schema]]:
    """People with columns of several kinds and roles."""

    def make(rows: int) -> tuple[pa.Table, Schema]:
        names = ["person_id", "age", "sex", "education", "workclass", "income", "diagnosis"]
        table = mottle.datasets.population(rows, seed=4).select(names)
        schema = Schema.of(
            quasi_identifying=["age", "sex", "education", "workclass"],
            identifying=["person_id"],
            sensitive=["diagnosis"],
            rest="insensitive",
            orders={"education": list(mottle.datasets.EDUCATION)},
        )
        return table, schema

    return make
