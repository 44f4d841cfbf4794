"""ARX's ADULT example as a project: imported, run, and put beside ARX's own results."""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from _rivals import ARX_GLOBAL, ARX_LOCAL
from _shared import DATA, ROOT, markdown_table, report, require_data

import mottle
from mottle.io.projects.arx import read_arx
from mottle.io.projects.imported import write_project
from mottle.io.read_table import read_table
from mottle.schema.model import Role

sys.path.insert(0, str(ROOT / "tests" / "support"))

import arx_project

QUASI_IDENTIFIERS = (
    *("age", "sex", "race", "marital-status", "education", "native-country", "workclass"),
)


def main() -> None:
    """Build the project, import it with and without hierarchies, and run it."""
    rows = {k: [f"{k}", f"{ARX_GLOBAL[k]:.3f}", f"{ARX_LOCAL[k]:.4f}"] for k in ARX_LOCAL}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project = _project(folder / "adult.deid")
        for hierarchies in (True, False):
            found = read_arx(project, hierarchies=hierarchies)
            place = folder / f"imported-{hierarchies}"
            write_project(found, place, project.name)
            schema = mottle.Schema.read(place / "mottle.toml")
            table = read_table(place / "input.csv", **schema.reading.model_dump())
            for k in ARX_LOCAL:
                release = mottle.anonymize(
                    table, schema, mottle.KAnonymity(k), objective="ncp", seed=1
                )
                rows[k].append(f"{_as_sets(release, table, schema):.4f}")
        settings = [
            [each.setting, each.becomes, "yes" if each.kept else "no"] for each in found.settings
        ]
    sections = [
        "A project in ARX's layout (30,162 rows, seven quasi-identifiers, the hierarchies of ARX's"
        " example), imported by `mottle import arx` and run with `freeform`. Loss is GCP, every"
        " cell taken as the values of the table that it may be, for both tools. `freeform`"
        " minimizes the loss of hierarchy nodes instead, leaves below by all leaves, where"
        " hierarchies are used. ARX cannot be downloaded here; its figures were measured before"
        " with ARX 3.9 (`benchmarks/_rivals.py`).",
        markdown_table(
            ["k", "ARX, global", "ARX, local", "as imported, hierarchies", "--no-hierarchies"],
            list(rows.values()),
        ),
        "What becomes of its settings (with `--no-hierarchies`):",
        markdown_table(["ARX", "here", "kept"], settings),
    ]
    report("doors-arx", "ARX's example project, imported", sections, "doors.py arx")


def _project(path: Path) -> Path:
    table = pq.read_table(require_data("adult_arx.parquet"))
    attributes = []
    for name in table.column_names:
        file = DATA / "hierarchies" / "adult" / f"adult_hierarchy_{name}.csv"
        with open(file, encoding="utf-8", newline="") as text:
            levels = list(csv.reader(text, delimiter=";"))
        known = name in QUASI_IDENTIFIERS
        role = "QUASI_IDENTIFYING" if known else "INSENSITIVE"
        datatype = "Integer" if name == "age" else "String"
        attributes.append(arx_project.Attribute(name, role, datatype, levels if known else ()))
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    parts = arx_project.parts_of_project(attributes, rows, criteria=["10-anonymity"])
    return arx_project.write_project(path, parts)


def _as_sets(release: mottle.Release, table: pa.Table, schema: mottle.Schema) -> float:
    """GCP with labels as the values of the table below them, as ARX's results were measured."""
    losses = []
    for column in schema.with_role(Role.QUASI_IDENTIFYING):
        cells = release.table.column(column.name).combine_chunks()
        values = pc.unique(table.column(column.name))
        if column.hierarchy is not None:
            present = set(values.to_pylist())
            size = {
                label: len(present & set(column.hierarchy.leaves_under(label)))
                for label in pc.unique(cells).to_pylist()
            }
            counts = np.array([size[label] for label in cells.to_pylist()])
            losses.append((counts - 1).mean() / (len(values) - 1))
        elif pa.types.is_struct(cells.type):
            width = pc.subtract(cells.field("hi"), cells.field("lo")).to_numpy(zero_copy_only=False)
            extent = pc.min_max(values).as_py()
            losses.append(width.mean() / (extent["max"] - extent["min"]))
        else:
            counts = pc.list_value_length(cells).to_numpy(zero_copy_only=False)
            losses.append((counts - 1).mean() / (len(values) - 1))
    return float(np.mean(losses))
