"""The data of the papers, or what stands for it here, with the schema of each.

CENSUS is a substitute of 295,243 rows in random order, so that its first n rows are a random sample
of n. Its columns are codes; age and education are numbers, as in the papers. With taxonomies its
columns are labels, and education a number by its place in the order of its levels.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

import mottle
from benchmarks import _shared
from mottle.datasets import with_sensitive_values
from mottle.io.read_sets import read_transactions
from mottle.itemsets.data import ItemSets

CENSUS = ("age", "gender", "education", "marital_status", "race", "workclass", "country")
COIL = ("num_houses", "avg_household_size", "avg_age_class", "customer_main_type")
ADULT = (  # FAST07: eight quasi-identifiers, two of them numbers
    "age",
    "workclass",
    "education-num",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
NUMBERS = ("age", "education", "education-num")
ALL = 295_243  # rows of the CENSUS substitute
OCCUPATIONS = 50
FOLDER_VARIABLE = _shared.DATA_VARIABLE


@dataclass(frozen=True)
class Data:
    """A table, what its columns are, and the names that points need."""

    table: pa.Table
    schema: mottle.Schema
    columns: tuple[str, ...]
    sensitive: str | None


def folder() -> Path:
    """Where the data lie: beside the project, or where an environment variable says."""
    return Path(os.environ.get(FOLDER_VARIABLE, _shared.DATA))


def path_of(name: str) -> Path:
    """A file of the data; ends the program if it does not exist."""
    path = folder() / name
    if not path.exists():
        sys.exit(
            f"This figure needs {name} in {folder()}, which does not exist; {FOLDER_VARIABLE} says"
            " where the data are."
        )
    return path


def load(
    name: str,
    rows: int,
    *,
    columns: int | None = None,
    taxonomies: bool = False,
    values: int = OCCUPATIONS,
) -> Data:
    """The first rows and quasi-identifiers of a table.

    ``name`` is "census", "census uniform", "census zipf 0.7" (drawn sensitive values), "census
    numbers" (all columns as numbers), "census of natives" (some of its people, see `PEOPLE`),
    "coil", "coil 3" (its first three quasi-identifiers), "adult" (NH10: all columns in the order of
    the file) or "adult 8" (FAST07). ``values`` merges the sensitive values of the census into
    fewer, by runs of codes (FAST07 §6.2).
    """
    kind, *drawn = name.split()
    match kind:
        case "census":
            return _census(folder(), rows, columns, taxonomies, values, tuple(drawn))
        case "coil":
            table = _parquet(path_of("coil2000_5attr.parquet")).slice(0, rows)
            return _plain(table, COIL[: int(drawn[0]) if drawn else columns], "customer_subtype")
        case "adult" if drawn:
            return _adult(path_of("adult_train.parquet"), rows, taxonomies)
        case "adult":
            table = _parquet(path_of("adult_train.parquet")).slice(0, rows)
            names = table.column_names[:columns]
            return Data(
                table.select(names), mottle.Schema.of(quasi_identifying=names), tuple(names), None
            )
        case _:
            raise ValueError(f"There is no data set '{name}'.")


@cache
def _parquet(path: Path) -> pa.Table:
    return pq.read_table(path)


@cache
def _codes(path: Path) -> pa.Table:
    with gzip.open(path) as file:
        return pyarrow.csv.read_csv(file)


@cache
def _census(
    _folder: Path,
    rows: int,
    columns: int | None,
    taxonomies: bool,
    values: int,
    drawn: tuple[str, ...],
) -> Data:
    names = CENSUS[:columns]
    table = _codes(path_of("census_acs_codes.csv.gz")).slice(0, rows)
    if drawn == ("numbers",):
        schema = mottle.Schema.of(
            quasi_identifying=names, sensitive=["occupation"], kinds={"occupation": "category"}
        )
        return Data(table.select([*names, "occupation"]), schema, tuple(names), "occupation")
    if drawn[:1] == ("of",):
        everybody = _codes(path_of("census_acs_codes.csv.gz"))
        some = PEOPLE[drawn[1]](everybody)[:rows]
        return _plain(everybody.take(pa.array(some)), names, "occupation")
    if drawn:
        theta = float(drawn[1]) if len(drawn) > 1 else 0.0
        table = with_sensitive_values(table, "occupation", OCCUPATIONS, drawn[0], theta, seed=1)
    elif values != OCCUPATIONS:
        merged = table.column("occupation").to_numpy() * values // OCCUPATIONS
        table = table.set_column(
            table.column_names.index("occupation"), "occupation", pa.array(merged)
        )
    if not taxonomies:
        return _plain(table, names, "occupation")
    labels = _parquet(path_of("census_acs.parquet")).slice(0, rows)
    table = labels.select([*names]).append_column("occupation", table.column("occupation"))
    trees = {
        name: path_of(f"hierarchies/census_acs/{name}.csv") for name in names if name not in NUMBERS
    }
    orders = {}
    if "education" in names:
        leaves = mottle.Hierarchy.read(path_of("hierarchies/census_acs/education.csv")).leaves
        orders["education"] = leaves
    schema = mottle.Schema.of(
        quasi_identifying=names,
        sensitive=["occupation"],
        kinds={"occupation": "category"},
        hierarchies=trees,
        orders=orders,
    )
    return Data(table, schema, tuple(names), "occupation")


def _where(column: str, keep: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """The rows of people with some values of a column."""
    return lambda table: np.flatnonzero(keep(table.column(column).to_numpy()))


def _evenly(column: str) -> Callable:
    """All rows, in an order in which rare values of a column come earlier than by chance.

    Values are drawn with weights that fall with the root of their frequency, so that the first n
    rows hold frequent values less often, and rare ones more often, than everybody does.
    """

    def order(table: pa.Table) -> np.ndarray:
        _, code, counts = np.unique(
            table.column(column).to_numpy(), return_inverse=True, return_counts=True
        )
        drawn = np.random.default_rng(1).exponential(size=table.num_rows)
        return np.argsort(drawn * np.sqrt(counts[code]))

    return order


# Rows of the census, in order; the first n of each are a sample of n of these people.
PEOPLE: dict[str, Callable] = {
    "others": lambda table: np.arange(table.num_rows)[::-1],
    "natives": _where("country", lambda codes: codes == np.bincount(codes).argmax()),
    "rich": _where("salary_class", lambda codes: codes >= np.median(codes)),
    "poor": _where("salary_class", lambda codes: codes < np.median(codes)),
    "upto85": _where("age", lambda ages: ages <= 85),
    "even-ages": _evenly("age"),
    "even-education": _evenly("education"),
}


def _plain(table: pa.Table, names: Sequence[str], sensitive: str) -> Data:
    """Codes: numbers as numbers, all others as categories."""
    schema = mottle.Schema.of(
        quasi_identifying=names,
        sensitive=[sensitive],
        kinds={name: "category" for name in (*names, sensitive) if name not in NUMBERS},
    )
    return Data(table.select([*names, sensitive]), schema, tuple(names), sensitive)


@cache
def _adult(path: Path, rows: int, taxonomies: bool) -> Data:
    """ADULT without records that lack a value, as in FAST07."""
    table = _parquet(path)
    known = [pc.not_equal(table.column(name), "?") for name in ADULT if name not in NUMBERS]
    keep = np.logical_and.reduce([each.to_numpy() for each in known])
    table = table.filter(pa.array(keep)).slice(0, rows).select(ADULT)
    trees = {
        name: path_of(f"hierarchies/adult/adult_hierarchy_{name}.csv")
        for name in ADULT
        if taxonomies and name not in NUMBERS
    }
    schema = mottle.Schema.of(quasi_identifying=ADULT, hierarchies=trees)
    return Data(table, schema, ADULT, None)


# --------------------------------------------------------------------------------- sets of items

SETS = {"chess": "chess", "pumsb": "pumsb_first4334"}
QUERY_SIZES = {"chess": (3, 4), "pumsb": (1, 5)}  # |In| and |Ex|, SET12 §5.2


def item_sets(name: str, records: int, *, times: int = 1, labelled: bool = False) -> ItemSets:
    """The first records of a set-valued table, ``times`` over with small changes (SET12 §5.3)."""
    return _item_sets(folder(), name, records, times, labelled)


@cache
def _item_sets(_folder: Path, name: str, records: int, times: int, labelled: bool) -> ItemSets:
    data = read_transactions(path_of(f"sets/{SETS[name]}.dat.gz"))
    ends = data.starts[: records + 1]
    data = ItemSets(data.names, ends, data.items[: ends[-1]])
    if times > 1:
        data = _perturbed(data, times)
    if not labelled:
        return data
    column = pq.read_table(path_of("census_acs_full.parquet"), columns=["occupation"]).column(0)
    drawn = np.random.default_rng(1).integers(0, len(column), data.records)
    return data.with_labels(column.take(pa.array(drawn)), "occupation")


def _perturbed(data: ItemSets, times: int) -> ItemSets:
    """Duplicates in which 2 % of the items are replaced by random ones."""
    random = np.random.default_rng(1)
    held_by = np.repeat(np.arange(data.records), data.sizes)
    keys = []
    for copy in range(times):
        items = data.items.astype(np.int64)
        if copy:
            changed = random.random(len(items)) < 0.02
            items = np.where(changed, random.integers(0, data.universe, len(items)), items)
        keys.append(np.unique((held_by + copy * data.records) * data.universe + items))
    records, items = np.divmod(np.concatenate(keys), data.universe)
    sizes = np.bincount(records, minlength=times * data.records)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return ItemSets(data.names, starts, items.astype(np.int32))
