"""The files of ``mottle demo``: a generated population, its schema and its hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from mottle.datasets import EDUCATION, origin_hierarchy, population
from mottle.hierarchy.tree import Hierarchy
from mottle.io.atomic_write import staged
from mottle.schema.model import Schema


@dataclass(frozen=True)
class Demo:
    """A generated table, its schema, and where both were written."""

    table: pa.Table
    schema: Schema
    data: Path
    schema_file: Path
    release: Path  # folder for the release


def population_schema(hierarchy: Hierarchy | Path) -> Schema:
    """Return the schema of `mottle.datasets.population`.

    >>> schema = population_schema(Hierarchy.from_rows(origin_hierarchy()))
    >>> [column.name for column in schema.columns if column.role == "identifying"]
    ['person_id']
    """
    return Schema.of(
        identifying=["person_id"],
        quasi_identifying=[
            "age",
            "sex",
            "education",
            "marital_status",
            "origin",
            "workclass",
            "occupation",
        ],
        sensitive=["income", "diagnosis"],
        orders={"education": EDUCATION},
        hierarchies={"origin": hierarchy},
    )


def prepare(folder: Path, rows: int) -> Demo:
    """Generate the population and write it, its schema and its hierarchy into ``folder``."""
    names = ["origin.csv", "mottle.toml", "population.csv"]
    table = population(rows, seed=1)
    with staged(folder, names, overwrite=True) as stage:
        Hierarchy.from_rows(origin_hierarchy()).write(stage / "origin.csv")
        pyarrow.csv.write_csv(table, stage / "population.csv")
        schema = population_schema(stage / "origin.csv")
        schema.write(stage / "mottle.toml")
    return Demo(table, schema, folder / names[2], folder / names[1], folder / "release")
