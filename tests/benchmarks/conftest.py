"""Generated tables in the shape of the data that the reproduction needs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

ROWS = 400
CENSUS = {
    "age": 40,
    "gender": 2,
    "education": 6,
    "marital_status": 5,
    "race": 4,
    "workclass": 6,
    "country": 8,
    "occupation": 50,
    "salary_class": 50,
}
ADULT = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


@pytest.fixture(scope="session")
def generated_data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(1)
    codes = {name: random.integers(0, size, ROWS) for name, size in CENSUS.items()}
    codes["age"] += 17
    with gzip.open(folder / "census_acs_codes.csv.gz", "wb") as file:
        pyarrow.csv.write_csv(pa.table(codes), file)
    labels = {
        name: values if name == "age" else [f"{name} {code}" for code in values]
        for name, values in codes.items()
    }
    pq.write_table(pa.table(labels), folder / "census_acs.parquet")
    pq.write_table(pa.table(labels).select(["occupation"]), folder / "census_acs_full.parquet")
    for name, size in CENSUS.items():
        _write_tree(folder / f"hierarchies/census_acs/{name}.csv", name, size)
    coil = {
        "customer_subtype": 30,
        "num_houses": 5,
        "avg_household_size": 5,
        "avg_age_class": 5,
        "customer_main_type": 5,
    }
    drawn = {name: random.integers(1, size + 1, ROWS) for name, size in coil.items()}
    pq.write_table(pa.table(drawn), folder / "coil2000_5attr.parquet")
    adult = {
        name: random.integers(0, 30, ROWS)
        if name in NUMBERS
        else [f"{name} {code}" for code in random.integers(0, 4, ROWS)]
        for name in ADULT
    }
    adult["workclass"][0] = "?"
    pq.write_table(pa.table(adult), folder / "adult_train.parquet")
    for name in ADULT:
        _write_tree(folder / f"hierarchies/adult/adult_hierarchy_{name}.csv", name, 4)
    (folder / "sets").mkdir()
    for name in ("chess", "pumsb_first4334"):
        lines = [
            " ".join(map(str, sorted(random.choice(30, 8, replace=False)))) for _ in range(ROWS)
        ]
        with gzip.open(folder / f"sets/{name}.dat.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    return folder


def _write_tree(path: Path, name: str, leaves: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{name} {leaf};{name} {'low' if 2 * leaf < leaves else 'high'};*" for leaf in range(leaves)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
